/*
 * Job: opens a store in one schema of a PostgreSQL database. The rest is driver/driver.h.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/admin.h"

struct job_changes;
struct search_cache;

struct postgres_options {
	/* As libpq takes it: a URI, or "host=… dbname=…", or "service=…"; several hosts are tried in their order. No password: that
	 * comes from PGPASSFILE, PGPASSWORD or a service file. */
	const char *conninfo;
	const char *schema; /* of a-z, 0-9 and _; all our tables are in it */
	int64_t write_limit_ms; /* the writer waits so long for one answer, or a lock: 7 s */
	int64_t statement_limit_ms; /* where a statement may take longer than that */
	uint64_t journal_slot_bytes; /* the journal goes on in its next partition: 16 MiB */
	int connect_limit_s; /* a connection may take so long, each host: 3 s; libpq takes 1 for 2 */
};

/* The schema is there already. ERR_UNSUPPORTED: libpq is not installed, the server is too old or not UTF-8. */
enum status postgres_open(struct store **out, const struct postgres_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err) MUST_CHECK;

/* Makes the schema and its tables where there are none, under a lock; else the owner alone, by its token of the fence, brings them
 * up to date; 0: not the owner. ERR_UNSUPPORTED: a newer program has made it. */
enum status postgres_migrate(const struct postgres_options *options, int64_t token, struct error *err) MUST_CHECK;
/* 0: there is no such schema, or nothing of this program in it. bytes: of the whole database. */
enum status postgres_version(
	const struct postgres_options *options, int64_t *version, uint64_t *bytes, struct error *err) MUST_CHECK;
/* To a role that is there, as store_grant says. */
enum status postgres_grant(const struct postgres_options *options, const char *role, struct error *err) MUST_CHECK;
/* As store_examine says. */
enum status postgres_examine(const struct postgres_options *options,
	void (*tell)(void *context, const struct store_fact *fact), void *context, struct error *err) MUST_CHECK;
/* What a server needs: migrated, and ours until it is closed. ownership may be NULL. */
enum status postgres_open_owned(struct store **out, const struct postgres_options *options,
	const struct store_ownership *ownership, struct job_changes *changes, struct search_cache *search,
	struct error *err) MUST_CHECK;

/*
 * Who owns the schema: one server at a time, by the database's clock. A row names the owner and until when; its thread renews it by a
 * connection of its own. What keeps a late owner from writing is not this row, but the fence that each commit crosses (fence.c).
 */
struct postgres_lease;
struct postgres_lease_options {
	const char *owner; /* what others are told, as HOST:PORT; as long as the lease */
	int64_t lease_ms; /* after so long without renewal others may take it: 10 s */
	int64_t write_ms; /* and after so long nothing is written any more: 7 s */
	int64_t gap_ms; /* after so long without a look at it only one that was given back is taken, for as long: 5 s */
};
/* Makes the two tables where they are not there: for migrations. */
enum status postgres_lease_make(struct store *store, struct error *err) MUST_CHECK;
/* Asks nothing yet. */
enum status postgres_lease_new(struct postgres_lease **out, struct store *store,
	const struct postgres_lease_options *options, struct error *err) MUST_CHECK;
/*
 * Takes it for the store, ends what the last owner's writer is at, and makes the fence ours. From now on the store commits through
 * the fence. Not within a transaction, once a store. ERR_CONFLICT: another server has it; the text names it. Then it may be tried
 * again, by the connection that is there. After the database was away its owner is given time to come back.
 */
enum status postgres_lease_take(struct postgres_lease *lease, struct error *err) MUST_CHECK;
/* One thread's, that need not be the writer's. ERR_CONFLICT: another server has taken it; the store writes nothing any more. */
enum status postgres_lease_renew(struct postgres_lease *lease, struct error *err) MUST_CHECK;
/* Others may take it at once. After the last commit, which it forbids to follow. */
enum status postgres_lease_release(struct postgres_lease *lease, struct error *err) MUST_CHECK;
void postgres_lease_free(struct postgres_lease *lease); /* before its store */

AUTO_TYPE(postgres_lease)
