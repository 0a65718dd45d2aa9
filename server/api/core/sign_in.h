/*
 * Job: people sign in by an OpenID provider: the browser goes there, and comes back with a code. What is asked of a provider is asked on a
 *      thread of its own, so that a slow one holds up nobody but those who sign in by it.
 * Ownership: start/stop/free; as api.h. Threads: any.
 */
#pragma once

#include "api/core/api_state.h"

struct sign_in_desks;

/* NULL when there is no provider. */
enum status sign_in_desks_start(struct sign_in_desks **out, struct api *api, struct error *err) MUST_CHECK;
/* What is asked ends, and nothing more is. Before the server's end. */
void sign_in_desks_stop(struct sign_in_desks *desks);
void sign_in_desks_free(struct sign_in_desks *desks);
