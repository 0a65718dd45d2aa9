/* Any JSON as EventBridge's detail: refused, or a history that merges to the same when it is told again, and a document. */
#include "pipeline/job_event.h"

#include <stdlib.h>

#define NOON_MS INT64_C(1714564800000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void merge_twice(struct arena *arena, const struct job_event *event)
{
	struct history none = {0}, once, twice;
	struct job_row row = {.status = SPAN("InProgress"), .secondary = SPAN("Starting"), .created_ms = NOON_MS};
	struct error err;
	bool has_changed;

	if (history_merge(arena, &none, &event->told, &once, &has_changed, &err) != OK ||
		has_changed != (event->told.count > 0))
		abort();
	history_to_row(&once, &row);
	if (history_merge(arena, &once, &event->told, &twice, &has_changed, &err) != OK || has_changed)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) detail = NULL;
	AUTO(json) first = NULL;
	AUTO(json) second = NULL;
	AUTO_DONE(buf) one = BUF_INIT(16 << 20), other = BUF_INIT(16 << 20);
	struct job_event event;
	struct error err;

	if (!arena)
		abort();
	if (json_parse(&detail, span_of((const char *)data, size), &err) != OK ||
		job_event_read(arena, detail, NOON_MS, &event, &err) != OK)
		return 0;
	merge_twice(arena, &event);
	if (job_event_document(&event, NULL, &first, &err) != OK)
		return 0;
	if (job_event_document(&event, first, &second, &err) != OK)
		abort();
	json_print(first, &one);
	json_print(second, &other);
	if (!span_equal(buf_span(&one), buf_span(&other)))
		abort();
	return 0;
}
