/*
 * Job: sm-ship --trace: what traces of PyTorch's profiler say is sent to a job, one trace after the other.
 * Ownership: nothing is kept. Threads: the main thread; there are no others.
 */
#pragma once

#include "base/options/options.h"

/* The program's exit status. */
int trace_files_run(const struct options *options, char *const *environment);
