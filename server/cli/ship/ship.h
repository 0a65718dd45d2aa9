/*
 * Job: sm-ship: puts the parts together for one run.
 * Ownership: nothing is left. Threads: the main thread, before any other.
 */
#pragma once

#include "base/options/options.h"

/* The exit status of the program. */
int ship_run(const struct options *options, char *const *environment);
