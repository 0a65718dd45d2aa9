/*
 * Job: what a database answers: a table of functions, each as the function of its name in statement.h, connection.h, store.h and
 *      admin.h says, and what the connections and stores of every database begin with. Only the drivers and this folder include it.
 * Ownership: a connection owns its statements, a store its writer. Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"

struct driver {
	/* ---- statements ---- */
	enum status (*statement_open)(
		struct statement *out, struct store_reader *on, const char *sql, struct error *err);
	enum status (*statement_open_once)(
		struct statement *out, struct store_reader *on, struct span sql, struct error *err);
	void (*statement_done)(struct statement *s); /* of one that is open */
	enum status (*statement_step)(struct statement *s, bool *has_row, struct error *err);
	enum status (*statement_run)(struct statement *s, struct error *err);
	void (*statement_again)(struct statement *s); /* its first parameter is the next one already */
	bool (*statement_is_conflict)(const struct statement *s);
	int (*statement_parameters)(const struct statement *s);
	int (*statement_columns)(const struct statement *s);
	/* s->parameter is the one to bind */
	void (*bind_i64)(struct statement *s, int64_t value);
	void (*bind_text)(struct statement *s, struct span text); /* ptr is never NULL */
	void (*bind_blob)(struct statement *s, struct span bytes); /* the same */
	void (*bind_null)(struct statement *s);
	void (*bind_finite)(struct statement *s, double value);
	void (*bind_pointer)(struct statement *s, const char *predicate, const void *pointer);
	/* s->column is the one to read; the first three move it on, which costs less there than here */
	int64_t (*column_i64)(struct statement *s);
	double (*column_finite)(struct statement *s);
	struct span (*column_borrow)(struct statement *s);
	enum column_kind (*column_kind)(const struct statement *s);
	const char *(*column_name)(const struct statement *s);

	/* ---- connections ---- */
	enum status (*run)(struct store_reader *on, const char *sql, struct error *err);
	void (*rollback)(struct store_reader *on);
	/* Both NULL: its SQL cannot ask us of a row. */
	void (*interrupt)(struct store_reader *on);
	enum status (*add_predicates)(struct store_reader *on, const struct predicate *predicates, size_t count);
	enum status (*reader_new)(struct store_reader **out, struct store *store, bool is_narrow, struct error *err);
	enum status (*narrow_to)(struct store_reader *on, struct error *err); /* on->team has changed */
	void (*reader_free)(struct store_reader *on);
	/* The view is taken when this returns, not at the first read. */
	enum status (*view_begin)(struct store_reader *on, struct error *err);
	/* All three NULL: what is asked is answered at once. */
	bool (*ahead_begin)(struct store_reader *on, enum ahead_mode mode);
	enum status (*ahead_end)(struct store_reader *on, struct error *err);
	void (*ahead_drop)(struct store_reader *on);

	bool (*view_is_lost)(const struct store_reader *on); /* NULL: no view of its is lost before its end */

	/* ---- the writer's transaction; what is left after an error is for rollback ---- */
	enum status (*tx_begin)(struct store *store, struct error *err);
	enum status (*tx_commit)(struct store *store, struct error *err);
	enum status (*tx_savepoint)(struct store *store, struct error *err);
	enum status (*tx_release)(struct store *store, struct error *err); /* of the newest; undo follows a failure */
	void (*tx_undo)(struct store *store); /* the same */
	enum status (*tx_changed_rows)(struct store *store, size_t *rows, struct error *err);

	/* As connection.h says; NULL: a record is one row, which is deleted. */
	enum status (*journal_place)(struct store_tx *tx, uint64_t bytes, struct journal_place *out, struct error *err);

	/* ---- the whole database ---- */
	const char *schema_sql; /* gives the name that its tables' names may have before them */
	const char *narrow_team_sql; /* on a narrow connection: the team, within a statement */
	/* Gives (table, column, place in the key from 1 or 0), in the order of tables and of their columns. */
	const char *tables_sql;
	const char *has_table_sql; /* a row, if there is one of the name that is bound */
	/* As connection.h says: */
	enum status (*check_schema)(struct store_reader *reader, struct buf *problem, struct error *err);
	enum status (*check_pages)(struct store_reader *reader, bool is_quick, bool is_online,
		bool (*tell)(void *context, struct span text), void *context, struct error *err);
	bool can_shrink;
	void (*close)(struct store *store); /* frees it, its writer, too */
	enum status (*look)(struct store *store, struct error *err);
	enum status (*may_write)(const struct store *store, struct error *err); /* NULL: whoever has opened it may */
	enum status (*checkpoint)(struct store *store, bool is_idle, struct error *err);
	enum status (*figures)(struct store_reader *on, struct store_figures *out, struct error *err);
	enum status (*vacuum)(struct store *store, size_t pages, uint64_t *left, struct error *err);
	uint64_t (*owed_bytes)(const struct store *store);
	enum status (*disk_room)(
		const struct store *store, uint64_t *free_bytes, uint64_t *size_bytes, struct error *err);
};

enum { READ_LIMIT_MS = 5000, TEAM_MAX_BYTES = 63 };

/* A connection: the writer's, too, whose reads see its own transaction. */
struct store_reader {
	const struct driver *driver;
	struct store *store; /* NULL: of a file alone, or the writer: what a search needs is read for it alone */
	bool is_writer;
	bool is_narrow; /* its statements are asked of the views that narrow.h makes */
	char team[TEAM_MAX_BYTES + 1]; /* of a narrow one; "": nothing is seen */
	bool is_team_untold; /* the database may know another one */
	bool is_in_snapshot; /* between begin and end; of the writer: within a transaction */
	bool has_deadline; /* stated by store_reader_deadline */
	int64_t deadline_ms; /* monotonic; 0: none */
	struct error failure; /* what ended the transaction before its commit; the writer's only */
};

struct store_tx {
	struct store *store;
	int savepoints;
	int64_t search_version; /* 0: nothing that a search may find has changed yet */
};

enum { COUNTERS_MAX = 8 };

/* Where one of the table `counters` stands in the writer's transaction, which alone moves it on. */
struct counter {
	const char *name; /* NULL: of none */
	int64_t last;
};

struct store {
	const struct driver *driver;
	_Atomic int64_t listens_since_ms;
	struct job_changes *changes; /* the opener's, as is: */
	struct search_cache *search;
	struct store_reader *writer;
	struct store_tx tx; /* at most one */
	bool has_tx;
	struct counter counters[COUNTERS_MAX]; /* forgotten with whatever is undone */
};

/* Before a statement outside of a view: it has a time of its own. */
void connection_renew_deadline(struct store_reader *on);
