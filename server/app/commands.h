/*
 * Job: sm-server's subcommands: token, backup, restore, check, migrate, doctor. What a running server must do itself it is
 *      asked for through its socket; without one the database is opened here.
 * Ownership: none. Threads: main.
 */
#pragma once

#include "base/options/options.h"

/* The words of the command line are the command. Returns the exit status (exit_status.h). */
int command_run(const struct options *options);
