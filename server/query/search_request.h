/*
 * Job: a request of SageMaker's Search, as far as it concerns jobs.
 * Ownership: everything in the caller's arena and in the JSON, which must live as long. Threads: values.
 * Source: SageMaker's API, 2017-07-24: Search.
 */
#pragma once

#include "base/json/json_read.h"
#include "model/query.h"

struct search_request {
	bool is_ours; /* of TrainingJobs; of any other resource there are none */
	struct query_node *query; /* NULL: all */
	struct span sort;
	struct span cursor; /* NextToken; "": none */
	size_t limit;
};

/* ERR_INVALID with SageMaker's words. */
enum status search_request_read(
	struct search_request *out, const struct json *body, struct arena *arena, struct error *err) MUST_CHECK;
