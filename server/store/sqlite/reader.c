#include "base/clock.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/sqlite/sqlite_store.h"

#include <stdatomic.h>

enum status store_reader_new(struct store_reader **out, struct store *store, struct error *err)
{
	TRY(connection_open_reader(out, store->path, store->reader_cache_bytes, err));
	(*out)->store = store;
	return OK;
}

enum status store_reader_begin(struct store_reader *reader, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	/* The writer's view is its transaction. */
	if (reader->is_writer || reader->is_in_snapshot)
		return OK;
	TRY(statement_open(&s, reader, "BEGIN", err));
	TRY(statement_run(&s, err));
	reader->is_in_snapshot = true;
	if (!reader->has_deadline)
		reader->deadline_ms = clock_mono_ms() + READ_LIMIT_MS;
	/* BEGIN alone takes no view: the first read would, later than the caller thinks. */
	AUTO_DONE(statement) first = {0};
	enum status status = statement_open(&first, reader, "SELECT 1 FROM settings LIMIT 1", err);
	if (status == OK)
		status = statement_step(&first, &has_row, err);
	if (status != OK) {
		statement_done(&first);
		store_reader_end(reader);
	}
	return status;
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
	sqlite3_interrupt(on->db);
}

struct search_cache *connection_search(const struct store_reader *on)
{
	return on->store ? on->store->search : NULL;
}

int64_t connection_listens_since_ms(const struct store_reader *on)
{
	return on->store ? atomic_load(&on->store->listens_since_ms) : 0;
}
