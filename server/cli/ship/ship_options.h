/*
 * Job: sm-ship's options, and what more than one of its parts makes of them. Any thread.
 */
#pragma once

#include "base/options/options.h"
#include "cli/process/identity.h"

extern const struct option_program ship_program;

/* Where what waits is kept. */
const char *ship_spool_folder(const struct options *options, char *const *environment);
/* Who this is by the options, the environment and the machine; settings come beside. */
enum status ship_find_identity(
	struct identity **out, const struct options *options, char *const *environment, struct error *err) MUST_CHECK;

/* Folders of the same name in two containers are not the same: neither are those who write there. "": there is no such folder. */
enum { SHIP_SEED_BYTES = 4096 + 64 };
void ship_seed_sessions(const char *folder, char seed[SHIP_SEED_BYTES]);
