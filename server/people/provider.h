/*
 * Job: talks to one OpenID provider: what it says of itself (OpenID Connect Discovery 1.0), where a browser signs in, and who that was
 *      (the code flow of OpenID Connect Core 1.0, with PKCE: RFC 7636).
 * Ownership: new/free; the settings outlive it. Threads: one, which it blocks, at most for some seconds; cancel from any.
 */
#pragma once

#include "people/provider_settings.h"

struct provider;

enum status provider_new(struct provider **out, const struct provider_settings *settings, struct error *err) MUST_CHECK;
void provider_free(struct provider *provider);
/* What it does ends at once, and all that comes. */
void provider_cancel(struct provider *provider);

/* Where the browser goes to. ERR_IO: the provider does not answer, or not as one. */
struct provider_question {
	struct span redirect_uri, state, nonce, challenge;
};
enum status provider_write_address(struct provider *provider, const struct provider_question *question, struct buf *out,
	struct error *err) MUST_CHECK;

/* What it came back with. */
struct provider_answer {
	struct span code, redirect_uri, nonce, verifier;
	bool has_issuer;
	struct span issuer; /* RFC 9207 */
};
struct provider_person {
	struct buf name; /* as the claim has it */
	struct buf groups; /* a JSON array of texts */
};
void provider_person_done(struct provider_person *person);
/* ERR_IO: as above; ERR_FORBIDDEN: the provider has signed in somebody who has no name here. */
enum status provider_find_person(struct provider *provider, const struct provider_answer *answer,
	struct provider_person *out, struct error *err) MUST_CHECK;

AUTO_TYPE(provider)
AUTO_DONE_TYPE(provider_person)
