#include "harness.h"
#include "store/driver/rows.h"

#include <math.h>

enum colour { RED, GREEN };

struct thing {
	int64_t id;
	int32_t code;
	uint32_t number;
	uint64_t line;
	enum colour colour;
	bool is_on;
	struct span name, bytes;
	double value, finite;
	struct summary summary;
	int64_t beside; /* in no column */
};

static const struct row_field fields[] = {FIELD(struct thing, id), FIELD(struct thing, code),
	FIELD(struct thing, number), FIELD(struct thing, line), FIELD(struct thing, colour), FIELD(struct thing, is_on),
	FIELD(struct thing, name), FIELD_BLOB(struct thing, bytes), FIELD(struct thing, value),
	FIELD_FINITE(struct thing, finite), FIELD(struct thing, summary)};

#define COLUMNS "id, code, number, line, colour, is_on, name, bytes, value, value_kind, finite, " SUMMARY_COLUMNS
#define MARKS "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"

/* STRICT: a text that is bound as bytes, or the other way round, is refused. */
static struct store_tx *begin(struct harness *h)
{
	CHECK_OK(run_with(harness_begin(h),
		"CREATE TABLE things (id INTEGER PRIMARY KEY, code INTEGER NOT NULL, number INTEGER NOT NULL,"
		" line INTEGER NOT NULL, colour INTEGER NOT NULL, is_on INTEGER NOT NULL, name TEXT NOT NULL,"
		" bytes BLOB NOT NULL, value REAL NOT NULL, value_kind INTEGER NOT NULL, finite REAL NOT NULL,"
		" count INTEGER NOT NULL, nan_count INTEGER NOT NULL, inf_count INTEGER NOT NULL, last REAL NOT NULL,"
		" last_kind INTEGER NOT NULL, min REAL NOT NULL, min_kind INTEGER NOT NULL, max REAL NOT NULL,"
		" max_kind INTEGER NOT NULL, sum REAL NOT NULL, sum_kind INTEGER NOT NULL, first_step INTEGER NOT NULL,"
		" last_step INTEGER NOT NULL, last_ts_ms INTEGER NOT NULL) STRICT",
		NUMBERS(), &err));
	return h->tx;
}

static void put(struct store_tx *tx, const struct thing *thing)
{
	CHECK_OK(row_put(
		tx, "INSERT INTO things (" COLUMNS ") VALUES (" MARKS ")", ROWS(fields, struct thing), thing, &err));
}

static bool is_same_double(double a, double b)
{
	return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_same(const struct thing *got, const struct thing *want)
{
	CHECK_INT(got->id, want->id);
	CHECK_INT(got->code, want->code);
	CHECK_INT(got->number, want->number);
	CHECK(got->line == want->line);
	CHECK_INT(got->colour, want->colour);
	CHECK_INT(got->is_on, want->is_on);
	CHECK_SPAN(got->name, want->name);
	CHECK_SPAN(got->bytes, want->bytes);
	CHECK(is_same_double(got->value, want->value));
	CHECK(is_same_double(got->finite, want->finite));
	CHECK(got->summary.count == want->summary.count && got->summary.nan_count == want->summary.nan_count);
	CHECK(got->summary.inf_count == want->summary.inf_count);
	CHECK(is_same_double(got->summary.last, want->summary.last));
	CHECK(is_same_double(got->summary.min, want->summary.min));
	CHECK(is_same_double(got->summary.max, want->summary.max));
	CHECK(is_same_double(got->summary.sum.plain, want->summary.sum.plain));
	CHECK(is_same_double(got->summary.sum.huge, want->summary.sum.huge));
	CHECK_INT(got->summary.first_step, want->summary.first_step);
	CHECK_INT(got->summary.last_step, want->summary.last_step);
	CHECK_INT(got->summary.last_ts_ms, want->summary.last_ts_ms);
}

static const struct thing things[] = {
	{.id = 1, .name = {NULL, 0}, .bytes = {NULL, 0}}, /* what has no bytes is no NULL */
	{.id = 2,
		.code = INT32_MIN,
		.number = UINT32_MAX,
		.line = UINT64_MAX,
		.colour = GREEN,
		.is_on = true,
		.name = {"a", 1},
		.bytes = {"\0\xff", 2},
		.value = NAN,
		.finite = -1.5,
		.summary = {.count = UINT64_MAX,
			.nan_count = 2,
			.inf_count = 3,
			.last = -INFINITY,
			.min = -0.0,
			.max = INFINITY,
			.sum = {NAN, 0},
			.first_step = INT64_MIN,
			.last_step = INT64_MAX,
			.last_ts_ms = 7}},
	{.id = INT64_MAX, .code = INT32_MAX, .value = -0.0, .name = {"\xc3\xb6", 2}, .bytes = {"b", 1}},
};
enum { COUNT = sizeof things / sizeof *things };

TEST(a_table_of_fields_reads_what_it_has_written)
{
	struct harness h = harness_new();
	AUTO_DONE(statement) all = {0};
	struct thing *rows;
	const struct thing like = {.beside = 9};
	size_t count;

	begin(&h);
	for (size_t i = 0; i < COUNT; i++)
		put(h.tx, &things[i]);
	harness_commit(&h);
	CHECK_OK(statement_open(&all, h.reader, "SELECT " COLUMNS " FROM things ORDER BY id", &err));
	CHECK_OK(rows_read(&all, h.arena, ROWS_LIKE(fields, like), &rows, &count, &err));
	CHECK_INT(count, COUNT);
	for (size_t i = 0; i < count; i++) {
		check_same(&rows[i], &things[i]);
		CHECK_INT(rows[i].beside, 9);
	}
	statement_done(&all);
	harness_done(&h);
}

TEST(one_row_is_read_and_what_is_not_there_changes_nothing)
{
	struct harness h = harness_new();
	struct thing got = {.id = -1, .beside = 5};
	bool is_there = false;

	begin(&h);
	put(h.tx, &things[1]);
	for (int64_t id = 2; id >= 1; id--) {
		AUTO_DONE(statement) s = {0};
		CHECK_OK(
			statement_open(&s, store_tx_reader(h.tx), "SELECT " COLUMNS " FROM things WHERE id = ?", &err));
		bind_numbers(&s, id);
		CHECK_OK(row_read(&s, h.arena, ROWS(fields, struct thing), &got, &is_there, &err));
		CHECK_INT(is_there, id == 2);
		check_same(&got, &things[1]);
		CHECK_INT(got.beside, 5);
	}
	store_tx_rollback(h.tx);
	harness_done(&h);
}

TEST(a_number_is_read_in_its_own_type_or_stays)
{
	struct harness h = harness_new();
	uint64_t line = 3;
	int32_t code = 4;
	uint32_t number = 5;
	int64_t id = 6;
	bool is_on = false;

	begin(&h);
	put(h.tx, &things[1]);
	struct store_reader *on = store_tx_reader(h.tx);
	CHECK_OK(read_number(on, "SELECT line FROM things WHERE id = ? AND code = ?", NUMBERS(2, 0), &line, &err));
	CHECK(line == 3);
	CHECK_OK(read_number(on, "SELECT line FROM things WHERE id = ? AND code < ?", NUMBERS(2, 0), &line, &err));
	CHECK(line == UINT64_MAX);
	CHECK_OK(read_number(on, "SELECT code FROM things", NUMBERS(), &code, &err));
	CHECK_INT(code, INT32_MIN);
	CHECK_OK(read_number(on, "SELECT number FROM things", NUMBERS(), &number, &err));
	CHECK(number == UINT32_MAX);
	CHECK_OK(read_number(on, "SELECT first_step FROM things", NUMBERS(), &id, &err));
	CHECK(id == INT64_MIN);
	CHECK_OK(read_number(on, "SELECT 1 FROM things WHERE line = ?", NUMBERS((int64_t)UINT64_MAX), &is_on, &err));
	CHECK(is_on);
	CHECK_FAILS(read_number(on, "SELECT nothing FROM things", NUMBERS(), &id, &err), ERR_INTERNAL, "nothing");
	store_tx_rollback(h.tx);
	harness_done(&h);
}
