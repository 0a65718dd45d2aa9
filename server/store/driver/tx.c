/* The one transaction, whatever the database. */
#include "store/columns/job_changes.h"
#include "store/driver/driver.h"

enum status store_tx_begin(struct store_tx **out, struct store *store, struct error *err)
{
	if (store->has_tx)
		return error_set(err, ERR_INTERNAL, "a transaction is already open");
	TRY(store->driver->tx_begin(store, err));
	store->writer->failure = (struct error){0};
	store->writer->is_in_snapshot = true;
	store->tx = (struct store_tx){.store = store};
	store->has_tx = true;
	*out = &store->tx;
	return OK;
}

static void end(struct store_tx *tx)
{
	store_tx_reader(tx)->is_in_snapshot = false;
	tx->store->has_tx = false;
}

enum status store_tx_commit(struct store_tx *tx, struct error *err)
{
	enum status status = tx->store->driver->tx_commit(tx->store, err);

	if (status == OK)
		end(tx);
	else
		store_tx_rollback(tx);
	return status;
}

static void forget_counters(struct store *store)
{
	memset(store->counters, 0, sizeof store->counters);
}

void store_tx_rollback(struct store_tx *tx)
{
	forget_counters(tx->store);
	connection_rollback(store_tx_reader(tx));
	end(tx);
}

enum status store_tx_savepoint(struct store_tx *tx, struct error *err)
{
	TRY(tx->store->driver->tx_savepoint(tx->store, err));
	tx->savepoints++;
	return OK;
}

enum status store_tx_release(struct store_tx *tx, struct error *err)
{
	if (!tx->savepoints)
		return error_set(err, ERR_INTERNAL, "there is no savepoint to release");
	enum status status = tx->store->driver->tx_release(tx->store, err);
	if (status == OK)
		tx->savepoints--;
	else
		store_tx_undo(tx);
	return status;
}

void store_tx_undo(struct store_tx *tx)
{
	if (!tx->savepoints)
		return;
	tx->savepoints--;
	tx->search_version = 0; /* it may be undone, too */
	forget_counters(tx->store);
	tx->store->driver->tx_undo(tx->store);
}

struct store_reader *store_tx_reader(struct store_tx *tx)
{
	return tx->store->writer;
}

enum status tx_changed_rows(struct store_tx *tx, size_t *rows, struct error *err)
{
	return tx->store->driver->tx_changed_rows(tx->store, rows, err);
}

enum status tx_journal_place(struct store_tx *tx, uint64_t bytes, struct journal_place *out, struct error *err)
{
	const struct driver *driver = tx->store->driver;

	*out = (struct journal_place){.part_bytes = SIZE_MAX};
	return driver->journal_place ? driver->journal_place(tx, bytes, out, err) : OK;
}

enum status tx_note_change(struct store_tx *tx, int64_t job_id, unsigned changes, struct error *err)
{
	if (!tx->search_version)
		TRY(next_id(tx, "search", &tx->search_version, err));
	job_changes_note(tx->store->changes, tx->search_version, job_id, changes);
	return OK;
}

/* ---- counters ---- */

static enum status count_on(struct store_tx *tx, struct counter *counter, const char *name, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row = false;

	TRY(statement_open(
		&s, store_tx_reader(tx), "UPDATE counters SET last = last + 1 WHERE name = ? RETURNING last", err));
	bind_text(&s, span_from(name));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_INTERNAL, "the database has no counter '%s'", name);
	int64_t given = column_i64(&s);
	TRY(statement_run(&s, err));
	*counter = (struct counter){.name = name, .last = given};
	return OK;
}

/* Where it stands is known: the database need not be waited for. */
static enum status set_counter(struct store_tx *tx, struct counter *counter, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "UPDATE counters SET last = ? WHERE name = ?", err));
	bind_i64(&s, counter->last + 1);
	bind_text(&s, span_from(counter->name));
	TRY(statement_run(&s, err));
	counter->last++;
	return OK;
}

/* The one of that name, or the first that is free; else the last, which is then another one's. */
static struct counter *find_counter(struct store *store, const char *name)
{
	size_t i = 0;

	while (i + 1 < COUNTERS_MAX && store->counters[i].name && strcmp(store->counters[i].name, name) != 0)
		i++;
	return &store->counters[i];
}

enum status next_id(struct store_tx *tx, const char *name, int64_t *id, struct error *err)
{
	struct counter *counter = find_counter(tx->store, name);
	bool is_known = counter->name && strcmp(counter->name, name) == 0;

	TRY(is_known ? set_counter(tx, counter, err) : count_on(tx, counter, name, err));
	*id = counter->last;
	return OK;
}
