/*
 * A table is copied in the order of its key, some megabytes a transaction, so that the last key of the target says where to go on. What
 * the setting MARK names was the source; while it is there, no server has the target.
 */
#include "store/move.h"

#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/journal.h"
#include "store/sql/maintain/move_journal.h"
#include "store/tokens.h"

#include <inttypes.h>

#define MARK "moved_from"
/* Each database has its own of these. */
#define OWN_SETTINGS "key NOT IN ('" MARK "', 'schema_version', 'min_reader', 'seal_key_check')"

enum { BATCH_BYTES = 4 << 20, BATCH_ROWS = 2000, SQL_BYTES = 1 << 14 };

struct moving {
	struct store *from, *to;
	struct store_reader *source, *target;
	const struct store_move *move;
	struct store_move_done *done;
	struct arena *arena;
	struct table_shape *tables;
	size_t table_count;
	uint64_t rows; /* of the present table */
};

struct value {
	enum column_kind kind;
	int64_t number;
	double real;
	struct span bytes;
};

/* ---- SQL, which differs by the table alone ---- */

static void add_names(struct buf *sql, const struct table_shape *table, bool is_key, const char *behind_each)
{
	size_t count = is_key ? table->key_count : table->column_count;

	for (size_t i = 0; i < count; i++)
		buf_printf(sql, "%s%.*s%s", i ? ", " : "", SPAN_ARGS(table->columns[is_key ? table->key[i] : i]),
			behind_each);
}

static const char *filter(const struct table_shape *table)
{
	return span_equal(table->name, SPAN("settings")) ? OWN_SETTINGS : "true";
}

static void add_marks(struct buf *sql, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_append_text(sql, i ? ", ?" : "(?");
	buf_append_char(sql, ')');
}

static void print_read(struct buf *sql, const struct table_shape *table, bool goes_on)
{
	buf_append_text(sql, "SELECT ");
	add_names(sql, table, false, "");
	buf_printf(sql, " FROM %.*s WHERE %s", SPAN_ARGS(table->name), filter(table));
	if (goes_on) {
		buf_append_text(sql, " AND (");
		add_names(sql, table, true, "");
		buf_append_text(sql, ") > ");
		add_marks(sql, table->key_count);
	}
	buf_append_text(sql, " ORDER BY ");
	add_names(sql, table, true, "");
}

static void print_last(struct buf *sql, const struct table_shape *table)
{
	buf_append_text(sql, "SELECT ");
	add_names(sql, table, true, "");
	buf_printf(sql, " FROM %.*s WHERE %s ORDER BY ", SPAN_ARGS(table->name), filter(table));
	add_names(sql, table, true, " DESC");
	buf_append_text(sql, " LIMIT 1");
}

static void print_insert(struct buf *sql, const struct table_shape *table)
{
	buf_printf(sql, "INSERT INTO %.*s (", SPAN_ARGS(table->name));
	add_names(sql, table, false, "");
	buf_append_text(sql, ") VALUES ");
	add_marks(sql, table->column_count);
}

static enum status open_printed(struct statement *s, struct store_reader *on, const struct buf *sql, struct error *err)
{
	TRY(buf_status(sql, err));
	return statement_open_once(s, on, buf_span(sql), err);
}

/* ---- values ---- */

/* Bytes are the statement's until its next step. */
static struct value take_value(struct statement *s)
{
	struct value value = {.kind = column_kind(s), .bytes = SPAN("")};

	if (value.kind == COLUMN_INTEGER)
		value.number = column_i64(s);
	else if (value.kind == COLUMN_REAL)
		value.real = column_finite(s);
	else if (value.kind == COLUMN_NULL)
		(void)column_i64(s);
	else
		value.bytes = column_borrow(s);
	return value;
}

static void bind_value(struct statement *s, struct value value)
{
	switch (value.kind) {
	case COLUMN_NULL:
		bind_null(s);
		break;
	case COLUMN_INTEGER:
		bind_i64(s, value.number);
		break;
	case COLUMN_REAL:
		bind_finite(s, value.real);
		break;
	case COLUMN_TEXT:
		bind_text(s, value.bytes);
		break;
	case COLUMN_BLOB:
		bind_blob(s, value.bytes);
		break;
	}
}

static bool is_same(struct value a, struct value b)
{
	return a.kind == b.kind && a.number == b.number && memcmp(&a.real, &b.real, sizeof a.real) == 0 &&
	       span_equal(a.bytes, b.bytes);
}

static enum status went_on(struct moving *m, const char *what, const struct table_shape *table, struct error *err)
{
	if (m->move->progress(m->move->context, what, table->name, m->rows))
		return OK;
	return error_set(
		err, ERR_UNAVAILABLE, "the move was ended before it was through; the same command goes on with it");
}

/* ---- copying ---- */

/* Up to some megabytes of what the statement reads. */
static enum status put_batch(struct store_tx *tx, struct statement *read, const struct table_shape *table,
	uint64_t *rows, bool *has_row, struct error *err)
{
	AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);
	AUTO_DONE(statement) put = {0};
	size_t bytes = 0;

	print_insert(&sql, table);
	TRY(open_printed(&put, store_tx_reader(tx), &sql, err));
	for (size_t i = 0; *has_row && i < BATCH_ROWS && bytes < BATCH_BYTES; i++) {
		statement_again(&put);
		for (size_t column = 0; column < table->column_count; column++) {
			struct value value = take_value(read);
			bytes += value.bytes.len;
			bind_value(&put, value);
		}
		TRY(statement_check(read, err));
		TRY(statement_run(&put, err));
		(*rows)++;
		TRY(statement_step(read, has_row, err));
	}
	return OK;
}

static enum status copy_batch(
	struct moving *m, struct statement *read, const struct table_shape *table, bool *has_row, struct error *err)
{
	struct store_tx *tx = NULL;

	TRY(store_tx_begin(&tx, m->to, err));
	enum status status = put_batch(tx, read, table, &m->rows, has_row, err);
	if (status == OK)
		status = store_tx_commit(tx, err);
	else
		store_tx_rollback(tx);
	TRY(status);
	return store_checkpoint(m->to, false, err);
}

static enum status bind_last(struct moving *m, struct statement *read, struct statement *last,
	const struct table_shape *table, struct error *err)
{
	for (size_t i = 0; i < table->key_count; i++) {
		struct value value = take_value(last);
		value.bytes = arena_copy(m->arena, value.bytes);
		if (!value.bytes.ptr)
			return error_no_memory(err);
		bind_value(read, value);
	}
	return statement_check(last, err);
}

/* From behind the last row that the target has. */
static enum status open_rest(
	struct moving *m, struct statement *read, const struct table_shape *table, struct error *err)
{
	AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);
	AUTO_DONE(buf) last_sql = BUF_INIT(SQL_BYTES);
	AUTO_DONE(statement) last = {0};
	bool has_row;

	print_last(&last_sql, table);
	TRY(open_printed(&last, m->target, &last_sql, err));
	TRY(statement_step(&last, &has_row, err));
	print_read(&sql, table, has_row);
	TRY(open_printed(read, m->source, &sql, err));
	return has_row ? bind_last(m, read, &last, table, err) : OK;
}

static enum status copy_table(struct moving *m, const struct table_shape *table, struct error *err)
{
	AUTO_DONE(statement) read = {0};
	bool has_row;

	m->rows = 0;
	TRY(open_rest(m, &read, table, err));
	TRY(statement_step(&read, &has_row, err));
	while (has_row) {
		TRY(copy_batch(m, &read, table, &has_row, err));
		TRY(went_on(m, "copied", table, err));
	}
	return OK;
}

/* Each database has the parts of a record in its own way: move_journal.h. */
static enum status copy_journal(struct moving *m, const struct table_shape *table, struct error *err)
{
	uint64_t newest, oldest;
	bool has_more = true;

	m->rows = 0;
	TRY(store_journal_range(m->target, &newest, &oldest, err));
	for (uint64_t seq = newest + 1; has_more;) {
		TRY(move_records(m->source, m->to, &seq, &m->rows, &has_more, err));
		TRY(went_on(m, "copied", table, err));
	}
	return OK;
}

static bool is_journal(const struct table_shape *table)
{
	return span_equal(table->name, SPAN("journal"));
}

/* ---- comparing ---- */

static enum status is_other(const struct moving *m, const struct table_shape *table, struct error *err)
{
	return error_set(err, ERR_CONFLICT,
		"row %" PRIu64 " of table '%.*s' is not the same in both: empty the target and move once more",
		m->rows + 1, SPAN_ARGS(table->name));
}

static enum status compare_row(struct moving *m, struct statement *ours, struct statement *theirs,
	const struct table_shape *table, struct error *err)
{
	bool are_same = true;

	for (size_t i = 0; i < table->column_count; i++) {
		struct value our = take_value(ours), their = take_value(theirs);
		are_same &= is_same(our, their);
		m->done->bytes += our.bytes.len;
	}
	TRY(statement_check(ours, err));
	TRY(statement_check(theirs, err));
	return are_same ? OK : is_other(m, table, err);
}

static enum status compare_table(struct moving *m, const struct table_shape *table, struct error *err)
{
	enum { TELL_EACH = 4096 };
	AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);
	AUTO_DONE(statement) ours = {0};
	AUTO_DONE(statement) theirs = {0};
	bool has_ours, has_theirs;

	m->rows = 0;
	print_read(&sql, table, false);
	TRY(open_printed(&ours, m->source, &sql, err));
	TRY(open_printed(&theirs, m->target, &sql, err));
	TRY(statement_step(&ours, &has_ours, err));
	TRY(statement_step(&theirs, &has_theirs, err));
	while (has_ours && has_theirs) {
		TRY(compare_row(m, &ours, &theirs, table, err));
		if (++m->rows % TELL_EACH == 0)
			TRY(went_on(m, "compared", table, err));
		TRY(statement_step(&ours, &has_ours, err));
		TRY(statement_step(&theirs, &has_theirs, err));
	}
	if (has_ours != has_theirs)
		return error_set(err, ERR_CONFLICT,
			"table '%.*s' has more than %" PRIu64 " rows in %s alone: empty the target and move once more",
			SPAN_ARGS(table->name), m->rows, has_ours ? "the source" : "the target");
	m->done->tables++;
	m->done->rows += m->rows;
	return went_on(m, "compared", table, err);
}

static enum status compare_journal(struct moving *m, const struct table_shape *table, struct error *err)
{
	bool has_more = true, is_same = true;

	m->rows = 0;
	for (uint64_t seq = 0; has_more && is_same; m->rows += has_more)
		TRY(move_compare_record(m->source, m->target, &seq, &m->done->bytes, &has_more, &is_same, err));
	if (!is_same)
		return is_other(m, table, err);
	m->done->tables++;
	m->done->rows += m->rows;
	return went_on(m, "compared", table, err);
}

/* ---- whose the target is ---- */

/* A new database has these: the settings of its own, counters that were not used, one rule. */
static enum status count_rows(
	struct store_reader *on, const struct table_shape *table, int64_t *count, struct error *err)
{
	AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);
	AUTO_DONE(statement) s = {0};
	bool has_row;

	if (span_equal(table->name, SPAN("settings"))) {
		*count = 0;
		return OK;
	}
	if (span_equal(table->name, SPAN("counters")))
		return connection_number(on, "SELECT count(*) FROM counters WHERE last > 1", count, err);
	if (span_equal(table->name, SPAN("rules")))
		return connection_number(
			on, "SELECT count(*) FROM rules WHERE rule_id <> 1 OR modified_ms <> 0", count, err);
	buf_printf(&sql, "SELECT count(*) FROM (SELECT 1 AS one FROM %.*s LIMIT 1) AS found", SPAN_ARGS(table->name));
	TRY(open_printed(&s, on, &sql, err));
	TRY(statement_step(&s, &has_row, err));
	*count = column_i64(&s);
	return OK;
}

/* table: the first that holds something; NULL: none does. */
static enum status find_data(
	struct moving *m, struct store_reader *on, const struct table_shape **table, struct error *err)
{
	*table = NULL;
	for (size_t i = 0; i < m->table_count && !*table; i++) {
		int64_t count;
		TRY(count_rows(on, &m->tables[i], &count, err));
		*table = count ? &m->tables[i] : NULL;
	}
	return OK;
}

static enum status empty_and_mark(struct moving *m, struct store_tx *tx, struct error *err)
{
	for (size_t i = 0; i < m->table_count; i++) {
		AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);
		AUTO_DONE(statement) s = {0};
		buf_printf(&sql, "DELETE FROM %.*s WHERE %s", SPAN_ARGS(m->tables[i].name), filter(&m->tables[i]));
		TRY(open_printed(&s, store_tx_reader(tx), &sql, err));
		TRY(statement_run(&s, err));
	}
	return store_put_setting(tx, MARK, m->move->from, err);
}

/*
 * A database that keeps no limit of its size says that there is none, whatever it was told before. The first start elsewhere must not
 * take half of what is free there for one, or what is remembered from before: text over it would be deleted at once.
 */
static enum status keep_unlimited(struct moving *m, struct store_tx *tx, struct error *err)
{
	return store_can_shrink(m->from) ? OK : store_put_setting(tx, "log_bytes", SPAN("0"), err);
}

static enum status unmark(struct moving *m, struct store_tx *tx, struct error *err)
{
	TRY(keep_unlimited(m, tx, err));
	return run_with(tx, "DELETE FROM settings WHERE key = '" MARK "'", (struct numbers){0}, err);
}

static enum status in_one(struct moving *m,
	enum status (*run)(struct moving *m, struct store_tx *tx, struct error *err), struct error *err)
{
	struct store_tx *tx = NULL;

	TRY(store_tx_begin(&tx, m->to, err));
	enum status status = run(m, tx, err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}

/* Is it empty, or ours from before? */
static enum status check_target(struct moving *m, bool *is_ours, struct error *err)
{
	const struct table_shape *table;
	struct span mark;

	TRY(store_read_setting(m->target, m->arena, MARK, &mark, err));
	*is_ours = span_equal(mark, m->move->from);
	if (*is_ours)
		return OK;
	if (mark.len)
		return error_set(err, ERR_CONFLICT,
			"the target holds a part of a move from %.*s: go on with that, or empty it", SPAN_ARGS(mark));
	TRY(find_data(m, m->target, &table, err));
	if (!table)
		return OK;
	return error_set(err, ERR_CONFLICT, "the target is in use: table '%.*s' has rows; state a database that is new",
		SPAN_ARGS(table->name));
}

static enum status take_target(struct moving *m, struct error *err)
{
	const struct table_shape *table;
	bool is_ours;

	TRY(find_data(m, m->source, &table, err));
	if (!table)
		return error_set(err, ERR_NOT_FOUND, "there is nothing in %.*s", SPAN_ARGS(m->move->from));
	TRY(check_target(m, &is_ours, err));
	TRY(m->move->begins(m->move->context, err));
	return is_ours ? OK : in_one(m, empty_and_mark, err);
}

/* ---- all ---- */

static bool is_same_shape(const struct table_shape *a, const struct table_shape *b)
{
	bool is_same = span_equal(a->name, b->name) && a->column_count == b->column_count &&
		       (a->key_count == b->key_count || is_journal(a));

	for (size_t i = 0; is_same && i < a->column_count; i++)
		is_same = span_equal(a->columns[i], b->columns[i]);
	return is_same && (is_journal(a) || memcmp(a->key, b->key, a->key_count * sizeof *a->key) == 0);
}

static enum status read_shapes(struct moving *m, struct error *err)
{
	struct table_shape *theirs;
	size_t count;

	TRY(connection_tables(m->source, m->arena, &m->tables, &m->table_count, err));
	TRY(connection_tables(m->target, m->arena, &theirs, &count, err));
	for (size_t i = 0; i < m->table_count || i < count; i++)
		if (i >= m->table_count || i >= count || !is_same_shape(&m->tables[i], &theirs[i]))
			return error_set(err, ERR_UNSUPPORTED,
				"the two databases have not the same tables ('%.*s'): a newer program has changed one of them",
				SPAN_ARGS(i < m->table_count ? m->tables[i].name : theirs[i].name));
	return OK;
}

static enum status run_all(struct moving *m, struct error *err)
{
	store_reader_deadline(m->source, INT64_MAX);
	store_reader_deadline(m->target, INT64_MAX);
	TRY(read_shapes(m, err));
	TRY(take_target(m, err));
	for (size_t i = 0; i < m->table_count; i++)
		TRY((is_journal(&m->tables[i]) ? copy_journal : copy_table)(m, &m->tables[i], err));
	for (size_t i = 0; i < m->table_count; i++)
		TRY((is_journal(&m->tables[i]) ? compare_journal : compare_table)(m, &m->tables[i], err));
	TRY(store_look_at_file(m->from, err)); /* was it ours all the time? */
	return in_one(m, unmark, err);
}

enum status store_move(struct store *from, struct store *to, const struct store_move *move,
	struct store_move_done *done, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) source = NULL;
	AUTO(store_reader) target = NULL;
	struct moving m = {.from = from, .to = to, .move = move, .done = done, .arena = arena};

	*done = (struct store_move_done){0};
	if (!arena)
		return error_no_memory(err);
	TRY(store_reader_new(&source, from, err));
	TRY(store_reader_new(&target, to, err));
	m.source = source;
	m.target = target;
	return run_all(&m, err);
}

enum status store_check_moved(struct store *store, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span mark;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(database_writer(store), arena, MARK, &mark, err));
	if (!mark.len)
		return OK;
	return error_set(err, ERR_CONFLICT,
		"the database holds a part of a move from %.*s: sm-server move once more, with the same words, goes on with it",
		SPAN_ARGS(mark));
}
