/*
 * Job: empty databases for tests, as copies of one: all migrations, with what ASan does at each of their allocations, were half of what the tests of
 * this program cost.
 * Ownership: the one is made at its first use, and has no name, so it goes with the program. Threads: the test's.
 */
#pragma once

/* Where nothing is yet: what store_open makes of a path. */
void empty_database_put(const char *path);
