/*
 * Job: what the files of this folder share: a connection with its statements, and what it has asked and not yet been answered.
 * Ownership: a connection owns its statements; rows are the statement's. Threads: a connection belongs to one thread at a time.
 *
 * A connection is always in libpq's pipeline mode. What is sent is a queue of commands, counted from 1: `sent` of them, the first
 * `answered` of which have been answered. Statements of a transaction that give nothing back are sent and met later ("deferred");
 * a statement that gives rows is the last of the queue, with a Sync behind it, and its answers are read when the caller asks for
 * them. So there is never more than one statement being read, nor more than one Sync.
 */
#pragma once

#include "store/driver/driver.h"
#include "store/postgres/libpq.h"
#include "store/postgres/postgres.h"

enum {
	POSTGRES_SLOTS = 512,
	SAVEPOINTS_MAX = 16,
	SQLSTATE_BYTES = 6,
	NAME_BYTES = 24,
	NUMBER_BYTES = 32,
	JOURNAL_SLOTS = 4, /* as the migration made */
	JOURNAL_PART_BYTES = 512 << 10,
	WARNING_BYTES = 200,
};

/* Of pg_type.dat, for ever the same. */
enum {
	OID_BOOL = 16,
	OID_BYTEA = 17,
	OID_INT8 = 20,
	OID_INT2 = 21,
	OID_INT4 = 23,
	OID_INT8_ARRAY = 1016,
	OID_TEXT = 25,
	OID_FLOAT4 = 700,
	OID_FLOAT8 = 701,
	OID_NUMERIC = 1700,
};

/* Rows that came while another statement wanted the connection. */
struct kept_rows {
	PGresult **rows;
	size_t count, cap, next, bytes;
};

struct postgres_statement {
	const char *literal; /* whose slot it is in; NULL: of one use */
	char *sql; /* as PostgreSQL spells it */
	char name[NAME_BYTES]; /* of it prepared on this connection; "": it is not */
	uint64_t prepared_at; /* the command that did */
	bool is_open;
	bool is_sent;
	bool is_over; /* all its rows came, or never will */
	char sqlstate[SQLSTATE_BYTES]; /* why it failed */
	PGresult *row; /* the present one, or the end, which knows the columns, too */
	int row_at; /* which row of `row` */
	bool is_ahead; /* `row` is an answer that came ahead, and not its own: its rows up to row_end are */
	bool is_joined; /* with a column behind its own */
	int row_end;
	struct kept_rows kept;
	struct postgres_statement *joined; /* of many of it; NULL: there was none yet */
	char number[NUMBER_BYTES]; /* a number that is read as text */
	/* The parameters: */
	int count;
	Oid *bound; /* 0: NULL, which is of any type */
	Oid *declared; /* as it is prepared */
	const char **values;
	int *lengths;
	int *formats; /* all binary */
	uint64_t *numbers; /* in the order of the network */
};

/* A statement whose rows are wanted later. */
struct asked {
	const char *literal;
	struct buf values; /* that were bound, with their lengths and types */
	bool is_waiting; /* to be sent at the round's end */
	size_t answer; /* which, from 1; 0: it was not sent */
	int number; /* of those in a joined one, from 1 */
	int first, count; /* its rows in the answer */
};

/* What came for a statement that was sent before its rows were wanted. */
struct answer {
	uint64_t command;
	PGresult *rows; /* NULL: it has not come, failed, or was too large */
	bool is_joined; /* of several that asked; the last column is the number of each */
	int next; /* the first row that is nobody's yet */
};

struct ahead {
	struct asked *items;
	struct answer *answers; /* by command */
	size_t count, cap, bytes, answer_count, answer_cap;
	size_t answered; /* the first so many have been, or will never be */
	size_t shared, answers_shared; /* of earlier rounds */
	size_t next; /* where the next one is most likely */
	bool is_asking;
	enum ahead_mode mode;
};

struct postgres_reader {
	struct store_reader head;
	const struct libpq *pq;
	const struct postgres_target *target;
	PGconn *conn; /* NULL: lost; made anew for the next view, transaction or lone statement */
	int64_t until_ms; /* of the present wait */
	uint64_t sent, answered;
	bool is_synced; /* a Sync is behind the last command */
	bool is_left; /* the last command is a ROLLBACK whose answer nobody waited for */
	uint64_t failed_at; /* the command that failed since the view, transaction or lone statement began; 0: none */
	char failed_sqlstate[SQLSTATE_BYTES]; /* why; "": the connection was lost */
	bool is_failed_late; /* and its statement had said OK */
	size_t changed; /* rows, by the last command that writes */
	bool is_committed; /* the last command was a COMMIT that did */
	char warning[WARNING_BYTES]; /* what the server warned of during the present command; "": of nothing */
	bool is_warned; /* the last command was */
	unsigned named; /* statements so far: each has a name of its own */
	unsigned careful; /* so many transactions to come defer nothing */
	bool defers; /* this one does */
	struct postgres_statement *reading; /* whose rows come */
	struct ahead ahead;
	int savepoint_count;
	uint64_t savepoints[SAVEPOINTS_MAX]; /* the commands that made them */
	size_t statement_count;
	struct postgres_statement *statements[POSTGRES_SLOTS];
};

/* By which the writer commits; see fence.c. */
struct postgres_fence {
	int64_t token; /* 0: nobody owns the schema, and nothing is checked */
	int64_t epoch; /* of the writer's connection: one that was lost within its COMMIT is of an earlier one */
	int64_t commit; /* the newest that was tried */
	bool is_in_doubt; /* whether that one did is not known */
	_Atomic int64_t owned_until_ms; /* monotonic: no commit after it; the lease moves it on */
	_Atomic bool is_foreign; /* another server has the schema, for good */
	_Atomic bool is_torn; /* what was said to have failed is in the database: only a start reads what is there */
};

/* Which of the journal's slots is written to, and which are to be emptied; see ring.c. The writer's thread alone. */
struct postgres_ring {
	bool is_known; /* what is in the database */
	bool truncates; /* the role may; else all is in one slot, whose rows are deleted */
	int slot;
	uint64_t slot_bytes; /* at least what is in it */
	uint64_t slot_limit_bytes; /* then the next one is taken, if it is empty */
	bool holds[JOURNAL_SLOTS];
	int trimmed_slot; /* all that it holds was trimmed, -1: of none is that known */
	struct buf views; /* the transactions that there were then, which may look for it */
	int64_t next_ms; /* monotonic: nothing is tried before */
};

struct postgres_keeper;

/* What all connections of a store have in common. */
struct postgres_target {
	char *conninfo; /* never printed */
	char *label; /* what may be printed of it */
	char *schema;
	int64_t write_limit_ms, statement_limit_ms;
	int connect_limit_s;
};

struct postgres_store {
	struct store head;
	const struct libpq *pq;
	struct postgres_target target;
	struct postgres_fence fence;
	struct postgres_ring ring;
	struct postgres_keeper *keeper; /* NULL: who opened it sees to the lease, if there is one */
};

static inline struct postgres_reader *postgres_reader_of(struct store_reader *on)
{
	return (struct postgres_reader *)on;
}

static inline struct postgres_store *postgres_store_of(struct store *store)
{
	return (struct postgres_store *)store;
}

static inline struct postgres_statement *statement_of(const struct statement *s)
{
	return s->prepared;
}

/* ---- address.c ---- */
/* Of a conninfo without a password, for the caller to free. ERR_INVALID: it has one, or libpq does not take it. */
enum status postgres_label(const struct libpq *pq, const char *conninfo, char **out, struct error *err) MUST_CHECK;

/* ---- connection.c ---- */
/* Connects where the connection is lost. Not within a view or a transaction, which do not outlive theirs. */
enum status postgres_connect(struct postgres_reader *on, struct error *err) MUST_CHECK;
void postgres_disconnect(struct postgres_reader *on);
/* Notices that the server has closed it; asks nothing. */
void postgres_look(struct postgres_reader *on);
enum postgres_use { POSTGRES_READER, POSTGRES_NARROW, POSTGRES_WRITER };
enum status postgres_reader_open(
	struct store_reader **out, struct postgres_store *store, enum postgres_use use, struct error *err) MUST_CHECK;
/* on->team is what the session is told. */
enum status postgres_narrow_to(struct store_reader *on, struct error *err) MUST_CHECK;
void postgres_reader_free(struct store_reader *reader);

/* ---- check.c ---- */
enum status postgres_check_schema(struct store_reader *reader, struct buf *problem, struct error *err) MUST_CHECK;
enum status postgres_check_pages(struct store_reader *reader, bool is_quick, bool is_online,
	bool (*tell)(void *context, struct span text), void *context, struct error *err) MUST_CHECK;

/* ---- migrate.c ---- */
/* 0: there is nothing yet. */
enum status postgres_read_version(struct store_reader *on, int64_t *version, struct error *err) MUST_CHECK;

/* ---- fence.c ---- */
/* Before a transaction: the schema is ours, and what was in doubt is not any more. */
enum status fence_check(struct postgres_store *store, struct error *err) MUST_CHECK;
/* Sent before COMMIT; fails in the server where the token is not ours. */
enum status fence_defer(struct postgres_store *store, struct error *err) MUST_CHECK;
/* The commit failed by `err` alone, or by the fence, or is in doubt: OK, if it did. */
enum status fence_settle(struct postgres_store *store, bool is_fence, struct error *err) MUST_CHECK;
/* Of the whole store: OK, or why nothing is written any more. */
enum status fence_look(struct store *store, struct error *err) MUST_CHECK;
/* ERR_UNAVAILABLE: it does not, or not at present, for want of a renewal. Any thread. */
enum status fence_may_write(const struct store *store, struct error *err) MUST_CHECK;

/* ---- keeper.c ---- */
/* Takes the lease, waiting for it as the ownership says, and keeps it until the store is closed. */
enum status postgres_keeper_start(
	struct store *store, const struct store_ownership *ownership, struct error *err) MUST_CHECK;
void postgres_keeper_stop(struct postgres_keeper *keeper); /* gives the lease back; frees */

/* ---- ring.c ---- */
enum status postgres_journal_place(
	struct store_tx *tx, uint64_t bytes, struct journal_place *out, struct error *err) MUST_CHECK;
/* Between transactions: a step towards the next empty slot. */
enum status postgres_ring_turn(struct store *store, struct error *err) MUST_CHECK;
void postgres_ring_done(struct postgres_ring *ring);

/* ---- failure.c ---- */
enum { RETRY_AFTER_S = 10 };
/* What the server said, or NULL: what libpq says of the connection, which is closed then. */
enum status postgres_failure(struct postgres_reader *on, const PGresult *result, struct error *err);

/* ---- pipeline.c ---- */
/* Before a command: ends one that is being read, by keeping the rest of its rows. */
enum status pipeline_prepare(struct postgres_reader *on, struct error *err) MUST_CHECK;
/* After a call of libpq that sends a command; `is_sent` is what it returned. */
enum status pipeline_sent(struct postgres_reader *on, bool is_sent, struct error *err) MUST_CHECK;
/* A command that takes no values and gives no rows. Its failure is met later. */
enum status pipeline_defer(struct postgres_reader *on, const char *sql, struct error *err) MUST_CHECK;
/* The command that was sent last is such a one. */
enum status pipeline_deferred(struct postgres_reader *on, struct error *err) MUST_CHECK;
/* Everything is on its way, and its answers are for whoever comes next; false: they must be waited for. */
bool pipeline_leave(struct postgres_reader *on);
/* Reads all answers. The first failure since failed_at was 0. */
enum status pipeline_settle(struct postgres_reader *on, struct error *err) MUST_CHECK;
/* All that the server says of the first command without an answer; a failure of its own is no error yet. */
enum status pipeline_skip(struct postgres_reader *on, struct error *err) MUST_CHECK;
/* The last command's rows are wanted: Sync, and the answers of those before. */
enum status pipeline_read(
	struct postgres_reader *on, struct postgres_statement *statement, struct error *err) MUST_CHECK;
/* Into statement->row. */
enum status pipeline_next(
	struct postgres_reader *on, struct postgres_statement *statement, bool *has_row, struct error *err) MUST_CHECK;
/* Its rows are not wanted any more. */
void pipeline_drop(struct postgres_reader *on, struct postgres_statement *statement);
/* The next result of the server, NULL at a command's end, within until_ms. */
enum status pipeline_result(struct postgres_reader *on, PGresult **out, struct error *err) MUST_CHECK;
void pipeline_start_wait(struct postgres_reader *on);

/* ---- ahead.c ---- */
bool ahead_begin(struct store_reader *on, enum ahead_mode mode);
enum status ahead_end(struct store_reader *on, struct error *err) MUST_CHECK;
void ahead_drop(struct store_reader *on);
/* While it asks: for what is no look-up. */
enum status ahead_refuses(const struct postgres_reader *on, struct error *err) MUST_CHECK;
/* True: the statement's rows are now what came for it with the values that are bound. */
bool ahead_find(struct postgres_reader *on, struct postgres_statement *statement);
enum ahead_place { AHEAD_NOT_ASKED, AHEAD_WAITS, AHEAD_IS_SENT };
/* AHEAD_IS_SENT: the caller sends it next. */
enum ahead_place ahead_note(struct postgres_reader *on, const struct postgres_statement *statement);
/* The last command was of those: where its answer will be, from 1; 0: nowhere, for want of memory. */
size_t ahead_sent(struct postgres_reader *on, bool is_joined);
/* Of the first command without an answer; true: it was asked ahead, and the result is taken. */
bool ahead_keep(struct postgres_reader *on, PGresult *result);

/* ---- joined.c ---- */
bool joined_may_hold(const struct postgres_statement *statement);
/* Sends what waits. */
enum status joined_send(struct postgres_reader *on, struct error *err) MUST_CHECK;
/* In the order in which they were asked: those of the next rows that are for it. */
void joined_take(const struct libpq *pq, struct asked *asked, struct answer *answer);
/* When all have taken theirs. */
void joined_check(const struct libpq *pq, struct answer *answer);

/* ---- statement.c ---- */
extern const struct driver postgres_driver;
bool postgres_view_is_lost(const struct store_reader *on);
/* It may begin a command: within a view or transaction that is whole, else on a connection that is there. */
enum status postgres_check_usable(struct postgres_reader *on, struct error *err) MUST_CHECK;
void postgres_statement_free(const struct libpq *pq, struct postgres_statement *statement);
/* Of that literal; NULL: it has not been opened yet. */
struct postgres_statement *postgres_statement_kept(struct postgres_reader *on, const char *literal);
/* One more, of a text in PostgreSQL's spelling; the connection's. NULL: no room, or no memory. */
struct postgres_statement *postgres_statement_keep(struct postgres_reader *on, const char *sql, int parameters);
/* With what is bound. */
enum status postgres_statement_send(
	struct postgres_reader *on, struct postgres_statement *statement, struct error *err) MUST_CHECK;
void postgres_statement_unbind(struct postgres_statement *statement);
enum status postgres_statement_open(
	struct statement *out, struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
enum status postgres_statement_open_once(
	struct statement *out, struct store_reader *on, struct span sql, struct error *err) MUST_CHECK;
void postgres_statement_done(struct statement *s);
enum status postgres_statement_step(struct statement *s, bool *has_row, struct error *err) MUST_CHECK;
enum status postgres_statement_run(struct statement *s, struct error *err) MUST_CHECK;
void postgres_statement_again(struct statement *s);
bool postgres_statement_is_conflict(const struct statement *s);
int postgres_statement_parameters(const struct statement *s);

/* ---- value.c ---- */
/* Why a value could not be bound. */
enum status postgres_bind_failure(const struct statement *s, struct error *err) MUST_CHECK;
void postgres_bind_i64(struct statement *s, int64_t value);
void postgres_bind_text(struct statement *s, struct span text);
void postgres_bind_blob(struct statement *s, struct span bytes);
void postgres_bind_null(struct statement *s);
void postgres_bind_finite(struct statement *s, double value);
void postgres_bind_pointer(struct statement *s, const char *predicate, const void *pointer);
int postgres_statement_columns(const struct statement *s);
int64_t postgres_column_i64(struct statement *s);
double postgres_column_finite(struct statement *s);
struct span postgres_column_borrow(struct statement *s);
enum column_kind postgres_column_kind(const struct statement *s);
const char *postgres_column_name(const struct statement *s);

/* ---- tx.c ---- */
enum status postgres_run(struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
void postgres_rollback(struct store_reader *on);
/* Before anything that is outside of the view that was left. */
void postgres_meet_rollback(struct postgres_reader *on);
enum status postgres_view_begin(struct store_reader *on, struct error *err) MUST_CHECK;
enum status postgres_tx_begin(struct store *store, struct error *err) MUST_CHECK;
enum status postgres_tx_commit(struct store *store, struct error *err) MUST_CHECK;
enum status postgres_tx_savepoint(struct store *store, struct error *err) MUST_CHECK;
enum status postgres_tx_release(struct store *store, struct error *err) MUST_CHECK;
void postgres_tx_undo(struct store *store);
enum status postgres_tx_changed_rows(struct store *store, size_t *rows, struct error *err) MUST_CHECK;
