#include "read/charts/schedule_read.h"

#include "base/json/json_read.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/setting_name.h"
#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/charts/rank_0.h"
#include "read/logs/lines.h"
#include "read/view.h"
#include "store/job_facts.h"

#include <math.h>
#include <string.h>

/* ---- settings: those of the document, then those of the log ---- */

struct said_settings {
	const struct json *stated; /* HyperParameters */
	const struct setting_row *rows;
	size_t count;
};

static bool find_setting(void *context, struct span name, struct span *key, struct span *value)
{
	const struct said_settings *said = context;

	for (const struct json *at = json_first(said->stated); at; at = json_next(at)) {
		*key = json_key_of(at);
		*value = json_string_of(at);
		if (setting_name_is(*key, name) && value->len)
			return true;
	}
	for (size_t i = 0; i < said->count; i++) {
		*key = said->rows[i].key;
		*value = said->rows[i].value;
		if (setting_name_is(*key, name))
			return true;
	}
	return false;
}

/* Of the group, and not by one of these names? */
static bool is_other_of(struct span key, struct span group, struct span known)
{
	struct span name;

	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] != '.' || !setting_name_is(span_of(key.ptr, i), group))
			continue;
		struct span rest = span_skip(key, i + 1);
		bool is_known = false;
		while (span_next(&known, ' ', &name))
			is_known |= span_find_char(rest, '.') < 0 && setting_name_is(rest, name);
		return !is_known;
	}
	return false;
}

static bool find_other_setting(void *context, struct span group, struct span known, struct span *key)
{
	const struct said_settings *said = context;

	for (const struct json *at = json_first(said->stated); at; at = json_next(at)) {
		*key = json_key_of(at);
		if (json_string_of(at).len && is_other_of(*key, group, known))
			return true;
	}
	for (size_t i = 0; i < said->count; i++) {
		*key = said->rows[i].key;
		if (is_other_of(*key, group, known))
			return true;
	}
	return false;
}

/* ---- points ---- */

/* Where the prints of a rate are, to read the line of one. */
struct rate_place {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct span job, stream;
};

enum { LINE_BYTES = 64 << 10 };

struct watching {
	struct schedule_report *out;
	struct rate_place place;
	struct lr_watch watch;
	uint64_t every, seen;
	struct schedule_point newest; /* of the rate */
};

/* Once a series. What was deleted says nothing. */
static enum status read_line_of(
	const struct rate_place *place, struct lr_watch *watch, const struct point *point, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct line_view *lines;
	uint64_t total;
	size_t count = 0;

	if (!arena)
		return error_no_memory(err);
	enum status status = lines_read(place->pipeline, place->reader, arena, place->job, place->stream, point->line,
		1, LINE_BYTES, &lines, &count, &total, err);
	if (status == ERR_MEMORY || status == ERR_UNAVAILABLE)
		return status; /* a line that cannot be read is as one that is gone: the points are there */
	lr_watch_read(watch, status == OK && count ? lines[0].text : SPAN(""), point->value);
	return OK;
}

static enum status watch_rate(const struct rate_place *place, struct lr_watch *watch,
	const struct lr_schedule *declared, const struct point *point, struct error *err)
{
	struct lr_print print = {
		point->step, point->ts_ms, lr_schedule_at(declared, (double)point->step), point->value, point->attempt};

	if (!watch->is_line_read && point->line != NO_LINE && isfinite(point->value) && point->value > 0)
		TRY(read_line_of(place, watch, point, err));
	lr_watch_take(watch, declared, &print);
	return OK;
}

static enum status take_rate(void *context, const struct point *point, struct error *err)
{
	struct watching *w = context;
	const struct lr_schedule *declared = &w->out->declared;
	bool is_compared = declared->shape && !w->out->is_counted;
	double step = (double)point->step;
	struct schedule_point at = {.step = point->step,
		.declared = is_compared ? lr_schedule_at(declared, step) : NAN,
		.observed = point->value};

	w->newest = at;
	if (w->seen++ % w->every == 0 && w->out->observed_count < SCHEDULE_OBSERVED_MAX - 1)
		w->out->observed[w->out->observed_count++] = at;
	if (!is_compared)
		return OK;
	TRY(watch_rate(&w->place, &w->watch, declared, point, err));
	w->out->is_loose = w->watch.was_loose;
	if (w->watch.differing == LR_DIFFERS_PRINTS && !w->out->has_difference) {
		const struct lr_print *first = &w->watch.first;
		w->out->has_difference = true;
		w->out->difference = (struct schedule_point){first->step, first->declared, first->observed};
	}
	return OK;
}

static enum status take_norm(void *context, const struct point *point, struct error *err)
{
	struct watching *w = context;

	(void)err;
	if (isnan(point->value))
		return OK;
	w->out->norms++;
	w->out->clipped += point->value > w->out->clip;
	return OK;
}

static void follow(struct schedule_trail *trail, const struct point *point)
{
	double value = point->value;

	if (!isfinite(value))
		return;
	bool is_same_attempt = point->attempt == trail->attempt;
	trail->attempt = point->attempt;
	if (!trail->prints++) {
		trail->first = trail->last = trail->least = trail->most = value;
		return;
	}
	if (value != trail->last) {
		if (trail->change_count < SCHEDULE_CHANGES_MAX)
			trail->changes[trail->change_count] = (struct schedule_change){point->step, value};
		trail->change_count++;
	}
	trail->lowered += is_same_attempt && value < trail->last; /* a restart may begin with another one */
	trail->least = fmin(trail->least, value);
	trail->most = fmax(trail->most, value);
	trail->last = value;
}

static enum status take_scale(void *context, const struct point *point, struct error *err)
{
	struct watching *w = context;

	(void)err;
	follow(&w->out->loss_scale, point);
	return OK;
}

static enum status take_batch(void *context, const struct point *point, struct error *err)
{
	struct watching *w = context;

	(void)err;
	follow(&w->out->batch, point);
	return OK;
}

static enum status walk(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct span stream,
	struct span metric, enum status (*take)(void *context, const struct point *point, struct error *err),
	struct watching *w, struct error *err)
{
	struct chart_query query = {.metric = metric,
		.stream = stream,
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_LIVE};

	return points_read_all(pipeline, reader, job, stream, &query, take, w, err);
}

/* That of rank 0, else the first that has it. */
static const struct stream_view *find_stream(
	const struct job_view *view, struct span rank_0, struct span metric, uint64_t *points)
{
	const struct stream_view *best = NULL;

	for (size_t i = 0; metric.len && i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		for (size_t j = 0; !stream_is_system(stream->name) && j < stream->series_count; j++) {
			if (!span_equal(stream->series[j].metric, metric))
				continue;
			if (best && !span_equal(stream->name, rank_0))
				continue;
			best = stream;
			*points = stream->series[j].summary.count;
		}
	}
	return best;
}

/* The series of rank 0, else of the first stream that has it, whose name ends in one of these words: "train:loss_scale". */
static const struct stream_view *find_named(
	const struct job_view *view, struct span rank_0, const char *names, struct span *metric)
{
	struct span rest = span_from(names), name;
	uint64_t points;

	*metric = SPAN("");
	while (!metric->len && span_next(&rest, ' ', &name))
		for (size_t i = 0; !metric->len && i < view->stream_count; i++)
			for (size_t j = 0; j < view->streams[i].series_count; j++) {
				struct span of = view->streams[i].series[j].metric;
				char before = of.len > name.len ? of.ptr[of.len - name.len - 1] : ':';
				if (span_ends_with(of, name) && (before == ':' || before == '/' || before == '.'))
					*metric = of;
			}
	return find_stream(view, rank_0, *metric, &points);
}

static enum status read_trails(struct pipeline *pipeline, struct store_reader *reader, const struct job_view *view,
	struct span rank_0, struct watching *w, struct error *err)
{
	const struct stream_view *stream = find_named(view, rank_0, "loss_scale", &w->out->loss_scale.metric);

	if (stream)
		TRY(walk(
			pipeline, reader, view->row.name, stream->name, w->out->loss_scale.metric, take_scale, w, err));
	stream = find_named(view, rank_0, "global_batch_size train_batch_size batch_size", &w->out->batch.metric);
	return stream ? walk(pipeline, reader, view->row.name, stream->name, w->out->batch.metric, take_batch, w, err)
		      : OK;
}

static enum status declare(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	struct schedule_report *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct job_progress progress;
	struct setting_row *rows;
	size_t count;

	TRY(json_parse(&document, row->document, err));
	TRY(by_hand_settle_settings(document, err));
	TRY(store_read_settings(reader, arena, row->job_id, &rows, &count, err));
	TRY(store_read_progress(reader, arena, row->job_id, &progress, err));
	struct said_settings said = {json_get(document, "HyperParameters"), rows, count};
	struct lr_settings settings = {find_setting, find_other_setting, &said};
	lr_schedule_declare(&settings, (double)progress.total_steps, &out->declared);
	out->clip_from = SPAN("");
	out->clip = lr_find_clip(&settings, &out->clip_from);
	/* the document is gone when this returns */
	out->ramp = out->ramp_from = SPAN("");
	if (!find_setting(&said, SPAN("rampup_batch_size"), &out->ramp_from, &out->ramp))
		out->ramp = out->ramp_from = SPAN("");
	enum { KEYS = 11 };
	struct lr_schedule *s = &out->declared;
	struct span *keys[KEYS + LR_NOT_UNDERSTOOD_MAX] = {&s->shape_from, &s->initial_from, &s->peak_from,
		&s->least_from, &s->warmup_from, &s->decay_from, &s->total_from, &out->clip_from, &out->ramp,
		&out->ramp_from, &s->skips_from};
	for (size_t i = 0; i < s->not_understood_count; i++)
		keys[KEYS + i] = &s->not_understood[i];
	for (size_t i = 0; i < KEYS + s->not_understood_count; i++) {
		*keys[i] = arena_copy(arena, *keys[i]);
		if (!keys[i]->ptr)
			return error_no_memory(err);
	}
	return OK;
}

enum status schedule_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct schedule_report *out, struct error *err)
{
	struct watching w = {.out = out, .every = 1};
	struct rank_0 rank_0;
	struct job_view view;
	uint64_t points = 0;

	*out = (struct schedule_report){
		.metric = SPAN(""), .norm_metric = SPAN(""), .loss_scale.metric = SPAN(""), .batch.metric = SPAN("")};
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(declare(reader, arena, &view.row, out, err));
	TRY(rank_0_find(reader, arena, &view, &rank_0, err));
	TRY(main_series_find(reader, arena, &view, ROLE_LEARNING_RATE, &out->metric, err));
	TRY(main_series_find(reader, arena, &view, ROLE_GRAD_NORM, &out->norm_metric, err));
	out->observed = arena_alloc(arena, SCHEDULE_OBSERVED_MAX * sizeof *out->observed);
	if (!out->observed)
		return error_no_memory(err);
	const struct stream_view *stream = find_stream(&view, rank_0.stream, out->metric, &points);
	out->is_counted = stream && stream_view_counts(stream, out->metric);
	w.every = points / (SCHEDULE_OBSERVED_MAX - 1) + 1;
	if (stream) {
		w.place = (struct rate_place){pipeline, reader, job, stream->name};
		TRY(walk(pipeline, reader, job, stream->name, out->metric, take_rate, &w, err));
	}
	if (w.seen && out->observed[out->observed_count - 1].step != w.newest.step) /* where a decay ended */
		out->observed[out->observed_count++] = w.newest;
	stream = find_stream(&view, rank_0.stream, out->norm_metric, &points);
	if (stream && !isnan(out->clip))
		TRY(walk(pipeline, reader, job, stream->name, out->norm_metric, take_norm, &w, err));
	return read_trails(pipeline, reader, &view, rank_0.stream, &w, err);
}

/* Values alone: where they are from does not matter. */
static bool is_same(const struct lr_schedule *a, const struct lr_schedule *b)
{
	const double numbers[][2] = {{a->initial, b->initial}, {a->peak, b->peak}, {a->least, b->least},
		{a->warmup, b->warmup}, {a->decay, b->decay}, {a->total, b->total}, {a->may_skip, b->may_skip}};

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (memcmp(&numbers[i][0], &numbers[i][1], sizeof(double)) != 0)
			return false;
	return a->shape == b->shape;
}

static enum status read_on(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct span stream,
	const struct schedule_report *report, struct schedule_progress *progress, bool *is_end, struct error *err)
{
	struct chart_query query = {.metric = report->metric,
		.stream = stream,
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_LIVE};
	AUTO(arena) own = arena_new();
	struct points_batch batch;

	if (!own)
		return error_no_memory(err);
	TRY(points_read(pipeline, reader, own, job, stream, &query, progress->ordinal, &batch, err));
	*is_end = batch.is_end;
	if (progress->ordinal &&
		(batch.generation != progress->generation || batch.series_base != progress->series_base)) {
		*progress = (struct schedule_progress){.declared = progress->declared,
			.stream_id = progress->stream_id,
			.series_id = progress->series_id};
		*is_end = false;
		return OK;
	}
	progress->generation = batch.generation;
	progress->series_base = batch.series_base;
	struct rate_place place = {pipeline, reader, job, stream};
	for (size_t i = 0; i < batch.count; i++)
		TRY(watch_rate(&place, &progress->watch, &report->declared, &batch.points[i], err));
	progress->ordinal = batch.next_ordinal;
	return OK;
}

/* Rank 0 may come later than others, and its ordinals are its own. */
static void begin_series(struct schedule_progress *progress, const struct stream_view *stream, struct span metric)
{
	const struct series_view *series = stream_view_find(stream, metric);
	uint32_t series_id = series ? series->series_id : 0;

	if (progress->stream_id == stream->stream_id && progress->series_id == series_id)
		return;
	*progress = (struct schedule_progress){
		.declared = progress->declared, .stream_id = stream->stream_id, .series_id = series_id};
}

enum status schedule_go_on(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct schedule_progress *progress, struct schedule_report *out, struct error *err)
{
	struct rank_0 rank_0;
	struct job_view view;
	uint64_t points = 0;
	bool is_end = false;

	*out = (struct schedule_report){
		.metric = SPAN(""), .norm_metric = SPAN(""), .loss_scale.metric = SPAN(""), .batch.metric = SPAN("")};
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(declare(reader, arena, &view.row, out, err));
	if (!is_same(&out->declared, &progress->declared))
		*progress = (struct schedule_progress){.declared = out->declared};
	if (!out->declared.shape)
		return OK;
	TRY(rank_0_find(reader, arena, &view, &rank_0, err));
	TRY(main_series_find(reader, arena, &view, ROLE_LEARNING_RATE, &out->metric, err));
	const struct stream_view *stream = find_stream(&view, rank_0.stream, out->metric, &points);
	if (stream && stream_view_counts(stream, out->metric))
		return OK;
	if (stream)
		begin_series(progress, stream, out->metric);
	while (stream && !is_end)
		TRY(read_on(pipeline, reader, job, stream->name, out, progress, &is_end, err));
	return OK;
}
