/* Job: restarts of a job by the names that by_hand gives them. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"

/* by_hand.restarts: ERR_SEMANTIC names one that is no restart of the job. NULL and null: nothing is set. */
enum status api_check_restarts(const struct api *api, struct store_reader *reader, struct arena *arena, struct span job,
	const struct json *restarts, struct error *err) MUST_CHECK;
