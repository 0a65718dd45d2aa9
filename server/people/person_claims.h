/*
 * Job: what a provider's claims say of a person: the name, and the groups.
 * Ownership: the caller's buffers. Pure. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"

/* False: the name is not there, or is an address and not said to be verified or not; the userinfo endpoint may say it. */
bool person_claims_are_enough(const struct json *claims, const char *claim);
/* more: what the provider said when it was asked again; NULL: nothing. ERR_FORBIDDEN: there is no name by which somebody could be known. */
enum status person_claims_name(const struct json *claims, const struct json *more, const char *claim, struct buf *out,
	struct error *err) MUST_CHECK;
/* As a JSON array of texts; there may be none. */
enum status person_claims_groups(const struct json *claims, const struct json *more, const char *claim, struct buf *out,
	struct error *err) MUST_CHECK;
