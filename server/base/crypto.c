#include "base/crypto.h"

#include <errno.h>
#include <mbedtls/base64.h>
#include <mbedtls/constant_time.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/gcm.h>
#include <mbedtls/md.h>
#include <mbedtls/rsa.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
	NONCE_BYTES = 12,
	TAG_BYTES = 16,
	RSA_LEAST_BYTES = 256,
	RSA_MOST_BYTES = 1024,
	RSA_EXPONENT_BYTES = 8,
	P256_BYTES = 32
};

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

void crypto_base64url(struct span data, struct buf *out)
{
	size_t from = out->len;

	crypto_base64(data, out);
	for (size_t i = from; i < out->len; i++)
		if (out->ptr[i] == '+' || out->ptr[i] == '/')
			out->ptr[i] = out->ptr[i] == '+' ? '-' : '_';
	while (out->len > from && out->ptr[out->len - 1] == '=')
		out->len--;
}

/* What the last character has beyond the bytes is 0 (RFC 4648, 3.5): one text for one value. */
static bool is_canonical(struct span text, struct span bytes)
{
	AUTO_DONE(buf) again = BUF_INIT(8);
	size_t tail = text.len % 4;

	if (!tail)
		return true;
	crypto_base64url(span_skip(bytes, bytes.len - (tail - 1)), &again);
	return span_equal(buf_span(&again), span_skip(text, text.len - tail));
}

bool crypto_unbase64url(struct span text, struct buf *out)
{
	AUTO_DONE(buf) padded = BUF_INIT(text.len + 4);
	size_t from = out->len;

	if (text.len % 4 == 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '+' || c == '/' || c == '=')
			return false;
		buf_append_char(&padded, c == '-' ? '+' : c == '_' ? '/' : c);
	}
	while (padded.len % 4 && !padded.failure)
		buf_append_char(&padded, '=');
	return !padded.failure && crypto_unbase64(buf_span(&padded), out) &&
	       is_canonical(text, span_skip(buf_span(out), from));
}

static const unsigned char *bytes_of(struct span s)
{
	return (const unsigned char *)s.ptr;
}

/* mbed TLS reads as many bytes of the signature as the modulus has. */
static bool verify_rsa(mbedtls_rsa_context *rsa, struct span data, struct span signature)
{
	unsigned char hash[SHA256_BYTES];

	if (mbedtls_rsa_complete(rsa) != 0 || mbedtls_rsa_check_pubkey(rsa) != 0 ||
		signature.len != mbedtls_rsa_get_len(rsa))
		return false;
	crypto_sha256(data, hash);
	return mbedtls_rsa_pkcs1_verify(rsa, NULL, NULL, MBEDTLS_RSA_PUBLIC, MBEDTLS_MD_SHA256, sizeof hash, hash,
		       bytes_of(signature)) == 0;
}

bool crypto_check_rs256(struct span modulus, struct span exponent, struct span data, struct span signature)
{
	mbedtls_rsa_context rsa;

	if (modulus.len < RSA_LEAST_BYTES || modulus.len > RSA_MOST_BYTES || !modulus.ptr[0] || !exponent.len ||
		exponent.len > RSA_EXPONENT_BYTES)
		return false;
	mbedtls_rsa_init(&rsa, MBEDTLS_RSA_PKCS_V15, MBEDTLS_MD_NONE);
	bool is_good = mbedtls_rsa_import_raw(&rsa, bytes_of(modulus), modulus.len, NULL, 0, NULL, 0, NULL, 0,
			       bytes_of(exponent), exponent.len) == 0 &&
		       verify_rsa(&rsa, data, signature);
	mbedtls_rsa_free(&rsa);
	return is_good;
}

static bool read_point(const mbedtls_ecp_group *group, struct span x, struct span y, mbedtls_ecp_point *out)
{
	unsigned char bytes[1 + 2 * P256_BYTES] = {4}; /* uncompressed */

	memcpy(bytes + 1, x.ptr, P256_BYTES);
	memcpy(bytes + 1 + P256_BYTES, y.ptr, P256_BYTES);
	return mbedtls_ecp_point_read_binary(group, out, bytes, sizeof bytes) == 0 &&
	       mbedtls_ecp_check_pubkey(group, out) == 0;
}

bool crypto_check_es256(struct span x, struct span y, struct span data, struct span signature)
{
	unsigned char hash[SHA256_BYTES];
	mbedtls_ecp_group group;
	mbedtls_ecp_point point;
	mbedtls_mpi r, s;

	if (x.len != P256_BYTES || y.len != P256_BYTES || signature.len != 2 * (size_t)P256_BYTES)
		return false;
	crypto_sha256(data, hash);
	mbedtls_ecp_group_init(&group);
	mbedtls_ecp_point_init(&point);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	bool is_good = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
		       read_point(&group, x, y, &point) &&
		       mbedtls_mpi_read_binary(&r, bytes_of(signature), P256_BYTES) == 0 &&
		       mbedtls_mpi_read_binary(&s, bytes_of(signature) + P256_BYTES, P256_BYTES) == 0 &&
		       mbedtls_ecdsa_verify(&group, hash, sizeof hash, &point, &r, &s) == 0;
	mbedtls_mpi_free(&s);
	mbedtls_mpi_free(&r);
	mbedtls_ecp_point_free(&point);
	mbedtls_ecp_group_free(&group);
	return is_good;
}
