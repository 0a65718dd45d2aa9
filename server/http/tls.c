#include "http/tls.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/crypto.h"
#include "http/tls_retrieve.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST_PEM_BYTES = 1 << 20, CHAIN_MAX = 16, KEY_ID_BYTES = 64 };

const char tls_priorities[] = "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA"
			      ":-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD"
			      ":-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:%SERVER_PRECEDENCE";

/* A certificate with those between it and its authority, and its key. */
struct pair {
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned count;
	gnutls_privkey_t key;
	unsigned char hash[SHA256_BYTES]; /* of both files */
	struct pair *older;
};

struct tls {
	char *cert_file, *key_file, *client_authorities;
	_Atomic(struct pair *) current;
};

static void free_pair(struct pair *pair)
{
	for (unsigned i = 0; i < pair->count; i++)
		gnutls_pcert_deinit(&pair->chain[i]);
	if (pair->key)
		gnutls_privkey_deinit(pair->key);
	mem_free(pair);
}

static enum status read_pem(struct buf *out, const char *path, struct error *err)
{
	FILE *file = fopen(path, "rbe");
	char piece[4096];

	if (!file)
		return error_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	for (size_t len; (len = fread(piece, 1, sizeof piece, file)) > 0;)
		buf_append(out, piece, len);
	bool has_failed = ferror(file);
	fclose(file);
	return has_failed ? error_set(err, ERR_IO, "cannot read '%s'", path) : buf_status(out, err);
}

static gnutls_datum_t datum_of(const struct buf *text)
{
	return (gnutls_datum_t){(unsigned char *)text->ptr, (unsigned)text->len};
}

/* Ids of public keys: of the certificate, and of the private key. */
static bool is_pair(const struct pair *pair)
{
	unsigned char of_cert[KEY_ID_BYTES], of_key[KEY_ID_BYTES];
	size_t cert_len = sizeof of_cert, key_len = sizeof of_key;
	gnutls_pubkey_t public;

	if (gnutls_pubkey_init(&public) != 0)
		return false;
	bool has_ids =
		gnutls_pubkey_import_privkey(public, pair->key, 0, 0) == 0 &&
		gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, of_key, &key_len) == 0 &&
		gnutls_pubkey_get_key_id(pair->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_cert, &cert_len) == 0;
	gnutls_pubkey_deinit(public);
	return has_ids && cert_len == key_len && memcmp(of_cert, of_key, key_len) == 0;
}

static enum status fill(struct pair *pair, const struct tls *tls, struct error *err)
{
	AUTO_DONE(buf) cert = BUF_INIT(LARGEST_PEM_BYTES);
	AUTO_DONE(buf) key = BUF_INIT(LARGEST_PEM_BYTES);
	unsigned count = CHAIN_MAX;

	TRY(read_pem(&cert, tls->cert_file, err));
	TRY(read_pem(&key, tls->key_file, err));
	gnutls_datum_t text = datum_of(&cert);
	int code = gnutls_pcert_list_import_x509_raw(
		pair->chain, &count, &text, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_SORT);
	if (code != 0)
		return error_set(err, ERR_INVALID, "'%s' is no chain of certificates: %s", tls->cert_file,
			gnutls_strerror(code));
	pair->count = count;
	text = datum_of(&key);
	code = gnutls_privkey_init(&pair->key);
	if (code == 0)
		code = gnutls_privkey_import_x509_raw(pair->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (code != 0)
		return error_set(err, ERR_INVALID, "'%s' is no private key: %s", tls->key_file, gnutls_strerror(code));
	if (!is_pair(pair))
		return error_set(err, ERR_INVALID, "the certificate '%s' and the key '%s' are not a pair",
			tls->cert_file, tls->key_file);
	buf_append_span(&cert, buf_span(&key));
	TRY(buf_status(&cert, err));
	crypto_sha256(buf_span(&cert), pair->hash);
	return OK;
}

enum status tls_reread(struct tls *tls, bool *is_new, struct error *err)
{
	struct pair *current = atomic_load(&tls->current), *pair = mem_zeroed(sizeof *pair);

	*is_new = false;
	if (!pair)
		return error_no_memory(err);
	enum status status = fill(pair, tls, err);
	if (status || (current && memcmp(current->hash, pair->hash, sizeof pair->hash) == 0)) {
		free_pair(pair);
		return status;
	}
	pair->older = current;
	atomic_store(&tls->current, pair);
	*is_new = true;
	return OK;
}

static enum status read_authorities(struct tls *tls, const char *path, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LARGEST_PEM_BYTES);
	gnutls_x509_crt_t *list = NULL;
	unsigned count = 0;

	TRY(read_pem(&text, path, err));
	gnutls_datum_t datum = datum_of(&text);
	int code = gnutls_x509_crt_list_import2(&list, &count, &datum, GNUTLS_X509_FMT_PEM, 0);
	for (unsigned i = 0; code == 0 && i < count; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
	if (code != 0)
		return error_set(
			err, ERR_INVALID, "'%s' holds no certificates of authorities: %s", path, gnutls_strerror(code));
	buf_append_char(&text, 0);
	TRY(buf_status(&text, err));
	tls->client_authorities = mem_copy_string(text.ptr);
	return tls->client_authorities ? OK : error_no_memory(err);
}

const char *tls_client_authorities(const struct tls *tls)
{
	return tls->client_authorities;
}

enum status tls_new(
	struct tls **out, const char *cert_file, const char *key_file, const char *client_ca_file, struct error *err)
{
	struct tls *tls = mem_zeroed(sizeof *tls);
	bool is_new;

	if (!tls || !(tls->cert_file = mem_copy_string(cert_file)) || !(tls->key_file = mem_copy_string(key_file))) {
		tls_free(tls);
		return error_no_memory(err);
	}
	enum status status = tls_reread(tls, &is_new, err);
	if (!status && client_ca_file)
		status = read_authorities(tls, client_ca_file, err);
	if (status)
		tls_free(tls);
	else
		*out = tls;
	return status;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	for (struct pair *pair = atomic_load(&tls->current), *older; pair; pair = older) {
		older = pair->older;
		free_pair(pair);
	}
	mem_free(tls->cert_file);
	mem_free(tls->key_file);
	mem_free(tls->client_authorities);
	mem_free(tls);
}

int tls_retrieve(const struct tls *tls, gnutls_pcert_st **chain, unsigned *count, gnutls_privkey_t *key)
{
	struct pair *pair = atomic_load(&tls->current);

	*chain = pair->chain;
	*count = pair->count;
	*key = pair->key;
	return 0;
}
