#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { WAL_FRAME_HEADER_BYTES = 24 };

enum {
	DEFAULT_WAL_BYTES = 64 << 20,
	DEFAULT_WRITER_CACHE_BYTES = 16 << 20,
	DEFAULT_READER_CACHE_BYTES = 2 << 20,
};

static void release(struct store *store)
{
	store_reader_free(store->writer); /* the last connection: SQLite moves the WAL into the file */
	lock_release(&store->lock);
	mem_free(store->watch.log_path);
	mem_free(store->path);
	mem_free(store);
}

static enum status open_all(struct store *store, const struct store_options *options, struct error *err)
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
	TRY(connection_open_writer(&store->writer, &all, err));
	TRY(migrate(store->writer, all.skips_backup, err));
	TRY(connection_number(store->writer, "PRAGMA page_size", &page_bytes, err));
	store->wal_frames = all.wal_bytes / ((uint64_t)page_bytes + WAL_FRAME_HEADER_BYTES);
	return file_watch_start(store, err);
}

enum status database_open(struct store **out, const struct store_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err)
{
	struct store *store = mem_zeroed(sizeof *store);

	if (!store)
		return error_no_memory(err);
	store->lock = LOCK_NONE;
	enum status status = open_all(store, options, err);
	if (status != OK) {
		release(store);
		return status;
	}
	store->changes = changes;
	store->search = search;
	*out = store;
	return OK;
}

void database_close(struct store *store)
{
	release(store);
}

void store_listens_since(struct store *store, int64_t since_ms)
{
	atomic_store(&store->listens_since_ms, since_ms);
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

enum status store_vacuum(struct store_tx *tx, size_t pages, uint64_t *left, struct error *err)
{
	struct store_reader *on = tx->store->writer;
	char pragma[64];
	int64_t freelist;

	snprintf(pragma, sizeof pragma, "PRAGMA incremental_vacuum(%zu)", pages); /* a pragma takes no parameters */
	TRY(connection_run(on, pragma, err));
	file_watch_note_vacuum(tx->store);
	TRY(connection_number(on, "PRAGMA freelist_count", &freelist, err));
	*left = (uint64_t)freelist;
	return OK;
}

enum status store_disk_free(const struct store *store, uint64_t *free_bytes, struct error *err)
{
	struct statvfs info;

	if (statvfs(store->path, &info) != 0)
		return error_set(err, ERR_IO, "cannot ask how much room '%s' has: %s", store->path, strerror(errno));
	*free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
	return OK;
}
