#include "store/sqlite/sqlite_store.h"

#include "base/clock.h"

#include <errno.h>
#include <float.h>

enum { STATEMENTS_MAX = STATEMENT_SLOTS * 3 / 4 };

enum double_kind { KIND_FINITE, KIND_NAN, KIND_INFINITY, KIND_MINUS_INFINITY, KIND_MINUS_ZERO };

static struct statement_slot *find_slot(struct store_reader *on, const char *sql)
{
	size_t at = ((uintptr_t)sql >> 3) * 0x9e3779b97f4a7c15u >> 32;

	for (at &= STATEMENT_SLOTS - 1; on->statements[at].sql && on->statements[at].sql != sql;)
		at = (at + 1) & (STATEMENT_SLOTS - 1);
	return &on->statements[at];
}

/* SQLite rolls back by itself when the disk is full; what came later would commit alone. */
static enum status check_usable(struct store_reader *on, struct error *err)
{
	if (on->is_writer && on->is_in_snapshot && sqlite3_get_autocommit(on->db)) {
		if (err)
			*err = on->failure;
		return on->failure.status;
	}
	if (!on->is_in_snapshot && !on->has_deadline)
		on->deadline_ms = on->is_writer ? 0 : clock_mono_ms() + READ_LIMIT_MS;
	return OK;
}

static enum status prepare(
	struct store_reader *on, struct span sql, unsigned flags, sqlite3_stmt **out, struct error *err)
{
	int code = sqlite3_prepare_v3(on->db, sql.ptr, (int)sql.len, flags, out, NULL);

	if (code == SQLITE_ERROR)
		return error_set(err, ERR_INTERNAL, "the database does not understand '%.*s': %s", SPAN_ARGS(sql),
			sqlite3_errmsg(on->db));
	return code == SQLITE_OK ? OK : connection_failure(on, code, err);
}

enum status statement_open(struct statement *out, struct store_reader *on, const char *sql, struct error *err)
{
	struct statement s = {.on = on};
	struct statement_slot *slot = find_slot(on, sql);

	TRY(check_usable(on, err));
	/* Busy: the same statement is being read further up the stack. */
	if (slot->prepared && !sqlite3_stmt_busy(slot->prepared)) {
		s.prepared = slot->prepared;
	} else if (slot->prepared || on->statement_count >= STATEMENTS_MAX) {
		return statement_open_once(out, on, span_from(sql), err);
	} else {
		TRY(prepare(on, span_from(sql), SQLITE_PREPARE_PERSISTENT, &s.prepared, err));
		*slot = (struct statement_slot){sql, s.prepared};
		on->statement_count++;
	}
	*out = s;
	return OK;
}

enum status statement_open_once(struct statement *out, struct store_reader *on, struct span sql, struct error *err)
{
	struct statement s = {.on = on, .is_own = true};

	TRY(check_usable(on, err));
	TRY(prepare(on, sql, 0, &s.prepared, err));
	*out = s;
	return OK;
}

void statement_done(struct statement *s)
{
	if (!s->prepared)
		return;
	if (s->is_own) {
		sqlite3_finalize(s->prepared);
	} else {
		sqlite3_reset(s->prepared);
		sqlite3_clear_bindings(s->prepared);
	}
	s->prepared = NULL;
}

static void note(struct statement *s, int code)
{
	if (code != SQLITE_OK && s->code == SQLITE_OK)
		s->code = code;
}

void bind_i64(struct statement *s, int64_t value)
{
	note(s, sqlite3_bind_int64(s->prepared, ++s->parameter, value));
}

void bind_u64(struct statement *s, uint64_t value)
{
	bind_i64(s, (int64_t)value);
}

void bind_text(struct statement *s, struct span text)
{
	const char *ptr = text.ptr ? text.ptr : ""; /* NULL would bind NULL */

	note(s, sqlite3_bind_text64(s->prepared, ++s->parameter, ptr, text.len, SQLITE_STATIC, SQLITE_UTF8));
}

void bind_blob(struct statement *s, struct span bytes)
{
	const char *ptr = bytes.ptr ? bytes.ptr : "";

	note(s, sqlite3_bind_blob64(s->prepared, ++s->parameter, ptr, bytes.len, SQLITE_STATIC));
}

void bind_null(struct statement *s)
{
	note(s, sqlite3_bind_null(s->prepared, ++s->parameter));
}

void bind_finite(struct statement *s, double value)
{
	note(s, sqlite3_bind_double(s->prepared, ++s->parameter, value));
}

void bind_double(struct statement *s, double value)
{
	enum double_kind kind = KIND_FINITE;

	if (isnan(value)) {
		kind = KIND_NAN;
		value = 0;
	} else if (isinf(value)) {
		kind = value > 0 ? KIND_INFINITY : KIND_MINUS_INFINITY;
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	} else if (value == 0 && signbit(value)) {
		kind = KIND_MINUS_ZERO;
		value = 0;
	}
	bind_finite(s, value);
	bind_i64(s, kind);
}

void bind_summary(struct statement *s, const struct summary *summary)
{
	bind_u64(s, summary->count);
	bind_u64(s, summary->nan_count);
	bind_u64(s, summary->inf_count);
	bind_double(s, summary->last);
	bind_double(s, summary->min);
	bind_double(s, summary->max);
	bind_double(s, summary->sum);
	bind_i64(s, summary->first_step);
	bind_i64(s, summary->last_step);
	bind_i64(s, summary->last_ts_ms);
}

enum status statement_step(struct statement *s, bool *has_row, struct error *err)
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
		s->code = sqlite3_extended_errcode(s->on->db);
		s->on->system_errno = cause; /* SQLite forgets it where a COMMIT fails */
	}
	return connection_failure(s->on, s->code, err);
}

enum status statement_run(struct statement *s, struct error *err)
{
	bool has_row;

	do {
		TRY(statement_step(s, &has_row, err));
	} while (has_row);
	return OK;
}

enum status statement_check(struct statement *s, struct error *err)
{
	return s->is_out_of_memory ? error_no_memory(err) : OK;
}

bool statement_is_conflict(const struct statement *s)
{
	return s->code == SQLITE_CONSTRAINT_UNIQUE || s->code == SQLITE_CONSTRAINT_PRIMARYKEY;
}

int64_t column_i64(struct statement *s)
{
	return sqlite3_column_int64(s->prepared, s->column++);
}

uint64_t column_u64(struct statement *s)
{
	return (uint64_t)column_i64(s);
}

uint32_t column_u32(struct statement *s)
{
	return (uint32_t)column_i64(s);
}

bool column_bool(struct statement *s)
{
	return column_i64(s) != 0;
}

struct span column_span(struct statement *s, struct arena *arena)
{
	/* Text is asked for as a blob, too: the same bytes, and no terminating NUL to make room for. */
	const void *bytes = sqlite3_column_blob(s->prepared, s->column);
	int len = sqlite3_column_bytes(s->prepared, s->column++);
	struct span copy = arena_copy(arena, span_of(bytes, bytes ? (size_t)len : 0));

	if (!copy.ptr || (!bytes && sqlite3_errcode(s->on->db) == SQLITE_NOMEM)) {
		s->is_out_of_memory = true;
		return SPAN("");
	}
	return copy;
}

double column_double(struct statement *s)
{
	double value = sqlite3_column_double(s->prepared, s->column++);

	switch ((enum double_kind)column_i64(s)) {
	case KIND_NAN:
		return NAN;
	case KIND_INFINITY:
		return INFINITY;
	case KIND_MINUS_INFINITY:
		return -INFINITY;
	case KIND_MINUS_ZERO:
		return -0.0;
	case KIND_FINITE:
		break;
	}
	return value;
}

void column_summary(struct statement *s, struct summary *out)
{
	out->count = column_u64(s);
	out->nan_count = column_u64(s);
	out->inf_count = column_u64(s);
	out->last = column_double(s);
	out->min = column_double(s);
	out->max = column_double(s);
	out->sum = column_double(s);
	out->first_step = column_i64(s);
	out->last_step = column_i64(s);
	out->last_ts_ms = column_i64(s);
}

void *rows_grow(struct arena *arena, void *rows, size_t count, size_t *cap, size_t row_bytes)
{
	if (count < *cap)
		return rows;
	size_t wanted = *cap ? *cap * 2 : 8;
	void *grown = wanted > SIZE_MAX / row_bytes ? NULL : arena_alloc(arena, wanted * row_bytes);
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, rows, count * row_bytes);
	*cap = wanted;
	return grown;
}

enum status next_id(struct store_tx *tx, const char *counter, int64_t *id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row = false;

	TRY(statement_open(&s, tx_on(tx), "UPDATE counters SET last = last + 1 WHERE name = ? RETURNING last", err));
	bind_text(&s, span_from(counter));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_INTERNAL, "the database has no counter '%s'", counter);
	int64_t given = column_i64(&s);
	TRY(statement_run(&s, err));
	*id = given;
	return OK;
}
