/* Job: a job's own limits, said in the object that is open. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/retention.h"

enum status api_limit_job(struct api *api, const struct http_request *request, const struct json *retention,
	struct json_writer *w, struct error *err) MUST_CHECK;
