/* What a PostgreSQL server is like for a server of ours: a doctor's questions, each one statement. */
#include "base/clock.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/postgres/postgres_store.h"

#include <stdio.h>
#include <stdlib.h>

/* How many of each are timed; and what is slow, as each commit waits for one. */
enum { TRIES = 50, SLOW_US = 50000, FACT_BYTES = 128 };

struct question {
	const char *what;
	const char *sql; /* value, remark, whether that is bad */
};

#define SETTING(name, wrong, remark)                                                                                   \
	{                                                                                                              \
		name, "SELECT current_setting('" name "'), CASE WHEN current_setting('" name "') IN (" wrong           \
		      ") THEN '" remark "' ELSE '' END, CASE WHEN current_setting('" name "') IN (" wrong              \
		      ") THEN 1::bigint ELSE 0::bigint END"                                                            \
	}

/* A connection each for the writer, the lease and what looks at it, and for each reader. */
static const struct question questions[] = {
	{"version", "SELECT current_setting('server_version'), ''::text, 0::bigint"},
	{"size", "SELECT pg_size_pretty(pg_database_size(current_database())), ''::text, 0::bigint"},
	SETTING("fsync", "'off'", "what is acknowledged is lost with the power"),
	SETTING("full_page_writes", "'off'",
		"a page that is half written destroys the database, unless its disk cannot do that"),
	{"synchronous_commit",
		"SELECT v.reset_val, CASE v.reset_val WHEN 'off' THEN 'sessions of sm-server commit with on' ELSE '' END, 0::bigint"
		" FROM pg_settings AS v WHERE v.name = 'synchronous_commit'"},
	{"standbys",
		"SELECT CASE current_setting('synchronous_standby_names') WHEN '' THEN 'none is waited for'"
		" ELSE 'waits for ' || current_setting('synchronous_standby_names') END,"
		" CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'what was acknowledged last is lost with this server'"
		" WHEN NOT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))"
		" THEN 'none is connected (or the role may not see it): a commit waits until one is' ELSE '' END, 0::bigint"},
	{"data_checksums",
		"SELECT current_setting('data_checksums'), CASE current_setting('data_checksums') WHEN 'off'"
		" THEN 'a disk that changes bytes is not noticed (pg_checksums --enable)' ELSE '' END, 0::bigint"},
	{"connections",
		"SELECT v.used || ' of ' || v.most, CASE WHEN v.most - v.used < 24 THEN 'fewer than 24 are left: a server uses one a worker and 6'"
		" ELSE '' END, CASE WHEN v.most - v.used < 8 THEN 1::bigint ELSE 0::bigint END"
		" FROM (SELECT count(*) AS used, current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint"
		" AS most FROM pg_stat_activity WHERE backend_type = 'client backend') AS v"},
	{"role",
		"SELECT current_user::text, CASE WHEN r.rolsuper THEN 'a superuser: a role of its own is enough'"
		" WHEN to_regnamespace(current_setting('search_path')) IS NULL AND NOT has_database_privilege(current_database(), 'CREATE')"
		" THEN 'may not make the schema, which is not there: CREATE SCHEMA ' || current_setting('search_path') || ' AUTHORIZATION ' || current_user"
		" ELSE '' END, CASE WHEN NOT r.rolsuper AND to_regnamespace(current_setting('search_path')) IS NULL"
		" AND NOT has_database_privilege(current_database(), 'CREATE') THEN 1::bigint ELSE 0::bigint END"
		" FROM pg_roles AS r WHERE r.rolname = current_user"},
	{"connection",
		"SELECT CASE WHEN inet_client_addr() IS NULL THEN 'a socket of this machine' WHEN s.ssl THEN s.version || ' from ' || host(inet_client_addr())"
		" ELSE 'plain from ' || host(inet_client_addr()) END,"
		" CASE WHEN s.ssl OR inet_client_addr() IS NULL OR inet_client_addr() << '127.0.0.0/8' OR inet_client_addr() = '::1'"
		" THEN '' ELSE 'not encrypted: others on the network read logs and tokens (sslmode=verify-full)' END,"
		" CASE WHEN s.ssl OR inet_client_addr() IS NULL OR inet_client_addr() << '127.0.0.0/8' OR inet_client_addr() = '::1'"
		" THEN 0::bigint ELSE 1::bigint END FROM pg_stat_ssl AS s WHERE s.pid = pg_backend_pid()"},
};

/* One that lacks USAGE takes the schema for one that is not there. Only a part of the journal is truncated. No row: there is no schema. */
static const struct question grants = {"grants",
	"SELECT CASE v.missing WHEN '' THEN 'all that a server needs' ELSE 'lacks ' || v.missing END,"
	" CASE v.missing WHEN '' THEN '' ELSE 'as the role that owns the tables: sm-server migrate --runtime-role ' || current_user END,"
	" CASE v.missing WHEN '' THEN 0::bigint ELSE 1::bigint END"
	" FROM (SELECT CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE of the schema' ELSE coalesce((SELECT string_agg(t.what, '; ')"
	" FROM (SELECT p.name || ' of ' || array_to_string((array_agg(c.relname ORDER BY c.relname))[1:3], ', ')"
	" || CASE WHEN count(*) > 3 THEN ' and ' || count(*) - 3 || ' more' ELSE '' END AS what"
	" FROM pg_class AS c CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE')) AS p (name)"
	" WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND (p.name <> 'TRUNCATE' OR c.relispartition)"
	" AND NOT has_table_privilege(c.oid, p.name) GROUP BY p.name ORDER BY p.name) AS t), '') END AS missing"
	" FROM pg_namespace AS n WHERE n.nspname = current_setting('search_path')) AS v"};

struct examining {
	struct store_reader *on;
	bool is_bad; /* what was asked last */
	void (*tell)(void *context, const struct store_fact *fact);
	void *context;
};

static enum status ask(struct examining *e, const struct question *question, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open_once(&s, e->on, span_from(question->sql), err));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK; /* of what this server does not know */
	struct store_fact fact = {.what = question->what, .value = column_borrow(&s), .remark = column_borrow(&s)};
	fact.is_bad = column_bool(&s);
	TRY(statement_check(&s, err));
	e->is_bad = fact.is_bad;
	e->tell(e->context, &fact);
	return OK;
}

static void say(struct examining *e, const char *what, const char *value, const char *remark)
{
	const struct store_fact fact = {.what = what, .value = span_from(value), .remark = span_from(remark)};

	e->tell(e->context, &fact);
}

/* ---- the schema ---- */

static enum status tell_schema(struct examining *e, const char *name, struct error *err)
{
	static const struct question owner = {"owner",
		"SELECT CASE WHEN l.until_ms > extract(epoch FROM clock_timestamp()) * 1000 THEN l.owner ELSE 'no server has it' END,"
		" ''::text, 0::bigint FROM lease AS l"};
	char value[FACT_BYTES];
	int64_t version;

	TRY(postgres_read_version(e->on, &version, err));
	if (version)
		snprintf(value, sizeof value, "%s, version %lld", name, (long long)version);
	else
		snprintf(value, sizeof value, "%s (not there yet)", name);
	say(e, "schema", value, "");
	return version ? ask(e, &owner, err) : OK;
}

/* ---- times ---- */

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static enum status time_one(struct examining *e, const char *sql, struct error *err)
{
	int64_t number;

	return connection_number(e->on, sql, &number, err);
}

static enum status tell_time(struct examining *e, const char *what, const char *sql, struct error *err)
{
	int64_t took_us[TRIES];
	char value[FACT_BYTES];

	for (int i = 0; i < TRIES; i++) {
		int64_t start_ns = clock_mono_ns();
		TRY(time_one(e, sql, err));
		took_us[i] = (clock_mono_ns() - start_ns) / 1000;
	}
	qsort(took_us, TRIES, sizeof *took_us, by_value);
	int64_t middle_us = took_us[TRIES / 2], late_us = took_us[TRIES - 2];
	snprintf(value, sizeof value, "%.2f ms (p50), %.2f ms (p98)", (double)middle_us / 1000, (double)late_us / 1000);
	say(e, what, value, late_us > SLOW_US ? "slow: each commit waits for one" : "");
	return OK;
}

static enum status examine(struct examining *e, const char *schema, struct error *err)
{
	e->is_bad = false;
	TRY(ask(e, &grants, err));
	if (!e->is_bad) /* else it cannot be read */
		TRY(tell_schema(e, schema, err));
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		TRY(ask(e, &questions[i], err));
	TRY(tell_time(e, "round trip", "SELECT 1", err));
	/* A record in the log of the server, which nobody reads: its transaction ends as a commit of ours does. */
	return tell_time(e, "durable commit", "SELECT pg_logical_emit_message(true, 'smfleet', 'doctor') - '0/0'", err);
}

enum status postgres_examine(const struct postgres_options *options,
	void (*tell)(void *context, const struct store_fact *fact), void *context, struct error *err)
{
	struct store *store = NULL;

	TRY(postgres_open(&store, options, NULL, NULL, err));
	struct examining e = {.on = store->writer, .tell = tell, .context = context};
	say(&e, "database", postgres_store_of(store)->target.label, "");
	enum status status = examine(&e, options->schema, err);
	database_close(store);
	return status;
}
