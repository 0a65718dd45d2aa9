/*
 * Job: the tables of sm-server's options by what they are about; each goes on in the next (option_spec.more), so that they are one.
 * Threads: constants.
 */
#pragma once

#include "base/options/options.h"

#define KIB 1024LL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

extern const struct option_spec
	option_limits[]; /* threads, limits of what a client may send or ask, labels of shippers */
extern const struct option_spec option_storage[]; /* the database's journal and caches; what is kept for how long */
extern const struct option_spec option_doors[]; /* clients of other products, and collecting from AWS */
extern const struct option_spec option_data[]; /* files of one's own over what the program knows */
extern const struct option_spec option_commands[]; /* of subcommands; the last */
