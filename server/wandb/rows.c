#include "wandb/rows.h"

#include "model/metrics/batch_series.h"
#include "pipeline/life/log_end.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "state/streams/directory.h"
#include "store/jobs.h"
#include "wandb/rows_live.h"
#include "wandb/rows_watch.h"

#include <math.h>
#include <stdlib.h>

struct reading {
	struct wandb_call *call;
	const struct history_rows_query *query;
	struct history_rows *out;
	struct arena *arena; /* of the view */
	struct job_view view;
	int32_t *axes; /* of each series: that it has as its own; ROWS_NO_AXIS: it is by the rows' steps */
	bool *is_asked;
	const struct history_rows_cell *picks; /* rows that stand for all; NULL: all */
	size_t pick_count;
	uint32_t at; /* the series at work */
	struct rows_index *index; /* of the rows that are asked for */
	bool has_strange; /* one of the keys is no metric of the run */
	uint64_t passed, total;
	struct rows_watch watch;
	struct rows_live live;
};

/* ---- series ---- */

static int32_t find_series(const struct stream_view *stream, struct span name)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (span_equal(stream->series[i].metric, name))
			return (int32_t)i;
	return ROWS_NO_AXIS;
}

static struct span axis_name_of(const struct history_axis *axes, size_t count, struct span metric)
{
	for (size_t i = 0; i < count; i++)
		if (history_axis_fits(&axes[i], metric))
			return axes[i].axis;
	return SPAN("");
}

static bool is_in_circle(const int32_t *axes, size_t count, size_t series)
{
	int32_t at = axes[series];

	for (size_t n = 0; n < count && at != ROWS_NO_AXIS && at != (int32_t)series; n++)
		at = axes[at];
	return at == (int32_t)series;
}

/* Rows are counted by what counts itself, as the axis of define_metric("*"): so is what has that as its axis. */
static void cut_circles(const struct reading *r, const int32_t *axes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_of_rows = axes[i] == ROWS_NO_AXIS || is_in_circle(axes, count, (size_t)axes[i]);
		r->axes[i] = is_of_rows ? ROWS_NO_AXIS : axes[i];
	}
}

/* A value is found by its axis, that by its own, to what the rows are counted by. */
static void find_asked(struct reading *r)
{
	const struct stream_view *stream = &r->view.streams[0];

	for (size_t i = 0; i < stream->series_count; i++)
		r->is_asked[i] = !r->query->keys;
	for (size_t i = 0; r->query->keys && i < r->query->key_count; i++) {
		int32_t at = find_series(stream, r->query->keys[i]);
		r->has_strange |= at == ROWS_NO_AXIS;
		for (; at != ROWS_NO_AXIS; at = r->axes[at])
			r->is_asked[at] = true;
	}
}

static enum status find_axes(struct reading *r, const struct tracked_run_row *run, struct error *err)
{
	const struct stream_view *stream = &r->view.streams[0];
	struct history_axis *axes;
	size_t count;

	TRY(wandb_read_axes(r->call, run->job_id, &axes, &count, err));
	int32_t *stated = arena_alloc(r->arena, (stream->series_count + 1) * sizeof *stated);
	r->axes = arena_alloc(r->arena, (stream->series_count + 1) * sizeof *r->axes);
	r->is_asked = arena_alloc(r->arena, stream->series_count + 1);
	if (!stated || !r->axes || !r->is_asked)
		return error_no_memory(err);
	for (size_t i = 0; i < stream->series_count; i++) {
		struct span name = axis_name_of(axes, count, stream->series[i].metric);
		stated[i] = name.len ? find_series(stream, name) : ROWS_NO_AXIS;
	}
	cut_circles(r, stated, stream->series_count);
	find_asked(r);
	return OK;
}

/* What the log's lines say stands beside in the same stream. Runs of before that was noted have no series that is told: the points tell them apart. */
static void keep_told(struct stream_view *stream)
{
	size_t kept = 0;
	bool has_told = false;

	for (size_t i = 0; i < stream->series_count; i++)
		has_told |= stream->series[i].is_told;
	for (size_t i = 0; i < stream->series_count; i++)
		if (!series_is_derived(stream->series[i].series_id) && (stream->series[i].is_told || !has_told))
			stream->series[kept++] = stream->series[i];
	stream->series_count = kept;
}

/* False: the run has logged nothing. */
static enum status open_view(struct reading *r, const struct tracked_run_row *run, bool *has_any, struct error *err)
{
	struct job_row job;

	*has_any = false;
	TRY(store_read_job_by_id(r->call->reader, r->arena, run->job_id, &job, err));
	TRY(log_end_await(r->call->pipeline, job.name, err));
	enum status status = view_read_job(r->call->pipeline, r->call->reader, r->arena, job.name, SPAN(WANDB_STREAM),
		SPAN(""), VIEW_SERIES | VIEW_TAILS, &r->view, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	if (r->view.stream_count)
		keep_told(&r->view.streams[0]);
	*has_any = r->view.stream_count && r->view.streams[0].series_count;
	return OK;
}

/* ---- points ---- */

/* Of the series at work, and logged: a metric that is told may be printed, too. */
static bool is_its(const struct reading *r, const struct stream_view *stream, const struct series_view *series,
	const struct point *point)
{
	return series == &stream->series[r->at] && point->line == NO_LINE;
}

/* The same in a row that was not made again since. */
static bool is_live(const struct reading *r, const struct stream_view *stream, const struct series_view *series,
	const struct point *point)
{
	return is_its(r, stream, series, point) && rows_live_has(&r->live, point);
}

static enum status add_cell(struct reading *r, const struct history_rows_cell *cell, struct error *err)
{
	struct history_rows *rows = r->out;

	if (rows->count >= r->call->options->max_values)
		return error_set(err, ERR_SEMANTIC,
			"the answer has more than %zu values (--max-wandb-values): ask for fewer steps a page (page_size), "
			"or for some keys",
			r->call->options->max_values);
	if (!mem_grow((void **)&rows->cells, rows->count, &rows->cap, sizeof *rows->cells))
		return error_no_memory(err);
	rows->cells[rows->count++] = *cell;
	return OK;
}

static int by_place(const void *left, const void *right)
{
	const struct history_rows_cell *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->ts_ms != b->ts_ms)
		return a->ts_ms < b->ts_ms ? -1 : 1;
	return (a->series > b->series) - (a->series < b->series);
}

static bool is_picked(const struct reading *r, const struct point *point)
{
	size_t low = 0, high = r->pick_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct history_rows_cell *pick = &r->picks[middle];
		if (pick->step < point->step || (pick->step == point->step && pick->ts_ms < point->ts_ms))
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->pick_count && r->picks[low].step == point->step && r->picks[low].ts_ms == point->ts_ms;
}

static enum status take_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct reading *r = context;

	(void)x;
	TRY(rows_watch_point(&r->watch, err));
	if (!is_live(r, stream, series, point) || (r->picks && !is_picked(r, point)))
		return OK;
	return add_cell(r, &(struct history_rows_cell){point->step, point->ts_ms, r->at, point->value}, err);
}

static enum status each_point(
	struct reading *r, uint32_t series, const struct chart_query *range, points_walk_take *take, struct error *err)
{
	struct chart_query query = *range;

	r->at = series;
	query.metric = r->view.streams[0].series[series].metric;
	query.stream = SPAN(WANDB_STREAM);
	query.attempts = ATTEMPTS_ALL; /* rows_live tells: rows are live as a whole */
	return points_walk_all(r->call->reader, r->arena, &r->view, &query, take, r, err);
}

static struct chart_query steps_of(const struct reading *r)
{
	return (struct chart_query){.axis = AXIS_STEP, .from = r->query->first_step, .to = r->query->last_step};
}

static enum status take_plain(struct reading *r, struct error *err)
{
	const struct chart_query range = steps_of(r);

	for (uint32_t i = 0; i < r->view.streams[0].series_count; i++)
		if (r->is_asked[i] && r->axes[i] == ROWS_NO_AXIS)
			TRY(each_point(r, i, &range, take_point, err));
	return OK;
}

/* ---- rows that stand for all ---- */

/* Of the keys the rarest, else what was logged most. */
static uint32_t find_base(const struct reading *r)
{
	const struct stream_view *stream = &r->view.streams[0];
	uint32_t base = 0;
	uint64_t points = 0;

	for (uint32_t i = 0; i < stream->series_count; i++) {
		uint64_t count = stream->series[i].summary.count;
		bool is_better = r->query->keys ? count < points : count > points;
		if (r->is_asked[i] && r->axes[i] == ROWS_NO_AXIS && (!points || is_better)) {
			base = i;
			points = count;
		}
	}
	return base;
}

static enum status count_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct reading *r = context;

	(void)x;
	r->total += is_live(r, stream, series, point);
	return rows_watch_point(&r->watch, err);
}

/* The k-th of so many, with the first and the last one. */
static uint64_t place_of(const struct reading *r, uint64_t k)
{
	size_t most = r->query->samples;

	return most == 1 ? r->total - 1 : (uint64_t)llrint((double)k * (double)(r->total - 1) / (double)(most - 1));
}

static enum status pick_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct reading *r = context;

	(void)x;
	TRY(rows_watch_point(&r->watch, err));
	if (!is_live(r, stream, series, point) || r->out->count >= r->query->samples ||
		r->passed++ != place_of(r, r->out->count))
		return OK;
	return add_cell(r, &(struct history_rows_cell){point->step, point->ts_ms, r->at, point->value}, err);
}

/* The points of one series say which rows: it is read twice, so that no more than these is held. */
static enum status pick_rows(struct reading *r, struct error *err)
{
	const struct chart_query range = steps_of(r);
	struct history_rows *rows = r->out;

	uint32_t base = find_base(r);
	TRY(each_point(r, base, &range, count_point, err));
	if (r->total <= r->query->samples)
		return OK;
	TRY(each_point(r, base, &range, pick_point, err));
	struct history_rows_cell *picks = arena_alloc(r->arena, (rows->count + 1) * sizeof *picks);
	if (!picks)
		return error_no_memory(err);
	memcpy(picks, rows->cells, rows->count * sizeof *picks);
	qsort(picks, rows->count, sizeof *picks, by_place);
	r->picks = picks;
	r->pick_count = rows->count;
	rows->count = 0;
	return OK;
}

/* ---- values with an axis of their own ---- */

static enum status take_axis(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct reading *r = context;

	(void)x;
	TRY(rows_watch_point(&r->watch, err));
	if (!is_its(r, stream, series, point) || !rows_index_has_time(r->index, point->ts_ms))
		return OK;
	return rows_index_add_axis(
		r->index, &(struct history_rows_cell){point->step, point->ts_ms, r->at, point->value}, err);
}

static enum status take_beside(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct reading *r = context;

	(void)x;
	TRY(rows_watch_point(&r->watch, err));
	if (!is_its(r, stream, series, point))
		return OK;
	int64_t step = rows_index_find(r->index, r->axes, r->at, point->ts_ms, point->step);
	return step == NO_STEP ? OK
			       : add_cell(r, &(struct history_rows_cell){step, point->ts_ms, r->at, point->value}, err);
}

static bool is_axis(const struct reading *r, size_t series)
{
	for (size_t i = 0; i < r->view.streams[0].series_count; i++)
		if (r->is_asked[i] && r->axes[i] == (int32_t)series)
			return true;
	return false;
}

/* Their axes are read by time, too: a row that is not asked for may have the time of one that is. */
static enum status take_by_index(struct reading *r, struct rows_index *index, struct error *err)
{
	const struct chart_query range = {
		.axis = AXIS_TIME, .from = index->rows[0].ts_ms, .to = index->rows[index->row_count - 1].ts_ms};

	r->index = index;
	for (uint32_t i = 0; i < r->view.streams[0].series_count; i++)
		if (is_axis(r, i))
			TRY(each_point(r, i, &range, take_axis, err));
	rows_index_sort(index);
	for (uint32_t i = 0; i < r->view.streams[0].series_count; i++)
		if (r->is_asked[i] && r->axes[i] != ROWS_NO_AXIS)
			TRY(each_point(r, i, &range, take_beside, err));
	return OK;
}

static enum status take_all_beside(struct reading *r, struct error *err)
{
	AUTO_DONE(rows_index) index = {0};

	if (!r->out->count)
		return OK;
	TRY(rows_index_init(&index, r->out->cells, r->out->count, err));
	enum status status = take_by_index(r, &index, err);
	r->index = NULL;
	return status;
}

/* ---- rows ---- */

size_t history_rows_end(const struct history_rows *rows, size_t at)
{
	size_t end = at;

	while (end < rows->count && rows->cells[end].step == rows->cells[at].step &&
		rows->cells[end].ts_ms == rows->cells[at].ts_ms)
		end++;
	return end;
}

static bool is_key(const struct reading *r, uint32_t series)
{
	for (size_t i = 0; i < r->query->key_count; i++)
		if (span_equal(r->out->series[series].metric, r->query->keys[i]))
			return true;
	return false;
}

/* Rows that lack one of the keys go, and what is none of them. */
static void keep_keys(const struct reading *r)
{
	struct history_rows *rows = r->out;
	size_t kept = 0;

	for (size_t at = 0, end; at < rows->count; at = end) {
		size_t begin = kept;
		end = history_rows_end(rows, at);
		for (size_t i = at; i < end; i++)
			if (is_key(r, rows->cells[i].series) &&
				(kept == begin || rows->cells[kept - 1].series != rows->cells[i].series))
				rows->cells[kept++] = rows->cells[i];
		if (kept - begin < r->query->key_count)
			kept = begin;
	}
	rows->count = kept;
}

/* More than are asked: some of them, with the first and the last. */
static void thin_out(struct reading *r)
{
	struct history_rows *rows = r->out;
	uint64_t row = 0, picked = 0;
	size_t kept = 0;

	r->total = 0;
	for (size_t at = 0; at < rows->count; at = history_rows_end(rows, at))
		r->total++;
	if (!r->query->samples || r->total <= r->query->samples)
		return;
	for (size_t at = 0, end; at < rows->count; at = end, row++) {
		end = history_rows_end(rows, at);
		if (picked >= r->query->samples || row != place_of(r, picked))
			continue;
		picked++;
		memmove(rows->cells + kept, rows->cells + at, (end - at) * sizeof *rows->cells);
		kept += end - at;
	}
	rows->count = kept;
}

static enum status read_rows(struct reading *r, const struct tracked_run_row *run, struct error *err)
{
	struct history_rows *rows = r->out;

	TRY(find_axes(r, run, err));
	if (r->has_strange)
		return OK; /* no row has all of the keys */
	TRY(rows_live_find(r->call, &r->view, r->axes, &r->watch, &r->live, err));
	rows->series = r->view.streams[0].series;
	if (r->query->samples)
		TRY(pick_rows(r, err));
	TRY(take_plain(r, err));
	TRY(take_all_beside(r, err));
	if (rows->count)
		qsort(rows->cells, rows->count, sizeof *rows->cells, by_place);
	if (r->query->keys)
		keep_keys(r);
	thin_out(r);
	return OK;
}

enum status history_rows_read(struct wandb_call *call, const struct tracked_run_row *run,
	const struct history_rows_query *query, struct history_rows *out, struct error *err)
{
	struct reading r = {
		.call = call, .query = query, .out = out, .arena = call->arena, .watch = rows_watch_begin(call)};
	bool has_any;

	*out = (struct history_rows){.start_ms = run->start_ms};
	TRY(open_view(&r, run, &has_any, err));
	return has_any && query->first_step <= query->last_step ? read_rows(&r, run, err) : OK;
}

void history_rows_done(struct history_rows *rows)
{
	mem_free(rows->cells);
}

void history_rows_write_row(const struct history_rows *rows, size_t at, size_t end, struct json_writer *w)
{
	const struct history_rows_cell *first = &rows->cells[at];

	json_object(w);
	json_put_i64(w, "_step", first->step);
	json_put_double(w, "_timestamp", (double)first->ts_ms / 1000);
	json_put_double(w, "_runtime", (double)(first->ts_ms - rows->start_ms) / 1000);
	for (size_t i = at; i < end; i++) {
		if (i + 1 < end && rows->cells[i + 1].series == rows->cells[i].series)
			continue; /* the last one counts */
		json_key_span(w, rows->series[rows->cells[i].series].metric);
		json_double(w, rows->cells[i].value);
	}
	json_object_end(w);
}

enum status history_rows_read_keys(struct wandb_call *call, const struct tracked_run_row *run, int64_t *last,
	const struct series_view **series, size_t *count, struct error *err)
{
	const struct history_rows_query all = {.first_step = 0};
	struct reading r = {.call = call, .query = &all, .arena = call->arena};
	bool has_any;

	*last = -1;
	*count = 0;
	TRY(open_view(&r, run, &has_any, err));
	if (!has_any)
		return OK;
	TRY(find_axes(&r, run, err));
	*series = r.view.streams[0].series;
	*count = r.view.streams[0].series_count;
	for (size_t i = 0; i < *count; i++)
		if (r.axes[i] == ROWS_NO_AXIS && (*series)[i].max_step > *last)
			*last = (*series)[i].max_step;
	return OK;
}
