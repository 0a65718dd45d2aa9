/* Job: people whom others vouch for, as those who ask. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"
#include "people/grants.h"

/* hooks.authenticate_person */
enum status persons_authenticate(
	void *api, struct span name, struct span groups, struct principal *out, struct error *err) MUST_CHECK;

/* Somebody of this name here ("proxy/ann"), who may this. ERR_FORBIDDEN: it is too long. */
enum status persons_fill(
	struct principal *out, struct span name, const struct grant *grant, struct error *err) MUST_CHECK;
