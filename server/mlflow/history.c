/* Metrics as they were: all points of one, or of several runs, or some that stand for them. */
#include "base/clock.h"
#include "mlflow/internal.h"
#include "pipeline/life/log_end.h"
#include "read/charts/points_read.h"
#include "read/charts/points_walk.h"
#include "read/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	HISTORY_MAX = 25000,
	BULK_RUNS_MAX = 100, /* MLflow's own, as the next */
	SAMPLE_MAX = 2500,
	BULK_MAX_BYTES = 16 << 20,
};

struct history {
	struct mlflow_call *call;
	struct span key;
	struct span run_id; /* said with each point; "": not */
	size_t left; /* of the page */
};

static void write_point(struct history *history, const struct point *point)
{
	struct json_writer *w = &history->call->w;

	json_object(w);
	json_put_span(w, "key", history->key);
	json_put_double(w, "value", point->value);
	json_put_i64(w, "timestamp", point->ts_ms);
	json_put_i64(w, "step", point->step);
	if (history->run_id.len)
		json_put_span(w, "run_id", history->run_id);
	json_object_end(w);
}

/* From the ordinal on, to the end of the page; *ordinal: where the next one begins, -1: there is none. */
static enum status write_points(struct history *history, struct span job, int64_t *ordinal, struct error *err)
{
	const struct chart_query query = {.metric = history->key,
		.stream = SPAN(MLFLOW_STREAM),
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_ALL};
	bool is_end = false;

	while (!is_end && history->left) {
		AUTO(arena) arena = arena_new();
		struct points_batch batch;
		if (!arena)
			return error_no_memory(err);
		enum status status = points_read(history->call->pipeline, history->call->reader, arena, job,
			query.stream, &query, (uint64_t)*ordinal, &batch, err);
		if (status == ERR_NOT_FOUND) { /* a run that has logged nothing has no stream */
			*ordinal = -1;
			return OK;
		}
		TRY(status);
		size_t taken = batch.count < history->left ? batch.count : history->left;
		for (size_t i = 0; i < taken; i++)
			if (batch.points[i].line == NO_LINE) /* what the log says is none of MLflow's */
				write_point(history, &batch.points[i]);
		history->left -= taken;
		*ordinal += (int64_t)taken;
		is_end = batch.is_end && taken == batch.count;
	}
	*ordinal = is_end ? -1 : *ordinal;
	return OK;
}

enum status mlflow_get_history(struct mlflow_call *call, struct error *err)
{
	struct history history = {.call = call};
	struct span run_id, token = SPAN("");
	int64_t ordinal = 0, limit = HISTORY_MAX;
	struct job_row job;
	char next[24];

	TRY(mlflow_run_id(call, &run_id, err));
	TRY(mlflow_want_text(call, "metric_key", MLFLOW_KEY_MAX_BYTES, &history.key, err));
	TRY(mlflow_integer(call, "max_results", 1, INT64_MAX, &limit, err));
	TRY(mlflow_text(call, "page_token", MLFLOW_KEY_MAX_BYTES, &token, err));
	if (token.len && (!span_parse_i64(token, &ordinal) || ordinal < 0))
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'page_token' is none of this server's");
	TRY(mlflow_find_job(call, run_id, &job, err));
	TRY(log_end_await(call->pipeline, job.name, err));
	history.left = (size_t)(limit < HISTORY_MAX ? limit : HISTORY_MAX);
	json_key(&call->w, "metrics");
	json_array(&call->w);
	TRY(write_points(&history, job.name, &ordinal, err));
	json_array_end(&call->w);
	if (ordinal >= 0) {
		snprintf(next, sizeof next, "%lld", (long long)ordinal);
		json_put_text(&call->w, "next_page_token", next);
	}
	return OK;
}

/* ---- of several runs ---- */

struct bulk {
	struct mlflow_call *call;
	struct span key;
	struct span run_ids[BULK_RUNS_MAX];
	size_t run_count;
	int64_t until_ms;
};

/* Only of a GET: a name that stands there several times is a list. */
static enum status read_bulk(struct bulk *bulk, struct mlflow_call *call, const char *name, struct error *err)
{
	struct span at, value;
	size_t given = 0;

	*bulk = (struct bulk){.call = call, .until_ms = clock_mono_ms() + call->options->search_ms};
	for (size_t i = 0; http_request_query_at(call->request, i, &at, &value); i++) {
		if (!span_equal(at, span_from(name)))
			continue;
		if (given++ < BULK_RUNS_MAX)
			bulk->run_ids[bulk->run_count++] = value;
	}
	if (!given)
		return mlflow_error(
			err, ERR_SEMANTIC, MLFLOW_INVALID, "Missing value for required parameter '%s'", name);
	if (given > BULK_RUNS_MAX)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"a request can hold at most %d '%s'; this has %zu", BULK_RUNS_MAX, name, given);
	return mlflow_want_text(call, "metric_key", MLFLOW_KEY_MAX_BYTES, &bulk->key, err);
}

static enum status check_time(const struct bulk *bulk, struct error *err)
{
	if (http_request_is_over(bulk->call->request))
		return error_set(err, ERR_UNAVAILABLE, "nobody waits for the answer any more");
	return clock_mono_ms() <= bulk->until_ms
		       ? OK
		       : error_set(err, ERR_TOO_LARGE,
				 "the points take too long to read (--job-search-ms): ask for fewer runs, or by metrics/get-history");
}

/* The job of the i-th run, with all that is acknowledged of it. */
static enum status find_next(const struct bulk *bulk, size_t i, struct job_row *job, struct error *err)
{
	TRY(check_time(bulk, err));
	if (bulk->call->w.out->len > BULK_MAX_BYTES)
		return error_set(err, ERR_TOO_LARGE,
			"the points of these runs are more than %d bytes: ask for fewer runs, or a smaller 'max_results'",
			BULK_MAX_BYTES);
	TRY(mlflow_find_job(bulk->call, bulk->run_ids[i], job, err));
	return log_end_await(bulk->call->pipeline, job->name, err);
}

static int by_text(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return span_compare(*a, *b);
}

/* Run after run, as many points as there is room for: MLflow's has no page after it. */
enum status mlflow_get_history_bulk(struct mlflow_call *call, struct error *err)
{
	int64_t limit = HISTORY_MAX;
	struct job_row job;
	struct bulk bulk;

	TRY(read_bulk(&bulk, call, "run_id", err));
	TRY(mlflow_integer(call, "max_results", 1, INT64_MAX, &limit, err));
	struct history history = {
		.call = call, .key = bulk.key, .left = (size_t)(limit < HISTORY_MAX ? limit : HISTORY_MAX)};
	qsort(bulk.run_ids, bulk.run_count, sizeof *bulk.run_ids, by_text);
	json_key(&call->w, "metrics");
	json_array(&call->w);
	for (size_t i = 0; i < bulk.run_count; i++) {
		int64_t ordinal = 0;
		TRY(find_next(&bulk, i, &job, err)); /* also behind the last point: it may be none */
		history.run_id = bulk.run_ids[i];
		TRY(write_points(&history, job.name, &ordinal, err));
	}
	json_array_end(&call->w);
	return OK;
}

/* ---- some that stand for all: by their order of arrival, with the first and the last one ---- */

struct sample {
	struct bulk *bulk;
	struct point *points; /* room for `most` */
	size_t count, most;
	uint64_t total; /* in the range */
	uint64_t seen;
};

static enum status count_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct sample *sample = context;

	(void)stream;
	(void)series;
	(void)x;
	if (point->line != NO_LINE)
		return OK;
	return ++sample->total % 65536 ? OK : check_time(sample->bulk, err);
}

/* The place of the k-th of them, as MLflow 3 has it. */
static uint64_t place_of(const struct sample *sample, size_t k)
{
	if (sample->total <= sample->most)
		return k;
	if (sample->most == 1)
		return sample->total - 1;
	double gap = (double)(sample->total - 1) / (double)(sample->most - 1);
	return (uint64_t)llrint((double)k * gap);
}

static enum status pick_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct sample *sample = context;

	(void)stream;
	(void)series;
	(void)x;
	if (point->line != NO_LINE)
		return OK;
	if (sample->count < sample->most && sample->seen == place_of(sample, sample->count))
		sample->points[sample->count++] = *point;
	return ++sample->seen % 65536 ? OK : check_time(sample->bulk, err);
}

static int by_step(const void *left, const void *right)
{
	const struct point *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->ts_ms > b->ts_ms) - (a->ts_ms < b->ts_ms);
}

/* Read twice, so that nothing is held but what is answered. */
static enum status take_sample(
	struct sample *sample, struct span job, const struct chart_query *query, struct error *err)
{
	const struct mlflow_call *call = sample->bulk->call;
	AUTO(arena) arena = arena_new();
	struct job_view view;

	if (!arena)
		return error_no_memory(err);
	enum status status = view_read_job(call->pipeline, call->reader, arena, job, query->stream, query->metric,
		VIEW_SERIES | VIEW_TAILS, &view, err);
	if (status == ERR_NOT_FOUND) /* a run that has logged nothing has no stream */
		return OK;
	TRY(status);
	TRY(points_walk_all(call->reader, arena, &view, query, count_point, sample, err));
	TRY(points_walk_all(call->reader, arena, &view, query, pick_point, sample, err));
	if (sample->count)
		qsort(sample->points, sample->count, sizeof *sample->points, by_step);
	return OK;
}

/* Both ends, or none. */
static enum status read_range(const struct mlflow_call *call, struct chart_query *query, struct error *err)
{
	struct span text;
	bool has_start = http_request_query(call->request, "start_step", &text),
	     has_end = http_request_query(call->request, "end_step", &text);

	TRY(mlflow_integer(call, "start_step", INT64_MIN, INT64_MAX, &query->from, err));
	TRY(mlflow_integer(call, "end_step", INT64_MIN, INT64_MAX, &query->to, err));
	if (has_start != has_end)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"'start_step' and 'end_step' are said both or not at all; '%s' is missing",
			has_start ? "end_step" : "start_step");
	if (query->from > query->to)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"'start_step' (%lld) is behind 'end_step' (%lld)", (long long)query->from,
			(long long)query->to);
	return OK;
}

enum status mlflow_get_history_bulk_interval(struct mlflow_call *call, struct error *err)
{
	struct chart_query query = {.stream = SPAN(MLFLOW_STREAM),
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_ALL};
	struct history history = {.call = call};
	int64_t most = SAMPLE_MAX;
	struct job_row job;
	struct bulk bulk;

	TRY(read_bulk(&bulk, call, "run_ids", err));
	TRY(mlflow_integer(call, "max_results", 1, SAMPLE_MAX, &most, err));
	TRY(read_range(call, &query, err));
	query.metric = history.key = bulk.key;
	struct point *points = arena_alloc(call->arena, (size_t)most * sizeof *points);
	if (!points)
		return error_no_memory(err);
	json_key(&call->w, "metrics");
	json_array(&call->w);
	for (size_t i = 0; i < bulk.run_count; i++) {
		struct sample sample = {.bulk = &bulk, .points = points, .most = (size_t)most};
		TRY(find_next(&bulk, i, &job, err));
		history.run_id = bulk.run_ids[i];
		TRY(take_sample(&sample, job.name, &query, err));
		for (size_t j = 0; j < sample.count; j++)
			write_point(&history, &sample.points[j]);
	}
	json_array_end(&call->w);
	return OK;
}
