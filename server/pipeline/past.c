/* Lines of the past without a time of their own: a stack trace belongs to the line that it follows, not to today. */
#include "base/line_time.h"
#include "pipeline/internal.h"

/* Of the body before this one: a file comes in many. NO_TIME: none was known, or the stream is not in RAM. */
static int64_t known_before(struct pipeline *pipeline, const struct batch_part *part)
{
	struct job_state *job = directory_find(pipeline->directory, part->job);
	struct stream_state *stream = job ? job_find_stream(job, part->stream) : NULL;
	int64_t past_ms = stream ? atomic_load(&stream->past_ms) : 0;

	job_unref(job);
	return past_ms ? past_ms : NO_TIME;
}

static bool find_time(const struct line *line, const struct batch *batch, int64_t *ts_ms)
{
	*ts_ms = line->ts_ms;
	return line->ts_ms != NO_TIME || line_time_parse(line->text, batch->arrival_ms, ts_ms);
}

static void fill_part(const struct batch *batch, struct batch_part *part, int64_t known_ms)
{
	size_t first = 0; /* lines before it wait for the first time that is known */
	int64_t ts_ms;

	for (size_t i = 0; i < part->count; i++) {
		/* of a batch that the writer had no room for they were filled before */
		if (i >= part->past_untimed && find_time(&part->lines[i], batch, &ts_ms)) {
			for (; known_ms == NO_TIME && first < i; first++)
				part->lines[first].ts_ms = ts_ms;
			known_ms = ts_ms;
		} else if (known_ms != NO_TIME) {
			part->lines[i].ts_ms = known_ms;
		}
	}
	part->past_ms = known_ms != NO_TIME ? known_ms : 0;
	part->past_untimed = known_ms == NO_TIME ? part->count : 0;
	if (known_ms == NO_TIME)
		for (size_t i = 0; i < part->count; i++)
			part->lines[i].ts_ms = batch->written_ms;
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

void past_fill_times(struct pipeline *pipeline, struct batch *batch)
{
	for (size_t i = 0; batch->zone_ms && i < batch->part_count; i++)
		fill_zone(&batch->parts[i], batch->zone_ms, batch->arrival_ms);
	for (size_t i = 0; batch->written_ms && i < batch->part_count; i++)
		fill_part(batch, &batch->parts[i], known_before(pipeline, &batch->parts[i]));
}
