/* Job: the two doors of the server, REST and AWS, as one table of routes. Threads: main. */
#pragma once

#include "api/api.h"
#include "aws/protocol/aws.h"
#include "base/options/options.h"

enum status doors_make_aws(struct aws **out, const struct options *options, struct api *api, struct pipeline *pipeline,
	struct error *err) MUST_CHECK;

/* *out: freed by mem_free. */
enum status doors_join_routes(
	struct http_route **out, size_t *count, const struct aws *aws, struct error *err) MUST_CHECK;
