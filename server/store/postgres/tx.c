/*
 * Views and the writer's transaction. What fails late, when its item is over, ends the transaction as a whole: the writer then
 * tries each item alone, and the driver defers nothing for as many transactions as that can be, so that each item hears its own error.
 */
#include "store/postgres/postgres_store.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
	CAREFUL_TRANSACTIONS = 4096, /* as many items as the writer takes into one transaction */
	SAVEPOINT_BYTES = 32,
};

enum status postgres_run(struct store_reader *reader, const char *sql, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(reader);

	TRY(ahead_refuses(on, err));
	TRY(postgres_check_usable(on, err));
	TRY(pipeline_settle(on, err));
	pipeline_start_wait(on);
	/* Several statements at once are of the simple protocol, which a pipeline has no place for. */
	if (!on->pq->PQexitPipelineMode(on->conn) || !on->pq->PQsendQuery(on->conn, sql))
		return pipeline_sent(on, false, err);
	on->sent++;
	TRY(pipeline_skip(on, err));
	if (on->conn && !on->pq->PQenterPipelineMode(on->conn))
		return pipeline_sent(on, false, err);
	return pipeline_settle(on, err);
}

static void end_rollback(struct postgres_reader *on)
{
	(void)!pipeline_settle(on, NULL);
	/* Whatever it is in: the server ends it with the connection. */
	if (on->conn && on->pq->PQtransactionStatus(on->conn) != PQTRANS_IDLE)
		postgres_disconnect(on);
	on->failed_at = 0;
	on->savepoint_count = 0;
}

void postgres_rollback(struct store_reader *reader)
{
	struct postgres_reader *on = postgres_reader_of(reader);

	ahead_drop(reader);
	(void)!pipeline_settle(on, NULL);
	bool is_begun = on->conn && on->pq->PQtransactionStatus(on->conn) != PQTRANS_IDLE;
	if (is_begun && pipeline_defer(on, "ROLLBACK", NULL) == OK && !reader->is_writer && pipeline_leave(on))
		return; /* nothing comes of it but that it is over: who asks next hears that */
	end_rollback(on);
}

void postgres_meet_rollback(struct postgres_reader *on)
{
	if (on->is_left)
		end_rollback(on);
	on->is_left = false;
}

static enum status begin(struct postgres_reader *on, const char *sql, struct error *err)
{
	postgres_meet_rollback(on);
	on->failed_at = 0;
	on->is_failed_late = false;
	on->savepoint_count = 0;
	ahead_drop(&on->head); /* of another view */
	postgres_look(on);
	TRY(postgres_connect(on, err));
	return pipeline_defer(on, sql, err);
}

enum status postgres_view_begin(struct store_reader *reader, struct error *err)
{
	AUTO_DONE(statement) first = {0};

	TRY(begin(postgres_reader_of(reader), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err));
	/* BEGIN alone takes no view: the first read would, later than the caller thinks. */
	TRY(statement_open(&first, reader, "SELECT 1", err));
	return statement_run(&first, err);
}

bool postgres_view_is_lost(const struct store_reader *reader)
{
	return ((const struct postgres_reader *)reader)->failed_at != 0;
}

enum status postgres_tx_begin(struct store *store, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->writer);

	TRY(fence_check(postgres_store_of(store), err));
	on->defers = !on->careful;
	on->careful -= on->careful > 0;
	return begin(on, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", err);
}

static enum status give_up(struct postgres_reader *on, struct error *err)
{
	enum status status = on->head.failure.status;

	/* What has nothing to do with any item, the writer does not try again by items. */
	if (on->is_failed_late && status != ERR_UNAVAILABLE && status != ERR_IO)
		on->careful = CAREFUL_TRANSACTIONS;
	if (err)
		*err = on->head.failure;
	return status;
}

/* The server has said COMMIT, and warned of nothing: a wait for the standby that was cut short is such a warning. */
static enum status check_commit(struct postgres_store *store, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->head.writer);

	if (!on->is_committed)
		return error_set(err, ERR_INTERNAL, "the database did not commit, and did not say why");
	if (!on->is_warned)
		return OK;
	atomic_store(&store->fence.is_torn, true); /* it is there, and may go with a take-over */
	error_set(err, ERR_UNAVAILABLE, "database '%s' warned of its commit, which may not be on the standby: %s",
		store->target.label, on->warning);
	if (err)
		err->retry_after_s = RETRY_AFTER_S;
	return ERR_UNAVAILABLE;
}

enum status postgres_tx_commit(struct store *store, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->writer);

	if (on->failed_at)
		return give_up(on, err);
	on->is_committed = on->is_warned = false;
	on->warning[0] = '\0';
	uint64_t before = on->sent;
	TRY(fence_defer(postgres_store_of(store), err));
	uint64_t fence = on->sent;
	enum status status = pipeline_defer(on, "COMMIT", err);
	status = status == OK ? pipeline_settle(on, err) : status;
	if (status == OK)
		return check_commit(postgres_store_of(store), err);
	(void)!give_up(on, err);
	return fence_settle(postgres_store_of(store), on->failed_at > before && on->failed_at <= fence, err);
}

/* Each depth has a name of its own: one whose end the server passed over is never taken for one around it. */
static enum status defer_savepoint(struct postgres_reader *on, const char *verb, int depth, struct error *err)
{
	char sql[SAVEPOINT_BYTES];

	snprintf(sql, sizeof sql, "%s slice%d", verb, depth);
	return pipeline_defer(on, sql, err);
}

enum status postgres_tx_savepoint(struct store *store, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->writer);

	TRY(postgres_check_usable(on, err));
	if (on->savepoint_count == SAVEPOINTS_MAX)
		return error_set(err, ERR_INTERNAL, "savepoints are nested more than %d deep", SAVEPOINTS_MAX);
	TRY(defer_savepoint(on, "SAVEPOINT", on->savepoint_count + 1, err));
	on->savepoints[on->savepoint_count++] = on->sent;
	return OK;
}

enum status postgres_tx_release(struct store *store, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->writer);

	TRY(postgres_check_usable(on, err));
	/* What failed in a nested one is that one's alone, and so is heard with it. An item's is heard with the whole group. */
	if (on->savepoint_count > 1)
		TRY(pipeline_settle(on, err));
	TRY(defer_savepoint(on, "RELEASE", on->savepoint_count, err));
	on->savepoint_count--;
	return OK;
}

void postgres_tx_undo(struct store *store)
{
	struct postgres_reader *on = postgres_reader_of(store->writer);
	int depth = on->savepoint_count--;
	uint64_t made_at = on->savepoints[depth - 1];

	(void)!pipeline_settle(on, NULL);
	/* What failed before it is not undone by it: the transaction stays failed, and its commit says why. */
	if (!on->conn || (on->failed_at && on->failed_at <= made_at))
		return;
	on->failed_at = 0;
	on->is_failed_late = false;
	if (defer_savepoint(on, "ROLLBACK TO", depth, NULL) == OK)
		(void)!defer_savepoint(on, "RELEASE", depth, NULL);
}

enum status postgres_tx_changed_rows(struct store *store, size_t *rows, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->writer);

	TRY(pipeline_settle(on, err));
	*rows = on->changed;
	return OK;
}
