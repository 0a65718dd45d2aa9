/* Job: addresses that may be read without a token for a time. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"

enum status signatures_check(
	void *api, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;
