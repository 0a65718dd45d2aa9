/*
 * Job: an OpenID provider as the file of --sign-in states it: strictly, since what is read otherwise than it was meant lets somebody in.
 * Ownership: read/free. Immutable. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "people/grants.h"

struct provider_settings {
	/* of letters of ASCII, digits and -: it is part of addresses, and of people's names here */
	const char *name;
	const char *label; /* on the button */
	const char *issuer;
	struct span client_id;
	struct span secret; /* "": a public client */
	struct span scopes; /* "openid email profile" */
	const char *person_claim, *groups_claim;
	const char *ca_file; /* NULL: the system's authorities */
	struct grants *grants;

	struct arena *arena;
};

enum status provider_settings_read(
	struct provider_settings **out, const struct json *from, size_t i, struct error *err) MUST_CHECK;
void provider_settings_free(struct provider_settings *settings);

/* https, or http to this very machine: what goes there are secrets. */
bool provider_is_safe_url(struct span url);

AUTO_TYPE(provider_settings)
