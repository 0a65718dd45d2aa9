#include "store/driver/narrow.h"
#include "store/postgres/postgres_store.h"

#include <stdio.h>
#include <stdlib.h>

enum { SERVER_VERSION_MIN = 140000, NUMBER_TEXT_BYTES = 16 };

/* ---- what the server must be, and how our sessions are ---- */

static enum status check_server(struct postgres_reader *on, struct error *err)
{
	const char *encoding = on->pq->PQparameterStatus(on->conn, "server_encoding");

	if (on->pq->PQserverVersion(on->conn) < SERVER_VERSION_MIN)
		return error_set(err, ERR_UNSUPPORTED, "database '%s': the server is older than PostgreSQL 14",
			on->target->label);
	if (!encoding || strcmp(encoding, "UTF8") != 0)
		return error_set(err, ERR_UNSUPPORTED,
			"database '%s' has the encoding %s, where texts would change: make it with ENCODING 'UTF8'",
			on->target->label, encoding ? encoding : "of an unknown server");
	return OK;
}

/*
 * A session whose server does not hear of us any more ends itself, and with it what it holds. It says what it warns of, whatever its
 * user's sessions are to hear: a commit that the standby does not have is a warning.
 */
static const char SESSION[] =
	"SELECT pg_backend_pid(), set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
	" WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),"
	" set_config('search_path', ?, false), set_config('default_transaction_read_only', ?, false),"
	" set_config('default_transaction_isolation', ?, false), set_config('statement_timeout', ?, false),"
	" set_config('lock_timeout', ?, false), set_config('idle_in_transaction_session_timeout', ?, false),"
	" set_config('client_connection_check_interval', '1s', false), set_config('client_min_messages', 'warning', false),"
	" set_config('timezone', 'UTC', false), set_config('bytea_output', 'hex', false),"
	" set_config('standard_conforming_strings', 'on', false)";

/*
 * What a session is told must hold for its next transaction, too, and the lease names the process behind it. A pooler keeps neither
 * promise; it is known by the number of a process that is not the server's.
 */
static enum status check_is_direct(struct postgres_reader *on, int64_t backend, struct error *err)
{
	if (backend == on->pq->PQbackendPID(on->conn))
		return OK;
	return error_set(err, ERR_UNSUPPORTED,
		"database '%s': there is a connection pooler in between (as PgBouncer); state the address of PostgreSQL itself",
		on->target->label);
}

static enum status set_session(struct postgres_reader *on, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_writer = on->head.is_writer, was_in_snapshot = on->head.is_in_snapshot, has_row = false;
	char limit[NUMBER_TEXT_BYTES * 2], statement_limit[NUMBER_TEXT_BYTES * 2];

	snprintf(statement_limit, sizeof statement_limit, "%lldms", (long long)on->target->statement_limit_ms);
	snprintf(limit, sizeof limit, "%lldms", (long long)on->target->write_limit_ms);
	on->head.is_in_snapshot = false; /* this comes before it */
	enum status status = statement_open_once(&s, &on->head, span_from(SESSION), err);
	if (status == OK) {
		bind_text(&s, span_from(on->target->schema));
		bind_text(&s, is_writer ? SPAN("off") : SPAN("on"));
		bind_text(&s, is_writer ? SPAN("read committed") : SPAN("repeatable read"));
		bind_text(&s,
			is_writer ? span_from(statement_limit) : SPAN("0")); /* a reader's deadline is each its own */
		bind_text(&s, span_from(limit));
		bind_text(&s, span_from(limit));
		status = statement_step(&s, &has_row, err);
	}
	if (status == OK && has_row)
		status = check_is_direct(on, column_i64(&s), err);
	if (status == OK)
		status = statement_run(&s, err);
	on->head.is_in_snapshot = was_in_snapshot;
	return status;
}

/* ---- a narrow connection: what it sees is its session's, made anew with each ---- */

enum status postgres_narrow_to(struct store_reader *on, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, on, "SELECT set_config('smfleet.team', ?, false)", err));
	bind_text(&s, span_from(on->team));
	return statement_run(&s, err);
}

/* The schema's owner may have taken TEMPORARY from everybody. */
static enum status narrow_session(struct store_reader *on, struct error *err)
{
	bool was_in_snapshot = on->is_in_snapshot;

	on->is_in_snapshot = false; /* as above */
	enum status status = connection_run(on, "SET default_transaction_read_only = off", err);
	if (status == OK && (status = narrow_make_views(on, err)))
		error_prefix(err, "--team-reads=own needs temporary views in the database (GRANT TEMPORARY)");
	if (status == OK)
		status = connection_run(on, "SET default_transaction_read_only = on", err);
	if (status == OK)
		status = postgres_narrow_to(on, err);
	on->is_in_snapshot = was_in_snapshot;
	return status;
}

/* ---- a connection ---- */

/* libpq would print it. */
static void on_notice(void *context, const PGresult *result)
{
	struct postgres_reader *on = context;
	const char *severity = on->pq->PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

	const char *text = on->pq->PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	if (severity && strcmp(severity, "WARNING") == 0)
		snprintf(on->warning, sizeof on->warning, "%s", text && text[0] ? text : "without a word");
}

static PGconn *dial(const struct postgres_reader *on)
{
	char limit[NUMBER_TEXT_BYTES], user_timeout[NUMBER_TEXT_BYTES * 2];
	/* Before dbname: what the user may state otherwise. A mode of SSL that is less than this one must be stated. */
	const char *const keys[] = {"connect_timeout", "tcp_user_timeout", "keepalives_idle", "keepalives_interval",
		"keepalives_count", "application_name", getenv("PGSSLMODE") ? "fallback_application_name" : "sslmode",
		"dbname", "client_encoding", "target_session_attrs", NULL};
	const char *const values[] = {limit, user_timeout, "5", "2", "3", "smfleet",
		getenv("PGSSLMODE") ? "smfleet" : "verify-full", on->target->conninfo, "UTF8", "read-write", NULL};

	snprintf(limit, sizeof limit, "%d", on->target->connect_limit_s);
	snprintf(user_timeout, sizeof user_timeout, "%lld", (long long)on->target->write_limit_ms);
	return on->pq->PQconnectdbParams(keys, values, 1);
}

static enum status start(struct postgres_reader *on, struct error *err)
{
	on->pq->PQsetNoticeReceiver(on->conn, on_notice, on);
	TRY(check_server(on, err));
	if (on->pq->PQsetnonblocking(on->conn, 1) != 0 || !on->pq->PQenterPipelineMode(on->conn))
		return postgres_failure(on, NULL, err);
	TRY(set_session(on, err));
	return on->head.is_narrow ? narrow_session(&on->head, err) : OK;
}

static enum status refused(struct postgres_reader *on, struct error *err)
{
	error_set(err, ERR_UNAVAILABLE, "cannot connect to the database '%s': %.*s", on->target->label,
		SPAN_ARGS(span_trim(span_from(on->pq->PQerrorMessage(on->conn)))));
	if (err)
		err->retry_after_s = RETRY_AFTER_S;
	return ERR_UNAVAILABLE;
}

enum status postgres_connect(struct postgres_reader *on, struct error *err)
{
	if (on->conn)
		return OK;
	on->conn = dial(on);
	if (!on->conn)
		return error_no_memory(err);
	enum status status = on->pq->PQstatus(on->conn) == CONNECTION_OK ? start(on, err) : refused(on, err);
	if (status != OK)
		postgres_disconnect(on);
	return status;
}

void postgres_disconnect(struct postgres_reader *on)
{
	if (on->conn)
		on->pq->PQfinish(on->conn);
	on->conn = NULL;
	on->answered = on->sent;
	on->is_synced = on->is_left = false;
	on->reading = NULL;
	for (size_t i = 0; i < POSTGRES_SLOTS; i++)
		if (on->statements[i])
			on->statements[i]->name[0] = '\0';
}

void postgres_look(struct postgres_reader *on)
{
	/* The first look may see the server's last words, the second that there is nobody behind them. */
	for (int look = 0; on->conn && look < 2; look++)
		if (!on->pq->PQconsumeInput(on->conn) || on->pq->PQstatus(on->conn) != CONNECTION_OK)
			postgres_disconnect(on);
}

enum status postgres_reader_open(
	struct store_reader **out, struct postgres_store *store, enum postgres_use use, struct error *err)
{
	struct postgres_reader *on = mem_zeroed(sizeof *on);

	if (!on)
		return error_no_memory(err);
	on->head.driver = &postgres_driver;
	on->head.is_writer = use == POSTGRES_WRITER;
	on->head.is_narrow = use == POSTGRES_NARROW;
	on->pq = store->pq;
	on->target = &store->target;
	enum status status = postgres_connect(on, err);
	if (status == OK)
		*out = &on->head;
	else
		postgres_reader_free(&on->head);
	return status;
}

void postgres_reader_free(struct store_reader *reader)
{
	struct postgres_reader *on = postgres_reader_of(reader);

	postgres_disconnect(on);
	ahead_drop(reader);
	for (size_t i = 0; i < POSTGRES_SLOTS; i++)
		postgres_statement_free(on->pq, on->statements[i]);
	mem_free(on);
}
