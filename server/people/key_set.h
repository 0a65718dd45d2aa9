/*
 * Job: a provider's public keys (RFC 7517), and whether one of them has signed a token.
 * Ownership: read/free. Immutable. Threads: any.
 */
#pragma once

#include "people/jwt.h"

struct key_set;

/* Keys that cannot sign RS256 or ES256 are passed over. ERR_INVALID: this is no set of keys. */
enum status key_set_read(struct key_set **out, struct span text, struct error *err) MUST_CHECK;
void key_set_free(struct key_set *keys);

/* ERR_NOT_FOUND: of the token's key nothing is known, though there may be a newer set; ERR_INVALID: it is known, and has not signed this. */
enum status key_set_check(const struct key_set *keys, const struct jwt *jwt, struct error *err) MUST_CHECK;

AUTO_TYPE(key_set)
