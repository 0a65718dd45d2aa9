/*
 * Job: is an ID token, whose signature is good, meant for us, now, and for this very sign-in? (OpenID Connect Core 3.1.3.7)
 * Pure. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"

struct id_token_wanted {
	struct span issuer, client_id, nonce;
	int64_t now_s;
};

/* ERR_INVALID names the claim. */
enum status id_token_check(
	const struct json *claims, const struct id_token_wanted *wanted, struct error *err) MUST_CHECK;
