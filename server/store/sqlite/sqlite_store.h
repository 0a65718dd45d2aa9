/*
 * Job: what the files of this folder share: a connection with its statements, binding and reading of columns.
 * Ownership: a connection owns its statements; a struct statement is borrowed until statement_done.
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include "store/store.h"

#include <sqlite3.h>
#include <sys/stat.h>

/* Waiting for machines; or it had ended, and was resumed later. */
#define UNBILLED_STATUSES                                                                                              \
	"('Interrupted', 'Starting', 'Pending', 'LaunchingMLInstances', 'PreparingTrainingStack', 'Stopped',"          \
	" 'MaxRuntimeExceeded', 'MaxWaitTimeExceeded', 'Completed', 'Failed')"

enum { STATEMENT_SLOTS = 256, READ_LIMIT_MS = 5000 };

/* Keyed by the address of the SQL text: one literal at one place in the source. */
struct statement_slot {
	const char *sql;
	sqlite3_stmt *prepared;
};

/* A connection: the writer's, too, whose reads see its own transaction. */
struct store_reader {
	sqlite3 *db;
	char *path;
	struct search_cache *search; /* the store's; NULL: what a search needs is read for it alone */
	bool is_writer;
	bool is_in_snapshot; /* between begin and end; of the writer: within a transaction */
	bool has_deadline; /* stated by store_reader_deadline */
	int64_t deadline_ms; /* monotonic; 0: none */
	uint64_t wal_frames; /* as of the last commit; the writer's only */
	int system_errno; /* of the last step that failed */
	struct error failure; /* what made SQLite roll the transaction back by itself; the writer's only */
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
	struct search_cache *search;
	struct store_reader *writer;
	struct store_tx tx; /* at most one */
	bool has_tx;
};

/* ---- connection.c ---- */
/* The file itself, made where there is none and `creates` (else *fd is -1 then); ERR_UNSUPPORTED: on a network's file system. */
enum status connection_open_file(const char *path, bool creates, int *fd, struct error *err) MUST_CHECK;
/* A connection that only reads. */
enum status connection_open_reader(
	struct store_reader **out, const char *path, size_t cache_bytes, struct error *err) MUST_CHECK;
enum status connection_open_writer(
	struct store_reader **out, const struct store_options *options, struct error *err) MUST_CHECK;
/* SQL that gives no rows, one or more statements; literals only. */
enum status connection_run(struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
/* The first column of the first row, as a number. */
enum status connection_number(struct store_reader *on, const char *sql, int64_t *out, struct error *err) MUST_CHECK;
/* Names the file and says what to do about it. */
enum status connection_failure(struct store_reader *on, int code, struct error *err);
/* Past the deadline of its reads. */
bool connection_is_late(const struct store_reader *on);
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

/* ---- check_shape.c ---- */
/* What is wrong with the file's header, which SQLite believes in part; empty: nothing. Before SQLite opens the file. */
enum status check_header(const char *path, bool is_online, struct buf *problem, struct error *err) MUST_CHECK;
/* What the tables lack or have beside those of the version that the database says it has; empty: nothing. */
enum status check_schema(struct store_reader *reader, struct buf *problem, struct error *err) MUST_CHECK;

/* ---- migrate.c ---- */
/* What can only be set while there is no table yet. */
enum status migrate_shape(struct store_reader *on, struct error *err) MUST_CHECK;
enum status migrate(struct store_reader *on, bool skips_backup, struct error *err) MUST_CHECK;

/* ---- main_metrics.c ---- */
/* For each row the role that it answers for, or ROLE_OTHER; *out is the caller's also after a failure. */
enum status main_metrics_of(
	const struct summary_row *rows, size_t count, enum role **out, struct error *err) MUST_CHECK;
/* Where a program with another rule has decided: anew. */
enum status main_metrics_renew(struct store_reader *on, struct error *err) MUST_CHECK;

/* ---- statement.c ---- */
struct statement {
	struct store_reader *on;
	sqlite3_stmt *prepared;
	bool is_own; /* finalized when done: its text is not a literal */
	int parameter; /* the last one bound */
	int column; /* the next one read */
	int code; /* the first failed bind or step, SQLITE_OK else */
	bool is_out_of_memory; /* a column could not be copied */
};

/* Prepared once a connection and SQL literal. */
enum status statement_open(
	struct statement *out, struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
/* For SQL that is put together: prepared for this use. */
enum status statement_open_once(
	struct statement *out, struct store_reader *on, struct span sql, struct error *err) MUST_CHECK;
void statement_done(struct statement *s);
AUTO_DONE_TYPE(statement)

/* Each binds the next parameter (doubles: the next two, X and X_kind). Spans must live until the statement is done. */
void bind_i64(struct statement *s, int64_t value);
void bind_u64(struct statement *s, uint64_t value); /* by its bits: UINT64_MAX is -1 */
void bind_text(struct statement *s, struct span text);
void bind_blob(struct statement *s, struct span bytes);
void bind_null(struct statement *s);
void bind_finite(struct statement *s, double value);
void bind_double(struct statement *s, double value);
void bind_summary(struct statement *s, const struct summary *summary); /* SUMMARY_COLUMNS but the mean */

/* *has_row false: at the end. */
enum status statement_step(struct statement *s, bool *has_row, struct error *err) MUST_CHECK;
/* Steps to the end. */
enum status statement_run(struct statement *s, struct error *err) MUST_CHECK;
/* After reading a row's columns: ERR_MEMORY when one could not be copied. */
enum status statement_check(struct statement *s, struct error *err) MUST_CHECK;
/* Why the last step failed: a UNIQUE or PRIMARY KEY constraint. */
bool statement_is_conflict(const struct statement *s);

/* Each reads the next column (doubles: the next two). */
int64_t column_i64(struct statement *s);
uint64_t column_u64(struct statement *s);
uint32_t column_u32(struct statement *s);
bool column_bool(struct statement *s);
struct span column_span(struct statement *s, struct arena *arena); /* text or blob, copied */
double column_double(struct statement *s);
void column_summary(struct statement *s, struct summary *out);

#define SUMMARY_COLUMNS                                                                                                \
	"count, nan_count, inf_count, last, last_kind, min, min_kind, max, max_kind, sum, sum_kind, first_step, "      \
	"last_step, last_ts_ms"

/* Room for one more row in an array that grows in the arena; NULL: out of memory. */
void *rows_grow(struct arena *arena, void *rows, size_t count, size_t *cap, size_t row_bytes);

/* A number that was never given before. */
enum status next_id(struct store_tx *tx, const char *counter, int64_t *id, struct error *err) MUST_CHECK;

/* ---- tx.c ---- */
/* What searches keep of the job (enum search_change) is out of date with this transaction. Before or after the change itself. */
enum status tx_note_change(struct store_tx *tx, int64_t job_id, unsigned changes, struct error *err) MUST_CHECK;
/* ---- jobs.c: with the number that the row has ---- */
enum status store_insert_job(struct store_tx *tx, const struct job_row *row, struct error *err) MUST_CHECK;

/* ---- log_filters.c ---- */
enum status log_filter_put(struct store_tx *tx, const struct block_row *row, struct error *err) MUST_CHECK;

/* ---- fleet.c ---- */
/* The job is about to be deleted: it counts no more. */
/* sql: one statement with the job as its one parameter, a literal */
enum status run_for_job(struct store_tx *tx, const char *sql, int64_t job_id, struct error *err) MUST_CHECK;
enum status fleet_forget_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
enum status goodput_forget_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;

static inline struct store_reader *tx_on(struct store_tx *tx)
{
	return tx->store->writer;
}

/* ---- attributes.c ---- */
/* Replaces the job's rows by the leaves of the document and the settings out of its log. */
enum status attributes_put(struct store_tx *tx, int64_t job_id, struct span document, struct error *err) MUST_CHECK;
/* The attribute FailureClass: what model/failure.h makes of the reason; none of no reason. */
enum status attributes_put_failure(
	struct store_tx *tx, int64_t job_id, struct span reason, struct error *err) MUST_CHECK;
/* A setting out of the log: hp.KEY, unless the document states one. */
enum status attributes_put_found(
	struct store_tx *tx, int64_t job_id, const struct setting_row *row, struct error *err) MUST_CHECK;
