/*
 * Job: sm-ship --import: a folder of old logs becomes jobs, one after the other, their files streams.
 * Ownership: nothing is left. Threads: the main thread, before any other.
 */
#pragma once

#include "cli/ship/import_list.h"

#include "base/options/options.h"

/* The exit status of the program. */
int import_run(const struct options *options, char *const *environment);
