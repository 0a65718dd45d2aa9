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
/* As libpq takes it; valid until the next call. Starts the server where it was stopped. */
const char *cluster_conninfo(const char *database);
const char *cluster_address(const char *database); /* the same as a URI, as the server takes it */
/* As if its machine had lost its power. */
void cluster_kill(void);
