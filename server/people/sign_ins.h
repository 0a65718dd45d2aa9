/*
 * Job: sign-ins that were begun, and have not come back from their provider: each for ten minutes, once, and in one browser.
 *      What there is to know of one goes along with it, sealed, as its state: whoever begins many, which needs no leave, takes
 *      neither memory nor anybody else's place. The key is this process's: none outlives a restart.
 * Ownership: new/free. Threads: any.
 */
#pragma once

#include "base/alloc.h"
#include "base/crypto.h"

enum {
	SIGN_IN_SECONDS = 600,
	SIGN_IN_RANDOM_BYTES = 32,
	SIGN_IN_TEXT_BYTES = 43,
	SIGN_IN_RETURN_BYTES = 1024,
	SIGN_IN_STATE_BYTES = 2048
};

struct sign_in {
	char nonce[SIGN_IN_TEXT_BYTES + 1], verifier[SIGN_IN_TEXT_BYTES + 1];
	unsigned char browser[SHA256_BYTES]; /* of the cookie */
	size_t provider;
	int64_t until_mono_ms;
	uint64_t endings; /* of sessions, that there were when it began */
	char return_path[SIGN_IN_RETURN_BYTES + 1]; /* of this server; last: no more of it is sealed than there is */
};

struct sign_ins;

enum status sign_ins_new(struct sign_ins **out, struct error *err) MUST_CHECK;
void sign_ins_free(struct sign_ins *all);

/* 256 random bits that addresses and cookies can hold. */
void sign_in_random(char out[SIGN_IN_TEXT_BYTES + 1]);
/* RFC 7636, 4.2 */
void sign_in_challenge(const char *verifier, char out[SIGN_IN_TEXT_BYTES + 1]);
/* "/jobs/a?x=1#y": nothing else may be gone to afterwards. */
bool sign_in_is_return_path(struct span path);

/* Appends its state, of at most SIGN_IN_STATE_BYTES characters that an address can hold. */
enum status sign_ins_write_state(
	const struct sign_ins *all, const struct sign_in *one, struct buf *state, struct error *err) MUST_CHECK;
/* False: it is none of ours, or too old, or was taken already. */
bool sign_ins_take(struct sign_ins *all, struct span state, struct sign_in *out);

AUTO_TYPE(sign_ins)
