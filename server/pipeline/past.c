/* Lines of the past without a time of their own: a stack trace belongs to the line that it follows, not to today. */
#include "pipeline/internal.h"

static void fill_part(struct batch_part *part, int64_t written_ms, int64_t arrival_ms)
{
	int64_t known_ms = NO_TIME, ts_ms;
	size_t first = 0; /* lines before it wait for the first time that is known */

	for (size_t i = 0; i < part->count; i++) {
		struct line *line = &part->lines[i];
		bool has_time = line->ts_ms != NO_TIME || line_time_parse(line->text, arrival_ms, &ts_ms);
		if (has_time) {
			int64_t before_ms = known_ms;
			known_ms = line->ts_ms != NO_TIME ? line->ts_ms : ts_ms;
			for (; before_ms == NO_TIME && first < i; first++)
				part->lines[first].ts_ms = known_ms;
		} else if (known_ms != NO_TIME) {
			line->ts_ms = known_ms;
		}
	}
	if (known_ms == NO_TIME)
		for (size_t i = 0; i < part->count; i++)
			part->lines[i].ts_ms = written_ms;
}

/* Where the sender says the zone of times that state none: resolved here, so that nobody behind needs to know. */
static void fill_zone(struct batch_part *part, int64_t zone_ms, int64_t arrival_ms)
{
	int64_t ts_ms;

	for (size_t i = 0; i < part->count; i++)
		if (part->lines[i].ts_ms == NO_TIME &&
			line_time_parse_in(part->lines[i].text, arrival_ms, zone_ms, &ts_ms))
			part->lines[i].ts_ms = ts_ms;
}

void past_fill_times(struct batch *batch)
{
	for (size_t i = 0; batch->zone_ms && i < batch->part_count; i++)
		fill_zone(&batch->parts[i], batch->zone_ms, batch->arrival_ms);
	for (size_t i = 0; batch->written_ms && i < batch->part_count; i++)
		fill_part(&batch->parts[i], batch->written_ms, batch->arrival_ms);
}
