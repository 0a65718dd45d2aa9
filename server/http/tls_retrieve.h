/*
 * Job: what a handshake needs of the certificate, in GnuTLS's types, which only the transport and tls.c know.
 * Ownership: all of it is the struct tls's. Threads: any.
 */
#pragma once

#include <gnutls/abstract.h>

struct tls;

int tls_retrieve(const struct tls *tls, gnutls_pcert_st **chain, unsigned *count, gnutls_privkey_t *key);
