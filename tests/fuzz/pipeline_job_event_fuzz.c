/* Any JSON as EventBridge's detail: refused, or a history that is the same when it is told again, and a document. */
#include "pipeline/jobs/job_event.h"
#include "store/jobs.h"

#include <stdlib.h>

#define NOON_MS INT64_C(1714564800000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decide_twice(struct arena *arena, const struct job_event *event)
{
	const struct event_times times = {true, event->started_ms, event->ended_ms};
	size_t count = event->told_count;
	struct told_row *rows = arena_alloc(arena, 2 * count * sizeof *rows + 1);
	struct history once, twice;
	struct job_row row = {.status = SPAN("InProgress"), .secondary = SPAN("Starting"), .created_ms = NOON_MS};
	struct error err;

	if (!rows)
		abort();
	for (size_t i = 0; i < 2 * count; i++)
		rows[i] = event->told[i % count];
	struct history_facts facts = {.told = rows, .told_count = count};
	if (history_decide(arena, &facts, &once, &err) != OK || (once.count > 0) != (count > 0))
		abort();
	history_to_row(&once, &times, &row);
	facts.told_count = 2 * count;
	if (history_decide(arena, &facts, &twice, &err) != OK || twice.count != once.count)
		abort();
	for (size_t i = 0; i < once.count; i++)
		if (!span_equal(once.rows[i].status, twice.rows[i].status) ||
			once.rows[i].start_ms != twice.rows[i].start_ms || once.rows[i].end_ms != twice.rows[i].end_ms)
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
	decide_twice(arena, &event);
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
