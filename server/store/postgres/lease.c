#include "base/clock.h"
#include "store/postgres/postgres_store.h"

#include <stdatomic.h>

enum { LEASE_MS = 10000, WRITE_MS = 7000, OVERDUE_MS = 3000, GAP_MS = 5000 };

#define NOW_MS "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"

struct postgres_lease {
	struct postgres_store *store;
	struct store_reader *on; /* its own connection */
	const char *owner;
	int64_t token;
	int64_t lease_ms, write_ms, gap_ms;
	/* By the database's clock: the last look at the row, 0: none so far; and since when looks came one soon after the other. */
	int64_t looked_ms, steady_since_ms;
};

enum status postgres_lease_make(struct store *store, struct error *err)
{
	return connection_run(store->writer,
		"CREATE TABLE IF NOT EXISTS lease (one BIGINT PRIMARY KEY CHECK (one = 1), token BIGINT NOT NULL,"
		" owner TEXT COLLATE \"C\" NOT NULL, until_ms BIGINT NOT NULL, pid BIGINT, started TIMESTAMPTZ);"
		"CREATE TABLE IF NOT EXISTS fence (one BIGINT PRIMARY KEY CHECK (one = 1), token BIGINT NOT NULL,"
		" epoch BIGINT NOT NULL, last_commit BIGINT NOT NULL);"
		"INSERT INTO lease (one, token, owner, until_ms) VALUES (1, 0, '', 0) ON CONFLICT (one) DO NOTHING;"
		"INSERT INTO fence (one, token, epoch, last_commit) VALUES (1, 0, 0, 0) ON CONFLICT (one) DO NOTHING",
		err);
}

void postgres_lease_free(struct postgres_lease *lease)
{
	if (!lease)
		return;
	store_reader_free(lease->on);
	mem_free(lease);
}

/* ---- taking it ---- */

/* The first look has nothing to compare with. */
static void note_look(struct postgres_lease *lease, int64_t now_ms)
{
	int64_t gap_ms = now_ms - lease->looked_ms;

	if (lease->looked_ms && (gap_ms < 0 || gap_ms >= lease->gap_ms))
		lease->steady_since_ms = now_ms;
	lease->looked_ms = now_ms;
}

static enum status name_owner(struct postgres_lease *lease, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, lease->on, "SELECT until_ms - " NOW_MS ", " NOW_MS ", owner FROM lease", err));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_INTERNAL, "the database has no row for its owner");
	long long left_ms = (long long)column_i64(&s);
	note_look(lease, column_i64(&s));
	struct span owner = column_borrow(&s);
	return error_set(err, ERR_CONFLICT,
		"database '%s' belongs to another server, '%.*s', for %lld ms if it is gone",
		lease->store->target.label, SPAN_ARGS(owner), left_ms > 0 ? left_ms : 0);
}

/* The session that renews the lease. */
#define SESSION                                                                                                        \
	"pid = pg_backend_pid(), started = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"

/*
 * A lease that was given back (until_ms is 0); that was not renewed, or whose server is gone: its session, and a renewal that is overdue.
 * That of a server that was killed ends with it. Where the database itself was restarted, all sessions are gone and nobody could renew,
 * and their servers are given time to come back. One whose beginning we may not see is taken for the owner's.
 *
 * The same holds where the database was away without a restart, or froze: nobody could look or renew. Only the row's own clock tells
 * that in time, as the question itself may have waited there and been given up by us. ?4: our last look; ?5: since when they are steady.
 *
 * ?7: a token that we took before, but could not make the fence's: the session that has the row is our own.
 */
static const char TAKE[] =
	"UPDATE lease SET token = token + 1, owner = ?1, until_ms = " NOW_MS " + ?2, " SESSION
	" WHERE until_ms = 0 OR (token = ?7 AND ?7 > 0) OR (pg_postmaster_start_time() < clock_timestamp() - INTERVAL '5 s'"
	" AND (?4 = 0 OR (" NOW_MS " - ?4 < ?6 AND " NOW_MS " - ?5 >= ?6))"
	" AND (until_ms < " NOW_MS " OR (until_ms < " NOW_MS
	" + ?3 AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = lease.pid"
	" AND coalesce(a.backend_start = lease.started, true)))))"
	" RETURNING token";

static enum status take_row(struct postgres_lease *lease, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, lease->on, TAKE, err));
	bind_text(&s, span_from(lease->owner));
	bind_numbers(&s, lease->lease_ms, lease->lease_ms - OVERDUE_MS);
	bind_numbers(&s, lease->looked_ms, lease->steady_since_ms, lease->gap_ms, lease->token);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return name_owner(lease, err);
	int64_t token = column_i64(&s);
	TRY(statement_step(&s, &has_row, err)); /* it is ours with the statement's end */
	lease->token = token;
	return OK;
}

/* Whoever holds the fence is a writer of before, which may hang in its COMMIT. */
static enum status end_old_writer(struct postgres_lease *lease, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, lease->on,
		"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = CAST('fence' AS REGCLASS)"
		" AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()"
		" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
		err));
	return statement_run(&s, err);
}

/* Waits for a commit that is on its way; the session's lock_timeout bounds it. */
static enum status take_fence(struct postgres_lease *lease, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_ours, has_more;

	TRY(statement_open(&s, lease->store->head.writer,
		"UPDATE fence SET token = ?1, epoch = 0, last_commit = 0 WHERE token < ?1 RETURNING 1", err));
	bind_i64(&s, lease->token);
	TRY(statement_step(&s, &is_ours, err));
	if (!is_ours)
		return name_owner(lease, err); /* who took the lease after us was here first */
	return statement_step(&s, &has_more, err);
}

static enum status take(struct postgres_lease *lease, struct error *err)
{
	struct postgres_fence *fence = &lease->store->fence;
	struct postgres_reader *writer = postgres_reader_of(lease->store->head.writer);
	int64_t start_ms = clock_mono_ms();

	/* Who waited may have lost it meanwhile; with the row alone, nobody would have the schema. */
	postgres_look(writer);
	TRY(postgres_connect(writer, err));
	if (!lease->on)
		TRY(postgres_reader_open(&lease->on, lease->store, POSTGRES_WRITER, err));
	postgres_look(postgres_reader_of(lease->on));
	TRY(take_row(lease, err));
	TRY(end_old_writer(lease, err));
	TRY(take_fence(lease, err));
	atomic_store(&fence->owned_until_ms, start_ms + lease->write_ms);
	fence->token = lease->token;
	return OK;
}

enum status postgres_lease_new(struct postgres_lease **out, struct store *store,
	const struct postgres_lease_options *options, struct error *err)
{
	struct postgres_lease *lease = mem_zeroed(sizeof *lease);

	if (!lease)
		return error_no_memory(err);
	lease->store = postgres_store_of(store);
	lease->owner = options->owner;
	lease->lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS;
	lease->write_ms = options->write_ms ? options->write_ms : WRITE_MS;
	lease->gap_ms = options->gap_ms ? options->gap_ms : GAP_MS;
	*out = lease;
	return OK;
}

enum status postgres_lease_take(struct postgres_lease *lease, struct error *err)
{
	if (lease->store->head.has_tx || lease->store->fence.token)
		return error_set(err, ERR_INTERNAL, "the lease is taken once, outside of a transaction");
	enum status status = take(lease, err);
	/* What the database did meanwhile is not known: the next look is the first after a gap. */
	if (status != OK && status != ERR_CONFLICT && lease->looked_ms)
		lease->looked_ms = 1;
	return status;
}

/* ---- keeping it ---- */

/* from_now_ms 0: it is given back. */
static enum status set_until(struct postgres_lease *lease, int64_t from_now_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_ours, has_more;

	TRY(statement_open(&s, lease->on,
		"UPDATE lease SET until_ms = CASE WHEN ?1 = 0 THEN 0 ELSE " NOW_MS " + ?1 END, " SESSION
		" WHERE token = ?2 RETURNING 1",
		err));
	bind_numbers(&s, from_now_ms, lease->token);
	TRY(statement_step(&s, &is_ours, err));
	if (is_ours)
		return statement_step(&s, &has_more, err);
	atomic_store(&lease->store->fence.is_foreign, true);
	return name_owner(lease, err);
}

enum status postgres_lease_renew(struct postgres_lease *lease, struct error *err)
{
	int64_t start_ms = clock_mono_ms();

	TRY(set_until(lease, lease->lease_ms, err));
	/* Counted from before the question: the database's clock began later. */
	atomic_store(&lease->store->fence.owned_until_ms, start_ms + lease->write_ms);
	return OK;
}

enum status postgres_lease_release(struct postgres_lease *lease, struct error *err)
{
	atomic_store(&lease->store->fence.owned_until_ms, 0);
	return set_until(lease, 0, err);
}
