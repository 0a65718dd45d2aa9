#include "store/columns/job_changes.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/sqlite/sqlite_store.h"

enum status store_tx_begin(struct store_tx **out, struct store *store, struct error *err)
{
	struct store_reader *on = store->writer;

	if (store->has_tx)
		return error_set(err, ERR_INTERNAL, "a transaction is already open");
	if (store->watch.is_lost)
		return store_look_at_file(store, err);
	AUTO_DONE(statement) s = {0};
	TRY(statement_open(&s, on, "BEGIN IMMEDIATE", err));
	TRY(statement_run(&s, err));
	on->failure = (struct error){0};
	on->is_in_snapshot = true;
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

static enum status commit(struct store_tx *tx, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "COMMIT", err));
	TRY(statement_run(&s, err));
	return store_look_at_file(tx->store, err);
}

enum status store_tx_commit(struct store_tx *tx, struct error *err)
{
	enum status status = commit(tx, err);

	if (status == OK)
		end(tx);
	else
		store_tx_rollback(tx);
	return status;
}

void store_tx_rollback(struct store_tx *tx)
{
	struct store_reader *on = store_tx_reader(tx);

	connection_rollback(on);
	end(tx);
}

/* All have one name: SQLite means the newest of it. */
enum status store_tx_savepoint(struct store_tx *tx, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "SAVEPOINT slice", err));
	TRY(statement_run(&s, err));
	tx->savepoints++;
	return OK;
}

enum status store_tx_release(struct store_tx *tx, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!tx->savepoints)
		return error_set(err, ERR_INTERNAL, "there is no savepoint to release");
	TRY(statement_open(&s, store_tx_reader(tx), "RELEASE slice", err));
	TRY(statement_run(&s, err));
	tx->savepoints--;
	return OK;
}

void store_tx_undo(struct store_tx *tx)
{
	struct store_reader *on = store_tx_reader(tx);

	if (!tx->savepoints)
		return;
	tx->savepoints--;
	tx->search_version = 0; /* it may be undone, too */
	/* Fails only where the whole transaction is gone, which commit reports. */
	if (!sqlite3_get_autocommit(on->db))
		sqlite3_exec(on->db, "ROLLBACK TO slice; RELEASE slice", NULL, NULL, NULL);
}

enum status store_checkpoint(struct store *store, bool is_idle, struct error *err)
{
	struct store_reader *on = store->writer;

	if (!on->wal_frames || store_look_at_file(store, NULL) != OK) /* nothing of ours goes into a file that is not */
		return OK;
	bool is_over = on->wal_frames >= store->wal_frames;
	if (!is_over && !is_idle)
		return OK;
	int mode = is_over ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, frames = 0, moved = 0;
	int code = sqlite3_wal_checkpoint_v2(on->db, NULL, mode, &frames, &moved);
	/* Busy: a reader stands in an old part. Readers are short, and the next call goes on where this one stopped. */
	if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
		return connection_failure(on, code, err);
	file_watch_note_checkpoint(store);
	if (code == SQLITE_OK && frames == moved)
		on->wal_frames = 0; /* until the next commit says otherwise: nothing is left to do */
	return OK;
}

struct store_reader *store_tx_reader(struct store_tx *tx)
{
	return tx->store->writer;
}

size_t tx_changed_rows(struct store_tx *tx)
{
	return (size_t)sqlite3_changes(tx->store->writer->db);
}

enum status tx_note_change(struct store_tx *tx, int64_t job_id, unsigned changes, struct error *err)
{
	if (!tx->search_version)
		TRY(next_id(tx, "search", &tx->search_version, err));
	job_changes_note(tx->store->changes, tx->search_version, job_id, changes);
	return OK;
}
