/* Job: a file of a job as a reply, for doors of other protocols. Ownership and threads: as api.h. */
#pragma once

#include "http/http.h"

/* worker: of the API. ERR_NOT_FOUND */
enum status api_attachment_send(void *worker, const struct http_request *request, int64_t job_id, struct span path,
	struct http_response *response, struct error *err) MUST_CHECK;
