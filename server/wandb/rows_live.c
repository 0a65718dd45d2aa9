#include "wandb/rows_live.h"

#include "read/charts/points_walk.h"

#include <math.h>

struct finding {
	struct rows_watch *watch;
	const int64_t *lows; /* by attempt: the lowest step that a later one began at */
	int64_t *ends;
	bool *has_kept; /* by attempt: one of its rows */
	size_t count;
};

/* As extract/sent.h has it: the first of a loss, else the first of all. */
static size_t find_leader(const struct stream_view *stream)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i].role == ROLE_LOSS)
			return i;
	return 0;
}

static void find_lows(const struct stream_view *stream, int64_t *lows)
{
	int64_t low = INT64_MAX;

	for (size_t i = stream->attempt_start_count; i-- > 0;) {
		lows[i] = low;
		low = stream->attempt_starts[i] < low ? stream->attempt_starts[i] : low;
	}
}

/*
 * Rows up to the last one whose axis stands before what was made again are kept: also if the axis started over in between, as that of an
 * epoch does. A row that does not say the axis goes with the one before it.
 */
static enum status take_axis(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	const struct finding *finding = context;
	size_t at = point->attempt ? point->attempt - 1 : 0;

	(void)stream;
	(void)series;
	(void)x;
	TRY(rows_watch_point(finding->watch, err));
	if (point->line != NO_LINE || at >= finding->count || finding->lows[at] == INT64_MAX ||
		point->value != floor(point->value))
		return OK;
	if (point->value < (double)finding->lows[at]) {
		finding->has_kept[at] = true;
		finding->ends[at] = INT64_MAX;
	} else if (finding->ends[at] == INT64_MAX) {
		finding->ends[at] = finding->has_kept[at] ? point->step : INT64_MIN;
	}
	return OK;
}

enum status rows_live_find(struct wandb_call *call, struct job_view *view, const int32_t *axes,
	struct rows_watch *watch, struct rows_live *out, struct error *err)
{
	const struct stream_view *stream = &view->streams[0];
	size_t count = stream->attempt_start_count;
	int32_t axis = axes[find_leader(stream)];

	*out = (struct rows_live){.count = 0}; /* all of them */
	if (count < 2)
		return OK;
	int64_t *lows = arena_alloc(call->arena, (count + 1) * sizeof *lows);
	int64_t *ends = arena_alloc(call->arena, (count + 1) * sizeof *ends);
	bool *has_kept = arena_alloc(call->arena, count + 1);
	if (!lows || !ends || !has_kept)
		return error_no_memory(err);
	find_lows(stream, lows);
	*out = (struct rows_live){axis == ROWS_NO_AXIS ? lows : ends, count};
	if (axis == ROWS_NO_AXIS)
		return OK;
	for (size_t i = 0; i < count; i++) {
		ends[i] = INT64_MAX;
		has_kept[i] = false;
	}
	struct finding finding = {watch, lows, ends, has_kept, count};
	const struct chart_query query = {.metric = stream->series[axis].metric,
		.stream = SPAN(WANDB_STREAM),
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_ALL};
	return points_walk_all(call->reader, call->arena, view, &query, take_axis, &finding, err);
}
