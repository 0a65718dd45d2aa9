/* Metrics: points as they are logged. history.c reads them. */
#include "mlflow/internal.h"
#include "mlflow/metrics_in.h"
#include "store/jobs.h"

enum { KEYS_KEPT_MS = 24 * 60 * 60 * 1000 };

enum status mlflow_find_job(const struct mlflow_call *call, struct span run_id, struct job_row *out, struct error *err)
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

	TRY(mlflow_find_job(call, run_id, &job, err));
	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	batch->source = SPAN("");
	struct batch_part *part = batch_part(batch, job.name, SPAN(MLFLOW_STREAM));
	if (!part)
		return error_no_memory(err);
	struct job_points points = {call, job.name};
	TRY(metrics_in_read(
		metrics, &(struct metrics_stored){mlflow_has_point, &points}, batch, part, call->now_ms, err));
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
