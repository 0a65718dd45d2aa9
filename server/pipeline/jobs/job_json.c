/* A job as JSON: what the document says and what was derived. */
#include "pipeline/jobs/job_json.h"

#include "base/clock.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/failure.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/job_times.h"
#include "pipeline/jobs/rank_jobs.h"
#include "pipeline/life/pools.h"
#include "state/heard.h"
#include "state/pipeline_state.h"
#include "state/jobs/stated.h"
#include "store/alerts.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/jobs.h"

#include <math.h>

static void put_time(struct json_writer *w, const char *key, int64_t ms)
{
	if (!ms)
		return;
	json_key(w, key);
	json_seconds(w, ms);
}

/* What jobs are ranked by; not there before it is known. Rankings are in the order of their metrics. */
static void write_ranking(struct span metric, const struct ranking_row *rankings, size_t count, struct json_writer *w)
{
	const struct ranking_row *ranking = ranking_row_find(rankings, count, metric);

	if (!ranking)
		return;
	if (!isnan(ranking->best)) {
		json_put_double(w, "best", ranking->best);
		json_put_i64(w, "best_step", ranking->best_step);
	}
	json_put_double(w, "final", ranking->final);
}

static void write_metric(
	const struct summary_row *row, const struct ranking_row *rankings, size_t count, struct json_writer *w)
{
	const struct summary *summary = &row->summary;

	json_object(w);
	json_put_span(w, "metric", row->metric);
	json_put_text(w, "role", role_name(row->main_role != ROLE_OTHER ? row->main_role : row->role));
	if (row->main_role != ROLE_OTHER)
		json_put_bool(w, "is_main", true);
	json_put_span(w, "unit", row->unit);
	json_put_i64(w, "count", (int64_t)summary->count);
	json_put_double(w, "last", summary->last);
	if (summary_has_finite(summary)) {
		json_put_double(w, "min", summary->min);
		json_put_double(w, "max", summary->max);
		json_put_double(w, "mean", summary_mean(summary));
	}
	json_put_i64(w, "last_step", summary->last_step);
	write_ranking(row->metric, rankings, count, w);
	json_object_end(w);
}

/* What is stated is known at once; what is counted, as it was worked out last. */
static void write_nodes(
	const struct goodput_row *goodput, int64_t stated, const struct by_hand *by, struct json_writer *w)
{
	static const char *const sources[] = {"stated", "hosts", "streams"};

	if (!stated && !goodput->nodes)
		return;
	json_put_i64(w, "nodes", stated ? stated : goodput->nodes);
	json_put_text(w, "nodes_from", by->nodes ? "by_hand" : sources[stated ? NODES_STATED : goodput->nodes_from]);
}

static void write_by_hand(const struct by_hand *by, struct json_writer *w)
{
	if (by->instance_type.len)
		json_put_text(w, "instance_type_from", "by_hand");
	if (!isnan(by->price_per_hour))
		json_put_text(w, "price_from", "by_hand");
}

/* As it was worked out last. */
static void write_goodput(const struct job_row *row, const struct goodput_row *goodput, struct json_writer *w)
{
	if (isfinite(goodput->goodput))
		json_put_double(w, "goodput", goodput->goodput);
	if (goodput->cost != STORE_NO_COST) {
		json_put_double(w, "cost", (double)goodput->cost / 1e6);
		json_put_span(w, "currency", goodput->currency);
		if (goodput->nodes_from != NODES_STATED)
			json_put_bool(w, "cost_estimated", true);
	} else if (goodput->as_of_ms) {
		json_key(w, "cost");
		json_null(w);
	}
	if (goodput->unpriced.len)
		goodput_put_unpriced(w, goodput->unpriced);
	if (goodput->paused_ms)
		json_put_i64(w, "paused_seconds", goodput->paused_ms / 1000);
	if (goodput->odd_times)
		json_put_i64(w, "odd_times", (int64_t)goodput->odd_times);
	if (goodput->is_over && goodput->work_to_ms && !row->ended_ms)
		json_put_i64(w, "worked_until_ms", goodput->work_to_ms);
}

/* eta_ms: Unix time of the last step, at the pace of the last ones. A job that has ended has none. */
static enum status write_progress(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	struct json_writer *w, struct error *err)
{
	struct job_progress progress;

	TRY(store_read_progress(reader, arena, row->job_id, &progress, err));
	if (!progress.total_steps)
		return OK;
	json_put_i64(w, "total_steps", progress.total_steps);
	json_put_span(w, "total_steps_from", progress.total_from);
	if (progress.eta_ms && !row->ended_ms)
		json_put_i64(w, "eta_ms", progress.eta_ms);
	return OK;
}

static void write_heard(const struct pipeline *pipeline, const struct job_row *row, const struct job_counts *counts,
	struct json_writer *w)
{
	int64_t heard_ms = counts->last_heard_ms ? counts->last_heard_ms : counts->last_line_ms;
	int64_t silent_ms = heard_silent_since(pipeline, row, heard_ms);

	if (counts->last_line_ms)
		json_put_i64(w, "last_line_ms", counts->last_line_ms);
	if (heard_ms)
		json_put_i64(w, "last_heard_ms", heard_ms);
	if (silent_ms)
		json_put_i64(w, "silent_since_ms", silent_ms);
}

/* By the axis of its loss, else of its eval loss: what another metric counts may be tokens. Without, the furthest of any but a benchmark's. */
const struct summary_row *pipeline_find_step(const struct summary_row *rows, size_t count)
{
	static const enum role leads[] = {ROLE_LOSS, ROLE_EVAL_LOSS};
	const struct summary_row *furthest = NULL;

	for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
		for (size_t j = 0; j < count; j++)
			if (rows[j].main_role == leads[i] && rows[j].summary.count)
				return &rows[j];
	for (size_t i = 0; i < count; i++)
		if (rows[i].summary.count && rows[i].role != ROLE_BENCHMARK &&
			(!furthest || rows[i].summary.last_step > furthest->summary.last_step))
			furthest = &rows[i];
	return furthest;
}

/* All, or those that answer for a role; of a job that has none such the first. And that by whose steps it goes. */
static void write_metrics(const struct summary_row *rows, size_t count, const struct ranking_row *rankings,
	size_t ranking_count, bool is_slim, struct json_writer *w)
{
	const struct summary_row *step = pipeline_find_step(rows, count);
	bool has_main = false;

	json_key(w, "metrics");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		has_main |= rows[i].main_role != ROLE_OTHER;
	for (size_t i = 0; i < count; i++)
		if (!is_slim || rows[i].main_role != ROLE_OTHER || &rows[i] == step || (!has_main && i == 0))
			write_metric(&rows[i], rankings, ranking_count, w);
	json_array_end(w);
}

static enum status write_figures(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct goodput_row *goodput, bool is_slim, struct json_writer *w,
	struct error *err)
{
	struct job_counts counts;
	struct summary_row *rows;
	struct ranking_row *rankings;
	uint64_t open;
	size_t count, ranking_count;

	TRY(store_read_summaries(reader, arena, row->job_id, &counts, &rows, &count, err));
	TRY(store_read_rankings(reader, arena, row->job_id, &rankings, &ranking_count, err));
	TRY(store_count_open_incidents(reader, row->job_id, &open, err));
	json_put_i64(w, "streams", (int64_t)counts.streams);
	json_put_i64(w, "lines", (int64_t)counts.lines);
	write_heard(pipeline, row, &counts, w);
	json_put_i64(w, "open_incidents", (int64_t)open);
	TRY(write_progress(reader, arena, row, w, err));
	write_goodput(row, goodput, w);
	write_metrics(rows, count, rankings, ranking_count, is_slim, w);
	return OK;
}

static enum status write_derived(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, bool is_slim, struct json_writer *w, struct error *err)
{
	struct goodput_row goodput;
	struct by_hand by;

	TRY(store_read_goodput(reader, arena, row->job_id, &goodput, err));
	json_put_span(w, "TrainingJobName", row->name);
	json_put_span(w, "TrainingJobStatus", row->status);
	json_put_span(w, "SecondaryStatus", row->secondary);
	if (row->failure_reason.len)
		json_put_span(w, "FailureReason", row->failure_reason);
	if (failure_class(row->failure_reason))
		json_put_text(w, "FailureClass", failure_class(row->failure_reason));
	put_time(w, "CreationTime", row->created_ms);
	put_time(w, "TrainingStartTime", row->started_ms);
	put_time(w, "TrainingEndTime", row->ended_ms);
	put_time(w, "LastModifiedTime", row->modified_ms);
	TRY(job_write_seconds(reader, row, document, goodput.paused_ms, w, err));
	by_hand_read(&by, document);
	write_nodes(&goodput, job_stated_nodes(document), &by, w);
	write_by_hand(&by, w);
	if (row->team.len)
		json_put_span(w, "team", row->team);
	return write_figures(pipeline, reader, arena, row, &goodput, is_slim, w, err);
}

enum status pipeline_write_derived(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, struct json_writer *w, struct error *err)
{
	return write_derived(pipeline, reader, arena, row, document, false, w, err);
}

/* One job's giant field must not fail the page that it is on: the row goes without it, its own page has it. */
enum { ROW_FIELD_MAX_BYTES = 64 << 10 };

static enum status copy_field(const struct json *document, const char *key, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ROW_FIELD_MAX_BYTES);
	const struct json *node = json_get(document, key);

	if (!node)
		return OK;
	json_print(node, &text);
	if (text.failure == ERR_TOO_LARGE)
		return OK;
	TRY(buf_status(&text, err));
	json_key(w, key);
	json_raw(w, buf_span(&text));
	return OK;
}

enum status pipeline_write_job_row(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct json_writer *w, struct error *err)
{
	static const char *const fields[] = {
		"ResourceConfig", "Tags", "Labels", "WarmPoolStatus", "HyperParameters", "by_hand"};
	AUTO(json) document = NULL;

	TRY(json_parse(&document, row->document, err));
	TRY(by_hand_settle_settings(document, err));
	json_object(w);
	TRY(pipeline_write_derived(pipeline, reader, arena, row, document, w, err));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		TRY(copy_field(document, fields[i], w, err));
	if (!json_get(document, "WarmPoolStatus"))
		TRY(pools_write_status(reader, arena, row->job_id, clock_wall_ms(), w, err));
	json_object_end(w);
	return OK;
}

enum status pipeline_write_slim_row(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct json_writer *w, struct error *err)
{
	static const char *const fields[] = {"ResourceConfig", "Labels", "by_hand"};
	AUTO(json) document = NULL;

	TRY(json_parse(&document, row->document, err));
	TRY(write_derived(pipeline, reader, arena, row, document, true, w, err));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		TRY(copy_field(document, fields[i], w, err));
	return OK;
}
