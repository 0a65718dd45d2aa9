/* Job: a page of a search of jobs, through logs where the query asks of them. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "store/search.h"

/* No view of the database may be open; after OK one is, of the same moment (of a later one than what is in logs):
 * store_reader_end is the caller's. */
enum status api_search_page(struct api_worker *worker, const struct http_request *request, struct arena *arena,
	const struct job_search *search, struct job_search_result *out, bool *is_partial, struct error *err) MUST_CHECK;
/* As of which commit searches know what came of logs; read before the search. */
void api_print_index_seq(const struct api *api, char out[24]);
/* GET /api/v1/jobs?format=csv|ndjson. */
enum status api_jobs_listing(const struct api *api, const struct http_request *request, struct api_worker *worker,
	struct http_response *response, struct error *err) MUST_CHECK;
