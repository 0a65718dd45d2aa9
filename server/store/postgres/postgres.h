/*
 * Job: opens a store in one schema of a PostgreSQL database. The rest is driver/driver.h.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"

struct job_changes;
struct search_cache;

struct postgres_options {
	/* As libpq takes it: a URI, or "host=… dbname=…", or "service=…"; several hosts are tried in their order. No password: that
	 * comes from PGPASSFILE, PGPASSWORD or a service file. */
	const char *conninfo;
	const char *schema; /* of a-z, 0-9 and _; all our tables are in it */
	int64_t write_limit_ms; /* the writer waits so long for one answer: 7 s */
	int connect_limit_s; /* a connection may take so long, each host: 3 s; libpq takes 1 for 2 */
};

/* The schema is there already. ERR_UNSUPPORTED: libpq is not installed, the server is too old or not UTF-8. */
enum status postgres_open(struct store **out, const struct postgres_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err) MUST_CHECK;
