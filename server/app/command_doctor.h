/*
 * Job: sm-server doctor: whether this machine can keep what the server is told.
 * Ownership: none. Threads: main.
 */
#pragma once

#include "base/options/options.h"

int command_doctor(const struct options *options);
/* The same in one line of the log, in a few ms, for a start. */
void doctor_log(const char *db);
