/*
 * sagemaker-metrics: points with their steps. A trial component is its training job: JOB, or JOB-aws-training-job as SageMaker calls
 * the component that it makes for a job.
 */
#include "aws/metrics/metrics.h"
#include "base/hash128.h"
#include "ingest/ingest.h"
#include "model/metrics/batch_points.h"
#include "pipeline/commit/ingest_result.h"
#include "read/view.h"
#include "state/streams/job_view.h"

#include <math.h>

static const char component_suffix[] = "-aws-training-job";

enum { PUT_MAX = 10, GET_MAX = 100 };

struct span metrics_job_of_component(struct span name)
{
	struct span suffix = span_from(component_suffix);

	return span_ends_with(name, suffix) && name.len > suffix.len ? span_of(name.ptr, name.len - suffix.len) : name;
}

/* ---- BatchPutMetrics ---- */

struct batch_put {
	struct aws_call *call;
	struct batch *batch;
	struct batch_part *part;
	const char *codes[PUT_MAX]; /* of what is wrong with each metric; NULL: nothing */
	struct span names[PUT_MAX]; /* of its series */
	bool is_new[PUT_MAX]; /* there was no such series before */
	size_t count;
};

/* NULL: it can be stored. */
static const char *check_metric(const struct aws_call *call, const struct json *metric, double *value, int64_t *ts_ms,
	struct span *name, struct buf *canonical)
{
	struct error ignored;

	*name = metrics_text(metric, "MetricName");
	buf_reset(canonical);
	if (ingest_metric_name(*name, canonical, &ignored) != OK || buf_status(canonical, &ignored) != OK)
		return "VALIDATION_ERROR";
	if (!metrics_number(call, json_get(metric, "Value"), value) || !isfinite(*value))
		return "VALIDATION_ERROR";
	if (!aws_time(json_get(metric, "Timestamp"), ts_ms) || *ts_ms < call->now_ms - METRICS_PAST_MS ||
		*ts_ms > call->now_ms + METRICS_FUTURE_MS)
		return "VALIDATION_ERROR";
	return NULL;
}

static enum status add_metric(
	struct batch_put *put, const struct json *metric, struct buf *canonical, struct error *err)
{
	int64_t step = NO_STEP, ts_ms = 0;
	double value = 0;
	struct span name;
	const char *code = check_metric(put->call, metric, &value, &ts_ms, &name, canonical);
	struct batch_series *series;

	put->codes[put->count++] = code;
	if (code)
		return OK;
	aws_integer(json_get(metric, "Step"), &step);
	series = batch_series(put->batch, put->part, buf_span(canonical));
	if (series)
		put->names[put->count - 1] = series->metric;
	if (!series || !batch_add_points(put->batch, put->part, series, &step, &ts_ms, &value, 1))
		return error_no_memory(err);
	return OK;
}

static void write_errors(struct aws_call *call, const struct batch_put *put)
{
	json_key(&call->w, "Errors");
	json_array(&call->w);
	for (size_t i = 0; i < put->count; i++) {
		if (!put->codes[i])
			continue;
		json_object(&call->w);
		json_put_text(&call->w, "Code", put->codes[i]);
		json_put_i64(&call->w, "MetricIndex", (int64_t)i);
		json_object_end(&call->w);
	}
	json_array_end(&call->w);
}

/* Of new series the last ones found no room. */
static void answer_put(struct aws_call *call, const struct ingest_result *result)
{
	struct batch_put *put = call->own;
	size_t refused = result->refused;

	for (size_t i = put->count; i-- > 0 && refused;)
		if (!put->codes[i] && put->is_new[i]) {
			put->codes[i] = "METRIC_LIMIT_EXCEEDED";
			refused--;
		}
	write_errors(call, put);
}

static void note_known(struct batch_put *put, const struct job_view *view)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			for (size_t k = 0; k < put->count; k++)
				if (span_equal(put->names[k], view->streams[i].series[j].metric))
					put->is_new[k] = false;
}

static enum status find_new(struct batch_put *put, struct error *err)
{
	struct aws_call *call = put->call;
	struct job_view view;

	for (size_t i = 0; i < put->count; i++)
		put->is_new[i] = true;
	enum status status = view_read_job(call->pipeline, call->reader, call->arena, put->part->job, put->part->stream,
		SPAN(""), VIEW_SERIES, &view, err);
	if (status == OK)
		note_known(put, &view);
	return status == ERR_NOT_FOUND ? OK : status;
}

static enum status open_put(struct aws_call *call, struct batch *batch, struct batch_put **out, struct error *err)
{
	struct span job = metrics_job_of_component(metrics_text(call->input, "TrialComponentName"));
	struct batch_put *put = arena_alloc(call->arena, sizeof *put);

	if (!put || !batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	batch->source = SPAN("");
	*put = (struct batch_put){.call = call, .batch = batch, .part = batch_part(batch, job, SPAN("algo-1"))};
	if (!put->part)
		return error_no_memory(err);
	*out = put;
	return OK;
}

enum status metrics_batch_put(struct aws_call *call, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	AUTO_DONE(buf) canonical = BUF_INIT(4096);
	struct batch_put *put = NULL;
	struct hash128 hash = {0};

	TRY(open_put(call, batch, &put, err));
	for (const struct json *metric = json_first(json_get(call->input, "MetricData")); metric;
		metric = json_next(metric))
		TRY(add_metric(put, metric, &canonical, err));
	if (!batch->point_count) {
		write_errors(call, put);
		return OK;
	}
	TRY(find_new(put, err));
	hash128_add(&hash, SPAN("BatchPutMetrics"));
	hash128_add(&hash, http_request_header(call->request, "amz-sdk-invocation-id"));
	hash128_add(&hash, call->body);
	put->part->is_push = true;
	put->part->push_hash = hash;
	call->own = put;
	call->lines = TAKE(batch);
	call->answer = answer_put;
	return OK;
}

/* ---- the service ---- */

#define NEEDED(path)                                                                                                   \
	{                                                                                                              \
		path, SHAPE_NEEDED, 0, 0, NULL                                                                         \
	}
#define OBJECT(path)                                                                                                   \
	{                                                                                                              \
		path, SHAPE_OBJECT, 0, 0, NULL                                                                         \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, SHAPE_OBJECT, 0, 0, NULL                                                                         \
	}

static const struct shape_rule put_input[] = {NEEDED("TrialComponentName"),
	{"TrialComponentName", SHAPE_STRING, 1, 255, NULL}, NEEDED("MetricData"),
	{"MetricData", SHAPE_ARRAY, 1, PUT_MAX, NULL}, OBJECT("MetricData[]"), NEEDED("MetricData[].MetricName"),
	{"MetricData[].MetricName", SHAPE_STRING, 1, 255, NULL}, NEEDED("MetricData[].Timestamp"),
	{"MetricData[].Timestamp", SHAPE_TIME, 0, 0, NULL}, {"MetricData[].Step", SHAPE_INTEGER, 0, INT32_MAX, NULL},
	NEEDED("MetricData[].Value"), END};

static const struct shape_rule get_input[] = {NEEDED("MetricQueries"), {"MetricQueries", SHAPE_ARRAY, 1, GET_MAX, NULL},
	OBJECT("MetricQueries[]"), NEEDED("MetricQueries[].MetricName"),
	{"MetricQueries[].MetricName", SHAPE_STRING, 1, 255, NULL}, NEEDED("MetricQueries[].ResourceArn"),
	{"MetricQueries[].ResourceArn", SHAPE_STRING, 1, 2048,
		"arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:(training-job|experiment-trial-component)/.+"},
	NEEDED("MetricQueries[].MetricStat"),
	{"MetricQueries[].MetricStat", SHAPE_ENUM, 0, 0, "Min|Max|Avg|Count|StdDev|Last"},
	NEEDED("MetricQueries[].Period"),
	{"MetricQueries[].Period", SHAPE_ENUM, 0, 0, "OneMinute|FiveMinute|OneHour|IterationNumber"},
	NEEDED("MetricQueries[].XAxisType"),
	{"MetricQueries[].XAxisType", SHAPE_ENUM, 0, 0, "IterationNumber|Timestamp"},
	{"MetricQueries[].Start", SHAPE_INTEGER, INT64_MIN, INT64_MAX, NULL},
	{"MetricQueries[].End", SHAPE_INTEGER, INT64_MIN, INT64_MAX, NULL}, END};

static const struct aws_operation operations[] = {
	{"BatchPutMetrics", SCOPE_WRITE, metrics_batch_put, .input = put_input},
	{"BatchGetMetrics", SCOPE_READ, metrics_batch_get, .input = get_input},
	{.name = NULL},
};

const struct aws_service sagemaker_metrics_service = {.operations = operations,
	.codes = {.invalid = "ValidationException",
		.missing = "ValidationException",
		.not_found = "ResourceNotFoundException",
		.conflict = "ConflictException",
		.busy = "ThrottlingException",
		.unavailable = "ServiceUnavailableException"}};
