/* Bodies of PutLogEvents: whatever they are, counts fit each other, and an error that has a field says what stands there. */
#include "aws/protocol/put_events.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	AUTO(batch) batch = batch_new(INT64_C(1700000000000));
	AUTO_DONE(put_events)
	put = {.body = span_of((const char *)data, size),
		.arena = arena,
		.now_ms = INT64_C(1700000000000),
		.kept_from_ms = INT64_MIN,
		.max_line_bytes = 1000};
	struct error err = {0};

	if (!arena || !batch || put_events_open(&put, &err) != OK)
		return 0;
	struct batch_part *part = batch_part(batch, SPAN("j"), SPAN("s"));
	if (!part || put_events_read(&put, batch, part, &err) != OK)
		return 0;
	size_t rejected = put.expired_end > put.too_old_end ? put.expired_end : put.too_old_end;
	rejected += put.has_too_new ? put.count - put.too_new_start : 0;
	if (put.taken + rejected != put.count || part->count < put.taken || put.count > PUT_EVENTS_MAX)
		abort();
	return 0;
}
