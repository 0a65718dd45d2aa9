/*
 * Job: sm-ship FILE where each FILE is what an evaluation found of a checkpoint: sent to the job as it is.
 * Ownership: nothing is kept. Threads: the main thread; there are no others.
 */
#pragma once

#include "base/options/options.h"

/* Whether the words are such files, or globs of them. ERR_INVALID: some are, and others are not. */
enum status score_files_wanted(const struct options *options, bool *wanted, struct error *err) MUST_CHECK;
/* The program's exit status. */
int score_files_run(const struct options *options, char *const *environment);
