#include "base/crypto.h"

#include <errno.h>
#include <mbedtls/base64.h>
#include <mbedtls/constant_time.h>
#include <mbedtls/gcm.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { NONCE_BYTES = 12, TAG_BYTES = 16 };

void crypto_random(void *bytes, size_t len)
{
	char *at = bytes;

	while (len) {
		ssize_t got = getrandom(at, len, 0);
		if (got < 0 && errno != EINTR)
			abort(); /* a guessable secret is worse than no server */
		if (got > 0) {
			at += got;
			len -= (size_t)got;
		}
	}
}

void crypto_sha256(struct span data, unsigned char out[SHA256_BYTES])
{
	if (mbedtls_sha256_ret((const unsigned char *)data.ptr, data.len, out, 0) != 0)
		abort(); /* only a hardware engine can fail here; there is none */
}

void crypto_hmac_sha256(struct span key, struct span data, unsigned char out[SHA256_BYTES])
{
	const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);

	if (mbedtls_md_hmac(sha256, (const unsigned char *)key.ptr, key.len, (const unsigned char *)data.ptr, data.len,
		    out) != 0)
		abort(); /* as above */
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
	return mbedtls_ct_memcmp(a, b, len) == 0;
}

enum status crypto_seal(const unsigned char key[SEAL_KEY_BYTES], struct span plain, struct buf *out, struct error *err)
{
	unsigned char *room = (unsigned char *)buf_reserve(out, NONCE_BYTES + plain.len + TAG_BYTES);
	mbedtls_gcm_context gcm;

	TRY(buf_status(out, err));
	crypto_random(room, NONCE_BYTES);
	mbedtls_gcm_init(&gcm);
	int failure = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, 8 * SEAL_KEY_BYTES);
	if (!failure)
		failure = mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, plain.len, room, NONCE_BYTES, NULL, 0,
			(const unsigned char *)plain.ptr, room + NONCE_BYTES, TAG_BYTES,
			room + NONCE_BYTES + plain.len);
	mbedtls_gcm_free(&gcm);
	if (failure)
		return error_set(err, ERR_INTERNAL, "cannot seal a secret (mbed TLS %d)", failure);
	buf_advance(out, NONCE_BYTES + plain.len + TAG_BYTES);
	return OK;
}

enum status crypto_unseal(
	const unsigned char key[SEAL_KEY_BYTES], struct span sealed, struct buf *out, struct error *err)
{
	const unsigned char *bytes = (const unsigned char *)sealed.ptr;
	mbedtls_gcm_context gcm;

	if (sealed.len < NONCE_BYTES + TAG_BYTES)
		return error_set(err, ERR_INVALID, "a sealed secret of %zu bytes is cut off", sealed.len);
	size_t len = sealed.len - NONCE_BYTES - TAG_BYTES;
	unsigned char *room = (unsigned char *)buf_reserve(out, len);
	TRY(buf_status(out, err));
	mbedtls_gcm_init(&gcm);
	int failure = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, 8 * SEAL_KEY_BYTES);
	if (!failure)
		failure = mbedtls_gcm_auth_decrypt(&gcm, len, bytes, NONCE_BYTES, NULL, 0, bytes + NONCE_BYTES + len,
			TAG_BYTES, bytes + NONCE_BYTES, room);
	mbedtls_gcm_free(&gcm);
	if (failure)
		return error_set(err, ERR_INVALID, "a sealed secret does not open with this server's key file");
	buf_advance(out, len);
	return OK;
}

void crypto_hex(const unsigned char *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * len] = 0;
}

void crypto_uuid(char out[UUID_BYTES + 1])
{
	unsigned char random[16];
	char digits[2 * sizeof random + 1];

	crypto_random(random, sizeof random);
	random[6] = (unsigned char)((random[6] & 0x0f) | 0x40);
	random[8] = (unsigned char)((random[8] & 0x3f) | 0x80);
	crypto_hex(random, sizeof random, digits);
	snprintf(out, UUID_BYTES + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8, digits + 12, digits + 16,
		digits + 20);
}

void crypto_base64(struct span data, struct buf *out)
{
	size_t len = (data.len + 2) / 3 * 4, written = 0;
	char *room = buf_reserve(out, len);

	if (room && mbedtls_base64_encode(
			    (unsigned char *)room, len + 1, &written, (const unsigned char *)data.ptr, data.len) == 0)
		buf_advance(out, written);
}

/* mbed TLS takes line breaks, and drops the end of a text without padding in silence. */
static bool is_padded_base64(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= ' ')
			return false;
	return text.len % 4 == 0;
}

bool crypto_unbase64(struct span text, struct buf *out)
{
	size_t len = text.len / 4 * 3, written = 0;

	if (!is_padded_base64(text))
		return false;
	len -= span_ends_with(text, SPAN("==")) ? 2 : span_ends_with(text, SPAN("="));
	char *room = buf_reserve(out, len);
	if (!room || mbedtls_base64_decode(
			     (unsigned char *)room, len, &written, (const unsigned char *)text.ptr, text.len) != 0)
		return false;
	buf_advance(out, written);
	return true;
}
