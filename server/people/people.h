/*
 * Job: the file of --sign-in: who vouches for people, and what those may do here.
 * Ownership: read/free. Immutable. Threads: any.
 */
#pragma once

#include "people/provider_settings.h"

struct people;

/* path: NULL: there is none, and nobody may anything by name. */
enum status people_read(struct people **out, const char *path, struct error *err) MUST_CHECK;
void people_free(struct people *people);

/* Of those whom a trusted proxy names; NULL: nobody. */
const struct grants *people_of_proxy(const struct people *people);

/* OpenID providers; NULL: there is no i-th. */
const struct provider_settings *people_provider(const struct people *people, size_t i);

/* What their names begin with: no token can be made that could be taken for one of them. */
#define PEOPLE_PROXY "proxy/"
#define PEOPLE_OIDC "oidc/" /* and the provider's name, and another / */
bool people_owns_name(struct span name);

AUTO_TYPE(people)
