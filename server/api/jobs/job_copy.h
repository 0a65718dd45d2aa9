/* Job: the reply to ?as=json|aws-cli. Ownership and threads: as api.h. */
#pragma once

#include "http/http.h"
#include "store/jobs.h"
#include "store/store.h"

enum status api_copy_job(
	const struct job_row *row, struct span as, struct http_response *response, struct error *err) MUST_CHECK;
