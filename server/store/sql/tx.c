#include "store/sqlite/sqlite_store.h"

#include "store/sql/search/search_cache.h"

#include <sys/stat.h>

enum { WAL_FRAME_HEADER_BYTES = 24 };

enum {
	DEFAULT_WAL_BYTES = 64 << 20,
	DEFAULT_WRITER_CACHE_BYTES = 16 << 20,
	DEFAULT_READER_CACHE_BYTES = 2 << 20,
	DEFAULT_SEARCH_BYTES = 512 << 20,
};

enum status store_open(struct store **out, const struct store_options *options, struct error *err)
{
	AUTO(store) store = mem_zeroed(sizeof *store);
	struct store_options all = *options;
	int64_t page_bytes;

	if (!store)
		return error_no_memory(err);
	all.wal_bytes = all.wal_bytes ? all.wal_bytes : DEFAULT_WAL_BYTES;
	all.writer_cache_bytes = all.writer_cache_bytes ? all.writer_cache_bytes : DEFAULT_WRITER_CACHE_BYTES;
	store->lock = LOCK_NONE;
	store->reader_cache_bytes = all.reader_cache_bytes ? all.reader_cache_bytes : DEFAULT_READER_CACHE_BYTES;
	store->path = mem_copy_string(all.path);
	store->search = search_cache_new(all.search_bytes ? all.search_bytes : DEFAULT_SEARCH_BYTES);
	if (!store->path || !store->search)
		return error_no_memory(err);
	TRY(lock_take(&store->lock, store->path, true, err));
	TRY(connection_open_writer(&store->writer, &all, err));
	TRY(migrate(store->writer, all.skips_backup, err));
	TRY(main_metrics_renew(store->writer, err));
	TRY(connection_number(store->writer, "PRAGMA page_size", &page_bytes, err));
	store->wal_frames = all.wal_bytes / ((uint64_t)page_bytes + WAL_FRAME_HEADER_BYTES);
	TRY(file_watch_start(store, err));
	*out = TAKE(store);
	return OK;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	store_reader_free(store->writer); /* the last connection: SQLite moves the WAL into the file */
	lock_release(&store->lock);
	search_cache_free(store->search);
	mem_free(store->watch.log_path);
	mem_free(store->path);
	mem_free(store);
}

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
	tx_on(tx)->is_in_snapshot = false;
	tx->store->has_tx = false;
}

static enum status commit(struct store_tx *tx, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx), "COMMIT", err));
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
	struct store_reader *on = tx_on(tx);

	/* It cannot fail but where SQLite has rolled back by itself. */
	if (!sqlite3_get_autocommit(on->db))
		sqlite3_exec(on->db, "ROLLBACK", NULL, NULL, NULL);
	end(tx);
}

struct store_reader *store_tx_reader(struct store_tx *tx)
{
	return tx_on(tx);
}

void store_listens_since(struct store *store, int64_t since_ms)
{
	search_cache_listens_since(store->search, since_ms);
}

enum status tx_note_change(struct store_tx *tx, int64_t job_id, unsigned changes, struct error *err)
{
	if (!tx->search_version)
		TRY(next_id(tx, "search", &tx->search_version, err));
	search_cache_note(tx->store->search, tx->search_version, job_id, changes);
	return OK;
}

/* All have one name: SQLite means the newest of it. */
enum status store_tx_savepoint(struct store_tx *tx, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx), "SAVEPOINT slice", err));
	TRY(statement_run(&s, err));
	tx->savepoints++;
	return OK;
}

enum status store_tx_release(struct store_tx *tx, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!tx->savepoints)
		return error_set(err, ERR_INTERNAL, "there is no savepoint to release");
	TRY(statement_open(&s, tx_on(tx), "RELEASE slice", err));
	TRY(statement_run(&s, err));
	tx->savepoints--;
	return OK;
}

void store_tx_undo(struct store_tx *tx)
{
	struct store_reader *on = tx_on(tx);

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

enum status store_figures(struct store_reader *reader, struct store_figures *out, struct error *err)
{
	AUTO_MEM char *wal = path_with(reader->path, "-wal");
	struct stat info;
	int64_t pages, freelist, page_bytes;

	if (!wal)
		return error_no_memory(err);
	TRY(connection_number(reader, "PRAGMA page_count", &pages, err));
	TRY(connection_number(reader, "PRAGMA freelist_count", &freelist, err));
	TRY(connection_number(reader, "PRAGMA page_size", &page_bytes, err));
	*out = (struct store_figures){.wal_bytes = stat(wal, &info) == 0 ? (uint64_t)info.st_size : 0,
		.page_count = (uint64_t)pages,
		.freelist_count = (uint64_t)freelist,
		.page_bytes = (uint32_t)page_bytes};
	return OK;
}
