/* Job: addresses that may be read without a token for a time. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"

enum status signatures_check(
	void *api, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;

/* Of what another door signs, by the same key: its text begins with a word of its own, so that it is none of these addresses'. Any thread. */
enum { API_MAC_DIGITS = 32 };
void api_sign(const void *api, struct span text, char digits[API_MAC_DIGITS + 1]);
