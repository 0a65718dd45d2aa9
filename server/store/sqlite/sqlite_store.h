/*
 * Job: what the files of this folder share: a connection with its statements, a store with its file.
 * Ownership: a connection owns its statements.
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include "store/driver/driver.h"

#include <sqlite3.h>
#include <sys/stat.h>

enum { STATEMENT_SLOTS = 256 };

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

/* head.failure: what made SQLite roll the transaction back by itself. */
/* Of a writer: how long it waits for the file while it is opened. */
struct opening {
	const struct store_ownership *ownership;
	int64_t until_ms; /* monotonic */
};

struct sqlite_reader {
	struct store_reader head;
	sqlite3 *db;
	char *path;
	uint64_t wal_frames; /* as of the last commit; the writer's only */
	int system_errno; /* of the last call of SQLite's that failed */
	struct opening opening;
	bool has_predicates;
	struct predicate_of predicates[PREDICATES_MAX];
	size_t cache_bytes; /* 0: SQLite knows it */
	size_t statement_count;
	struct statement_slot statements[STATEMENT_SLOTS];
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
	bool has_waited; /* for readers, once: each refused post looks again */
	struct error loss;
};

struct sqlite_store {
	struct store head;
	char *path;
	struct lock lock;
	struct file_watch watch;
	uint64_t wal_frames; /* beyond these the WAL is moved into the file at once */
	uint64_t page_bytes;
	size_t reader_cache_bytes;
	_Atomic(struct store_reader *)
		spare; /* the reader that was given back last, for the next who wants one; NULL: none */
};

static inline struct sqlite_reader *sqlite_reader_of(struct store_reader *on)
{
	return (struct sqlite_reader *)on;
}

static inline struct sqlite_store *sqlite_store_of(struct store *store)
{
	return (struct sqlite_store *)store;
}

static inline sqlite3 *sqlite_of(struct store_reader *on)
{
	return sqlite_reader_of(on)->db;
}

/* ---- database.c ---- */
extern const struct driver sqlite_driver;

/* ---- connection.c ---- */
/* The file itself, made where there is none and `creates` (else *fd is -1 then); ERR_UNSUPPORTED: on a network's file system. */
enum status connection_open_file(const char *path, bool creates, int *fd, struct error *err) MUST_CHECK;
/* Makes a reader narrow, see store_reader_new_narrow. */
enum status connection_narrow(struct store_reader *on, struct error *err) MUST_CHECK;
enum status connection_open_writer(
	struct store_reader **out, const struct store_options *options, struct error *err) MUST_CHECK;
/* Before a statement. */
enum status connection_set_cache(struct store_reader *on, struct error *err) MUST_CHECK;
/* Names the file and says what to do about it. */
enum status connection_failure(struct store_reader *on, int code, struct error *err);
/* Of the driver, as its table says: */
enum status sqlite_run(struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
void sqlite_rollback(struct store_reader *on);
enum status sqlite_add_predicates(struct store_reader *on, const struct predicate *predicates, size_t count) MUST_CHECK;
void sqlite_reader_close(struct store_reader *on);

/* ---- check_shape.c ---- */
enum status sqlite_check_schema(struct store_reader *reader, struct buf *problem, struct error *err) MUST_CHECK;
enum status sqlite_check_pages(struct store_reader *reader, bool is_quick, bool is_online,
	bool (*tell)(void *context, struct span text), void *context, struct error *err) MUST_CHECK;

/* ---- statement.c ---- */
enum status sqlite_statement_open(
	struct statement *out, struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
enum status sqlite_statement_open_once(
	struct statement *out, struct store_reader *on, struct span sql, struct error *err) MUST_CHECK;
void sqlite_statement_done(struct statement *s);
enum status sqlite_statement_step(struct statement *s, bool *has_row, struct error *err) MUST_CHECK;
enum status sqlite_statement_run(struct statement *s, struct error *err) MUST_CHECK;
void sqlite_statement_again(struct statement *s);
bool sqlite_statement_is_conflict(const struct statement *s);
int sqlite_statement_parameters(const struct statement *s);
int sqlite_statement_columns(const struct statement *s);
void sqlite_bind_i64(struct statement *s, int64_t value);
void sqlite_bind_text(struct statement *s, struct span text);
void sqlite_bind_blob(struct statement *s, struct span bytes);
void sqlite_bind_null(struct statement *s);
void sqlite_bind_finite(struct statement *s, double value);
void sqlite_bind_pointer(struct statement *s, const char *predicate, const void *pointer);
int64_t sqlite_column_i64(struct statement *s);
double sqlite_column_finite(struct statement *s);
struct span sqlite_column_borrow(struct statement *s);
enum column_kind sqlite_column_kind(const struct statement *s);
const char *sqlite_column_name(const struct statement *s);

/* ---- tx.c ---- */
enum status sqlite_view_begin(struct store_reader *on, struct error *err) MUST_CHECK;
enum status sqlite_tx_begin(struct store *store, struct error *err) MUST_CHECK;
enum status sqlite_tx_commit(struct store *store, struct error *err) MUST_CHECK;
enum status sqlite_tx_savepoint(struct store *store, struct error *err) MUST_CHECK;
enum status sqlite_tx_release(struct store *store, struct error *err) MUST_CHECK;
void sqlite_tx_undo(struct store *store);
enum status sqlite_tx_changed_rows(struct store *store, size_t *rows, struct error *err) MUST_CHECK;
enum status sqlite_checkpoint(struct store *store, bool is_idle, struct error *err) MUST_CHECK;
char *path_with(const char *path, const char *suffix) __attribute__((warn_unused_result)); /* NULL: out of memory */

/* ---- backup.c ---- */
/* An empty file of the owner's alone (SQLite would make it as the umask says), in the place of what an earlier try left. */
enum status copy_make(const char *path, struct error *err) MUST_CHECK;
/* With what SQLite has made beside it. */
void copy_remove(const char *path);

/* ---- lock.c ---- */
/* Before SQLite opens the database; ERR_CONFLICT names the owner. */
enum status lock_take(struct lock *out, const char *path, bool creates, struct error *err) MUST_CHECK;
void lock_release(struct lock *lock); /* after SQLite has closed it */

/* ---- file_watch.c ---- */
/* Once all migrations are done; the log is open by then. */
enum status file_watch_start(struct sqlite_store *store, struct error *err) MUST_CHECK;
enum status file_watch_look(struct store *store, struct error *err) MUST_CHECK;
/* After we changed the file, or made that it will get shorter. */
void file_watch_note_checkpoint(struct sqlite_store *store);
void file_watch_note_vacuum(struct sqlite_store *store);

/* ---- migrate.c ---- */
/* What can only be set while there is no table yet. */
enum status migrate_shape(struct store_reader *on, struct error *err) MUST_CHECK;
enum status migrate(struct store_reader *on, bool skips_backup, struct error *err) MUST_CHECK;
