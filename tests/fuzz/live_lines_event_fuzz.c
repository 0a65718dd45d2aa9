/* Any bytes as an event of lines: whole objects of the input come out, or it is refused. */
#include "live/lines_event.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct span json = {(const char *)data, size}, object;
	struct lines_event event;

	if (!lines_event_open(&event, json, &text))
		return 0;
	for (const char *end = event.head.ptr + event.head.len; lines_event_next(&event, &object, &text);) {
		if (object.ptr < end || object.ptr + object.len > json.ptr + json.len ||
			object.ptr[object.len - 1] != '}')
			abort();
		end = object.ptr + object.len;
	}
	return 0;
}
