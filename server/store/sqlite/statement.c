#include "store/driver/dialect.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>

enum { STATEMENTS_MAX = STATEMENT_SLOTS * 3 / 4 };

static struct statement_slot *find_slot(struct sqlite_reader *on, const char *sql)
{
	size_t at = ((uintptr_t)sql >> 3) * 0x9e3779b97f4a7c15u >> 32;

	for (at &= STATEMENT_SLOTS - 1; on->statements[at].sql && on->statements[at].sql != sql;)
		at = (at + 1) & (STATEMENT_SLOTS - 1);
	return &on->statements[at];
}

/* SQLite rolls back by itself when the disk is full; what came later would commit alone. */
static enum status check_usable(struct store_reader *on, struct error *err)
{
	if (on->is_writer && on->is_in_snapshot && sqlite3_get_autocommit(sqlite_of(on))) {
		if (err)
			*err = on->failure;
		return on->failure.status;
	}
	connection_renew_deadline(on);
	return OK;
}

static enum status prepare(
	struct store_reader *on, struct span sql, unsigned flags, sqlite3_stmt **out, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(sql.len + 1);

	TRY(connection_set_cache(on, err));
	if (on->is_narrow) {
		dialect_without_hints(&plain, sql);
		TRY(buf_status(&plain, err));
		sql = buf_span(&plain);
	}
	errno = 0;
	int code = sqlite3_prepare_v3(sqlite_of(on), sql.ptr, (int)sql.len, flags, out, NULL);

	sqlite_reader_of(on)->system_errno = errno;
	if (code == SQLITE_ERROR)
		return error_set(err, ERR_INTERNAL, "the database does not understand '%.*s': %s", SPAN_ARGS(sql),
			sqlite3_errmsg(sqlite_of(on)));
	return code == SQLITE_OK ? OK : connection_failure(on, code, err);
}

enum status sqlite_statement_open(
	struct statement *out, struct store_reader *reader, const char *sql, struct error *err)
{
	struct sqlite_reader *on = sqlite_reader_of(reader);
	struct statement s = {.on = reader};
	struct statement_slot *slot = find_slot(on, sql);

	TRY(check_usable(reader, err));
	/* Busy: the same statement is being read further up the stack. */
	if (slot->prepared && !sqlite3_stmt_busy(slot->prepared)) {
		s.prepared = slot->prepared;
	} else if (slot->prepared || on->statement_count >= STATEMENTS_MAX) {
		return sqlite_statement_open_once(out, reader, span_from(sql), err);
	} else {
		TRY(prepare(reader, span_from(sql), SQLITE_PREPARE_PERSISTENT, &slot->prepared, err));
		slot->sql = sql;
		s.prepared = slot->prepared;
		on->statement_count++;
	}
	*out = s;
	return OK;
}

enum status sqlite_statement_open_once(
	struct statement *out, struct store_reader *on, struct span sql, struct error *err)
{
	struct statement s = {.on = on, .is_own = true};
	sqlite3_stmt *prepared = NULL;

	TRY(check_usable(on, err));
	TRY(prepare(on, sql, 0, &prepared, err));
	s.prepared = prepared;
	*out = s;
	return OK;
}

void sqlite_statement_done(struct statement *s)
{
	if (s->is_own) {
		sqlite3_finalize(s->prepared);
	} else {
		sqlite3_reset(s->prepared);
		sqlite3_clear_bindings(s->prepared);
	}
}

static void note(struct statement *s, int code)
{
	if (code != SQLITE_OK && s->code == SQLITE_OK)
		s->code = code;
}

void sqlite_bind_i64(struct statement *s, int64_t value)
{
	note(s, sqlite3_bind_int64(s->prepared, s->parameter, value));
}

void sqlite_bind_text(struct statement *s, struct span text)
{
	note(s, sqlite3_bind_text64(s->prepared, s->parameter, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8));
}

void sqlite_bind_blob(struct statement *s, struct span bytes)
{
	note(s, sqlite3_bind_blob64(s->prepared, s->parameter, bytes.ptr, bytes.len, SQLITE_STATIC));
}

void sqlite_bind_null(struct statement *s)
{
	note(s, sqlite3_bind_null(s->prepared, s->parameter));
}

void sqlite_bind_finite(struct statement *s, double value)
{
	note(s, sqlite3_bind_double(s->prepared, s->parameter, value));
}

void sqlite_bind_pointer(struct statement *s, const char *predicate, const void *pointer)
{
	/* SQLite takes no const; predicates know what is theirs to change. It hands a pointer on to who names its type alone. */
	note(s, sqlite3_bind_pointer(s->prepared, s->parameter, (void *)pointer, predicate, NULL));
}

enum status sqlite_statement_step(struct statement *s, bool *has_row, struct error *err)
{
	if (s->code == SQLITE_OK) {
		errno = 0;
		int code = sqlite3_step(s->prepared);
		int cause = errno;
		if (code == SQLITE_ROW || code == SQLITE_DONE) {
			*has_row = code == SQLITE_ROW;
			s->column = 0;
			return OK;
		}
		s->code = sqlite3_extended_errcode(sqlite_of(s->on));
		sqlite_reader_of(s->on)->system_errno = cause;
	}
	return connection_failure(s->on, s->code, err);
}

enum status sqlite_statement_run(struct statement *s, struct error *err)
{
	bool has_row;

	do {
		TRY(sqlite_statement_step(s, &has_row, err));
	} while (has_row);
	return OK;
}

void sqlite_statement_again(struct statement *s)
{
	sqlite3_reset(s->prepared);
}

bool sqlite_statement_is_conflict(const struct statement *s)
{
	return s->code == SQLITE_CONSTRAINT_UNIQUE || s->code == SQLITE_CONSTRAINT_PRIMARYKEY;
}

int sqlite_statement_parameters(const struct statement *s)
{
	return sqlite3_bind_parameter_count(s->prepared);
}

int sqlite_statement_columns(const struct statement *s)
{
	return sqlite3_column_count(s->prepared);
}

int64_t sqlite_column_i64(struct statement *s)
{
	return sqlite3_column_int64(s->prepared, s->column++);
}

double sqlite_column_finite(struct statement *s)
{
	return sqlite3_column_double(s->prepared, s->column++);
}

struct span sqlite_column_borrow(struct statement *s)
{
	/* Text is asked for as a blob, too: the same bytes, and no terminating NUL to make room for. */
	int column = s->column++;
	const void *bytes = sqlite3_column_blob(s->prepared, column);

	if (bytes)
		return span_of(bytes, (size_t)sqlite3_column_bytes(s->prepared, column));
	return sqlite3_errcode(sqlite_of(s->on)) == SQLITE_NOMEM ? span_of(NULL, 0) : SPAN("");
}

enum column_kind sqlite_column_kind(const struct statement *s)
{
	switch (sqlite3_column_type(s->prepared, s->column)) {
	case SQLITE_INTEGER:
		return COLUMN_INTEGER;
	case SQLITE_FLOAT:
		return COLUMN_REAL;
	case SQLITE_TEXT:
		return COLUMN_TEXT;
	case SQLITE_BLOB:
		return COLUMN_BLOB;
	default:
		return COLUMN_NULL;
	}
}

const char *sqlite_column_name(const struct statement *s)
{
	return sqlite3_column_name(s->prepared, s->column);
}
