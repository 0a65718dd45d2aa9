/*
 * Where a series that was sent as points comes to an attempt: what bears a later time than its first point is of it, what bears an earlier
 * one is not. In that very millisecond (or second, of a clock of whole ones) the order in which the points came says it.
 */
#include "pipeline/consume/consume.h"

#include "state/streams/directory.h"

/* Behind the attempt's start, by time and step, and not of one since. */
static bool may_be_of(const struct point *point, uint32_t attempt, int64_t start, int64_t ms)
{
	return point->line == NO_LINE && point->ts_ms >= ms && point->step >= start && point->attempt <= attempt &&
	       point->attempt + 1 >= attempt;
}

/* The last point that goes back to where all behind the start is not below it; the tail's count: none does. */
static size_t find_first(const struct series_state *series, uint32_t attempt, int64_t start, int64_t ms)
{
	const struct point *before = NULL;
	size_t first = series->tail_count;
	int64_t lowest = INT64_MAX;

	for (size_t i = 0; i < series->tail_count; i++) {
		const struct point *point = &series->tail[i];
		if (!may_be_of(point, attempt, start, ms) || (!before && point->ts_ms > ms))
			continue;
		if (before && point->step < before->step && point->step <= lowest)
			first = i;
		if (point->ts_ms > ms)
			break;
		lowest = point->step < lowest ? point->step : lowest;
		before = point;
	}
	return first;
}

bool consume_cut_start(struct stream_state *stream, struct series_state *series, uint32_t attempt)
{
	int64_t ms = extractor_began_ms(stream->extractor, attempt);
	const int64_t *starts;
	bool is_any = false;

	(void)extractor_attempt_starts(stream->extractor, &starts);
	size_t first = find_first(series, attempt, starts[attempt - 1], ms);
	if (first == series->tail_count)
		return false;
	for (size_t i = 0; i < first; i++) {
		struct point *point = &series->tail[i];
		if (point->line != NO_LINE || point->ts_ms != ms || point->attempt != attempt)
			continue;
		point->attempt--;
		is_any = true;
	}
	return is_any;
}

void consume_opened(struct stream_state *stream)
{
	uint32_t attempt = extractor_attempt(stream->extractor);
	int64_t since_ms = extractor_began_ms(stream->extractor, attempt);

	for (size_t i = 0; i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		for (size_t j = 0; j < series->tail_count; j++) {
			struct point *point = &series->tail[j];
			if (point->line == NO_LINE && point->attempt == attempt - 1 && point->ts_ms >= since_ms)
				point->attempt = attempt;
		}
		(void)!consume_cut_start(stream, series, attempt);
		consume_rebuild_summary(stream, series);
	}
}
