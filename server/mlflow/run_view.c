/* A run as clients read it: its row, its job's document, and the last point of each of its metrics. */
#include "mlflow/internal.h"
#include "pipeline/life/log_end.h"
#include "read/charts/chart_query.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "state/streams/directory.h"
#include "store/job_facts.h"
#include "store/trash.h"

#include <stdio.h>

/* What is acknowledged is shown. A reader that would have to wait too long for that gets what there is. */
static enum status await_points(const struct mlflow_call *call, struct span job, struct error *err)
{
	enum status status = log_end_await(call->pipeline, job, err);

	return status == ERR_BUSY ? OK : status;
}

static bool is_final(struct span status)
{
	return span_equal(status, SPAN("FINISHED")) || span_equal(status, SPAN("FAILED")) ||
	       span_equal(status, SPAN("KILLED"));
}

/* A process that died says nothing; what else is known of the job does. */
static struct span status_of(const struct tracked_run_row *row, const struct job_row *job)
{
	if (is_final(row->status) || !job->ended_ms)
		return row->status;
	if (span_equal(job->status, SPAN("Completed")))
		return SPAN("FINISHED");
	return span_equal(job->status, SPAN("Failed")) ? SPAN("FAILED") : SPAN("KILLED");
}

static enum status read_document(
	const struct mlflow_call *call, const struct job_row *job, struct mlflow_run *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct tracked_pairs *both[] = {&out->params, &out->tags};

	TRY(json_parse(&document, job->document, err));
	TRY(tracked_document_read(call->arena, document, &out->params, &out->tags, err));
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < both[i]->count; j++) {
			struct tracked_pair *pair = &both[i]->items[j];
			pair->key = arena_copy(call->arena, pair->key);
			pair->value = arena_copy(call->arena, pair->value);
			if (!pair->key.ptr || !pair->value.ptr)
				return error_no_memory(err);
		}
	return OK;
}

/* ---- the point that counts: of the highest step, and of those the newest ---- */

struct latest {
	struct mlflow_metric *out;
	bool is_found;
};

static enum status take_latest(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct latest *latest = context;

	(void)stream;
	(void)x;
	(void)err;
	const struct mlflow_metric *found = latest->out;
	if (!span_equal(series->metric, found->key) || point->line != NO_LINE)
		return OK;
	if (latest->is_found &&
		(point->step < found->step || (point->step == found->step && point->ts_ms < found->ts_ms)))
		return OK;
	*latest->out = (struct mlflow_metric){latest->out->key, point->value, point->ts_ms, point->step};
	latest->is_found = true;
	return OK;
}

/*
 * Clients that log in the background send from several threads: what comes last need not be. Nor need it be theirs: the log may say the same.
 * So it is looked for from the highest step down, twice as far each time: no more is read than lies behind what is found.
 */
static enum status find_latest(const struct mlflow_call *call, struct span job, const struct series_view *series,
	struct mlflow_metric *out, struct error *err)
{
	struct chart_query query = {.metric = series->metric,
		.stream = SPAN(MLFLOW_STREAM),
		.axis = AXIS_STEP,
		.from = series->max_step,
		.to = series->max_step,
		.attempts = ATTEMPTS_ALL};
	AUTO(arena) arena = arena_new(); /* a view holds the job's document, and there are a thousand series */
	struct latest latest = {.out = out};
	struct job_view view;

	if (!arena)
		return error_no_memory(err);
	TRY(view_read_job(call->pipeline, call->reader, arena, job, query.stream, series->metric,
		VIEW_SERIES | VIEW_TAILS, &view, err));
	for (int64_t width = 1; !latest.is_found && query.to >= series->min_step; width *= 2) {
		TRY(points_walk_window(call->reader, arena, &view, &query, take_latest, &latest, err));
		query.to = query.from - 1;
		query.from = query.to - width > series->min_step ? query.to - width : series->min_step;
	}
	return OK;
}

/* What the log's lines say stands beside in the same stream. Of older versions a metric that was logged once, without a step, is not noted as told. */
static bool is_of_log(const struct stream_view *stream, const struct series_view *series)
{
	const struct summary *summary = &series->summary;
	bool may_be_old = summary->count == 1 && !summary->last_step && span_find_char(series->metric, ':') < 0;

	return stream->lines && !series->is_told && !may_be_old;
}

static enum status read_metrics(
	const struct mlflow_call *call, const struct job_view *view, struct mlflow_run *out, struct error *err)
{
	const struct stream_view *stream = NULL;

	for (size_t i = 0; i < view->stream_count; i++)
		if (span_equal(view->streams[i].name, SPAN(MLFLOW_STREAM)))
			stream = &view->streams[i];
	if (!stream || !stream->series_count)
		return OK;
	out->metrics = arena_alloc(call->arena, stream->series_count * sizeof *out->metrics);
	if (!out->metrics)
		return error_no_memory(err);
	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_view *series = &stream->series[i];
		const struct summary *summary = &series->summary;
		if (series_is_derived(series->series_id) || !summary->count || is_of_log(stream, series))
			continue;
		struct mlflow_metric *metric = &out->metrics[out->metric_count++];
		*metric =
			(struct mlflow_metric){series->metric, summary->last, summary->last_ts_ms, summary->last_step};
		if (summary->last_step < series->max_step)
			TRY(find_latest(call, out->job, series, metric, err));
	}
	return OK;
}

/* Of one in the trash nothing is loaded for it: the last values are as its summaries have them. */
static enum status read_summaries(
	const struct mlflow_call *call, int64_t job_id, struct mlflow_run *out, struct error *err)
{
	struct summary_row *rows;
	struct job_counts counts;
	size_t count;

	TRY(store_read_summaries(call->reader, call->arena, job_id, &counts, &rows, &count, err));
	out->metrics = arena_alloc(call->arena, (count + 1) * sizeof *out->metrics);
	if (!out->metrics)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct summary *summary = &rows[i].summary;
		if (summary->count)
			out->metrics[out->metric_count++] = (struct mlflow_metric){
				rows[i].metric, summary->last, summary->last_ts_ms, summary->last_step};
	}
	return OK;
}

static enum status view_trashed(
	const struct mlflow_call *call, bool has_metrics, struct mlflow_run *out, struct error *err)
{
	struct trashed_job trashed;

	TRY(store_read_trashed(call->reader, call->arena, out->row.job_id, &trashed, err));
	out->is_deleted = true;
	out->job = trashed.job.name;
	out->status = status_of(&out->row, &trashed.job);
	if (!out->row.end_ms && is_final(out->status))
		out->row.end_ms = trashed.job.ended_ms;
	TRY(read_document(call, &trashed.job, out, err));
	return has_metrics ? read_summaries(call, out->row.job_id, out, err) : OK;
}

enum status mlflow_view_run(const struct mlflow_call *call, const struct tracked_run_row *row, bool has_metrics,
	struct mlflow_run *out, struct error *err)
{
	struct job_row job;
	struct job_view view;

	*out = (struct mlflow_run){.row = *row};
	enum status status = store_read_job_by_id(call->reader, call->arena, row->job_id, &job, err);
	if (status == ERR_NOT_FOUND)
		return view_trashed(call, has_metrics, out, err);
	TRY(status);
	if (has_metrics)
		TRY(await_points(call, job.name, err));
	TRY(view_read_job(call->pipeline, call->reader, call->arena, job.name, SPAN(""), SPAN(""),
		has_metrics ? VIEW_SERIES : 0, &view, err));
	out->job = job.name;
	out->status = status_of(row, &view.row);
	if (!out->row.end_ms && is_final(out->status))
		out->row.end_ms = view.row.ended_ms;
	TRY(read_document(call, &view.row, out, err));
	return has_metrics ? read_metrics(call, &view, out, err) : OK;
}

/* ---- JSON ---- */

static void write_pairs(struct json_writer *w, const char *name, const struct tracked_pairs *pairs)
{
	json_key(w, name);
	json_array(w);
	for (size_t i = 0; i < pairs->count; i++) {
		json_object(w);
		json_put_span(w, "key", pairs->items[i].key);
		json_put_span(w, "value", pairs->items[i].value);
		json_object_end(w);
	}
	json_array_end(w);
}

void mlflow_write_run_info(const struct mlflow_run *run, struct json_writer *w)
{
	const struct tracked_run_row *row = &run->row;
	char experiment_id[24];

	snprintf(experiment_id, sizeof experiment_id, "%lld", (long long)row->project_id);
	json_object(w);
	json_put_span(w, "run_id", row->run_id);
	json_put_span(w, "run_uuid", row->run_id);
	json_put_span(w, "run_name", row->name);
	json_put_text(w, "experiment_id", experiment_id);
	json_put_span(w, "user_id", row->user_name);
	json_put_span(w, "status", run->status);
	json_put_i64(w, "start_time", row->start_ms);
	if (row->end_ms)
		json_put_i64(w, "end_time", row->end_ms);
	json_put_span(w, "artifact_uri", row->artifacts);
	json_put_text(w, "lifecycle_stage", run->is_deleted ? "deleted" : "active");
	json_object_end(w);
}

static void write_metrics(struct json_writer *w, const struct mlflow_run *run)
{
	json_key(w, "metrics");
	json_array(w);
	for (size_t i = 0; i < run->metric_count; i++) {
		const struct mlflow_metric *metric = &run->metrics[i];
		json_object(w);
		json_put_span(w, "key", metric->key);
		json_put_double(w, "value", metric->value);
		json_put_i64(w, "timestamp", metric->ts_ms);
		json_put_i64(w, "step", metric->step);
		json_object_end(w);
	}
	json_array_end(w);
}

void mlflow_write_run(const struct mlflow_run *run, struct json_writer *w)
{
	json_object(w);
	json_key(w, "info");
	mlflow_write_run_info(run, w);
	json_key(w, "data");
	json_object(w);
	write_metrics(w, run);
	write_pairs(w, "params", &run->params);
	write_pairs(w, "tags", &run->tags);
	json_object_end(w);
	json_key(w, "inputs");
	json_object(w);
	json_key(w, "dataset_inputs");
	json_raw(w, run->row.inputs);
	json_object_end(w);
	json_object_end(w);
}
