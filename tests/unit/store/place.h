/* An empty place for tables in each database that has a driver: what drivers promise is tested in all of them. */
#pragma once

#include "harness.h"
#include "store/postgres/postgres.h"
#include "support/cluster.h"

struct place {
	bool is_postgres;
	struct harness sqlite; /* its folder, and its arena */
	char schema[32];
	int64_t write_limit_ms;
	uint64_t journal_slot_bytes;
	struct arena *arena;
	struct store *store;
	struct store_reader *reader;
	struct store_tx *tx;
};

static inline void place_open_postgres(struct place *p)
{
	struct postgres_options options = {.conninfo = cluster_conninfo("postgres"),
		.schema = p->schema,
		.write_limit_ms = p->write_limit_ms,
		.journal_slot_bytes = p->journal_slot_bytes,
		.connect_limit_s = 2};

	CHECK_OK(postgres_open(&p->store, &options, NULL, NULL, &err));
	CHECK_OK(store_reader_new(&p->reader, p->store, &err));
}

/* By the connection of another store: the schema must be there before. */
static inline void place_administer(const char *sql)
{
	struct postgres_options options = {.conninfo = cluster_conninfo("postgres"), .schema = "public"};
	struct store *store = NULL;

	CHECK_OK(postgres_open(&store, &options, NULL, NULL, &err));
	CHECK_OK(connection_run(database_writer(store), sql, &err));
	database_close(store);
}

static inline struct place place_postgres(void)
{
	struct place p = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 20000, .arena = arena_new()};

	CHECK(p.arena != NULL);
	place_administer("DROP SCHEMA IF EXISTS sm_test CASCADE; CREATE SCHEMA sm_test");
	place_open_postgres(&p);
	return p;
}

static inline struct place place_sqlite(void)
{
	struct place p = {.sqlite = harness_new()};

	p.arena = p.sqlite.arena;
	p.store = p.sqlite.store;
	p.reader = p.sqlite.reader;
	return p;
}

static inline void place_close(struct place *p)
{
	store_reader_free(p->reader);
	database_close(p->store);
	p->reader = NULL;
	p->store = NULL;
}

static inline void place_done(struct place *p)
{
	if (p->is_postgres) {
		place_close(p);
		arena_free(p->arena);
	} else {
		harness_done(&p->sqlite);
	}
}

static inline void place_run(struct place *p, const char *sql)
{
	CHECK_OK(connection_run(database_writer(p->store), sql, &err));
}

/* Returns when the server has ended it. */
static inline void place_terminate(struct place *p, int64_t backend)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	CHECK_OK(statement_open(&s, p->reader, "SELECT pg_terminate_backend(CAST(? AS INTEGER), 10000)", &err));
	bind_i64(&s, backend);
	CHECK_OK(statement_step(&s, &has_row, &err));
	CHECK(column_bool(&s));
}

/* As an administrator does whose standby is away: how many waits were ended. */
static inline enum status place_cut_waits_short(struct store_reader *on, int64_t *cut)
{
	return connection_number(on,
		"SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", cut, NULL);
}

/* Of which none is there. A server's processes hear of it one after another: it is so when a commit was seen to wait. */
static inline void place_want_standby(struct place *p)
{
	struct place other = {.is_postgres = true, .write_limit_ms = 500};
	int64_t cut = 0;

	memcpy(other.schema, p->schema, sizeof other.schema);
	place_open_postgres(&other);
	place_administer("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	place_administer("SELECT pg_reload_conf()");
	while (!cut) {
		(void)!connection_run(database_writer(other.store), "COMMENT ON SCHEMA sm_test IS 'of a test'", NULL);
		CHECK_OK(place_cut_waits_short(p->reader, &cut));
	}
	place_close(&other);
}

static inline void place_want_no_standby(struct place *p)
{
	place_administer("ALTER SYSTEM RESET synchronous_standby_names");
	place_administer("SELECT pg_reload_conf()");
	while (harness_number(database_writer(p->store),
		"SELECT count(*) FROM (VALUES (current_setting('synchronous_standby_names'))) AS v (n) WHERE n <> ''"))
		continue;
}

static inline struct store_tx *place_begin(struct place *p)
{
	CHECK_OK(store_tx_begin(&p->tx, p->store, &err));
	return p->tx;
}

static inline void place_commit(struct place *p)
{
	CHECK_OK(store_tx_commit(p->tx, &err));
	p->tx = NULL;
}
