/*
 * Job: what sm-server ends with, and says to standard error when that is not well. Any thread.
 */
#pragma once

#include "base/error.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REFUSED = 4 };

/* Prints to standard error; returns code. */
int command_fail(const struct error *err, int code);
