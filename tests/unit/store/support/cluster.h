/*
 * Job: a PostgreSQL server for the tests of this program: of Debian's package, in a temporary folder, on a socket in it.
 * Ownership: made at its first use, ended and deleted with the program. Threads: the tests'.
 */
#pragma once

#include "test.h"

#include <stdbool.h>
#include <sys/types.h>

/* False, and a line that says so: no PostgreSQL is installed, so that the test cannot be run. With SM_NEEDS_POSTGRES it fails. */
bool cluster_is_there(void);
/* An address of the database; valid until the program ends. Starts the server where it was stopped. */
const char *cluster_conninfo(const char *database);
/* As if its machine had lost its power. */
void cluster_kill(void);
