/*
 * Job: the key of a database that several machines may serve: the file on this one is that which the database was begun with. What
 *      tells is an HMAC of a constant, in its settings.
 * Threads: main.
 */
#pragma once

#include "base/crypto.h"
#include "store/store.h"

/* May this machine serve the database? ERR_NOT_FOUND: it has no key, the database has one; ERR_FORBIDDEN: it has another. */
enum status shared_key_check(const char *path, struct store_reader *reader, struct error *err) MUST_CHECK;
/* The same, and the key; it and what tells are made where the database has none. The database is ours, and no thread writes there yet. */
enum status shared_key_load(
	const char *path, struct store *store, unsigned char key[SEAL_KEY_BYTES], struct error *err) MUST_CHECK;
