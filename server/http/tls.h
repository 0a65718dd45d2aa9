/*
 * Job: the server's certificate and key: read from their files, and read again while connections go on; which versions and ciphers
 *      are spoken.
 * Ownership: new/free. What was read before stays until the end, since handshakes may be using it: some kilobytes a renewal.
 * Threads: any; tls_reread one at a time.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct tls;

/* client_ca_file: of the authorities whose certificates those who write must show; NULL: nobody must. */
enum status tls_new(struct tls **out, const char *cert_file, const char *key_file, const char *client_ca_file,
	struct error *err) MUST_CHECK;
void tls_free(struct tls *tls);

/* *is_new: the files hold others than before, which new connections get. An error: all stays as it was. */
enum status tls_reread(struct tls *tls, bool *is_new, struct error *err) MUST_CHECK;

/* PEM text; NULL: nobody is asked for a certificate. */
const char *tls_client_authorities(const struct tls *tls);

/* TLS 1.2 and 1.3 with forward secrecy and authenticated encryption: what RFC 9325 recommends, in GnuTLS's words. */
extern const char tls_priorities[];
