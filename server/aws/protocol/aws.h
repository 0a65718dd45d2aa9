/*
 * Job: the protocols of AWS, so that its clients run unchanged: SageMaker, CloudWatch Logs, CloudWatch and sagemaker-metrics.
 *      Requests are told apart, checked and signed as AWS's are (docs/aws.md); what an operation does, the pipeline and the
 *      store do. It and the REST surface do not call each other.
 * Ownership: new/free; outlives the HTTP server. Threads: admission on I/O threads, operations on workers.
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"
#include "store/store.h"

struct aws;
struct command_row;

struct aws_options {
	struct pipeline *pipeline;
	const char *region; /* in ARNs */
	const char *account; /* twelve digits */
	size_t max_body_bytes; /* also unpacked */
	int64_t skew_ms; /* between a client's clock and ours */
	int64_t job_search_ms; /* a search of jobs ends then, with what it has */
	size_t max_commands; /* of one job */
	size_t max_metric_points; /* that one PutMetricData may stand for */
	uint64_t max_group_values; /* kept for percentiles, in one request */
	/* What the workers that the HTTP server makes have of the database. */
	struct store_reader *(*reader_of)(void *worker);
	/* token "": none was sent; OK then: everybody may do everything. I/O threads; must not block. */
	enum status (*authenticate)(void *context, struct span token, struct principal *out, struct error *err);
	/* The secret of an access key; false: there is no such key. I/O threads and workers; must not block. */
	bool (*find_key)(void *context, struct span key_id, struct principal *out, struct buf *secret);
	/* A command is on disk: those who send the job are to be told. */
	void (*command_given)(void *context, const struct command_row *command);
	void *context; /* of these three */
};

enum status aws_new(struct aws **out, const struct aws_options *options, struct error *err) MUST_CHECK;
void aws_free(struct aws *aws);
const struct http_route *aws_routes(const struct aws *aws, size_t *count);

AUTO_TYPE(aws)
