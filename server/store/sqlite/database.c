#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { WAL_FRAME_HEADER_BYTES = 24 };

enum {
	DEFAULT_WAL_BYTES = 64 << 20,
	DEFAULT_WRITER_CACHE_BYTES = 8 << 20, /* 16 MiB took days to fill, and saved no time (docs/performance.md) */
	DEFAULT_READER_CACHE_BYTES = 2 << 20,
};

static void release(struct store *closed)
{
	struct sqlite_store *store = sqlite_store_of(closed);
	struct store_reader *spare = store->spare;

	if (spare)
		sqlite_reader_close(spare);
	store_reader_free(closed->writer); /* the last connection: SQLite moves the WAL into the file */
	lock_release(&store->lock);
	mem_free(store->watch.log_path);
	mem_free(store->path);
	mem_free(store);
}

static enum status open_all(struct sqlite_store *store, const struct store_options *options, struct error *err)
{
	struct store_options all = *options;
	int64_t page_bytes;

	all.wal_bytes = all.wal_bytes ? all.wal_bytes : DEFAULT_WAL_BYTES;
	all.writer_cache_bytes = all.writer_cache_bytes ? all.writer_cache_bytes : DEFAULT_WRITER_CACHE_BYTES;
	store->reader_cache_bytes = all.reader_cache_bytes ? all.reader_cache_bytes : DEFAULT_READER_CACHE_BYTES;
	store->path = mem_copy_string(all.path);
	if (!store->path)
		return error_no_memory(err);
	TRY(lock_take(&store->lock, store->path, true, err));
	TRY(connection_open_writer(&store->head.writer, &all, err));
	TRY(migrate(store->head.writer, all.skips_backup, err));
	TRY(connection_number(store->head.writer, "PRAGMA page_size", &page_bytes, err));
	sqlite3_busy_timeout(sqlite_of(store->head.writer), 0); /* from now on it is waited for by many */
	store->page_bytes = (uint64_t)page_bytes;
	store->wal_frames = all.wal_bytes / ((uint64_t)page_bytes + WAL_FRAME_HEADER_BYTES);
	return file_watch_start(store, err);
}

enum status database_open(struct store **out, const struct store_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err)
{
	struct sqlite_store *store = mem_zeroed(sizeof *store);

	if (!store)
		return error_no_memory(err);
	store->head.driver = &sqlite_driver;
	store->lock = LOCK_NONE;
	enum status status = open_all(store, options, err);
	if (status != OK) {
		release(&store->head);
		return status;
	}
	store->head.changes = changes;
	store->head.search = search;
	*out = &store->head;
	return OK;
}

enum status database_version(const char *path, int64_t *version, uint64_t *bytes, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	struct stat info;

	*version = 0;
	*bytes = 0;
	if (stat(path, &info) != 0)
		return OK;
	*bytes = (uint64_t)info.st_size;
	TRY(connection_open_reader(&reader, path, 0, err));
	return connection_number(reader, "PRAGMA user_version", version, err);
}

static bool is_busy(struct store_reader *on)
{
	for (sqlite3_stmt *s = sqlite3_next_stmt(sqlite_of(on), NULL); s; s = sqlite3_next_stmt(sqlite_of(on), s))
		if (sqlite3_stmt_busy(s))
			return true;
	return !sqlite3_get_autocommit(sqlite_of(on));
}

/*
 * To read all tables' texts takes most of a reader's opening, and a start alone opens seven for a look each: one that is given
 * back waits for the next, without the pages that it knew.
 */
static bool keep_spare(struct store_reader *on)
{
	struct store_reader *none = NULL;

	if (!on->store || on->is_writer || on->is_narrow)
		return false;
	store_reader_end(on);
	if (is_busy(on))
		return false;
	sqlite_reader_of(on)->system_errno = 0;
	sqlite3_db_release_memory(sqlite_of(on));
	return atomic_compare_exchange_strong(&sqlite_store_of(on->store)->spare, &none, on);
}

static void reader_free(struct store_reader *on)
{
	if (!keep_spare(on))
		sqlite_reader_close(on);
}

static enum status reader_new(struct store_reader **out, struct store *store, bool is_narrow, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	if (!is_narrow && (*out = atomic_exchange(&sqlite_store_of(store)->spare, NULL)))
		return OK;
	TRY(connection_open_reader(
		&reader, sqlite_store_of(store)->path, sqlite_store_of(store)->reader_cache_bytes, err));
	if (is_narrow)
		TRY(connection_narrow(reader, err));
	reader->store = store;
	*out = TAKE(reader);
	return OK;
}

static void interrupt(struct store_reader *on)
{
	sqlite3_interrupt(sqlite_of(on));
}

static enum status figures(struct store_reader *reader, struct store_figures *out, struct error *err)
{
	AUTO_MEM char *wal = path_with(sqlite_reader_of(reader)->path, "-wal");
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

static enum status vacuum(struct store *store, size_t pages, uint64_t *left, struct error *err)
{
	struct store_reader *on = store->writer;
	char pragma[64];
	int64_t freelist;

	snprintf(pragma, sizeof pragma, "PRAGMA incremental_vacuum(%zu)", pages); /* a pragma takes no parameters */
	TRY(connection_run(on, pragma, err));
	file_watch_note_vacuum(sqlite_store_of(store));
	TRY(connection_number(on, "PRAGMA freelist_count", &freelist, err));
	*left = (uint64_t)freelist;
	return OK;
}

static uint64_t owed_bytes(const struct store *store)
{
	return sqlite_reader_of(store->writer)->wal_frames * sqlite_store_of((struct store *)store)->page_bytes;
}

static enum status disk_room(const struct store *store, uint64_t *free_bytes, uint64_t *size_bytes, struct error *err)
{
	const char *path = ((const struct sqlite_store *)store)->path;
	struct statvfs info;

	if (statvfs(path, &info) != 0)
		return error_set(err, ERR_IO, "cannot ask how much room '%s' has: %s", path, strerror(errno));
	*free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
	*size_bytes = (uint64_t)info.f_blocks * info.f_frsize;
	return OK;
}

static const char TABLES[] = "SELECT m.name, c.name, c.pk FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c"
			     " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid";

const struct driver sqlite_driver = {
	.tables_sql = TABLES,
	.schema_sql = "SELECT 'main'",
	.narrow_team_sql = "narrow_team()",
	.has_table_sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
	.check_schema = sqlite_check_schema,
	.check_pages = sqlite_check_pages,
	.statement_open = sqlite_statement_open,
	.statement_open_once = sqlite_statement_open_once,
	.statement_done = sqlite_statement_done,
	.statement_step = sqlite_statement_step,
	.statement_run = sqlite_statement_run,
	.statement_again = sqlite_statement_again,
	.statement_is_conflict = sqlite_statement_is_conflict,
	.statement_parameters = sqlite_statement_parameters,
	.statement_columns = sqlite_statement_columns,
	.bind_i64 = sqlite_bind_i64,
	.bind_text = sqlite_bind_text,
	.bind_blob = sqlite_bind_blob,
	.bind_null = sqlite_bind_null,
	.bind_finite = sqlite_bind_finite,
	.bind_pointer = sqlite_bind_pointer,
	.column_i64 = sqlite_column_i64,
	.column_finite = sqlite_column_finite,
	.column_borrow = sqlite_column_borrow,
	.column_kind = sqlite_column_kind,
	.column_name = sqlite_column_name,
	.run = sqlite_run,
	.rollback = sqlite_rollback,
	.interrupt = interrupt,
	.add_predicates = sqlite_add_predicates,
	.reader_new = reader_new,
	.reader_free = reader_free,
	.view_begin = sqlite_view_begin,
	.tx_begin = sqlite_tx_begin,
	.tx_commit = sqlite_tx_commit,
	.tx_savepoint = sqlite_tx_savepoint,
	.tx_release = sqlite_tx_release,
	.tx_undo = sqlite_tx_undo,
	.tx_changed_rows = sqlite_tx_changed_rows,
	.close = release,
	.look = file_watch_look,
	.checkpoint = sqlite_checkpoint,
	.figures = figures,
	.vacuum = vacuum,
	.owed_bytes = owed_bytes,
	.disk_room = disk_room,
	.can_shrink = true,
};
