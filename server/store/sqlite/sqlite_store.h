/*
 * Job: what the files of this folder share: a connection with its statements, a store with its file.
 * Ownership: a connection owns its statements.
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include "store/store.h"

#include <sqlite3.h>
#include <sys/stat.h>

enum { STATEMENT_SLOTS = 256, READ_LIMIT_MS = 5000 };

/* Keyed by the address of the SQL text: one literal at one place in the source. */
struct statement_slot {
	const char *sql;
	sqlite3_stmt *prepared;
};

enum { PREDICATES_MAX = 8 };

struct predicate_of {
	struct store_reader *on;
	const struct predicate *predicate;
};

/* A connection: the writer's, too, whose reads see its own transaction. */
struct store_reader {
	sqlite3 *db;
	char *path;
	struct store *store; /* NULL: of a file alone, or the writer: what a search needs is read for it alone */
	bool is_writer;
	bool is_in_snapshot; /* between begin and end; of the writer: within a transaction */
	bool has_deadline; /* stated by store_reader_deadline */
	int64_t deadline_ms; /* monotonic; 0: none */
	uint64_t wal_frames; /* as of the last commit; the writer's only */
	int system_errno; /* of the last step that failed */
	struct error failure; /* what made SQLite roll the transaction back by itself; the writer's only */
	bool has_predicates;
	struct predicate_of predicates[PREDICATES_MAX];
	size_t statement_count;
	struct statement_slot statements[STATEMENT_SLOTS];
};

struct store_tx {
	struct store *store;
	int savepoints;
	int64_t search_version; /* 0: nothing that a search may find has changed yet */
};

/* Both end with their process. */
struct lock {
	int name_fd; /* of FILE.lock */
	int file_fd; /* of the database; -1: there is none yet */
};
#define LOCK_NONE ((struct lock){-1, -1})

/* What the database's file must still be. */
struct file_watch {
	char *log_path;
	dev_t device;
	ino_t inode, log_inode;
	off_t least_bytes;
	struct timespec changed;
	unsigned char header[100];
	bool is_lost; /* for good */
	bool is_ours; /* lost, but the file that is open is whole */
	bool is_parted; /* its log is no danger to what comes to the path */
	struct error loss;
};

struct store {
	char *path;
	struct lock lock;
	struct file_watch watch;
	uint64_t wal_frames; /* beyond these the WAL is moved into the file at once */
	size_t reader_cache_bytes;
	_Atomic int64_t listens_since_ms;
	struct job_changes *changes; /* the opener's, as is: */
	struct search_cache *search;
	struct store_reader *writer;
	struct store_tx tx; /* at most one */
	bool has_tx;
};

/* ---- connection.c ---- */
/* The file itself, made where there is none and `creates` (else *fd is -1 then); ERR_UNSUPPORTED: on a network's file system. */
enum status connection_open_file(const char *path, bool creates, int *fd, struct error *err) MUST_CHECK;
enum status connection_open_writer(
	struct store_reader **out, const struct store_options *options, struct error *err) MUST_CHECK;
/* Names the file and says what to do about it. */
enum status connection_failure(struct store_reader *on, int code, struct error *err);
char *path_with(const char *path, const char *suffix) __attribute__((warn_unused_result)); /* NULL: out of memory */

/* ---- lock.c ---- */
/* Before SQLite opens the database; ERR_CONFLICT names the owner. */
enum status lock_take(struct lock *out, const char *path, bool creates, struct error *err) MUST_CHECK;
void lock_release(struct lock *lock); /* after SQLite has closed it */

/* ---- file_watch.c ---- */
/* Once all migrations are done; the log is open by then. */
enum status file_watch_start(struct store *store, struct error *err) MUST_CHECK;
/* After we changed the file, or made that it will get shorter. */
void file_watch_note_checkpoint(struct store *store);
void file_watch_note_vacuum(struct store *store);

/* ---- migrate.c ---- */
/* What can only be set while there is no table yet. */
enum status migrate_shape(struct store_reader *on, struct error *err) MUST_CHECK;
enum status migrate(struct store_reader *on, bool skips_backup, struct error *err) MUST_CHECK;
