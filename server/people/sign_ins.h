/*
 * Job: sign-ins that were begun, and have not come back from their provider: each for ten minutes, once, and in one browser.
 *      At most so many: then the oldest is forgotten.
 * Ownership: new/free. Threads: any.
 */
#pragma once

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/error.h"

enum { SIGN_IN_SECONDS = 600, SIGN_IN_RANDOM_BYTES = 32, SIGN_IN_TEXT_BYTES = 43, SIGN_IN_RETURN_BYTES = 1024 };

struct sign_in {
	char state[SIGN_IN_TEXT_BYTES + 1], nonce[SIGN_IN_TEXT_BYTES + 1], verifier[SIGN_IN_TEXT_BYTES + 1];
	unsigned char browser[SHA256_BYTES]; /* of the cookie */
	size_t provider;
	char return_path[SIGN_IN_RETURN_BYTES + 1]; /* of this server */
	int64_t until_mono_ms;
};

struct sign_ins;

enum status sign_ins_new(struct sign_ins **out, size_t most, struct error *err) MUST_CHECK;
void sign_ins_free(struct sign_ins *all);

/* 256 random bits that addresses and cookies can hold. */
void sign_in_random(char out[SIGN_IN_TEXT_BYTES + 1]);
/* RFC 7636, 4.2 */
void sign_in_challenge(const char *verifier, char out[SIGN_IN_TEXT_BYTES + 1]);
/* "/jobs/a?x=1#y": nothing else may be gone to afterwards. */
bool sign_in_is_return_path(struct span path);

enum status sign_ins_put(struct sign_ins *all, const struct sign_in *one, struct error *err) MUST_CHECK;
/* False: there is none (any more). It is not there afterwards. */
bool sign_ins_take(struct sign_ins *all, struct span state, struct sign_in *out);

AUTO_TYPE(sign_ins)
