/*
 * Job: sm-ship's options, and what more than one of its parts makes of them. Any thread.
 */
#pragma once

#include "base/options/options.h"

extern const struct option_program ship_program;

/* Where what waits is kept. */
const char *ship_spool_folder(const struct options *options, char *const *environment);
