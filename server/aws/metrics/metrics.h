/*
 * Job: what the operations on metrics share (CloudWatch's, and sagemaker-metrics'): where a metric's points are is metric_map.h's,
 *      docs/aws-metrics.md says it to users.
 * Ownership and threads: as internal.h.
 */
#pragma once

#include "aws/protocol/internal.h"
#include "aws/metrics/metric_map.h"
#include "aws/metrics/metric_periods.h"

#define METRICS_INVALID "InvalidParameterValueException"
#define METRICS_COMBINATION "InvalidParameterCombinationException"

/* The limits of PutMetricData on a point. */
enum { METRICS_PAST_MS = 14 * 24 * 3600 * 1000, METRICS_FUTURE_MS = 2 * 3600 * 1000 };

extern const char metrics_units[]; /* of a shape's enum */

/* ---- metrics.c ---- */
/* A number, also NaN and infinities; in JSON and CBOR no other texts. */
bool metrics_number(const struct aws_call *call, const struct json *node, double *out);
enum status metrics_identity(const struct aws_call *call, struct span namespace_name, const struct json *metric,
	struct metric_identity *out, struct error *err) MUST_CHECK;
void metrics_write_double(struct json_writer *w, double value); /* also a whole one with its fraction: 4.0, as AWS's */
struct span metrics_text(const struct json *object, const char *member); /* "": absent */

/* ---- metrics_put.c ---- */
aws_handler metrics_put_data;

/* ---- metrics_read.c ---- */
/* What is asked of a metric's points. */
struct metrics_window {
	bool is_by_step;
	int64_t from_ms, until_ms; /* exclusive; steps, if it is by these */
	struct span unit; /* "": any */
};
struct metrics_series {
	struct span unit; /* CloudWatch's; "None" */
	bool has_points;
	int64_t first_ms, last_ms; /* of all its points */
};
struct point;
typedef enum status metrics_take(void *context, const struct point *point, double value, struct error *err);
/* Every point of the window, in no order of streams. */
enum status metrics_each(struct aws_call *call, const struct metric_identity *identity,
	const struct metrics_window *window, metrics_take *take, void *context, struct metrics_series *out,
	struct error *err) MUST_CHECK;
/* periods NULL: only what is there. */
enum status metrics_fold(struct aws_call *call, const struct metric_identity *identity,
	const struct metrics_window *window, struct metric_periods *periods, struct metrics_series *out,
	struct error *err) MUST_CHECK;
/* Where the periods of a request begin. */
int64_t metrics_origin(int64_t start_ms, int64_t period_ms);
enum status metrics_check_period(int64_t period_s, struct error *err) MUST_CHECK;

/* ---- metrics_get.c, metrics_data.c, metrics_list.c ---- */
aws_handler metrics_get_statistics, metrics_get_data, metrics_list;

/* ---- metrics_batch.c, metrics_batch_get.c: sagemaker-metrics ---- */
aws_handler metrics_batch_put, metrics_batch_get;
/* JOB-aws-training-job is what SageMaker calls a job's trial component. */
struct span metrics_job_of_component(struct span name);
