/*
 * Job: sm-server's subcommands: token, backup, restore, check, migrate, doctor. What a running server must do itself it is
 *      asked for through its socket; without one the database is opened here.
 * Ownership: none. Threads: main.
 */
#pragma once

#include "base/error.h"
#include "base/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REFUSED = 4 };

/* Prints to standard error; returns code. */
int command_fail(const struct error *err, int code);
/* The words of the command line are the command. Returns the exit status. */
int command_run(const struct options *options);

/* ---- by file ---- */
int command_create_token(const struct options *options);
int command_backup(const struct options *options);
int command_restore(const struct options *options);
int command_check(const struct options *options);
int command_migrate(const struct options *options);
int command_doctor(const struct options *options);
/* The same in one line of the log, in a few ms, for a start. */
void doctor_log(const char *db);
