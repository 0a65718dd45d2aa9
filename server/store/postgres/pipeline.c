/* Commands out, answers in, none of them for longer than it may take. */
#include "base/clock.h"
#include "store/postgres/postgres_store.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

enum {
	DEFERRED_MAX =
		1024, /* commands without an answer: what the server says of them must fit into the sockets' buffers */
	KEPT_BYTES_MAX = 64 << 20,
	LATE_RETRY_S = 10,
};

void pipeline_start_wait(struct postgres_reader *on)
{
	on->until_ms = on->head.deadline_ms ? on->head.deadline_ms : clock_mono_ms() + on->target->statement_limit_ms;
}

/* Whatever the server is at: it is not waited for, and its connection is of no more use. */
static enum status late(struct postgres_reader *on, struct error *err)
{
	error_set(err, ERR_UNAVAILABLE,
		on->head.is_writer ? "the database did not answer in time; whether this was stored is not known"
				   : "reading the database took longer than it may");
	if (err && on->head.is_writer)
		err->retry_after_s = LATE_RETRY_S;
	postgres_disconnect(on);
	return ERR_UNAVAILABLE;
}

static enum status wait_socket(struct postgres_reader *on, bool has_unsent, struct error *err)
{
	int64_t left_ms = on->until_ms - clock_mono_ms();
	struct pollfd socket = {
		.fd = on->pq->PQsocket(on->conn), .events = (short)(POLLIN | (has_unsent ? POLLOUT : 0))};

	if (left_ms <= 0)
		return late(on, err);
	if (socket.fd < 0)
		return postgres_failure(on, NULL, err);
	if (poll(&socket, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) >= 0 || errno == EINTR)
		return OK;
	enum status status = error_set(err, ERR_IO, "cannot wait for the database: %s", strerror(errno));
	postgres_disconnect(on); /* its answers would be taken for those to what is asked next */
	return status;
}

enum status pipeline_result(struct postgres_reader *on, PGresult **out, struct error *err)
{
	int unsent = 0;

	while ((unsent = on->pq->PQflush(on->conn)) >= 0 && on->pq->PQisBusy(on->conn)) {
		TRY(wait_socket(on, unsent > 0, err));
		if (!on->pq->PQconsumeInput(on->conn))
			return postgres_failure(on, NULL, err);
	}
	if (unsent < 0)
		return postgres_failure(on, NULL, err);
	*out = on->pq->PQgetResult(on->conn);
	return OK;
}

/* ---- answers ---- */

/* Those that were to be prepared behind the command that failed were passed over. */
static void forget_prepared(struct postgres_reader *on)
{
	for (size_t i = 0; i < POSTGRES_SLOTS; i++)
		if (on->statements[i] && on->statements[i]->prepared_at >= on->failed_at)
			on->statements[i]->name[0] = '\0';
}

/* "" where libpq made the result itself. */
static void copy_sqlstate(struct postgres_reader *on, const PGresult *result, char *to)
{
	const char *sqlstate = on->pq->PQresultErrorField(result, PG_DIAG_SQLSTATE);
	size_t len = sqlstate ? strlen(sqlstate) : 0;

	if (len < SQLSTATE_BYTES)
		memcpy(to, len ? sqlstate : "", len + 1);
}

static void note_failure(struct postgres_reader *on, const PGresult *result)
{
	struct error failure = {0};

	if (on->failed_at)
		return; /* the first is the cause */
	on->failed_at = on->answered + 1;
	copy_sqlstate(on, result, on->failed_sqlstate);
	postgres_failure(on, result, &failure);
	on->head.failure = failure;
	forget_prepared(on);
}

static void note_done(struct postgres_reader *on, PGresult *result)
{
	const char *tag = on->pq->PQcmdStatus(result);
	int64_t rows;

	on->is_committed = strcmp(tag, "COMMIT") == 0;
	on->is_warned = on->warning[0]; /* what a server says during a command comes before its end */
	if (!on->is_committed)
		on->warning[0] = '\0';
	if (strncmp(tag, "INSERT", 6) != 0 && strncmp(tag, "UPDATE", 6) != 0 && strncmp(tag, "DELETE", 6) != 0)
		return;
	if (span_parse_i64(span_from(on->pq->PQcmdTuples(result)), &rows))
		on->changed = (size_t)rows;
}

/* False: it is a row, and more may come. */
static bool note_result(struct postgres_reader *on, PGresult *result)
{
	switch (on->pq->PQresultStatus(result)) {
	case PGRES_SINGLE_TUPLE:
		return false;
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		note_done(on, result);
		return true;
	case PGRES_PIPELINE_ABORTED:
		return true; /* the command that failed has said why */
	default:
		note_failure(on, result);
		return true;
	}
}

enum status pipeline_skip(struct postgres_reader *on, struct error *err)
{
	for (;;) {
		PGresult *result = NULL;
		TRY(pipeline_result(on, &result, err));
		if (!result)
			break;
		note_result(on, result);
		if (!ahead_keep(on, result))
			on->pq->PQclear(result);
		if (!on->conn)
			return error_set(err, on->head.failure.status, "%s", on->head.failure.text);
	}
	on->answered++;
	return OK;
}

static enum status take_sync(struct postgres_reader *on, struct error *err)
{
	PGresult *result = NULL;

	TRY(pipeline_result(on, &result, err));
	bool is_sync = result && on->pq->PQresultStatus(result) == PGRES_PIPELINE_SYNC;
	on->pq->PQclear(result);
	if (!is_sync)
		return postgres_failure(on, NULL, err);
	on->is_synced = false;
	return OK;
}

static enum status give_failure(const struct postgres_reader *on, struct error *err)
{
	if (!on->failed_at)
		return OK;
	if (err)
		*err = on->head.failure;
	return on->head.failure.status;
}

static enum status put_sync(struct postgres_reader *on, struct error *err)
{
	if (on->is_synced)
		return OK;
	if (!on->pq->PQpipelineSync(on->conn))
		return postgres_failure(on, NULL, err);
	on->is_synced = true;
	return OK;
}

/* What ends the connection ends what was begun on it. */
static enum status keep_loss(struct postgres_reader *on, enum status status, struct error *err)
{
	struct error unknown = {0};

	if (status == OK)
		return OK;
	if (!err) {
		error_set(&unknown, status, "the connection to the database is lost");
		err = &unknown;
	}
	if (!on->failed_at) {
		on->failed_at = on->answered + 1;
		on->failed_sqlstate[0] = '\0';
		on->head.failure = *err;
	}
	return status;
}

static enum status settle(struct postgres_reader *on, struct error *err)
{
	TRY(pipeline_prepare(on, err));
	if (on->sent == on->answered && !on->is_synced)
		return OK;
	pipeline_start_wait(on);
	TRY(put_sync(on, err));
	while (on->answered < on->sent)
		TRY(pipeline_skip(on, err));
	return take_sync(on, err);
}

enum status pipeline_settle(struct postgres_reader *on, struct error *err)
{
	bool had_failed = on->failed_at;

	if (on->conn)
		TRY(keep_loss(on, settle(on, err), err));
	on->is_failed_late = on->is_failed_late || (on->failed_at && !had_failed);
	return give_failure(on, err);
}

/* ---- commands ---- */

enum status pipeline_sent(struct postgres_reader *on, bool is_sent, struct error *err)
{
	if (!is_sent)
		return keep_loss(on, postgres_failure(on, NULL, err), err);
	on->sent++;
	return OK;
}

enum status pipeline_defer(struct postgres_reader *on, const char *sql, struct error *err)
{
	TRY(pipeline_prepare(on, err));
	TRY(pipeline_sent(on, on->pq->PQsendQueryParams(on->conn, sql, 0, NULL, NULL, NULL, NULL, 1), err));
	return pipeline_deferred(on, err);
}

bool pipeline_leave(struct postgres_reader *on)
{
	on->is_left = put_sync(on, NULL) == OK && on->pq->PQflush(on->conn) == 0;
	return on->is_left;
}

enum status pipeline_deferred(struct postgres_reader *on, struct error *err)
{
	return on->sent - on->answered < DEFERRED_MAX ? OK : pipeline_settle(on, err);
}

enum status pipeline_read(struct postgres_reader *on, struct postgres_statement *statement, struct error *err)
{
	enum status status = put_sync(on, err);

	pipeline_start_wait(on);
	while (status == OK && on->answered + 1 < on->sent) {
		status = pipeline_skip(on, err);
		on->is_failed_late = on->is_failed_late || on->failed_at;
	}
	TRY(keep_loss(on, status, err));
	on->pq->PQsetSingleRowMode(on->conn); /* not where it will be passed over, because an earlier one failed */
	on->reading = statement;
	return OK;
}

/* ---- rows ---- */

static bool has_succeeded(const struct postgres_reader *on, const PGresult *last)
{
	ExecStatusType status = on->pq->PQresultStatus(last);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* Behind the command's last result are a NULL and the Sync. A statement that failed is never over: its rows have no end. */
static enum status end_reading(
	struct postgres_reader *on, struct postgres_statement *statement, const PGresult *last, struct error *err)
{
	copy_sqlstate(on, last, statement->sqlstate);
	on->reading = NULL;
	statement->is_over = has_succeeded(on, last);
	if (on->conn)
		TRY(pipeline_skip(on, err));
	return on->conn ? take_sync(on, err) : give_failure(on, err);
}

/* The next result of the statement that is being read: a row, or its end. */
static enum status receive(struct postgres_reader *on, struct postgres_statement *statement, PGresult **out,
	bool *has_row, struct error *err)
{
	PGresult *result = NULL;

	TRY(pipeline_result(on, &result, err));
	if (!result)
		return postgres_failure(on, NULL, err);
	*has_row = !note_result(on, result);
	*out = result;
	return *has_row ? OK : end_reading(on, statement, result, err);
}

static void drop_row(const struct libpq *pq, struct postgres_statement *statement)
{
	if (!statement->is_ahead)
		pq->PQclear(statement->row);
	statement->row = NULL;
	statement->is_ahead = statement->is_joined = false;
	statement->row_at = 0;
}

static bool next_ahead(struct postgres_statement *statement)
{
	bool has_row = statement->row_at + 1 < statement->row_end;

	statement->row_at += has_row;
	statement->is_over = !has_row;
	return has_row;
}

static bool take_kept(struct postgres_statement *statement)
{
	struct kept_rows *kept = &statement->kept;

	if (kept->next == kept->count)
		return false;
	statement->row = TAKE(kept->rows[kept->next]);
	kept->next++;
	return true;
}

enum status pipeline_next(
	struct postgres_reader *on, struct postgres_statement *statement, bool *has_row, struct error *err)
{
	if (statement->is_ahead) {
		*has_row = next_ahead(statement);
		return OK;
	}
	drop_row(on->pq, statement);
	*has_row = take_kept(statement);
	if (*has_row || statement->is_over)
		return OK;
	if (on->reading != statement)
		return error_set(err, ERR_UNAVAILABLE, "the database failed before all rows had come%s%s",
			statement->sqlstate[0] ? ": SQLSTATE " : "", statement->sqlstate);
	pipeline_start_wait(on);
	TRY(keep_loss(on, receive(on, statement, &statement->row, has_row, err), err));
	return *has_row ? OK : give_failure(on, err);
}

static enum status keep(struct postgres_reader *on, struct kept_rows *kept, PGresult *row, struct error *err)
{
	kept->bytes += on->pq->PQresultMemorySize(row);
	bool is_too_large = kept->bytes > KEPT_BYTES_MAX;

	if (!is_too_large && mem_grow((void **)&kept->rows, kept->count, &kept->cap, sizeof *kept->rows)) {
		kept->rows[kept->count++] = row;
		return OK;
	}
	on->pq->PQclear(row);
	return is_too_large ? error_set(err, ERR_TOO_LARGE,
				      "the rows of a statement that another one interrupts take more than %d MiB",
				      KEPT_BYTES_MAX >> 20)
			    : error_no_memory(err);
}

enum status pipeline_prepare(struct postgres_reader *on, struct error *err)
{
	while (on->reading) {
		struct postgres_statement *statement = on->reading;
		PGresult *result = NULL;
		bool has_row = false;
		pipeline_start_wait(on);
		enum status status = receive(on, statement, &result, &has_row, err);
		if (status == OK && has_row) {
			status = keep(on, &statement->kept, result, err);
			if (status != OK)
				postgres_disconnect(on);
		} else {
			on->pq->PQclear(result);
		}
		TRY(keep_loss(on, status, err));
	}
	return OK;
}

void pipeline_drop(struct postgres_reader *on, struct postgres_statement *statement)
{
	struct kept_rows *kept = &statement->kept;

	drop_row(on->pq, statement);
	for (; kept->next < kept->count; kept->next++)
		on->pq->PQclear(kept->rows[kept->next]);
	kept->count = kept->next = kept->bytes = 0;
	while (on->reading == statement) {
		bool has_row;
		pipeline_start_wait(on);
		enum status status = receive(on, statement, &statement->row, &has_row, NULL);
		drop_row(on->pq, statement);
		if (keep_loss(on, status, NULL) != OK)
			return;
	}
}
