/*
 * Job: the protocols of AWS, so that its clients run unchanged: SageMaker, CloudWatch Logs, CloudWatch and sagemaker-metrics.
 *      Requests are told apart, checked and signed as AWS's are (docs/aws.md); what an operation does, the pipeline and the
 *      store do. It and the REST surface do not call each other.
 * Ownership: new/free; outlives the HTTP server. Threads: admission on I/O threads, operations on workers.
 */
#pragma once

#include "aws/protocol/aws_options.h"

struct aws;

enum status aws_new(struct aws **out, const struct aws_options *options, struct error *err) MUST_CHECK;
void aws_free(struct aws *aws);
const struct http_route *aws_routes(const struct aws *aws, size_t *count);

AUTO_TYPE(aws)
