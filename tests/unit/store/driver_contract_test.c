/* What verbs may rely on, whatever the database: each test runs in every one that has a driver. */
#include "base/clock.h"
#include "place.h"
#include "store/driver/rows.h"

#include <float.h>
#include <math.h>

static void in_each(void (*test)(struct place *))
{
	struct place sqlite = place_sqlite();

	test(&sqlite);
	place_done(&sqlite);
	if (!cluster_is_there())
		return;
	struct place postgres = place_postgres();
	test(&postgres);
	place_done(&postgres);
}

static void make_table(struct place *p)
{
	place_run(p, "CREATE TABLE things (id BIGINT PRIMARY KEY, n BIGINT, x DOUBLE PRECISION, t TEXT, b BYTEA)");
}

static void put(struct store_tx *tx, int64_t id, int64_t n)
{
	CHECK_OK(run_with(tx, "INSERT INTO things (id, n) VALUES (?, ?)", NUMBERS(id, n), &err));
}

static void put_thousand(struct place *p)
{
	make_table(p);
	place_begin(p);
	for (int64_t i = 0; i < 1000; i++)
		put(p->tx, i, i * i);
	place_commit(p);
}

static int64_t count_things(struct store_reader *on)
{
	return harness_number(on, "SELECT count(*) FROM things");
}

/* ---- values ---- */

struct value {
	int64_t n;
	double x;
	struct span t, b;
};

static const struct value values[] = {
	{0, 0, {NULL, 0}, {NULL, 0}}, /* what has no bytes is no NULL */
	{INT64_MIN, -DBL_MAX, {"\xc3\xb6", 2}, {"\0\xff\0", 3}},
	{INT64_MAX, DBL_MIN / 4, {"a'b\\\"$1?", 8}, {"b", 1}},
	{-1, 0.1, {"?", 1}, {"\\x00", 4}},
};
enum { VALUES = sizeof values / sizeof *values };

static void put_value(struct store_tx *tx, int64_t id, const struct value *value)
{
	AUTO_DONE(statement) s = {0};

	CHECK_OK(statement_open(
		&s, store_tx_reader(tx), "INSERT INTO things (t, b, x, n, id) VALUES (?3, ?2, ?4, ?1, ?5)", &err));
	CHECK_INT(statement_parameters(&s), 5);
	bind_i64(&s, value->n);
	bind_blob(&s, value->b);
	bind_text(&s, value->t);
	bind_finite(&s, value->x);
	bind_i64(&s, id);
	CHECK_OK(statement_run(&s, &err));
}

static void reads_what_was_bound(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	make_table(p);
	place_begin(p);
	for (int64_t i = 0; i < VALUES; i++)
		put_value(p->tx, i, &values[i]);
	place_commit(p);
	CHECK_OK(statement_open(&s, p->reader, "SELECT n, x, t, b, t FROM things ORDER BY id", &err));
	for (size_t i = 0; i < VALUES; i++) {
		CHECK_OK(statement_step(&s, &has_row, &err));
		CHECK(has_row);
		CHECK_INT(statement_columns(&s), 5);
		CHECK_TEXT(column_name(&s), "n");
		CHECK_INT(column_kind(&s), COLUMN_INTEGER);
		CHECK_INT(column_i64(&s), values[i].n);
		CHECK_INT(column_kind(&s), COLUMN_REAL);
		CHECK_DOUBLE(column_finite(&s), values[i].x);
		CHECK_INT(column_kind(&s), COLUMN_TEXT);
		CHECK_SPAN(column_span(&s, p->arena), values[i].t);
		CHECK_INT(column_kind(&s), COLUMN_BLOB);
		CHECK_SPAN(column_borrow(&s), values[i].b);
		CHECK(!column_is_null(&s));
	}
	CHECK_OK(statement_step(&s, &has_row, &err));
	CHECK(!has_row);
}

TEST(values_are_read_as_they_were_bound)
{
	in_each(reads_what_was_bound);
}

static void takes_null_for_any_type(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	int64_t id = 0;

	make_table(p);
	place_begin(p);
	CHECK_OK(statement_open(
		&s, store_tx_reader(p->tx), "INSERT INTO things (id, n, t, b, x) VALUES (?, ?, ?, ?, ?)", &err));
	/* The first that is bound says nothing of the type, the next one does, and a NULL may follow. */
	for (; id < 3; id++) {
		bind_i64(&s, id);
		if (id == 1) {
			bind_i64(&s, INT64_MAX);
			bind_text(&s, SPAN("t"));
			bind_blob(&s, SPAN("b"));
			bind_finite(&s, 2.5);
		}
		for (int i = 0; i < 4 && id != 1; i++)
			bind_null(&s);
		CHECK_OK(statement_run(&s, &err));
		statement_again(&s);
	}
	statement_done(&s);
	place_commit(p);
	CHECK_INT(harness_number(p->reader,
			  "SELECT count(*) FROM things WHERE n IS NULL AND t IS NULL AND b IS NULL AND x IS NULL"),
		2);
	CHECK_INT(harness_number(p->reader, "SELECT n FROM things WHERE t = 't' AND x = 2.5"), INT64_MAX);
}

TEST(a_null_is_of_any_type)
{
	in_each(takes_null_for_any_type);
}

static void clears_what_was_bound(struct place *p)
{
	static const char sql[] = "INSERT INTO things (id, n) VALUES (?, ?)";

	make_table(p);
	place_begin(p);
	put(p->tx, 1, 5);
	for (int64_t id = 2; id < 4; id++) {
		AUTO_DONE(statement) s = {0};
		CHECK_OK(statement_open(&s, store_tx_reader(p->tx), sql, &err));
		bind_i64(&s, id);
		if (id == 2)
			bind_i64(&s, 7);
		CHECK_OK(statement_run(&s, &err));
	}
	place_commit(p);
	CHECK_INT(harness_number(p->reader, "SELECT count(n) FROM things"), 2);
	CHECK_INT(harness_number(p->reader, "SELECT id FROM things WHERE n IS NULL"), 3);
}

TEST(what_is_not_bound_is_null_whatever_was_bound_before)
{
	in_each(clears_what_was_bound);
}

static void gives_numbers_of_every_type(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	put_thousand(p);
	CHECK_OK(statement_open(&s, p->reader,
		"SELECT count(*), sum(n), CAST(3 AS SMALLINT), avg(x), CAST(n AS DOUBLE PRECISION), n, n FROM things"
		" WHERE id = 12 GROUP BY n",
		&err));
	CHECK_OK(statement_step(&s, &has_row, &err));
	CHECK(has_row);
	CHECK_INT(column_i64(&s), 1);
	CHECK_INT(column_kind(&s), COLUMN_INTEGER);
	CHECK_INT(column_i64(&s), 144);
	CHECK_INT(column_i64(&s), 3);
	CHECK(column_is_null(&s));
	CHECK_INT(column_i64(&s), 0);
	CHECK_INT(column_i64(&s), 144);
	CHECK_DOUBLE(column_finite(&s), 144);
	CHECK_SPAN(column_span(&s, p->arena), SPAN("144"));
}

TEST(numbers_of_every_type_are_numbers)
{
	in_each(gives_numbers_of_every_type);
}

/* ---- statements ---- */

static void reads_several_at_once(struct place *p)
{
	static const char same[] = "SELECT id, n FROM things WHERE id < ? ORDER BY id";
	AUTO_DONE(statement) outer = {0};
	int64_t seen = 0;
	bool has_row;

	put_thousand(p);
	CHECK_OK(statement_open(&outer, p->reader, same, &err));
	bind_i64(&outer, 300);
	CHECK_OK(statement_step(&outer, &has_row, &err));
	for (; has_row; seen++) {
		AUTO_DONE(statement) inner = {0};
		bool has_inner;
		CHECK_OK(statement_open(
			&inner, p->reader, seen % 2 ? same : "SELECT id FROM things WHERE n < ? ORDER BY id", &err));
		bind_i64(&inner, 50);
		CHECK_OK(statement_step(&inner, &has_inner, &err));
		CHECK(has_inner);
		CHECK_INT(column_i64(&inner), 0);
		CHECK_OK(statement_step(&inner, &has_inner, &err));
		CHECK_INT(column_i64(&inner), 1); /* and the rest is not wanted */
		CHECK_INT(column_i64(&outer), seen);
		CHECK_INT(column_i64(&outer), seen * seen);
		CHECK_OK(statement_step(&outer, &has_row, &err));
	}
	CHECK_INT(seen, 300);
}

TEST(several_statements_are_read_at_once)
{
	in_each(reads_several_at_once);
}

static void reads_again(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	put_thousand(p);
	CHECK_OK(statement_open(&s, p->reader, "SELECT n FROM things WHERE id >= ? ORDER BY id", &err));
	for (int64_t id = 0; id < 1000; id += 111) {
		bind_i64(&s, id);
		CHECK_OK(statement_step(&s, &has_row, &err));
		CHECK(has_row);
		CHECK_INT(column_i64(&s), id * id);
		statement_again(&s); /* most of its rows were not read */
	}
}

TEST(a_statement_runs_again_with_other_values)
{
	in_each(reads_again);
}

static void takes_sql_that_is_put_together(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(statement) wrong = {0};
	struct error failure = {0};
	char text[64];
	bool has_row;

	put_thousand(p);
	snprintf(text, sizeof text, "SELECT n FROM things WHERE id = ? OR t = 'a?%d'", 7);
	CHECK_OK(statement_open_once(&s, p->reader, span_from(text), &err));
	memset(text, 'x', sizeof text); /* it is the statement's own by now */
	bind_i64(&s, 7);
	CHECK_OK(statement_step(&s, &has_row, &err));
	CHECK_INT(column_i64(&s), 49);
	enum status status = statement_open_once(&wrong, p->reader, SPAN("SELECT nothing FROM things"), &failure);
	if (status == OK)
		status = statement_step(&wrong, &has_row, &failure);
	CHECK_INT(status, ERR_INTERNAL);
	CHECK(span_find(span_from(failure.text), SPAN("nothing")) >= 0);
}

TEST(sql_that_is_put_together_is_its_own)
{
	in_each(takes_sql_that_is_put_together);
}

/* ---- transactions ---- */

static void commits_and_rolls_back(struct place *p)
{
	make_table(p);
	put(place_begin(p), 1, 1);
	CHECK_INT(count_things(store_tx_reader(p->tx)), 1);
	CHECK_INT(count_things(p->reader), 0);
	place_commit(p);
	CHECK_INT(count_things(p->reader), 1);
	put(place_begin(p), 2, 2);
	store_tx_rollback(p->tx);
	CHECK_INT(count_things(p->reader), 1);
	struct store_tx *second = NULL;
	place_begin(p);
	CHECK_FAILS(store_tx_begin(&second, p->store, &err), ERR_INTERNAL, "already open");
	place_commit(p);
}

TEST(a_commit_is_seen_and_a_rollback_is_not)
{
	in_each(commits_and_rolls_back);
}

static void undoes_to_the_newest_savepoint(struct place *p)
{
	make_table(p);
	put(place_begin(p), 1, 1);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	put(p->tx, 2, 2);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	put(p->tx, 3, 3);
	store_tx_undo(p->tx);
	CHECK_INT(count_things(store_tx_reader(p->tx)), 2);
	CHECK_OK(store_tx_release(p->tx, &err));
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	put(p->tx, 4, 4);
	store_tx_undo(p->tx);
	CHECK_FAILS(store_tx_release(p->tx, &err), ERR_INTERNAL, "no savepoint");
	put(p->tx, 5, 5);
	place_commit(p);
	CHECK_INT(harness_number(p->reader, "SELECT sum(id) FROM things"), 8);
}

TEST(undo_takes_back_to_the_newest_savepoint)
{
	in_each(undoes_to_the_newest_savepoint);
}

/* One database tells of a failure where it happens, another when the savepoint is released: it is the same item's. */
static void fails_within(struct place *p, int64_t taken)
{
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	enum status status = run_with(p->tx, "INSERT INTO things (id, n) VALUES (?, ?)", NUMBERS(taken, 0), NULL);
	if (status == OK)
		status = store_tx_release(p->tx, NULL);
	else
		store_tx_undo(p->tx);
	CHECK_INT(status, ERR_CONFLICT);
}

static void undoes_what_failed_within(struct place *p)
{
	make_table(p);
	put(place_begin(p), 1, 1);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	put(p->tx, 2, 2);
	fails_within(p, 1);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	put(p->tx, 4, 4);
	fails_within(p, 4); /* and once more a level deeper */
	CHECK_OK(store_tx_release(p->tx, &err));
	CHECK_INT(count_things(store_tx_reader(p->tx)), 3);
	CHECK_OK(store_tx_release(p->tx, &err));
	CHECK_FAILS(store_tx_release(p->tx, &err), ERR_INTERNAL, "no savepoint");
	place_commit(p);
	CHECK_INT(harness_number(p->reader, "SELECT sum(id) FROM things"), 7);
}

TEST(what_fails_within_a_nested_savepoint_is_heard_and_undone_with_it)
{
	in_each(undoes_what_failed_within);
}

static void undoes_around_what_failed(struct place *p)
{
	make_table(p);
	put(place_begin(p), 1, 1);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	put(p->tx, 2, 2);
	fails_within(p, 1);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	CHECK_INT(count_things(store_tx_reader(p->tx)), 2);
	put(p->tx, 3, 3);
	store_tx_undo(p->tx);
	store_tx_undo(p->tx);
	put(p->tx, 5, 5);
	place_commit(p);
	CHECK_INT(harness_number(p->reader, "SELECT sum(id) FROM things"), 6);
}

TEST(undo_of_an_outer_savepoint_takes_back_all_since_it_whatever_failed_within)
{
	in_each(undoes_around_what_failed);
}

static void tells_conflicts(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	make_table(p);
	put(place_begin(p), 1, 1);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	CHECK_OK(statement_open(&s, store_tx_reader(p->tx), "INSERT INTO things (id, n) VALUES (?, 0)", &err));
	bind_i64(&s, 1);
	CHECK_FAILS(statement_step(&s, &has_row, &err), ERR_CONFLICT, "");
	CHECK(statement_is_conflict(&s));
	statement_done(&s);
	store_tx_undo(p->tx); /* with it the transaction is as it was */
	put(p->tx, 2, 2);
	CHECK_INT(count_things(store_tx_reader(p->tx)), 2);
	place_commit(p);
	CHECK_INT(harness_number(p->reader, "SELECT n FROM things WHERE id = 1"), 1);
}

TEST(a_conflict_is_told_and_undone)
{
	in_each(tells_conflicts);
}

static int64_t changed_rows(struct place *p)
{
	size_t rows = 0;

	CHECK_OK(tx_changed_rows(p->tx, &rows, &err));
	return (int64_t)rows;
}

static void counts_changed_rows(struct place *p)
{
	put_thousand(p);
	place_begin(p);
	CHECK_OK(run_with(p->tx, "UPDATE things SET n = 0 WHERE id < ?", NUMBERS(30), &err));
	CHECK_INT(changed_rows(p), 30);
	CHECK_INT(count_things(store_tx_reader(p->tx)), 1000);
	CHECK_INT(changed_rows(p), 30); /* reading is no change */
	CHECK_OK(run_with(p->tx, "DELETE FROM things WHERE id < ?", NUMBERS(0), &err));
	CHECK_INT(changed_rows(p), 0);
	CHECK_OK(run_with(p->tx, "DELETE FROM things WHERE id < ?", NUMBERS(7), &err));
	CHECK_INT(changed_rows(p), 7);
	CHECK_OK(run_with(
		p->tx, "INSERT INTO things (id, n) VALUES (?, 0) ON CONFLICT (id) DO NOTHING", NUMBERS(8), &err));
	CHECK_INT(changed_rows(p), 0);
	place_commit(p);
	CHECK_INT(count_things(p->reader), 993);
}

TEST(changed_rows_are_those_of_the_last_change)
{
	in_each(counts_changed_rows);
}

static void returns_rows_of_a_change(struct place *p)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	put_thousand(p);
	place_begin(p);
	CHECK_OK(statement_open(
		&s, store_tx_reader(p->tx), "UPDATE things SET n = n + 1 WHERE id = ? RETURNING n", &err));
	bind_i64(&s, 10);
	CHECK_OK(statement_step(&s, &has_row, &err));
	CHECK_INT(column_i64(&s), 101);
	statement_done(&s);
	place_commit(p);
	CHECK_INT(harness_number(p->reader, "SELECT n FROM things WHERE id = 10"), 101);
}

TEST(a_change_returns_rows)
{
	in_each(returns_rows_of_a_change);
}

static void takes_thousands_of_statements(struct place *p)
{
	make_table(p);
	place_begin(p);
	for (int64_t i = 0; i < 5000; i++)
		put(p->tx, i, i);
	place_commit(p);
	CHECK_INT(count_things(p->reader), 5000);
	CHECK_INT(harness_number(p->reader, "SELECT sum(n) FROM things"), 12497500);
}

TEST(a_transaction_takes_thousands_of_statements)
{
	in_each(takes_thousands_of_statements);
}

/* ---- views and deadlines ---- */

static void keeps_one_view(struct place *p)
{
	make_table(p);
	put(place_begin(p), 1, 1);
	place_commit(p);
	CHECK_OK(store_reader_begin(p->reader, &err));
	CHECK(connection_is_in_view(p->reader));
	put(place_begin(p), 2, 2); /* after the view began, before its first read */
	place_commit(p);
	CHECK_INT(count_things(p->reader), 1);
	store_reader_end(p->reader);
	CHECK_INT(count_things(p->reader), 2);
}

TEST(a_view_is_as_of_its_beginning)
{
	in_each(keeps_one_view);
}

static void refuses_writes_of_readers(struct place *p)
{
	make_table(p);
	CHECK(connection_run(p->reader, "INSERT INTO things (id) VALUES (1)", NULL) != OK);
	CHECK_OK(store_reader_begin(p->reader, &err));
	CHECK(connection_run(p->reader, "INSERT INTO things (id) VALUES (1)", NULL) != OK);
	store_reader_end(p->reader);
	CHECK_INT(count_things(p->reader), 0);
}

TEST(a_reader_writes_nothing)
{
	in_each(refuses_writes_of_readers);
}

static void cuts_off_late_reads(struct place *p)
{
	static const char endless[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT (i + 1) % 1000 FROM n) SELECT count(*) FROM n";
	int64_t number = 0, start_ms = clock_mono_ms();

	make_table(p);
	CHECK_OK(store_reader_begin(p->reader, &err));
	store_reader_deadline(p->reader, 30);
	CHECK_FAILS(connection_number(p->reader, endless, &number, &err), ERR_UNAVAILABLE, "took longer");
	CHECK(clock_mono_ms() - start_ms < 3000);
	store_reader_end(p->reader);
	CHECK_INT(count_things(p->reader), 0); /* the next one has its own time */
}

TEST(a_late_read_is_cut_off)
{
	in_each(cuts_off_late_reads);
}

/* ---- reads asked ahead ---- */

static enum status read_n(struct store_reader *on, int64_t id, int64_t *n, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on, "SELECT n FROM things WHERE id = ?", err));
	bind_numbers(&s, id);
	TRY(statement_step(&s, &has_row, err));
	*n = has_row ? column_i64(&s) : -1;
	return OK;
}

static enum status sum_from(struct store_reader *on, int64_t id, int64_t *sum, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*sum = 0;
	TRY(statement_open(&s, on, "SELECT n FROM things WHERE id >= ? ORDER BY id", err));
	bind_numbers(&s, id);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		*sum += column_i64(&s);
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

static void change(struct place *p, int64_t id, int64_t n)
{
	place_begin(p);
	CHECK_OK(run_with(p->tx, "UPDATE things SET n = ? WHERE id = ?", NUMBERS(n, id), &err));
	place_commit(p);
}

static void ask_ahead(struct place *p)
{
	int64_t n = 0;

	put_thousand(p);
	bool is_ahead = store_reader_ahead_begin(p->reader, AHEAD_STOP);
	for (int64_t id = 0; is_ahead && id < 1500; id++) /* more than may be without an answer */
		CHECK_FAILS(read_n(p->reader, id, &n, &err), ERR_UNAVAILABLE, "ahead");
	for (int64_t id = 940; is_ahead && id < 999; id++) /* of one text, with rows of their own each */
		CHECK_FAILS(sum_from(p->reader, id * 2 - 940, &n, &err), ERR_UNAVAILABLE, "ahead");
	CHECK_OK(store_reader_ahead_end(p->reader, &err));
	change(p, 7, -7);
	for (int64_t id = 1499; id >= 0; id--) { /* in another order, too */
		CHECK_OK(read_n(p->reader, id, &n, &err));
		CHECK_INT(n, id >= 1000 ? -1 : id == 7 && !is_ahead ? -7 : id * id);
	}
	for (int64_t id = 1056, sum = 0; id >= 940; id -= 2) {
		if (id < 1000)
			sum += id * id + (id + 1) * (id + 1);
		CHECK_OK(sum_from(p->reader, id, &n, &err));
		CHECK_INT(n, sum);
	}
	CHECK_OK(sum_from(p->reader, 999, &n, &err)); /* what was not asked is asked now */
	CHECK_INT(n, 999 * 999);
	store_reader_ahead_drop(p->reader);
	CHECK_OK(read_n(p->reader, 7, &n, &err));
	CHECK_INT(n, -7);
}

TEST(reads_asked_ahead_are_answered_from_what_came)
{
	in_each(ask_ahead);
}

static void ask_in_rounds(struct place *p)
{
	int64_t n = 0, next = 0;

	put_thousand(p);
	if (!store_reader_ahead_begin(p->reader, AHEAD_STOP))
		return;
	CHECK_FAILS(read_n(p->reader, 3, &n, &err), ERR_UNAVAILABLE, "ahead");
	CHECK_OK(store_reader_ahead_end(p->reader, &err));
	CHECK(store_reader_ahead_begin(p->reader, AHEAD_STOP));
	CHECK_OK(read_n(p->reader, 3, &n, &err)); /* what follows from it can be asked */
	CHECK_FAILS(read_n(p->reader, n, &next, &err), ERR_UNAVAILABLE, "ahead");
	CHECK_FAILS(connection_run(p->reader, "SELECT 1", &err), ERR_UNAVAILABLE, "ahead");
	CHECK_OK(store_reader_ahead_end(p->reader, &err));
	change(p, 9, 5);
	CHECK_OK(read_n(p->reader, n, &next, &err));
	CHECK_INT(next, 81);
	CHECK_OK(store_reader_begin(p->reader, &err)); /* another view forgets them */
	CHECK_OK(read_n(p->reader, 9, &next, &err));
	CHECK_INT(next, 5);
	store_reader_end(p->reader);
}

TEST(reads_asked_ahead_follow_from_those_before)
{
	in_each(ask_in_rounds);
}

/* ---- counters ---- */

static int64_t take_id(struct place *p)
{
	int64_t id = 0;

	CHECK_OK(next_id(p->tx, "job", &id, &err));
	return id;
}

static void count_on(struct place *p)
{
	int64_t first, id = 0;

	place_run(p, "CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, last BIGINT)");
	place_run(p, "DELETE FROM counters");
	place_run(p, "INSERT INTO counters (name, last) VALUES ('job', 40), ('token', 2)");
	place_begin(p);
	first = take_id(p);
	CHECK_INT(first, 41);
	CHECK_INT(take_id(p), 42);
	CHECK_OK(next_id(p->tx, "token", &id, &err));
	CHECK_INT(id, 3);
	CHECK_OK(store_tx_savepoint(p->tx, &err));
	CHECK_INT(take_id(p), 43);
	store_tx_undo(p->tx); /* the database has it undone, too */
	CHECK_INT(take_id(p), 43);
	place_commit(p);
	place_begin(p);
	CHECK_INT(take_id(p), 44);
	store_tx_rollback(p->tx);
	CHECK_INT(harness_number(p->reader, "SELECT last FROM counters WHERE name = 'job'"), 43);
	place_begin(p);
	CHECK_INT(take_id(p), 44);
	CHECK_FAILS(next_id(p->tx, "unknown", &id, &err), ERR_INTERNAL, "no counter 'unknown'");
	place_commit(p);
}

TEST(a_counter_gives_no_number_twice)
{
	in_each(count_on);
}
