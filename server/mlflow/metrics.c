/* Metrics: points as they are logged, and as they were. */
#include "mlflow/internal.h"
#include "mlflow/metrics_in.h"
#include "pipeline/life/log_end.h"
#include "read/charts/points_read.h"
#include "store/jobs.h"

#include <stdio.h>

enum {
	HISTORY_MAX = 25000,
	KEYS_KEPT_MS = 24 * 60 * 60 * 1000,
};

/* ---- in ---- */

static enum status find_job(const struct mlflow_call *call, struct span run_id, struct job_row *out, struct error *err)
{
	struct tracked_run_row run;

	TRY(store_read_tracked_run(call->reader, call->arena, run_id, &run, err));
	return store_read_job_by_id(call->reader, call->arena, run.job_id, out, err);
}

/* A request that bears a key of its own is known by it, also when it comes again after a long outage. */
static enum status mark_push(const struct mlflow_call *call, struct batch_part *part, struct error *err)
{
	struct span key = SPAN("");

	TRY(mlflow_text(call, "idempotency_key", MLFLOW_KEY_MAX_BYTES, &key, err));
	if (!key.len)
		return OK;
	part->push_hash = (struct hash128){0};
	hash128_add(&part->push_hash, SPAN("idempotency_key"));
	hash128_add(&part->push_hash, key);
	part->push_kept_ms = KEYS_KEPT_MS;
	return OK;
}

/* metrics: an object of one, or a list. */
static enum status take_points(
	struct mlflow_call *call, struct span run_id, const struct json *metrics, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	struct job_row job;

	TRY(find_job(call, run_id, &job, err));
	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	batch->source = SPAN("");
	struct batch_part *part = batch_part(batch, job.name, SPAN(MLFLOW_STREAM));
	if (!part)
		return error_no_memory(err);
	TRY(metrics_in_read(metrics, batch, part, call->now_ms, err));
	TRY(mark_push(call, part, err));
	if (batch->point_count)
		call->points = TAKE(batch);
	return OK;
}

enum status mlflow_log_metric(struct mlflow_call *call, struct error *err)
{
	struct span run_id;

	TRY(mlflow_run_id(call, &run_id, err));
	return take_points(call, run_id, call->body, err);
}

enum status mlflow_log_batch(struct mlflow_call *call, struct error *err)
{
	const struct json *metrics = json_get(call->body, "metrics");
	struct tracked_pairs params = {0}, tags = {0};
	struct span run_id;

	TRY(mlflow_run_id(call, &run_id, err));
	TRY(mlflow_pairs(call, "params", MLFLOW_BATCH_PARAMS_MAX, MLFLOW_PARAM_MAX_BYTES, &params, err));
	TRY(mlflow_pairs(call, "tags", MLFLOW_BATCH_TAGS_MAX, MLFLOW_TAG_MAX_BYTES, &tags, err));
	/* read first: what is wrong with a metric refuses all of the request */
	if (metrics && json_kind(metrics) != JSON_NULL)
		TRY(take_points(call, run_id, metrics, err));
	if (params.count || tags.count || !call->points)
		TRY(mlflow_state(call, run_id, params.count ? &params : NULL, tags.count ? &tags : NULL, err));
	return OK;
}

/* ---- out ---- */

struct history {
	struct mlflow_call *call;
	struct span key;
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
		TRY(points_read(history->call->pipeline, history->call->reader, arena, job, query.stream, &query,
			(uint64_t)*ordinal, &batch, err));
		size_t taken = batch.count < history->left ? batch.count : history->left;
		for (size_t i = 0; i < taken; i++)
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
	TRY(find_job(call, run_id, &job, err));
	TRY(log_end_await(call->pipeline, job.name, err));
	history.left = (size_t)(limit < HISTORY_MAX ? limit : HISTORY_MAX);
	json_key(&call->w, "metrics");
	json_array(&call->w);
	enum status status = write_points(&history, job.name, &ordinal, err);
	if (status == ERR_NOT_FOUND) { /* a run that has logged nothing has no stream */
		ordinal = -1;
		status = OK;
	}
	TRY(status);
	json_array_end(&call->w);
	if (ordinal >= 0) {
		snprintf(next, sizeof next, "%lld", (long long)ordinal);
		json_put_text(&call->w, "next_page_token", next);
	}
	return OK;
}
