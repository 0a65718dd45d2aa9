/*
 * Job: the file of --sign-in: who vouches for people, and what those may do here.
 * Ownership: read/free. Immutable. Threads: any.
 */
#pragma once

#include "people/grants.h"

struct people;

/* path: NULL: there is none, and nobody may anything by name. */
enum status people_read(struct people **out, const char *path, struct error *err) MUST_CHECK;
void people_free(struct people *people);

/* Of those whom a trusted proxy names; NULL: nobody. */
const struct grants *people_of_proxy(const struct people *people);

/* What their names begin with, so that no token can be taken for one of them. */
#define PEOPLE_PROXY "proxy/"
bool people_owns_name(const struct people *people, struct span name);

AUTO_TYPE(people)
