/*
 * Job: a token for whoever may open the files beside the database: by the control socket, or where no server runs.
 * Ownership: none. Threads: main.
 */
#pragma once

#include "api/api.h"

struct pipeline;

struct local_token {
	struct span name, scope, team;
	bool wants_aws;
};
/* Its text, and in two more lines, as a profile of AWS's clients has them, the pair that they sign with. */
enum status local_token_create(struct pipeline *pipeline, struct api *api, const struct local_token *asked,
	struct buf *out, struct error *err) MUST_CHECK;
