/*
 * Job: hashes, signatures, sealing and randomness, all by mbed TLS; base64 and hex.
 * Ownership: results go into the caller's memory. Threads: any.
 */
#pragma once

#include "base/buf.h"

enum { SHA256_BYTES = 32, SEAL_KEY_BYTES = 32 };

void crypto_random(void *bytes, size_t len); /* from the kernel; ends the process when the kernel has none */
void crypto_sha256(struct span data, unsigned char out[SHA256_BYTES]);
/* RFC 2104 */
void crypto_hmac_sha256(struct span key, struct span data, unsigned char out[SHA256_BYTES]);
bool crypto_equal(const void *a, const void *b, size_t len); /* in constant time */

/* AES-256-GCM: 12 bytes nonce, the text, 16 bytes tag. */
enum status crypto_seal(
	const unsigned char key[SEAL_KEY_BYTES], struct span plain, struct buf *out, struct error *err) MUST_CHECK;
/* ERR_INVALID: another key, or changed bytes. */
enum status crypto_unseal(
	const unsigned char key[SEAL_KEY_BYTES], struct span sealed, struct buf *out, struct error *err) MUST_CHECK;

enum { UUID_BYTES = 36 };
void crypto_uuid(char out[UUID_BYTES + 1]); /* RFC 9562: version 4, random */
void crypto_hex(const unsigned char *bytes, size_t len, char *out); /* 2 * len characters and a NUL */
void crypto_base64(struct span data, struct buf *out); /* RFC 4648, padded */
bool crypto_unbase64(struct span text, struct buf *out);
/* The same with - and _ in place of + and /, and without padding (RFC 4648, 5; RFC 7515, 2). */
void crypto_base64url(struct span data, struct buf *out);
bool crypto_unbase64url(struct span text, struct buf *out);

/* PKCS #1 1.5 with SHA-256 by a public key of 2048 to 8192 bits; its numbers are big-endian. False also for what is no such key. */
bool crypto_check_rs256(struct span modulus, struct span exponent, struct span data, struct span signature);
/* ECDSA with SHA-256 on P-256; x, y, and both halves of the signature have 32 bytes each (RFC 7518, 3.4). */
bool crypto_check_es256(struct span x, struct span y, struct span data, struct span signature);
