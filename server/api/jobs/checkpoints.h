/* Job: checkpoints of a job by the names that by_hand gives them. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"

/* by_hand.checkpoints: ERR_SEMANTIC names one that cannot be set. NULL and null: nothing is set. */
enum status api_check_checkpoints(const struct api *api, struct store_reader *reader, struct arena *arena,
	struct span job, const struct json *checkpoints, struct error *err) MUST_CHECK;
