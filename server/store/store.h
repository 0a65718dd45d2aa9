/*
 * Job: the domain's verbs on durable data. SQL is below these headers only (store/sql). This one opens it; the others say what can be asked.
 * Ownership: rows that are read have their spans in the arena that the caller gives.
 * Threads: store_open gives the one writing connection; a store_tx exists on the writer thread alone, so the types say
 *      who may write. Each store_reader is a read-only connection of one thread. Readers are short: no snapshot outlives
 *      100 ms or a socket wait.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

struct store;
struct store_tx;
struct store_reader;

/* Of a database that several servers may want, and one has: PostgreSQL's; of a file is_over alone. */
struct store_ownership {
	const char *name; /* what the others are told */
	/* Before the first try, so that a standby that could not go on is none: an error is the opening's. NULL: may. */
	enum status (*joins)(void *context, struct store_reader *reader, struct error *err);
	/* Another has it, or it is away while it was waited for. False: do not wait (any longer). NULL: does not wait. */
	bool (*waits)(void *context, const struct error *why);
	/* While the opening waits for a file that another program has: whoever opens does not want to any more. NULL: always. */
	bool (*is_over)(void *context);
	/* Nothing is stored any more until a start: another has taken it, or it holds what was said to have failed. A thread of its own. */
	void (*ended)(void *context, const struct error *why);
	void *context;
};

struct store_options {
	const char *
		path; /* of the database, which is locked, and PATH.lock with it; or postgresql://…, without a password */
	const char *schema; /* of PostgreSQL: what all our tables are in */
	const struct store_ownership *ownership; /* NULL: does not wait for another server */
	size_t wal_bytes; /* a checkpoint with RESTART beyond this: 64 MiB */
	size_t writer_cache_bytes; /* 8 MiB */
	size_t reader_cache_bytes; /* 2 MiB */
	size_t search_bytes; /* of properties that searches of jobs keep in memory, over all readers: 512 MiB */
	bool moves; /* a half of a move (store/move.h) may be there */
	bool skips_backup; /* else FILE.before-NNNN is made before a migration that older programs cannot live with */
};

/* Is it the address of a database of PostgreSQL's, and no path? */
bool store_is_postgres(const char *path);
/* Takes the lock, opens, migrates. ERR_CONFLICT: another server has it; ERR_UNSUPPORTED: newer than this program, or on a
 * network file system. */
enum status store_open(struct store **out, const struct store_options *options, struct error *err) MUST_CHECK;
void store_free(struct store *store);
/* Before it nobody was silent: whoever was not heard was not listened to. */
void store_listens_since(struct store *store, int64_t since_ms);

enum status store_reader_new(struct store_reader **out, struct store *store, struct error *err) MUST_CHECK;
void store_reader_free(struct store_reader *reader);
/*
 * A narrow reader: to it rows of jobs of one team alone are there, whatever is asked of it, and so is what follows from them
 * (store/driver/narrow.h). store_reader_narrow_to says of which team; before it, and of "", of none. Not within a view.
 */
enum status store_reader_new_narrow(struct store_reader **out, struct store *store, struct error *err) MUST_CHECK;
enum status store_reader_narrow_to(struct store_reader *reader, struct span team, struct error *err) MUST_CHECK;
/* One consistent view over several reads. Without it each read is its own. */
enum status store_reader_begin(struct store_reader *reader, struct error *err) MUST_CHECK;
void store_reader_end(struct store_reader *reader);
/*
 * Many reads in one round trip: between ahead_begin and ahead_end each verb of the reader only sends what it asks, writes nothing, and what it
 * gives means nothing. After it the same verbs with the same arguments find what came, until ahead_drop or the end of the view. An answer of
 * before is found in a later round, too, so that what follows from it can be asked. What could not be asked ahead, or came to more than 32
 * MiB, is asked when it is wanted. False: this database has no round trips; there is nothing to end or to drop.
 */
enum ahead_mode {
	AHEAD_STOP, /* a verb fails at its first question, with ERR_UNAVAILABLE */
	AHEAD_GO_ON, /* it finds no row, and goes on: for those whose next questions do not come of the answer */
};
bool store_reader_ahead_begin(struct store_reader *reader, enum ahead_mode mode);
enum status store_reader_ahead_end(struct store_reader *reader, struct error *err) MUST_CHECK;
void store_reader_ahead_drop(struct store_reader *reader);
/* Reads of this reader past the deadline fail with ERR_UNAVAILABLE (5 s after begin by default). */
void store_reader_deadline(struct store_reader *reader, int64_t ms);

/* ---- transactions (writer thread) ---- */
enum status store_tx_begin(struct store_tx **out, struct store *store, struct error *err) MUST_CHECK;
/* Durable when OK (synchronous=FULL). On an error the transaction is rolled back. Both end the tx.
 * ERR_UNAVAILABLE: the disk is full or read-only; ERR_IO: it failed. */
enum status store_tx_commit(struct store_tx *tx, struct error *err) MUST_CHECK;
void store_tx_rollback(struct store_tx *tx);
/* Reads inside the transaction see its own writes. */
struct store_reader *store_tx_reader(struct store_tx *tx);
/* A nested step that can be undone alone: a poison slice harms itself only. */
enum status store_tx_savepoint(struct store_tx *tx, struct error *err) MUST_CHECK;
/* One that fails, as by what went wrong since the savepoint and was not known, is undone. */
enum status store_tx_release(struct store_tx *tx, struct error *err) MUST_CHECK;
void store_tx_undo(struct store_tx *tx);

/*
 * Is the database still the file at its path, and whole? Each begin and each commit asks: what is in a file without a name is not
 * stored (ERR_UNAVAILABLE, until the next start, with the reason). For times in which nothing is committed.
 */
enum status store_look_at_file(struct store *store, struct error *err) MUST_CHECK;
/* Is it ours still? Of a database that others may take over: ERR_UNAVAILABLE while our lease of it is not renewed. Any thread; asks nobody. */
enum status store_may_write(const struct store *store, struct error *err) MUST_CHECK;

/* Between transactions: PASSIVE when called idle, RESTART past wal_bytes. */
enum status store_checkpoint(struct store *store, bool is_idle, struct error *err) MUST_CHECK;

struct store_figures {
	uint64_t wal_bytes;
	uint64_t page_count;
	uint64_t freelist_count;
	uint32_t page_bytes;
};
enum status store_figures(struct store_reader *reader, struct store_figures *out, struct error *err) MUST_CHECK;

AUTO_TYPE(store)
AUTO_TYPE(store_reader)
