/*
 * Job: sm-search: asks for the jobs that match a query and prints them.
 * Ownership: nothing is left. Threads: the main thread.
 */
#pragma once

#include "base/options/options.h"

extern const struct option_program search_program;

/* The exit status of the program. */
int search_run(const struct options *options, char *const *environment);
