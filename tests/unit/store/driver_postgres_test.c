/* What only a server can do to a driver: to be away, to be killed, to hang, and to say late what went wrong. */
#include "base/clock.h"
#include "place.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void make_table(struct place *p)
{
	place_run(p, "CREATE TABLE things (id BIGINT PRIMARY KEY, n BIGINT, t TEXT)");
}

static enum status try_put(struct store_tx *tx, int64_t id, struct error *err)
{
	return run_with(tx, "INSERT INTO things (id, n) VALUES (?, 7)", NUMBERS(id), err);
}

static void put(struct store_tx *tx, int64_t id)
{
	CHECK_OK(try_put(tx, id, &err));
}

static int64_t count_things(struct place *p)
{
	return harness_number(p->reader, "SELECT count(*) FROM things");
}

static int64_t backend_of(struct store_reader *on)
{
	return harness_number(on, "SELECT pg_backend_pid()");
}

/* ---- errors that are met late ---- */

TEST(a_conflict_that_is_met_late_fails_the_group_and_then_its_item_alone)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	place_commit(&p);
	/* A group of three items, the second of which is poison. Nobody waits for the server before the commit. */
	place_begin(&p);
	for (int64_t id = 0; id < 3; id++) {
		CHECK_OK(store_tx_savepoint(p.tx, &err));
		put(p.tx, id);
		CHECK_OK(store_tx_release(p.tx, &err));
	}
	CHECK_FAILS(store_tx_commit(p.tx, &err), ERR_CONFLICT, "things_pkey");
	CHECK_INT(count_things(&p), 1);
	/* Alone, each hears of its own. */
	for (int64_t id = 0; id < 3; id++) {
		place_begin(&p);
		CHECK_OK(store_tx_savepoint(p.tx, &err));
		CHECK_INT(try_put(p.tx, id, NULL), id == 1 ? ERR_CONFLICT : OK);
		if (id == 1)
			store_tx_undo(p.tx);
		else
			CHECK_OK(store_tx_release(p.tx, &err));
		place_commit(&p);
	}
	CHECK_INT(count_things(&p), 3);
	place_done(&p);
}

TEST(what_failed_in_an_earlier_item_is_not_undone_with_a_later_one)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	CHECK_OK(store_tx_savepoint(p.tx, &err));
	put(p.tx, 2);
	put(p.tx, 1); /* fails, but that is not known yet */
	CHECK_OK(store_tx_release(p.tx, &err));
	CHECK_OK(store_tx_savepoint(p.tx, &err));
	store_tx_undo(p.tx); /* for a reason of its own */
	CHECK_FAILS(try_put(p.tx, 3, &err), ERR_CONFLICT, "things_pkey");
	CHECK_FAILS(store_tx_commit(p.tx, &err), ERR_CONFLICT, "things_pkey");
	CHECK_INT(count_things(&p), 0);
	place_done(&p);
}

TEST(what_failed_in_an_item_is_undone_with_it)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	CHECK_OK(store_tx_savepoint(p.tx, &err));
	put(p.tx, 2);
	put(p.tx, 1);
	CHECK_FAILS(tx_changed_rows(p.tx, &(size_t){0}, &err), ERR_CONFLICT, "things_pkey"); /* now it is known */
	CHECK_FAILS(try_put(p.tx, 3, &err), ERR_CONFLICT, "things_pkey");
	store_tx_undo(p.tx);
	put(p.tx, 4);
	place_commit(&p);
	CHECK_INT(harness_number(p.reader, "SELECT sum(id) FROM things"), 5);
	place_done(&p);
}

TEST(statements_that_were_passed_over_are_prepared_later)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	put(p.tx, 1);
	CHECK_OK(run_with(
		p.tx, "UPDATE things SET n = ?", NUMBERS(9), &err)); /* for the first time, behind the failure */
	CHECK(store_tx_commit(p.tx, NULL) == ERR_CONFLICT);
	put(place_begin(&p), 1);
	CHECK_OK(run_with(p.tx, "UPDATE things SET n = ?", NUMBERS(9), &err));
	place_commit(&p);
	CHECK_INT(harness_number(p.reader, "SELECT n FROM things"), 9);
	place_done(&p);
}

TEST(savepoints_are_nested_to_a_limit)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	for (int i = 0; i < 16; i++)
		CHECK_OK(store_tx_savepoint(p.tx, &err));
	CHECK_FAILS(store_tx_savepoint(p.tx, &err), ERR_INTERNAL, "16 deep");
	for (int i = 0; i < 16; i++)
		CHECK_OK(store_tx_release(p.tx, &err));
	place_commit(&p);
	CHECK_INT(count_things(&p), 1);
	place_done(&p);
}

TEST(a_release_that_fails_leaves_no_level_behind)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	CHECK_OK(store_tx_savepoint(p.tx, &err));
	put(p.tx, 2);
	CHECK_OK(store_tx_savepoint(p.tx, &err));
	put(p.tx, 1);
	CHECK_FAILS(tx_changed_rows(p.tx, &(size_t){0}, &err), ERR_CONFLICT, "things_pkey"); /* now it is known */
	CHECK_FAILS(store_tx_release(p.tx, &err), ERR_CONFLICT, "things_pkey");
	put(p.tx, 3); /* the transaction is as it was before the nested one */
	store_tx_undo(p.tx);
	CHECK_FAILS(store_tx_release(p.tx, &err), ERR_INTERNAL, "no savepoint");
	put(p.tx, 4);
	place_commit(&p);
	CHECK_INT(harness_number(p.reader, "SELECT sum(id) FROM things"), 5);
	place_done(&p);
}

/* ---- rows that wait ---- */

static enum status interrupt_a_reading(struct place *p, int64_t mebibytes, struct error *failure)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	CHECK_OK(statement_open(
		&s, p->reader, "SELECT repeat('x', 1048000) FROM generate_series(1, CAST(? AS INTEGER))", &err));
	bind_i64(&s, mebibytes);
	CHECK_OK(statement_step(&s, &has_row, &err));
	int64_t one = 0;
	TRY(connection_number(p->reader, "SELECT 1", &one, failure));
	int64_t rows = 0;
	for (; has_row; rows++)
		TRY(statement_step(&s, &has_row, failure));
	CHECK_INT(rows, mebibytes);
	return OK;
}

TEST(rows_that_wait_for_another_statement_are_bounded)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	/* The first row is with its reader, the others wait. */
	CHECK_OK(interrupt_a_reading(&p, 1 + 63, &err));
	CHECK_FAILS(interrupt_a_reading(&p, 1 + 65, &err), ERR_TOO_LARGE, "64 MiB");
	CHECK_INT(harness_number(p.reader, "SELECT 5"), 5);
	place_done(&p);
}

TEST(sums_beyond_an_integer_are_its_greatest)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	CHECK_INT(
		harness_number(p.reader, "SELECT sum(n) FROM (VALUES (9223372036854775807), (5)) AS v (n)"), INT64_MAX);
	CHECK_INT(
		harness_number(p.reader, "SELECT sum(n) FROM (VALUES (9223372036854775807), (0)) AS v (n)"), INT64_MAX);
	CHECK_INT(harness_number(p.reader, "SELECT sum(n) FROM (VALUES (-9223372036854775807), (-1)) AS v (n)"),
		INT64_MIN);
	CHECK_INT(harness_number(p.reader, "SELECT sum(n) FROM (VALUES (-9223372036854775807), (-2)) AS v (n)"),
		INT64_MIN);
	CHECK_INT(harness_number(p.reader, "SELECT CAST(-20000.5 AS NUMERIC)"), -20000);
	CHECK_INT(harness_number(p.reader, "SELECT CAST(300000000 AS NUMERIC)"), 300000000);
	place_done(&p);
}

/* ---- a server that goes away ---- */

TEST(a_connection_that_is_killed_within_a_group_stores_nothing_of_it)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	place_terminate(&p, backend_of(store_tx_reader(p.tx)));
	put(p.tx, 2); /* goes nowhere */
	struct error failure = {0};
	CHECK_INT(store_tx_commit(p.tx, &failure), ERR_UNAVAILABLE);
	CHECK(failure.retry_after_s > 0);
	CHECK_INT(count_things(&p), 0);
	put(place_begin(&p), 3); /* on another connection, where it is prepared anew */
	place_commit(&p);
	CHECK_INT(count_things(&p), 1);
	place_done(&p);
}

TEST(a_connection_that_is_killed_between_groups_is_made_anew_unnoticed)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	place_commit(&p);
	place_terminate(&p, backend_of(database_writer(p.store)));
	put(place_begin(&p), 2);
	place_commit(&p);
	CHECK_INT(count_things(&p), 2);
	place_done(&p);
}

TEST(a_server_that_stops_is_found_again_when_it_is_back)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	struct store_tx *tx = NULL;
	int64_t number = 0;

	make_table(&p);
	put(place_begin(&p), 1);
	place_commit(&p);
	CHECK_OK(store_reader_begin(p.reader, &err));
	put(place_begin(&p), 2);
	cluster_kill();
	CHECK_FAILS(store_tx_commit(p.tx, &err), ERR_UNAVAILABLE, "");
	CHECK_FAILS(connection_number(p.reader, "SELECT 1", &number, &err), ERR_UNAVAILABLE, "");
	/* A view does not outlive its connection, not even when the server is back. */
	CHECK_FAILS(store_tx_begin(&tx, p.store, &err), ERR_UNAVAILABLE, "cannot connect");
	cluster_conninfo("postgres");
	CHECK_FAILS(connection_number(p.reader, "SELECT 1", &number, &err), ERR_UNAVAILABLE, "");
	store_reader_end(p.reader);
	put(place_begin(&p), 3);
	place_commit(&p);
	CHECK_INT(harness_number(p.reader, "SELECT sum(id) FROM things"), 4);
	place_done(&p);
}

TEST(rows_do_not_end_with_the_connection)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	AUTO_DONE(statement) s = {0};
	int64_t rows = 0;
	bool has_row = true;
	enum status status = OK;

	CHECK_OK(statement_open(
		&s, database_writer(p.store), "SELECT repeat('x', 100000) FROM generate_series(1, 1000)", &err));
	CHECK_OK(statement_step(&s, &has_row, &err));
	place_terminate(&p,
		harness_number(p.reader,
			"SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT repeat%' AND pid <> pg_backend_pid()"));
	for (; status == OK && has_row; rows++)
		status = statement_step(&s, &has_row, NULL);
	CHECK_INT(status, ERR_UNAVAILABLE); /* and not an end of the rows */
	CHECK(rows < 1000);
	statement_done(&s);
	place_done(&p);
}

TEST(rows_do_not_end_with_a_connection_that_another_statement_lost)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	AUTO_DONE(statement) s = {0};
	struct store_reader *on = database_writer(p.store);
	int64_t backend = backend_of(on), number = 0, rows = 0;
	bool has_row = true;
	enum status status = OK;

	CHECK_OK(statement_open(&s, on, "SELECT repeat('x', 100000) FROM generate_series(1, 1000)", &err));
	CHECK_OK(statement_step(&s, &has_row, &err));
	place_terminate(&p, backend);
	/* The first says that the connection is lost, unless that was heard before it was sent. */
	if (connection_number(on, "SELECT 1", &number, NULL) != OK)
		CHECK_OK(connection_number(on, "SELECT 1", &number, &err));
	CHECK(backend_of(on) != backend); /* a new connection, which knows nothing of the statement */
	for (; status == OK && has_row; rows++)
		status = statement_step(&s, &has_row, NULL);
	CHECK_INT(status, ERR_UNAVAILABLE);
	CHECK(rows < 1000);
	statement_done(&s);
	place_done(&p);
}

/* The rows behind the first are kept for it while another statement runs, and so is that they do not go on. */
TEST(rows_do_not_end_with_an_error_that_another_statement_met)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	AUTO_DONE(statement) s = {0};
	struct store_reader *on = database_writer(p.store);
	int64_t number = 0, rows = 0;
	bool has_row = true;
	enum status status = OK;
	struct error failure = {0};

	CHECK_OK(statement_open(&s, on, "SELECT 1 / (500 - g) FROM generate_series(1, 1000) AS g", &err));
	CHECK_OK(statement_step(&s, &has_row, &err));
	(void)!connection_number(on, "SELECT 1", &number, NULL);
	for (; status == OK && has_row; rows++)
		status = statement_step(&s, &has_row, &failure);
	CHECK_INT(status, ERR_UNAVAILABLE);
	CHECK(strstr(failure.text, "22012")); /* division by zero */
	CHECK_INT(rows, 499); /* 498 more, and the error */
	statement_done(&s);
	place_done(&p);
}

/* ---- a server that does not answer ---- */

TEST(a_server_that_hangs_is_not_waited_for)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	place_close(&p);
	p.write_limit_ms = 1000;
	place_open_postgres(&p);
	put(place_begin(&p), 1);
	pid_t backend = (pid_t)backend_of(store_tx_reader(p.tx));
	int64_t start_ms = clock_mono_ms();
	CHECK(kill(backend, SIGSTOP) == 0);
	enum status status = store_tx_commit(p.tx, NULL);
	int64_t took_ms = clock_mono_ms() - start_ms;
	CHECK(kill(backend, SIGCONT) == 0);
	CHECK_INT(status, ERR_UNAVAILABLE);
	CHECK(took_ms >= 1000); /* and it came back at all */
	place_begin(&p);
	place_commit(&p);
	place_done(&p);
}

TEST(a_reader_does_not_wait_for_a_server_that_hangs)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	int64_t number = 0;
	pid_t backend = (pid_t)backend_of(p.reader);

	CHECK(kill(backend, SIGSTOP) == 0);
	store_reader_deadline(p.reader, 100);
	enum status status = connection_number(p.reader, "SELECT 1", &number, NULL);
	CHECK(kill(backend, SIGCONT) == 0);
	CHECK_INT(status, ERR_UNAVAILABLE);
	store_reader_end(p.reader);
	CHECK_INT(harness_number(p.reader, "SELECT 1"), 1);
	place_done(&p);
}

/* ---- what a server warns of ---- */

static enum status warn(struct store_tx *tx, struct error *failure)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "DO $$ BEGIN RAISE WARNING 'of something else'; END $$", failure));
	return statement_run(&s, failure);
}

TEST(a_warning_before_the_commit_is_not_one_of_it)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	make_table(&p);
	put(place_begin(&p), 1);
	CHECK_OK(warn(p.tx, &err)); /* is heard with the answers to the commit */
	place_commit(&p);
	put(place_begin(&p), 2);
	place_commit(&p);
	CHECK_INT(count_things(&p), 2);
	place_done(&p);
}

struct administrator {
	pthread_t thread;
	struct store_reader *reader;
	int64_t backend; /* whose wait is cut: what place_want_standby left behind may still come to its own */
};

static void *cut_the_wait_short(void *context)
{
	struct administrator *own = context;
	int64_t cut = 0;
	char sql[128];

	snprintf(sql, sizeof sql,
		"SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = %lld",
		(long long)own->backend);
	while (!cut && connection_number(own->reader, sql, &cut, NULL) == OK)
		continue;
	return NULL;
}

static void commits_without_a_standby(struct place *p)
{
	struct store_tx *tx = NULL;
	struct administrator administrator = {.reader = p->reader};

	make_table(p);
	place_want_standby(p);
	CHECK_OK(connection_number(database_writer(p->store), "SELECT pg_backend_pid()", &administrator.backend, &err));
	put(place_begin(p), 1);
	CHECK(pthread_create(&administrator.thread, NULL, cut_the_wait_short, &administrator) == 0);
	CHECK_FAILS(store_tx_commit(p->tx, &err), ERR_UNAVAILABLE, "canceling wait for synchronous replication");
	pthread_join(administrator.thread, NULL);
	CHECK_INT(count_things(p), 1); /* it is there all the same, so what is in memory is not what is stored */
	CHECK_FAILS(store_tx_begin(&tx, p->store, &err), ERR_UNAVAILABLE, "holds what was said to have failed");
	place_want_no_standby(p);
	place_done(p);
}

TEST(a_commit_that_was_not_waited_for_is_none)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();

	commits_without_a_standby(&p);
}

TEST(a_commit_that_was_not_waited_for_is_none_where_sessions_are_to_hear_of_errors_alone)
{
	if (!cluster_is_there())
		return;
	CHECK(setenv("PGOPTIONS", "-c client_min_messages=error", 1) == 0);
	struct place p = place_postgres();

	CHECK(unsetenv("PGOPTIONS") == 0);
	commits_without_a_standby(&p);
}

static enum status try_open(const char *conninfo, const char *schema, struct error *err)
{
	struct postgres_options options = {.conninfo = conninfo, .schema = schema, .connect_limit_s = 2};
	struct store *store = NULL;
	enum status status = postgres_open(&store, &options, NULL, NULL, err);

	if (status == OK)
		database_close(store);
	return status;
}

/* ---- what is said of an address ---- */

TEST(only_a_part_of_an_address_is_ever_printed)
{
	if (!cluster_is_there())
		return;
	struct error failure = {0};

	CHECK_INT(try_open("postgresql://somebody@127.0.0.1:1/somewhere?sslmode=disable&passfile=/tmp/none", "public",
			  &failure),
		ERR_UNAVAILABLE);
	CHECK(strstr(failure.text, "host=127.0.0.1 port=1") && strstr(failure.text, "dbname=somewhere"));
	CHECK(!strstr(failure.text, "passfile") && !strstr(failure.text, "sslmode") &&
		!strstr(failure.text, "postgresql://"));
}

/* ---- what is refused at the start ---- */

TEST(a_server_of_another_encoding_is_refused)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	char conninfo[512];

	place_run(&p, "DROP DATABASE IF EXISTS latin");
	place_run(&p, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
	snprintf(conninfo, sizeof conninfo, "%s", cluster_conninfo("latin"));
	CHECK_FAILS(try_open(conninfo, "public", &err), ERR_UNSUPPORTED, "LATIN1");
	place_done(&p);
}

TEST(several_hosts_are_tried_in_their_order)
{
	if (!cluster_is_there())
		return;
	char conninfo[512];
	struct span rest = span_from(cluster_conninfo("postgres")), folder;

	CHECK(span_take(&rest, SPAN("host=")) && span_next(&rest, ' ', &folder));
	snprintf(conninfo, sizeof conninfo, "host=/nowhere,%.*s %.*s", SPAN_ARGS(folder), SPAN_ARGS(rest));
	CHECK_OK(try_open(conninfo, "public", &err));
}

TEST(a_password_is_refused_and_not_repeated)
{
	if (!cluster_is_there())
		return;
	struct error failure = {0};

	CHECK_INT(try_open("host=/tmp password=secret1", "public", &failure), ERR_INVALID);
	CHECK(span_find(span_from(failure.text), SPAN("PGPASSFILE")) >= 0);
	CHECK(span_find(span_from(failure.text), SPAN("secret1")) < 0);
	CHECK_INT(try_open("postgresql://me:secret1@/x", "public", &failure), ERR_INVALID);
	CHECK(span_find(span_from(failure.text), SPAN("secret1")) < 0);
}

TEST(what_libpq_cannot_read_is_not_repeated)
{
	if (!cluster_is_there())
		return;
	static const char *const mistakes[] = {"host=/tmp password=a secret1", "host=/tmp password=a secret1=b",
		"postgresql://me:secret1%zz@/x", "postgresql://me:secret1@[::1/x", "postgresql://me:secret1@/x?a"};

	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		struct error failure = {0};
		CHECK_INT(try_open(mistakes[i], "public", &failure), ERR_INVALID);
		CHECK(span_find(span_from(failure.text), SPAN("as libpq takes it")) >= 0);
		CHECK(span_find(span_from(failure.text), SPAN("secret1")) < 0);
	}
}

TEST(the_name_of_a_schema_is_plain)
{
	if (!cluster_is_there())
		return;
	char longest[65];
	const char *conninfo = cluster_conninfo("postgres");

	memset(longest, 'a', 64);
	longest[64] = '\0';
	CHECK_FAILS(try_open(conninfo, longest, &err), ERR_INVALID, "schema");
	longest[63] = '\0';
	CHECK_OK(try_open(conninfo, longest, &err));
	CHECK_FAILS(try_open(conninfo, "", &err), ERR_INVALID, "schema");
	CHECK_FAILS(try_open(conninfo, "1a", &err), ERR_INVALID, "schema");
	CHECK_FAILS(try_open(conninfo, "pg_x", &err), ERR_INVALID, "schema");
	CHECK_FAILS(try_open(conninfo, "a\", b", &err), ERR_INVALID, "schema");
}
