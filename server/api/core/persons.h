/* Job: people whom others vouch for, as those who ask. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"

/* hooks.authenticate_person */
enum status persons_authenticate(
	void *api, struct span name, struct span groups, struct principal *out, struct error *err) MUST_CHECK;
