/* The way to the driver, and what is the same for connections to every database: views, deadlines, numbers. */
#include "base/clock.h"
#include "store/driver/driver.h"
#include "store/driver/rows.h"

#include <stdatomic.h>

/* ---- the database ---- */

void database_close(struct store *store)
{
	store->driver->close(store);
}

struct store_reader *database_writer(struct store *store)
{
	return store->writer;
}

struct job_changes *database_changes(struct store *store)
{
	return store->changes;
}

struct search_cache *database_search(struct store *store)
{
	return store->search;
}

void store_listens_since(struct store *store, int64_t since_ms)
{
	atomic_store(&store->listens_since_ms, since_ms);
}

enum status store_look_at_file(struct store *store, struct error *err)
{
	return store->driver->look(store, err);
}

enum status store_may_write(const struct store *store, struct error *err)
{
	return store->driver->may_write ? store->driver->may_write(store, err) : OK;
}

enum status store_checkpoint(struct store *store, bool is_idle, struct error *err)
{
	return store->driver->checkpoint(store, is_idle, err);
}

enum status store_figures(struct store_reader *reader, struct store_figures *out, struct error *err)
{
	return reader->driver->figures(reader, out, err);
}

enum status store_vacuum(struct store_tx *tx, size_t pages, uint64_t *left, struct error *err)
{
	return tx->store->driver->vacuum(tx->store, pages, left, err);
}

bool store_can_shrink(const struct store *store)
{
	return store->driver->can_shrink;
}

uint64_t store_owed_bytes(const struct store *store)
{
	return store->driver->owed_bytes(store);
}

enum status store_disk_room(const struct store *store, uint64_t *free_bytes, uint64_t *size_bytes, struct error *err)
{
	return store->driver->disk_room(store, free_bytes, size_bytes, err);
}

/* ---- a connection ---- */

enum status store_reader_new(struct store_reader **out, struct store *store, struct error *err)
{
	return store->driver->reader_new(out, store, false, err);
}

enum status store_reader_new_narrow(struct store_reader **out, struct store *store, struct error *err)
{
	return store->driver->reader_new(out, store, true, err);
}

enum status store_reader_narrow_to(struct store_reader *reader, struct span team, struct error *err)
{
	/* A name that is longer is no team's, and what it begins with is another's. */
	struct span known = team.len <= TEAM_MAX_BYTES ? team : SPAN("");

	if (!reader->is_narrow)
		return error_set(err, ERR_INTERNAL, "this reader of the database is not narrow");
	if (span_equal(known, span_from(reader->team)) && !reader->is_team_untold)
		return OK;
	memcpy(reader->team, known.ptr, known.len);
	reader->team[known.len] = '\0';
	if (!reader->driver->narrow_to)
		return OK;
	reader->is_team_untold = true; /* a database that did not hear of it still shows the rows of the team before */
	TRY(reader->driver->narrow_to(reader, err));
	reader->is_team_untold = false;
	return OK;
}

void store_reader_free(struct store_reader *reader)
{
	if (reader)
		reader->driver->reader_free(reader);
}

enum status store_reader_begin(struct store_reader *reader, struct error *err)
{
	/* The writer's view is its transaction. */
	if (reader->is_writer || reader->is_in_snapshot)
		return OK;
	connection_renew_deadline(reader);
	reader->is_in_snapshot = true;
	enum status status = reader->driver->view_begin(reader, err);
	if (status != OK)
		store_reader_end(reader);
	return status;
}

enum status connection_mend_view(struct store_reader *on, struct error *err)
{
	if (!on->is_in_snapshot || !on->driver->view_is_lost || !on->driver->view_is_lost(on))
		return OK;
	on->driver->rollback(on);
	return on->driver->view_begin(on, err);
}

void store_reader_end(struct store_reader *reader)
{
	if (reader->is_writer)
		return;
	reader->has_deadline = false;
	reader->deadline_ms = 0;
	if (!reader->is_in_snapshot)
		return;
	reader->is_in_snapshot = false;
	connection_rollback(reader);
}

void store_reader_deadline(struct store_reader *reader, int64_t ms)
{
	if (reader->is_writer)
		return; /* its reads are part of a transaction, which nothing may cut short */
	reader->has_deadline = true;
	reader->deadline_ms = ms < INT64_MAX / 2 ? clock_mono_ms() + ms : INT64_MAX;
}

bool store_reader_ahead_begin(struct store_reader *reader, enum ahead_mode mode)
{
	return reader->driver->ahead_begin && reader->driver->ahead_begin(reader, mode);
}

enum status store_reader_ahead_end(struct store_reader *reader, struct error *err)
{
	return reader->driver->ahead_end ? reader->driver->ahead_end(reader, err) : OK;
}

void store_reader_ahead_drop(struct store_reader *reader)
{
	if (reader->driver->ahead_drop)
		reader->driver->ahead_drop(reader);
}

void connection_renew_deadline(struct store_reader *on)
{
	if (!on->is_in_snapshot && !on->has_deadline)
		on->deadline_ms = on->is_writer ? 0 : clock_mono_ms() + READ_LIMIT_MS;
}

enum status connection_run(struct store_reader *on, const char *sql, struct error *err)
{
	return on->driver->run(on, sql, err);
}

void connection_rollback(struct store_reader *on)
{
	on->driver->rollback(on);
}

enum status connection_number(struct store_reader *on, const char *sql, int64_t *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open_once(&s, on, span_from(sql), err));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_INTERNAL, "the database gives no row for '%s'", sql);
	*out = column_i64(&s);
	return OK;
}

bool connection_is_in_view(const struct store_reader *on)
{
	return on->is_in_snapshot;
}

int64_t connection_deadline_ms(const struct store_reader *on)
{
	return on->deadline_ms;
}

void connection_set_deadline_ms(struct store_reader *on, int64_t deadline_ms)
{
	on->deadline_ms = deadline_ms;
}

bool connection_is_late(const struct store_reader *on)
{
	return on->deadline_ms && clock_mono_ms() > on->deadline_ms;
}

void connection_interrupt(struct store_reader *on)
{
	on->driver->interrupt(on);
}

bool connection_has_predicates(const struct store_reader *on)
{
	return on->driver->add_predicates;
}

enum status connection_add_predicates(struct store_reader *on, const struct predicate *predicates, size_t count)
{
	return on->driver->add_predicates(on, predicates, count);
}

struct search_cache *connection_search(const struct store_reader *on)
{
	return on->store && !on->is_narrow ? on->store->search : NULL;
}

int64_t connection_listens_since_ms(const struct store_reader *on)
{
	return on->store ? atomic_load(&on->store->listens_since_ms) : 0;
}

/* ---- statements ---- */

enum status statement_open(struct statement *out, struct store_reader *on, const char *sql, struct error *err)
{
	return on->driver->statement_open(out, on, sql, err);
}

enum status statement_open_once(struct statement *out, struct store_reader *on, struct span sql, struct error *err)
{
	return on->driver->statement_open_once(out, on, sql, err);
}

void statement_done(struct statement *s)
{
	if (s->prepared)
		s->on->driver->statement_done(s);
	s->prepared = NULL;
}

enum status statement_step(struct statement *s, bool *has_row, struct error *err)
{
	return s->on->driver->statement_step(s, has_row, err);
}

enum status statement_run(struct statement *s, struct error *err)
{
	return s->on->driver->statement_run(s, err);
}

void statement_again(struct statement *s)
{
	s->parameter = 0;
	s->on->driver->statement_again(s);
}

bool statement_is_conflict(const struct statement *s)
{
	return s->on->driver->statement_is_conflict(s);
}

int statement_parameters(const struct statement *s)
{
	return s->on->driver->statement_parameters(s);
}

int statement_columns(const struct statement *s)
{
	return s->on->driver->statement_columns(s);
}

void bind_i64(struct statement *s, int64_t value)
{
	s->parameter++;
	s->on->driver->bind_i64(s, value);
}

/* What has no bytes is no NULL. */
static struct span with_address(struct span bytes)
{
	return bytes.ptr ? bytes : SPAN("");
}

void bind_text(struct statement *s, struct span text)
{
	s->parameter++;
	s->on->driver->bind_text(s, with_address(text));
}

void bind_blob(struct statement *s, struct span bytes)
{
	s->parameter++;
	s->on->driver->bind_blob(s, with_address(bytes));
}

void bind_null(struct statement *s)
{
	s->parameter++;
	s->on->driver->bind_null(s);
}

void bind_finite(struct statement *s, double value)
{
	s->parameter++;
	s->on->driver->bind_finite(s, value);
}

void bind_pointer(struct statement *s, const char *predicate, const void *pointer)
{
	s->parameter++;
	s->on->driver->bind_pointer(s, predicate, pointer);
}

int64_t column_i64(struct statement *s)
{
	return s->on->driver->column_i64(s);
}

double column_finite(struct statement *s)
{
	return s->on->driver->column_finite(s);
}

struct span column_borrow(struct statement *s)
{
	return s->on->driver->column_borrow(s);
}

enum column_kind column_kind(const struct statement *s)
{
	return s->on->driver->column_kind(s);
}

const char *column_name(const struct statement *s)
{
	return s->on->driver->column_name(s);
}

/* ---- tables ---- */

struct table_column {
	struct span table, name;
	uint64_t place;
};

static enum status add_column(struct arena *arena, struct table_shape *table, size_t *cap,
	const struct table_column *column, struct error *err)
{
	table->columns = rows_grow(arena, table->columns, table->column_count, cap, sizeof *table->columns);
	if (!table->columns)
		return error_no_memory(err);
	if (column->place > TABLE_KEY_MAX)
		return error_set(err, ERR_INTERNAL, "the key of table '%.*s' is too long", SPAN_ARGS(table->name));
	if (column->place) {
		table->key[column->place - 1] = table->column_count;
		table->key_count++;
	}
	table->columns[table->column_count++] = column->name;
	return OK;
}

enum status connection_tables(
	struct store_reader *on, struct arena *arena, struct table_shape **out, size_t *count, struct error *err)
{
	static const struct row_field fields[] = {
		FIELD(struct table_column, table), FIELD(struct table_column, name), FIELD(struct table_column, place)};
	AUTO_DONE(statement) s = {0};
	struct table_column *columns;
	struct table_shape *tables = NULL;
	size_t column_count, cap = 0, columns_cap = 0;

	*count = 0;
	TRY(statement_open_once(&s, on, span_from(on->driver->tables_sql), err));
	TRY(rows_read(&s, arena, ROWS(fields, struct table_column), &columns, &column_count, err));
	for (size_t i = 0; i < column_count; i++) {
		if (!i || !span_equal(columns[i].table, columns[i - 1].table)) {
			tables = rows_grow(arena, tables, *count, &cap, sizeof *tables);
			if (!tables)
				return error_no_memory(err);
			tables[(*count)++] = (struct table_shape){.name = columns[i].table};
			columns_cap = 0;
		}
		TRY(add_column(arena, &tables[*count - 1], &columns_cap, &columns[i], err));
	}
	*out = tables;
	return OK;
}

/* ---- checks ---- */

enum status check_schema(struct store_reader *reader, struct buf *problem, struct error *err)
{
	return reader->driver->check_schema(reader, problem, err);
}

enum status check_pages(struct store_reader *reader, bool is_quick, bool is_online,
	bool (*tell)(void *context, struct span text), void *context, struct error *err)
{
	return reader->driver->check_pages(reader, is_quick, is_online, tell, context, err);
}

enum status check_has_table(struct store_reader *reader, const char *table, bool *has, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	*has = !*table;
	if (*has)
		return OK;
	TRY(statement_open_once(&s, reader, span_from(reader->driver->has_table_sql), err));
	bind_text(&s, span_from(table));
	return statement_step(&s, has, err);
}
