/* Job: commands to shippers, as their sessions know them. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"

/* A command that is on disk: the sessions of its job are told. Any thread. */
struct command_row;
void api_command_given(struct api *api, const struct command_row *command);
/* When the last lease on one of the job's streams is, or was, over, by the wall clock; 0: nobody had one. */
int64_t api_lease_end_ms(struct api *api, int64_t job_id);
