#include "store/sqlite/sqlite_store.h"

#include <errno.h>

enum { WRITER_BUSY_MS = 2000 };

static enum status run(struct store_reader *on, const char *sql, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, on, sql, err));
	return statement_run(&s, err);
}

enum status sqlite_view_begin(struct store_reader *on, struct error *err)
{
	AUTO_DONE(statement) first = {0};
	bool has_row;

	TRY(run(on, "BEGIN", err));
	/* BEGIN alone takes no view: the first read would, later than the caller thinks. */
	TRY(statement_open(&first, on, "SELECT 1 FROM settings LIMIT 1", err));
	return statement_step(&first, &has_row, err);
}

/*
 * A reader that meets the log's header while it is written takes the writer's lock for a moment to look again (SQLite's
 * walIndexReadHdr), and so does a program that backs up or checks the file. Checkpoints wait for nobody: hence here alone.
 */
enum status sqlite_tx_begin(struct store *store, struct error *err)
{
	if (sqlite_store_of(store)->watch.is_lost)
		return file_watch_look(store, err);
	sqlite3_busy_timeout(sqlite_of(store->writer), WRITER_BUSY_MS);
	enum status status = run(store->writer, "BEGIN IMMEDIATE", err);
	sqlite3_busy_timeout(sqlite_of(store->writer), 0);
	return status;
}

enum status sqlite_tx_commit(struct store *store, struct error *err)
{
	TRY(run(store->writer, "COMMIT", err));
	return file_watch_look(store, err);
}

/* All have one name: SQLite means the newest of it. */
enum status sqlite_tx_savepoint(struct store *store, struct error *err)
{
	return run(store->writer, "SAVEPOINT slice", err);
}

enum status sqlite_tx_release(struct store *store, struct error *err)
{
	return run(store->writer, "RELEASE slice", err);
}

void sqlite_tx_undo(struct store *store)
{
	sqlite3 *db = sqlite_of(store->writer);

	/* Fails only where the whole transaction is gone, which commit reports. */
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK TO slice; RELEASE slice", NULL, NULL, NULL);
}

enum status sqlite_tx_changed_rows(struct store *store, size_t *rows, struct error *err)
{
	(void)err;
	*rows = (size_t)sqlite3_changes(sqlite_of(store->writer));
	return OK;
}

enum status sqlite_checkpoint(struct store *store, bool is_idle, struct error *err)
{
	struct sqlite_reader *on = sqlite_reader_of(store->writer);

	bool is_over = on->wal_frames >= sqlite_store_of(store)->wal_frames;

	if (!on->wal_frames || (!is_over && !is_idle))
		return OK;
	if (file_watch_look(store, NULL) != OK) /* nothing of ours goes into a file that is not */
		return OK;
	int mode = is_over ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, frames = 0, moved = 0;
	errno = 0;
	int code = sqlite3_wal_checkpoint_v2(on->db, NULL, mode, &frames, &moved);
	on->system_errno = errno;
	/* Busy: a reader stands in an old part. Readers are short, and the next call goes on where this one stopped. */
	if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
		return connection_failure(&on->head, code, err);
	file_watch_note_checkpoint(sqlite_store_of(store));
	if (code == SQLITE_OK && frames == moved)
		on->wal_frames = 0; /* until the next commit says otherwise: nothing is left to do */
	return OK;
}
