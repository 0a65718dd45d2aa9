/*
 * Where a series that was sent as points comes to an attempt: what bears a later time than its first point is of it, what bears an earlier
 * one is not. In that very millisecond (or second, of a clock of whole ones) the order in which the points came says it.
 */
#include "pipeline/consume/consume.h"

#include "state/streams/directory.h"

/* A walk over a series' points in their order, of the attempt and the one before, at or past the step at which it began. */
struct walk {
	const struct point *before; /* the last one */
	bool has_come; /* to the millisecond */
	int64_t lowest; /* step in it, and just before it */
	int64_t highest, highest_since; /* up to where the attempt begins, and from there */
	size_t first; /* where it begins; SIZE_MAX: nowhere yet */
};

static void go_on(struct walk *walk, const struct point *point)
{
	int64_t *highest = walk->first == SIZE_MAX ? &walk->highest : &walk->highest_since;

	walk->before = point;
	walk->lowest = point->step < walk->lowest ? point->step : walk->lowest;
	*highest = point->step > *highest ? point->step : *highest;
}

/* Below all of the millisecond: there it begins, or begins after all, if all since was only what had been sent before once more. */
static bool goes_back(const struct walk *walk, const struct point *point)
{
	return walk->before && point->step < walk->before->step && point->step <= walk->lowest &&
	       (walk->first == SIZE_MAX || walk->highest_since >= walk->highest);
}

/* SIZE_MAX: no point goes back to where it may begin. */
static size_t find_first(const struct series_state *series, uint32_t attempt, int64_t start, int64_t ms)
{
	struct walk walk = {.lowest = INT64_MAX, .highest = INT64_MIN, .first = SIZE_MAX};

	for (size_t i = 0; i < series->tail_count; i++) {
		const struct point *point = &series->tail[i];
		bool is_of_one = point->attempt == attempt || point->attempt + 1 == attempt;
		if (point->line != NO_LINE || !is_of_one || point->step < start)
			continue;
		if (point->ts_ms < ms && !walk.has_come) {
			walk.lowest = walk.highest = point->step;
			walk.before = point;
		}
		if (point->ts_ms < ms || (point->ts_ms > ms && !walk.has_come))
			continue;
		if (goes_back(&walk, point)) {
			walk.first = i;
			walk.highest_since = INT64_MIN;
		}
		if (point->ts_ms > ms)
			break;
		walk.has_come = true;
		go_on(&walk, point);
	}
	return walk.first;
}

bool consume_cut_start(struct stream_state *stream, struct series_state *series, uint32_t attempt)
{
	int64_t ms = extractor_began_ms(stream->extractor, attempt);
	const int64_t *starts;
	bool is_any = false;

	(void)extractor_attempt_starts(stream->extractor, &starts);
	int64_t start = series->axis.count ? INT64_MIN : starts[attempt - 1];
	size_t first = find_first(series, attempt, start, ms);
	for (size_t i = 0; i < series->tail_count && first != SIZE_MAX && i < first; i++) {
		struct point *point = &series->tail[i];
		if (point->line != NO_LINE || point->ts_ms != ms || point->attempt != attempt)
			continue;
		point->attempt--;
		own_axis_touch(&series->axis, point->attempt);
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
		own_axis_touch(&series->axis, attempt - 1);
		(void)!consume_cut_start(stream, series, attempt);
		consume_rebuild_summary(stream, series);
	}
	consume_await_axes(stream, attempt);
}
