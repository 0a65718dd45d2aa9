/*
 * Job: sm-search: asks for the jobs that match a query and prints them.
 * Ownership: nothing is left. Threads: the main thread.
 */
#pragma once

#include "cli/search/search_options.h"

/* The exit status of the program. */
int search_run(const struct options *options, char *const *environment);
