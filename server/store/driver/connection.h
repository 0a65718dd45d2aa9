/*
 * Job: what verbs ask of a connection beside statements: SQL without rows, deadlines, functions of ours in SQL, a file's shape.
 * Ownership: a reader is its maker's, store_reader_free. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct job_changes;
struct search_cache;

/* ---- the database ---- */
/* The lock, the file, the migrations; what searches keep of `changes` is the caller's. */
enum status database_open(struct store **out, const struct store_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err) MUST_CHECK;
/* Of a file that need not be there. */
enum status database_version(const char *path, int64_t *version, uint64_t *bytes, struct error *err) MUST_CHECK;
void database_close(struct store *store); /* frees it */
struct store_reader *database_writer(struct store *store);
struct job_changes *database_changes(struct store *store);
struct search_cache *database_search(struct store *store);

/* ---- a connection ---- */
/* That only reads, of a database that need not be a server's. */
enum status connection_open_reader(
	struct store_reader **out, const char *path, size_t cache_bytes, struct error *err) MUST_CHECK;
/* SQL that gives no rows, one or more statements; literals only. */
enum status connection_run(struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
/* The first column of the first row, as a number. */
enum status connection_number(struct store_reader *on, const char *sql, int64_t *out, struct error *err) MUST_CHECK;
/* Of a transaction that connection_run began; one that has ended by itself is none. */
void connection_rollback(struct store_reader *on);

bool connection_is_in_view(const struct store_reader *on); /* between begin and end */
/* Where a statement that was cut off by its deadline ended the view, too: it is taken anew. */
enum status connection_mend_view(struct store_reader *on, struct error *err) MUST_CHECK;
/* Monotonic; 0: none. */
int64_t connection_deadline_ms(const struct store_reader *on);
void connection_set_deadline_ms(struct store_reader *on, int64_t deadline_ms);
/* Past it. */
bool connection_is_late(const struct store_reader *on);
/* The statement that runs ends with ERR_UNAVAILABLE. From a predicate. */
void connection_interrupt(struct store_reader *on);
/* Before it nobody was silent, see store_listens_since; 0: always. */
int64_t connection_listens_since_ms(const struct store_reader *on);
/* The store's; NULL, as for a narrow one: what a search needs is read for it alone. */
struct search_cache *connection_search(const struct store_reader *on);

/* ---- the journal ---- */
struct journal_place {
	int64_t slot; /* of all parts of a record */
	size_t part_bytes; /* the most of one */
	/* Rows that are not needed any more are not deleted: the counter 'journal' says which is the first that is, and the driver
	 * forgets those before it at checkpoints. */
	bool is_ring;
};
/* Where a record of so many bytes goes. 0: it is only asked. */
enum status tx_journal_place(
	struct store_tx *tx, uint64_t bytes, struct journal_place *out, struct error *err) MUST_CHECK;

/* ---- what the database holds ---- */
enum { TABLE_KEY_MAX = 8 };
struct table_shape {
	struct span name;
	struct span *columns;
	size_t column_count;
	size_t key[TABLE_KEY_MAX]; /* which columns, in the order of the key */
	size_t key_count;
};
/* All tables of ours by their names, without what only this kind of database has. */
enum status connection_tables(struct store_reader *on, struct arena *arena, struct table_shape **out, size_t *count,
	struct error *err) MUST_CHECK;

/* ---- in SQL of both databases: get_bit(blob, n) is 0 or 1, the lowest bit of a byte being its first; beyond the blob it fails ---- */

/* ---- predicates: NAME(?, column) in SQL, where ? is a pointer of ours ---- */
struct predicate {
	const char *name;
	/* text: of a text or a blob, else ""; number: of a number, else 0 */
	bool (*holds)(struct store_reader *on, void *bound, struct span text, int64_t number);
};
/* Does its database have them? */
bool connection_has_predicates(const struct store_reader *on);
/* Only where it has. At the first call for the connection: `predicates` are the program's, always the same. ERR_MEMORY. */
enum status connection_add_predicates(
	struct store_reader *on, const struct predicate *predicates, size_t count) MUST_CHECK;

/* ---- for a check ---- */
/* What is wrong with the file's header, which SQLite believes in part; empty: nothing. Before SQLite opens the file. */
enum status check_header(const char *path, bool is_online, struct buf *problem, struct error *err) MUST_CHECK;
/* What is wrong with tables and indexes of that version: what it has, "table NAME.COLUMN" and "index NAME" a line, sorted. */
enum status check_shape(int64_t version, struct span has, struct buf *problem, struct error *err) MUST_CHECK;
/* What the tables lack or have beside those of the version that the database says it has; empty: nothing. */
enum status check_schema(struct store_reader *reader, struct buf *problem, struct error *err) MUST_CHECK;
/* What is wrong within its pages, by `tell`, which gets an empty text for what is sound, and ends it by false. Online: beside a server. */
enum status check_pages(struct store_reader *reader, bool is_quick, bool is_online,
	bool (*tell)(void *context, struct span text), void *context, struct error *err) MUST_CHECK;
/* Older databases lack some. "": there is. */
enum status check_has_table(struct store_reader *reader, const char *table, bool *has, struct error *err) MUST_CHECK;
