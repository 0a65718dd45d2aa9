/*
 * Series on a step axis of their own (tokens beside steps, epochs, rows that only go on): the step at which the series that leads began
 * again says nothing on it. Who shares the axis is told by numbers, as all others are taken to share it:
 *
 *   without a point in the attempt  its greatest step is twice that of the series that leads, or more;
 *   by its points there             the series that leads says its next step then, or later, and that is lower, by more than half of what was made
 *                                   again; or all of its steps until then are in the lower half of those before the restart.
 *
 * It is asked at the end of a slice, as a body is told series by series, and of attempts that have opened since this was asked at all.
 */
#include "pipeline/consume/consume.h"

#include "state/streams/directory.h"

enum verdict { AXIS_UNKNOWN, AXIS_SHARED, AXIS_OWN };

/* What an attempt is judged by. */
struct attempt_axis {
	uint32_t attempt;
	int64_t start;
	const struct series_state *leader; /* NULL: not known, and nothing is asked */
	double redone; /* of its steps, so many were made before */
};

static bool is_start(const struct series_state *series, uint32_t attempt, int64_t start)
{
	for (size_t i = 0; i < series->tail_count; i++)
		if (series->tail[i].attempt == attempt && series->tail[i].step == start)
			return true;
	return false;
}

/* The loss, if the attempt began with a step of it, else the first of which that is so; behind a start of the server the loss. */
static const struct series_state *find_leader(const struct stream_state *stream, uint32_t attempt, int64_t start)
{
	const struct series_state *found = NULL, *loss = NULL;

	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_state *series = stream->series[i];
		bool is_loss = series->role == ROLE_LOSS;
		if (is_loss && !loss && series_has_points(series))
			loss = series;
		if ((found && !is_loss) || !is_start(series, attempt, start))
			continue;
		found = series;
		if (is_loss)
			break;
	}
	return found ? found : loss;
}

/* How far it was before the attempt; what is sealed was sealed then. */
static int64_t highest_before(const struct series_state *leader, uint32_t attempt)
{
	int64_t highest = INT64_MIN;

	for (size_t i = 0; i < leader->tail_count; i++)
		if (leader->tail[i].attempt < attempt && leader->tail[i].step > highest)
			highest = leader->tail[i].step;
	return highest == INT64_MIN ? leader->max_step : highest;
}

static struct attempt_axis axis_of_attempt(
	const struct stream_state *stream, struct attempt_starts starts, uint32_t attempt)
{
	struct attempt_axis axis = {.attempt = attempt, .start = starts.steps[attempt - 1]};

	axis.leader = find_leader(stream, attempt, axis.start);
	if (axis.leader)
		axis.redone = (double)highest_before(axis.leader, attempt) - (double)axis.start + 1;
	return axis;
}

/* The training began anew: so did everything. */
static bool is_whole(const struct attempt_axis *axis)
{
	return !axis->leader || axis->start <= axis->leader->min_step;
}

/* NULL: there is none. */
static const struct point *first_of(const struct series_state *series, uint32_t attempt)
{
	for (size_t i = 0; i < series->tail_count; i++)
		if (series->tail[i].attempt == attempt)
			return &series->tail[i];
	return NULL;
}

/* What the leader says in the attempt from that time on; of what bears one time, the furthest. */
static const struct point *next_of_leader(const struct attempt_axis *axis, int64_t from_ms)
{
	const struct point *next = NULL;

	for (size_t i = 0; i < axis->leader->tail_count; i++) {
		const struct point *point = &axis->leader->tail[i];
		if (point->attempt != axis->attempt || point->ts_ms < from_ms)
			continue;
		if (!next || point->ts_ms < next->ts_ms || (point->ts_ms == next->ts_ms && point->step > next->step))
			next = point;
	}
	return next;
}

/* The last one of the attempt behind which the leader has spoken. */
static const struct point *last_heard(const struct series_state *series, const struct attempt_axis *axis)
{
	int64_t newest_ms = INT64_MIN;

	for (size_t i = 0; i < axis->leader->tail_count; i++) {
		const struct point *point = &axis->leader->tail[i];
		if (point->attempt == axis->attempt && point->ts_ms > newest_ms)
			newest_ms = point->ts_ms;
	}
	for (size_t i = series->tail_count; i-- > 0;)
		if (series->tail[i].attempt == axis->attempt && series->tail[i].ts_ms <= newest_ms)
			return &series->tail[i];
	return NULL;
}

static bool has_earlier(const struct series_state *series, uint32_t attempt)
{
	if (series->sealed_points)
		return true;
	for (size_t i = 0; i < series->tail_count; i++)
		if (series->tail[i].attempt < attempt)
			return true;
	return false;
}

static enum verdict judge(const struct series_state *series, const struct attempt_axis *axis)
{
	const struct point *first = first_of(series, axis->attempt);
	int64_t highest = axis->leader->max_step;

	if (!first)
		return highest > 0 && series->max_step / 2 >= highest ? AXIS_OWN : AXIS_UNKNOWN;
	if (!has_earlier(series, axis->attempt))
		return AXIS_SHARED; /* there is nothing to be superseded */
	int64_t middle = axis->start / 2;
	if (axis->start > 0 && first->step <= middle && highest_before(series, axis->attempt) <= middle)
		return AXIS_OWN;
	const struct point *last = last_heard(series, axis);
	if (!last)
		return AXIS_UNKNOWN;
	const struct point *next = next_of_leader(axis, last->ts_ms);
	bool is_beyond = next && (double)last->step - (double)next->step > axis->redone / 2 + 1;
	return is_beyond ? AXIS_OWN : AXIS_SHARED;
}

/* What bears the time at which an attempt began is cut by the series' own steps, now that they are known to be that. */
static void see_all(struct stream_state *stream, struct series_state *series, uint32_t from)
{
	for (uint32_t attempt = from; attempt <= series->axis.count; attempt++)
		(void)!consume_cut_start(stream, series, attempt);
	for (size_t i = 0; i < series->tail_count; i++)
		own_axis_see(&series->axis, &series->tail[i], series->min_step);
}

static bool begin(struct stream_state *stream, struct series_state *series, struct attempt_starts starts)
{
	if (!own_axis_begin(&series->axis, starts, series->axis.awaited))
		return false;
	see_all(stream, series, series->axis.since);
	return true;
}

/* Anything to be said of it? In the slice in which an attempt opened, of all; later of those that have come to it. */
static bool is_waiting(const struct stream_state *stream, const struct series_state *series)
{
	return series->axis.awaited &&
	       (stream->are_axes_due ||
		       (series->tail_count && series->tail[series->tail_count - 1].attempt >= series->axis.awaited));
}

static enum status judge_all(
	struct stream_state *stream, struct attempt_starts starts, uint32_t from, struct error *err)
{
	for (uint32_t attempt = from; attempt <= starts.count; attempt++) {
		struct attempt_axis axis = axis_of_attempt(stream, starts, attempt);
		for (size_t i = 0; i < stream->series_count; i++) {
			struct series_state *series = stream->series[i];
			if (!is_waiting(stream, series) || series->axis.awaited > attempt)
				continue;
			enum verdict verdict =
				is_whole(&axis) || series == axis.leader ? AXIS_SHARED : judge(series, &axis);
			if (verdict == AXIS_OWN && !begin(stream, series, starts))
				return error_no_memory(err);
			if (verdict == AXIS_SHARED)
				series->axis.awaited = attempt < starts.count ? attempt + 1 : 0;
		}
	}
	return OK;
}

/* Those that have one already. */
static enum status follow(struct stream_state *stream, struct attempt_starts starts, struct error *err)
{
	struct attempt_axis axis = axis_of_attempt(stream, starts, (uint32_t)starts.count);
	int64_t step = is_whole(&axis) ? axis.start : INT64_MAX;

	for (size_t i = 0; i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		if (!series->axis.count)
			continue;
		if (!own_axis_follow(&series->axis, starts.count, step))
			return error_no_memory(err);
		see_all(stream, series, (uint32_t)starts.count);
		series->axis.is_moved = true;
	}
	return OK;
}

void consume_await_axes(struct stream_state *stream, uint32_t attempt)
{
	stream->are_axes_due = true;
	for (size_t i = 0; i < stream->series_count; i++) {
		struct own_axis *axis = &stream->series[i]->axis;
		if (!axis->count && !axis->awaited && attempt > 1)
			axis->awaited = attempt;
	}
}

void consume_revise_axis(struct series_state *series, uint32_t attempt)
{
	if (series->axis.count && series->axis.since >= attempt)
		own_axis_done(&series->axis);
	if (series->axis.awaited >= attempt)
		series->axis.awaited = 0;
}

/* Of what stood until the attempt began, what it made again first. NULL: that is not known any more. */
static const struct point *first_made_again(
	const struct series_state *leader, const struct attempt_axis *axis, struct attempt_starts starts)
{
	starts.count = axis->attempt - 1;
	for (size_t i = 0; i < leader->tail_count; i++) {
		const struct point *point = &leader->tail[i];
		if (point->attempt < axis->attempt && point->step >= axis->start && !point_is_superseded(point, starts))
			return point;
	}
	return NULL;
}

/* What the series said with that; where several bear one time, the one in its place among them. */
static const struct point *said_with(
	const struct series_state *series, const struct attempt_axis *axis, const struct point *led)
{
	size_t place = 0;

	for (const struct point *point = axis->leader->tail; point < led; point++)
		place += point->attempt < axis->attempt && point->ts_ms == led->ts_ms;
	for (size_t i = 0; i < series->tail_count; i++) {
		const struct point *point = &series->tail[i];
		if (point->attempt < axis->attempt && point->ts_ms >= led->ts_ms &&
			(point->ts_ms > led->ts_ms || !place--))
			return point;
	}
	return NULL;
}

/*
 * Of an axis that only goes on, as that of rows: it came to new steps where the series that leads made old ones again. What it had said when
 * those were made first was made again with them.
 */
static void cut_with_leader(struct series_state *series, const struct attempt_axis *axis, struct attempt_starts starts)
{
	int64_t *start = &series->axis.starts[axis->attempt - 1];
	const struct point *first = first_of(series, axis->attempt);
	const struct point *next = first ? next_of_leader(axis, first->ts_ms) : NULL;

	if (!next || (double)next->step - (double)axis->start >= axis->redone ||
		first->step <= highest_before(series, axis->attempt))
		return;
	const struct point *led = first_made_again(axis->leader, axis, starts);
	const struct point *own = led ? said_with(series, axis, led) : NULL;
	if (own && own->step < *start)
		*start = own->step;
}

static void settle(struct stream_state *stream, struct series_state *series, struct attempt_starts starts)
{
	size_t count = series->axis.count < starts.count ? series->axis.count : starts.count;

	uint32_t from = series->axis.unsettled > series->axis.since ? series->axis.unsettled : series->axis.since;

	for (uint32_t attempt = from; attempt && attempt <= count; attempt++) {
		struct attempt_axis axis = axis_of_attempt(stream, starts, attempt);
		if (!is_whole(&axis))
			cut_with_leader(series, &axis, starts);
	}
	consume_rebuild_summary(stream, series);
	series->axis.is_moved = false;
	series->axis.unsettled = 0;
}

/* An attempt is judged by the points in it and before it: those before the first that has other ones are as they were. */
static void settle_all(struct stream_state *stream, struct attempt_starts starts)
{
	uint32_t first = UINT32_MAX;

	for (size_t i = 0; i < stream->series_count; i++) {
		struct own_axis *axis = &stream->series[i]->axis;
		if (axis->touched && axis->touched < first)
			first = axis->touched;
		axis->touched = 0;
	}
	for (size_t i = 0; i < stream->series_count; i++) {
		struct own_axis *axis = &stream->series[i]->axis;
		if (!axis->unsettled || first < axis->unsettled)
			axis->unsettled = first;
		if (axis->is_moved)
			settle(stream, stream->series[i], starts);
	}
}

/* 0: none waits for one. */
static uint32_t first_awaited(const struct stream_state *stream)
{
	uint32_t first = 0;

	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_state *series = stream->series[i];
		if (is_waiting(stream, series) && (!first || series->axis.awaited < first))
			first = series->axis.awaited;
	}
	return first;
}

enum status consume_follow_axes(struct stream_state *stream, struct error *err)
{
	struct attempt_starts starts;

	starts.count = extractor_attempt_starts(stream->extractor, &starts.steps);
	if (!starts.count || (starts.count < 2 && !stream->are_axes_due))
		return OK;
	uint32_t from = first_awaited(stream);
	if (from)
		TRY(judge_all(stream, starts, from, err));
	if (stream->are_axes_due)
		TRY(follow(stream, starts, err));
	stream->are_axes_due = false;
	settle_all(stream, starts);
	return OK;
}
