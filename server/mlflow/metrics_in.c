#include "mlflow/metrics_in.h"

#include "base/map.h"
#include "ingest/ingest.h"
#include "mlflow/internal.h"
#include "model/jobs/job_time.h"
#include "model/metrics/batch_points.h"

#include <stdio.h>

struct reading {
	struct batch *batch;
	struct batch_part *part;
	const struct metrics_stored *stored;
	struct map *seen; /* what came already, as IDENTITY_BYTES and the key */
	struct hash128 hash;
	int64_t now_ms;
	size_t at;
};

struct logged {
	struct span key;
	double value;
	int64_t ts_ms, step;
};

enum { NUMBERS_BYTES = 3 * sizeof(int64_t) };
static const int64_t STEP_LIMIT = (int64_t)1 << 53; /* as of all points: their differences are whole numbers, too */

static enum status refuse(const struct reading *r, const char *member, const char *what, struct error *err)
{
	return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "metrics[%zu].%s: %s", r->at, member, what);
}

/* Protobuf writes what is no number as the texts "NaN", "Infinity" and "-Infinity". */
static bool number_of(const struct json *node, double *out)
{
	if (!node)
		return false;
	return json_kind(node) == JSON_STRING ? span_parse_double(json_string_of(node), out)
					      : json_number_of(node, out);
}

static enum status read_integer(
	const struct reading *r, const struct json *metric, const char *member, int64_t *out, struct error *err)
{
	const struct json *node = json_get(metric, member);

	if (!node || json_kind(node) == JSON_NULL)
		return OK;
	return mlflow_integer_of(node, out) ? OK : refuse(r, member, "no whole number", err);
}

static enum status read_logged(
	const struct reading *r, const struct json *metric, struct logged *out, struct error *err)
{
	struct error cause;

	*out = (struct logged){.key = json_string_of(json_get(metric, "key")), .ts_ms = r->now_ms};
	if (ingest_check_name("key", out->key, MLFLOW_KEY_MAX_BYTES, &cause) != OK)
		return refuse(r, "key", cause.text, err);
	if (span_find_char(out->key, '{') >= 0 || span_find_char(out->key, '}') >= 0)
		return refuse(r, "key", "a metric's name has no braces", err);
	if (!number_of(json_get(metric, "value"), &out->value))
		return refuse(r, "value", "no number", err);
	TRY(read_integer(r, metric, "timestamp", &out->ts_ms, err));
	TRY(read_integer(r, metric, "step", &out->step, err));
	if (out->step < -STEP_LIMIT || out->step > STEP_LIMIT)
		return refuse(r, "step", "no whole number between -2^53 and 2^53", err);
	if (out->ts_ms < JOB_EARLIEST_MS || out->ts_ms >= JOB_LATEST_MS)
		return refuse(r, "timestamp", "no time from 1990 on in Unix milliseconds", err);
	return OK;
}

static enum status note(struct reading *r, const struct logged *logged, bool *is_new, struct error *err)
{
	char identity[NUMBERS_BYTES + MLFLOW_KEY_MAX_BYTES];
	struct span known = span_of(identity, NUMBERS_BYTES + logged->key.len);

	memcpy(identity, &logged->ts_ms, sizeof logged->ts_ms);
	memcpy(identity + sizeof(int64_t), &logged->step, sizeof logged->step);
	memcpy(identity + 2 * sizeof(int64_t), &logged->value, sizeof logged->value);
	memcpy(identity + NUMBERS_BYTES, logged->key.ptr, logged->key.len);
	hash128_add(&r->hash, known);
	*is_new = !map_get(r->seen, known);
	return !*is_new || map_put(r->seen, known, r) ? OK : error_no_memory(err);
}

static enum status is_stored(
	const struct reading *r, const struct json *metric, const struct logged *logged, bool *out, struct error *err)
{
	const struct point asked = {.value = logged->value, .ts_ms = logged->ts_ms, .step = logged->step};

	*out = false;
	return json_string_of(json_get(metric, "model_id")).len
		       ? r->stored->has(r->stored->context, logged->key, &asked, out, err)
		       : OK;
}

static enum status add(struct reading *r, const struct json *metric, struct error *err)
{
	struct logged logged;
	bool is_new, is_known;

	TRY(read_logged(r, metric, &logged, err));
	TRY(note(r, &logged, &is_new, err));
	if (!is_new)
		return OK;
	TRY(is_stored(r, metric, &logged, &is_known, err));
	if (is_known)
		return OK;
	int64_t step = logged.step ? logged.step : STEP_0_OR_NONE;
	struct batch_series *series = batch_series(r->batch, r->part, logged.key);
	if (!series || !batch_add_points(r->batch, r->part, series, &step, &logged.ts_ms, &logged.value, 1))
		return error_no_memory(err);
	return OK;
}

static enum status add_all(struct reading *r, const struct json *metrics, struct error *err)
{
	if (json_kind(metrics) == JSON_OBJECT)
		return add(r, metrics, err);
	if (json_kind(metrics) != JSON_ARRAY)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'metrics' must be a list");
	if (json_count(metrics) > MLFLOW_BATCH_METRICS_MAX)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"a request can hold at most %d metrics; this has %zu", MLFLOW_BATCH_METRICS_MAX,
			json_count(metrics));
	for (const struct json *metric = json_first(metrics); metric; metric = json_next(metric), r->at++)
		TRY(add(r, metric, err));
	return OK;
}

enum status metrics_in_read(const struct json *metrics, const struct metrics_stored *stored, struct batch *batch,
	struct batch_part *part, int64_t now_ms, struct error *err)
{
	AUTO(map) seen = map_new();
	struct reading r = {.batch = batch, .part = part, .stored = stored, .seen = seen, .now_ms = now_ms};

	if (!seen)
		return error_no_memory(err);
	hash128_add(&r.hash, SPAN("mlflow"));
	TRY(add_all(&r, metrics, err));
	part->is_push = true;
	part->push_hash = r.hash;
	return OK;
}
