#include "prometheus/series.h"

#include "ingest/ingest.h"
#include "prometheus/jobs.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "store/pack/chunk.h"
#include "state/streams/job_view.h"
#include "store/stream_hosts.h"

#include <stdlib.h>

enum { BEGINS_MS = 15 * 60 * 1000 }; /* after its start: a training loads, and says nothing yet */

struct window { /* in which a training was on a host */
	struct span host;
	int64_t from_ms, to_ms;
};

struct windows {
	struct window *at;
	size_t count, cap;
};

struct walk {
	struct series_reading *reading;
	const struct series_asked *asked;
	struct arena *arena; /* of the result */
	struct arena *job_arena; /* of the job at hand: labels of what is not asked for go with it */
	series_take *take;
	void *context;
	bool names_training; /* a matcher wants the label: host series are cut to trainings, and are not given as they are */
	/* of the series at hand */
	struct span training;
	const struct window *times; /* in one of which its points lie, in order; of all of them, one series */
	size_t time_count;
	struct zstd *zstd;
	struct point *chunk;
};

/* ---- points ---- */

static enum status keep_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct walk *walk = context;
	struct series_reading *reading = walk->reading;

	(void)stream;
	(void)series;
	(void)x;
	TRY(budget_take(reading->budget, 1, err));
	if (!mem_grow((void **)&reading->points, reading->point_count, &reading->point_cap, sizeof *reading->points))
		return error_no_memory(err);
	reading->points[reading->point_count++] = (struct prom_point){point->ts_ms, point->value};
	return OK;
}

static int by_time(const void *left, const void *right)
{
	const struct prom_point *a = left, *b = right;

	return (a->ts_ms > b->ts_ms) - (a->ts_ms < b->ts_ms);
}

/* By time; of several of one time the last, as a loop faster than its clock means it: Prometheus' series has one. */
static void order_points(struct series_reading *reading)
{
	struct prom_point *points = reading->points;
	bool is_ordered = true;
	size_t kept = 0;

	for (size_t i = 1; i < reading->point_count && is_ordered; i++)
		is_ordered = points[i - 1].ts_ms <= points[i].ts_ms;
	if (!is_ordered)
		qsort(points, reading->point_count, sizeof *points, by_time);
	for (size_t i = 0; i < reading->point_count; i++)
		if (kept && points[kept - 1].ts_ms == points[i].ts_ms)
			points[kept - 1] = points[i];
		else
			points[kept++] = points[i];
	reading->point_count = kept;
}

/* The part of a window that is asked for and in which the series has points. False: none. */
static bool cut_window(
	const struct walk *walk, const struct window *window, const struct series_view *series, struct window *out)
{
	const struct series_asked *asked = walk->asked;

	*out = *window;
	out->from_ms = asked->from_ms > window->from_ms ? asked->from_ms : window->from_ms;
	out->to_ms = asked->to_ms < window->to_ms ? asked->to_ms : window->to_ms;
	return out->from_ms <= out->to_ms && series->max_ms >= out->from_ms && series->min_ms <= out->to_ms;
}

static bool has_points(const struct walk *walk, const struct series_view *series)
{
	struct window cut;

	for (size_t i = 0; i < walk->time_count && (series->sealed_points || series->tail_count); i++)
		if (cut_window(walk, &walk->times[i], series, &cut))
			return true;
	return false;
}

static enum status load_window(struct walk *walk, const struct job_view *view, const struct stream_view *stream,
	const struct series_view *series, const struct window *window, struct error *err)
{
	struct chart_query query = {
		.axis = AXIS_TIME, .from = window->from_ms, .to = window->to_ms, .attempts = ATTEMPTS_ALL};
	struct points_walk points = {.reader = walk->reading->reader,
		.view = view,
		.query = &query,
		.take = keep_point,
		.context = walk,
		.zstd = walk->zstd,
		.skips = true};

	return points_walk_series(&points, stream, series, 0, walk->chunk, err);
}

static enum status load(struct walk *walk, const struct job_view *view, const struct stream_view *stream,
	const struct series_view *series, struct error *err)
{
	struct window cut;

	walk->reading->point_count = 0;
	for (size_t i = 0; i < walk->time_count; i++)
		if (cut_window(walk, &walk->times[i], series, &cut))
			TRY(load_window(walk, view, stream, series, &cut, err));
	order_points(walk->reading);
	return OK;
}

/* ---- series of one job ---- */

static enum status take_series(struct walk *walk, const struct job_view *view, const struct stream_view *stream,
	const struct series_view *series, struct error *err)
{
	struct labels_source from = {series->metric, walk->training, stream->name};
	struct prom_labels labels, kept;
	bool fits;

	if (!has_points(walk, series))
		return OK;
	TRY(budget_check(walk->reading->budget, err)); /* a pattern may cost much of each */
	TRY(labels_of(&labels, &from, walk->job_arena, err));
	const struct matchers matchers = {walk->asked->matchers, walk->asked->matcher_count, walk->reading->scratch};
	TRY(labels_fit(&labels, &matchers, &fits, err));
	if (!fits)
		return OK;
	TRY(budget_take(walk->reading->budget, 1 + labels_bytes(&labels) / PROM_POINT_BYTES, err));
	if (walk->asked->needs_points) {
		TRY(load(walk, view, stream, series, err));
		if (!walk->reading->point_count)
			return OK;
	}
	TRY(labels_clone(&kept, &labels, walk->arena, err));
	return walk->take(walk->context, &kept, err);
}

/* HOST or HOST/SCRAPE_JOB */
static struct span host_of(struct span stream)
{
	ptrdiff_t slash = span_find_char(stream, '/');

	return slash < 0 ? stream : span_of(stream.ptr, (size_t)slash);
}

static enum status walk_stream(struct walk *walk, const struct job_view *view, const struct stream_view *stream,
	const struct window *times, size_t count, struct error *err)
{
	walk->times = times;
	walk->time_count = count;
	for (size_t i = 0; i < stream->series_count; i++)
		TRY(take_series(walk, view, stream, &stream->series[i], err));
	return OK;
}

static enum status walk_job(struct walk *walk, const struct job_view *view, struct error *err)
{
	struct window all = {SPAN(""), walk->asked->from_ms, walk->asked->to_ms};

	walk->training = jobs_is_of_machines(view->row.name) ? SPAN("") : view->row.name;
	for (size_t i = 0; i < view->stream_count; i++)
		TRY(walk_stream(walk, view, &view->streams[i], &all, 1, err));
	return OK;
}

static enum status read_view(
	struct walk *walk, struct arena *arena, struct span job, struct job_view *view, struct error *err)
{
	enum status status = view_read_job(walk->reading->pipeline, walk->reading->reader, arena, job, SPAN(""),
		SPAN(""), VIEW_SERIES | VIEW_TAILS, view, err);

	if (status != ERR_NOT_FOUND) /* deleted meanwhile: it has none */
		return status;
	*view = (struct job_view){0};
	return OK;
}

/* ---- what machines measured while a training was on them ---- */

static const struct stream_view *find_stream(const struct job_view *view, uint32_t stream_id)
{
	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].stream_id == stream_id)
			return &view->streams[i];
	return NULL;
}

/* What begins with the training was on its machine before its first line; a machine that joins later was another's until then. */
static int64_t begin_of(const struct job_view *view, const struct stream_host_row *row)
{
	const struct stream_view *stream = find_stream(view, row->stream_id);

	if (row->from_ms)
		return row->from_ms;
	return stream && stream->first_ms > view->row.started_ms + BEGINS_MS ? stream->first_ms : view->row.started_ms;
}

/* A training that has ended is on no machine, whatever the ledger's last row says. */
static int64_t end_of(const struct job_view *view, const struct stream_host_row *row)
{
	if (row->until_ms)
		return row->until_ms;
	if (view->row.ended_ms)
		return view->row.ended_ms;
	if (span_equal(view->row.status, SPAN("InProgress")))
		return INT64_MAX;
	const struct stream_view *stream = find_stream(view, row->stream_id);
	return stream ? stream->last_ms : 0;
}

static enum status find_windows(
	struct walk *walk, const struct job_view *view, struct arena *arena, struct windows *out, struct error *err)
{
	struct stream_host_row *rows;
	size_t count;

	TRY(store_read_stream_hosts(walk->reading->reader, arena, view->row.job_id, 0, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (!rows[i].host.len)
			continue;
		if (!mem_grow((void **)&out->at, out->count, &out->cap, sizeof *out->at))
			return error_no_memory(err);
		out->at[out->count++] = (struct window){rows[i].host, begin_of(view, &rows[i]), end_of(view, &rows[i])};
	}
	return OK;
}

static int by_host(const void *left, const void *right)
{
	const struct window *a = left, *b = right;
	int order = span_compare(a->host, b->host);

	return order ? order : (a->from_ms > b->from_ms) - (a->from_ms < b->from_ms);
}

/* By machine and time. Several streams of one training on one machine: their time there is one. */
static void join_windows(struct windows *windows)
{
	size_t kept = 0;

	if (windows->count)
		qsort(windows->at, windows->count, sizeof *windows->at, by_host);
	for (size_t i = 0; i < windows->count; i++) {
		const struct window *one = &windows->at[i];
		struct window *last = kept ? &windows->at[kept - 1] : NULL;
		if (!last || !span_equal(last->host, one->host) || one->from_ms > last->to_ms)
			windows->at[kept++] = *one;
		else if (one->to_ms > last->to_ms)
			last->to_ms = one->to_ms;
	}
	windows->count = kept;
}

/* All times of the training on the machine are one series: it may have come back within the time for which a value counts. */
static enum status walk_machine(struct walk *walk, const struct job_view *machines, const struct stream_view *stream,
	const struct windows *windows, struct error *err)
{
	struct span host = host_of(stream->name);
	size_t first = 0, count = 0;

	while (first < windows->count && !span_equal(windows->at[first].host, host))
		first++;
	while (first + count < windows->count && span_equal(windows->at[first + count].host, host))
		count++;
	return count ? walk_stream(walk, machines, stream, &windows->at[first], count, err) : OK;
}

static enum status walk_machines_of(
	struct walk *walk, const struct job_view *training, const struct windows *windows, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(1024);
	struct arena *arena = walk->job_arena;
	struct job_view view;

	buf_append_text(&name, INGEST_MACHINES_JOB);
	if (training->row.team.len) {
		buf_append_char(&name, '/');
		buf_append_span(&name, training->row.team);
	}
	/* of a team, those of the whole house, too */
	for (int i = 0; i < 1 + (training->row.team.len != 0); i++) {
		TRY(read_view(walk, arena, i ? SPAN(INGEST_MACHINES_JOB) : buf_span(&name), &view, err));
		walk->training = training->row.name;
		for (size_t j = 0; j < view.stream_count; j++)
			TRY(walk_machine(walk, &view, &view.streams[j], windows, err));
	}
	return OK;
}

static enum status walk_hosts(struct walk *walk, const struct job_view *view, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct windows windows = {0};

	if (!arena)
		return error_no_memory(err);
	enum status status = find_windows(walk, view, arena, &windows, err);
	join_windows(&windows);
	if (status == OK && windows.count)
		status = walk_machines_of(walk, view, &windows, err);
	mem_free(windows.at);
	return status;
}

/* ---- jobs ---- */

static enum status take_job(void *context, struct span job, struct error *err)
{
	struct walk *walk = context;
	AUTO(arena) arena = arena_new();
	struct job_view view;

	if (!arena)
		return error_no_memory(err);
	walk->job_arena = arena;
	TRY(read_view(walk, arena, job, &view, err));
	TRY(walk_job(walk, &view, err));
	return walk->names_training && view.row.job_id && !jobs_is_of_machines(job) ? walk_hosts(walk, &view, err) : OK;
}

enum status series_each(struct series_reading *reading, const struct series_asked *asked, struct arena *arena,
	series_take *take, void *context, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct walk walk = {
		.reading = reading, .asked = asked, .arena = arena, .take = take, .context = context, .zstd = zstd};
	struct jobs_asked jobs = {.matchers = asked->matchers,
		.matcher_count = asked->matcher_count,
		.label = SPAN(LABELS_TRAINING),
		.has_machines = true,
		.from_ms = asked->from_ms,
		.to_ms = asked->to_ms};

	AUTO_MEM struct point *chunk = mem_alloc(CHUNK_MAX_POINTS * sizeof *chunk);
	walk.chunk = chunk;
	if (!zstd || !chunk)
		return error_no_memory(err);
	bool has_machines;
	TRY(jobs_fit(reading, &jobs, SPAN(INGEST_MACHINES_JOB), &has_machines, err));
	walk.names_training = !has_machines; /* "" is not what is asked for */
	return jobs_each(reading, &jobs, take_job, &walk, err);
}
