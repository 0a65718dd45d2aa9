/*
 * The fence: one row of the schema, which each commit of the owner writes in its own transaction. Whoever takes the schema over
 * changes the row's token first; a commit of the old owner then fails in the server, however late it comes.
 *
 * A commit whose connection was lost may have been done or not. To know, the writer changes the row's epoch by another connection:
 * that waits for the old transaction, which holds the row, or makes it fail, if its COMMIT has not come so far. Then the row says
 * which commit was the last.
 */
#include "base/clock.h"
#include "store/postgres/postgres_store.h"

#include <poll.h>
#include <stdatomic.h>

enum { DOUBT_LIMIT_MS = 5000, AGAIN_MS = 50 };

static const char DIVISION_BY_ZERO[] = "22012";

/* Nothing to divide by: no row has our token. */
static const char CHECK[] =
	"WITH f AS (UPDATE fence SET last_commit = ? WHERE token = ? AND epoch = ? RETURNING 1) SELECT 1 / count(*) FROM f";

static enum status look(const struct postgres_store *store, struct error *err)
{
	const struct postgres_fence *fence = &store->fence;
	bool is_foreign = atomic_load(&fence->is_foreign);

	if (!is_foreign && !atomic_load(&fence->is_torn))
		return OK;
	error_set(err, ERR_UNAVAILABLE,
		"the database '%s' %s: nothing is stored any more until the server is started again",
		store->target.label,
		is_foreign ? "was taken over by another server" : "holds what was said to have failed");
	if (err)
		err->retry_after_s = RETRY_AFTER_S;
	return ERR_UNAVAILABLE;
}

enum status fence_look(struct store *store, struct error *err)
{
	return look(postgres_store_of(store), err);
}

/* ERR_UNAVAILABLE: it is not known yet. */
static enum status ask(struct postgres_store *store, bool *did, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct postgres_fence *fence = &store->fence;
	struct postgres_reader *on = postgres_reader_of(store->head.writer);
	int64_t epoch, last_commit;
	bool has_row, has_more;

	TRY(statement_open(&s, store->head.writer,
		"UPDATE fence SET epoch = epoch + 1 WHERE token = ? RETURNING epoch, last_commit", err));
	bind_i64(&s, fence->token);
	on->warning[0] = '\0';
	TRY(statement_step(&s, &has_row, err));
	if (!has_row) {
		fence->is_in_doubt = false;
		atomic_store(&fence->is_foreign, true);
		return fence_look(&store->head, err);
	}
	epoch = column_i64(&s);
	last_commit = column_i64(&s);
	TRY(statement_step(&s, &has_more, err)); /* the change is done with its end, not with its row */
	fence->is_in_doubt = false;
	fence->epoch = epoch;
	/*
	 * Neither its own commit nor the one asked for may be on the standby. The server warns behind the statement's end, of which
	 * libpq tells us before or after.
	 */
	if (on->is_warned || on->warning[0]) {
		atomic_store(&fence->is_torn, true);
		return fence_look(&store->head, err);
	}
	*did = last_commit == fence->commit;
	return OK;
}

/* Outside of the transaction, which is over whatever it was. */
static enum status resolve(struct postgres_store *store, bool *did, struct error *err)
{
	store->head.writer->is_in_snapshot = false;
	return ask(store, did, err);
}

enum status fence_may_write(const struct store *asked, struct error *err)
{
	const struct postgres_store *store = (const struct postgres_store *)asked;
	const struct postgres_fence *fence = &store->fence;

	TRY(look(store, err));
	if (!fence->token || clock_mono_ms() <= atomic_load(&fence->owned_until_ms))
		return OK;
	error_set(err, ERR_UNAVAILABLE, "the lease of the database '%s' was not renewed in time", store->target.label);
	if (err)
		err->retry_after_s = 1;
	return ERR_UNAVAILABLE;
}

enum status fence_check(struct postgres_store *store, struct error *err)
{
	struct postgres_fence *fence = &store->fence;
	bool did = false;

	TRY(fence_may_write(&store->head, err));
	if (!fence->is_in_doubt)
		return OK;
	TRY(resolve(store, &did, err));
	atomic_store(&fence->is_torn, did); /* its senders were told that it failed */
	return fence_look(&store->head, err);
}

enum status fence_defer(struct postgres_store *store, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct postgres_fence *fence = &store->fence;

	if (!fence->token)
		return OK;
	postgres_reader_of(store->head.writer)->defers = true;
	TRY(statement_open(&s, store->head.writer, CHECK, err));
	bind_numbers(&s, ++fence->commit, fence->token, fence->epoch);
	return statement_run(&s, err);
}

enum status fence_settle(struct postgres_store *store, bool is_fence, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(store->head.writer);
	struct postgres_fence *fence = &store->fence;
	enum status failure = on->head.failure.status;
	int64_t until_ms = clock_mono_ms() + DOUBT_LIMIT_MS;
	bool did = false;

	if (!fence->token)
		return failure;
	if (is_fence && strcmp(on->failed_sqlstate, DIVISION_BY_ZERO) == 0) {
		atomic_store(&fence->is_foreign, true);
		return fence_look(&store->head, err);
	}
	if (on->conn)
		return failure;
	fence->is_in_doubt = true;
	while (fence->is_in_doubt && clock_mono_ms() < until_ms)
		if (resolve(store, &did, NULL) != OK && fence->is_in_doubt)
			poll(NULL, 0, AGAIN_MS); /* the server may be starting */
	return did ? OK : failure;
}
