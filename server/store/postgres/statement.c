/* Statements: spelled and prepared once a connection, with the types of what is bound, and read row by row. */
#include "store/driver/dialect.h"
#include "store/postgres/postgres_store.h"

#include <stdio.h>

enum { STATEMENTS_MAX = POSTGRES_SLOTS * 3 / 4, SQL_BYTES_MAX = 16 << 20 };

/* ---- a statement's memory ---- */

void postgres_statement_free(const struct libpq *pq, struct postgres_statement *statement)
{
	if (!statement)
		return;
	if (!statement->is_ahead)
		pq->PQclear(statement->row);
	for (size_t i = statement->kept.next; i < statement->kept.count; i++)
		pq->PQclear(statement->kept.rows[i]);
	mem_free(statement->kept.rows);
	mem_free(statement->sql);
	mem_free(statement->numbers);
	mem_free(statement);
}

/* All that it has for each parameter, in one block that begins with what needs the widest place. */
static bool make_parameters(struct postgres_statement *statement, int count)
{
	size_t n = (size_t)count;
	size_t each = sizeof *statement->numbers + sizeof *statement->values + sizeof *statement->bound +
		      sizeof *statement->declared + sizeof *statement->lengths + sizeof *statement->formats;
	char *block = mem_zeroed(n * each + 1);

	if (!block)
		return false;
	statement->count = count;
	statement->numbers = (uint64_t *)block;
	statement->values = (const char **)(statement->numbers + n);
	statement->bound = (Oid *)(statement->values + n);
	statement->declared = statement->bound + n;
	statement->lengths = (int *)(statement->declared + n);
	statement->formats = statement->lengths + n;
	for (size_t i = 0; i < n; i++)
		statement->formats[i] = 1;
	return true;
}

static struct postgres_statement *spelled_new(const char *sql, int parameters)
{
	struct postgres_statement *statement = mem_zeroed(sizeof *statement);

	if (statement && make_parameters(statement, parameters) && (statement->sql = mem_copy_string(sql)))
		return statement;
	if (statement)
		mem_free(statement->numbers);
	mem_free(statement);
	return NULL;
}

static struct postgres_statement *statement_new(struct span sql)
{
	AUTO_DONE(buf) text = BUF_INIT(SQL_BYTES_MAX);
	int count = 0;

	dialect_postgres(&text, sql, &count);
	buf_append(&text, "", 1);
	return buf_status(&text, NULL) == OK ? spelled_new(text.ptr, count) : NULL;
}

/* ---- opening ---- */

enum status postgres_check_usable(struct postgres_reader *on, struct error *err)
{
	if (on->head.is_in_snapshot) {
		if (on->failed_at && err)
			*err = on->head.failure;
		return on->failed_at ? on->head.failure.status : OK;
	}
	postgres_meet_rollback(on);
	connection_renew_deadline(&on->head);
	on->failed_at = 0;
	return postgres_connect(on, err);
}

static struct postgres_statement **find_slot(struct postgres_reader *on, const char *sql)
{
	size_t at = ((uintptr_t)sql >> 3) * 0x9e3779b97f4a7c15u >> 32;

	for (at &= POSTGRES_SLOTS - 1; on->statements[at] && on->statements[at]->literal != sql;)
		at = (at + 1) & (POSTGRES_SLOTS - 1);
	return &on->statements[at];
}

struct postgres_statement *postgres_statement_kept(struct postgres_reader *on, const char *literal)
{
	return *find_slot(on, literal);
}

struct postgres_statement *postgres_statement_keep(struct postgres_reader *on, const char *sql, int parameters)
{
	struct postgres_statement *made = on->statement_count < STATEMENTS_MAX ? spelled_new(sql, parameters) : NULL;

	if (!made)
		return NULL;
	made->literal = made->sql; /* nobody else's address */
	*find_slot(on, made->literal) = made;
	on->statement_count++;
	return made;
}

static void open_as(struct statement *out, struct postgres_reader *on, struct postgres_statement *statement)
{
	statement->is_open = true;
	statement->is_sent = statement->is_over = false;
	statement->sqlstate[0] = '\0';
	*out = (struct statement){.on = &on->head, .prepared = statement, .is_own = !statement->literal};
}

enum status postgres_statement_open_once(
	struct statement *out, struct store_reader *reader, struct span sql, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(reader);

	TRY(postgres_check_usable(on, err));
	struct postgres_statement *statement = statement_new(sql);
	if (!statement)
		return error_no_memory(err);
	open_as(out, on, statement);
	return OK;
}

enum status postgres_statement_open(
	struct statement *out, struct store_reader *reader, const char *sql, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(reader);
	struct postgres_statement **slot = find_slot(on, sql);

	/* Open: the same statement is being read further up the stack. */
	if (*slot ? (*slot)->is_open : on->statement_count >= STATEMENTS_MAX)
		return postgres_statement_open_once(out, reader, span_from(sql), err);
	TRY(postgres_check_usable(on, err));
	if (!*slot) {
		if (!(*slot = statement_new(span_from(sql))))
			return error_no_memory(err);
		(*slot)->literal = sql;
		on->statement_count++;
	}
	open_as(out, on, *slot);
	return OK;
}

void postgres_statement_unbind(struct postgres_statement *statement)
{
	for (int i = 0; i < statement->count; i++) {
		statement->bound[i] = 0;
		statement->values[i] = NULL;
	}
}

void postgres_statement_done(struct statement *s)
{
	struct postgres_reader *on = postgres_reader_of(s->on);
	struct postgres_statement *statement = statement_of(s);

	pipeline_drop(on, statement);
	statement->is_open = false;
	if (s->is_own) {
		postgres_statement_free(on->pq, statement);
		return;
	}
	postgres_statement_unbind(statement);
}

void postgres_statement_again(struct statement *s)
{
	struct postgres_statement *statement = statement_of(s);

	pipeline_drop(postgres_reader_of(s->on), statement);
	statement->is_sent = statement->is_over = false;
}

/* ---- sending ---- */

/* A NULL is of any type. A parameter whose type was never known is prepared as PostgreSQL thinks, which may be another one. */
static bool is_prepared(const struct postgres_statement *statement)
{
	for (int i = 0; i < statement->count; i++)
		if (statement->bound[i] && statement->bound[i] != statement->declared[i])
			return false;
	return statement->name[0] != '\0';
}

static enum status forget(struct postgres_reader *on, struct postgres_statement *statement, struct error *err)
{
	char sql[NAME_BYTES + 16];

	if (!statement->name[0])
		return OK;
	snprintf(sql, sizeof sql, "DEALLOCATE %s", statement->name);
	statement->name[0] = '\0';
	return pipeline_sent(on, on->pq->PQsendQueryParams(on->conn, sql, 0, NULL, NULL, NULL, NULL, 1), err);
}

static enum status prepare(struct postgres_reader *on, struct postgres_statement *statement, struct error *err)
{
	char name[NAME_BYTES];

	if (is_prepared(statement))
		return OK;
	TRY(forget(on, statement, err));
	for (int i = 0; i < statement->count; i++)
		statement->declared[i] = statement->bound[i] ? statement->bound[i] : statement->declared[i];
	snprintf(name, sizeof name, "s%u", ++on->named);
	TRY(pipeline_sent(
		on, on->pq->PQsendPrepare(on->conn, name, statement->sql, statement->count, statement->declared), err));
	memcpy(statement->name, name, sizeof name);
	statement->prepared_at = on->sent;
	return OK;
}

enum status postgres_statement_send(struct postgres_reader *on, struct postgres_statement *statement, struct error *err)
{
	TRY(postgres_check_usable(on, err)); /* it may have been opened before the one that failed */
	TRY(pipeline_prepare(on, err));
	if (statement->literal)
		TRY(prepare(on, statement, err));
	bool is_sent = statement->literal
			       ? on->pq->PQsendQueryPrepared(on->conn, statement->name, statement->count,
					 statement->values, statement->lengths, statement->formats, 1)
			       : on->pq->PQsendQueryParams(on->conn, statement->sql, statement->count, statement->bound,
					 statement->values, statement->lengths, statement->formats, 1);
	return pipeline_sent(on, is_sent, err);
}

static enum status send_statement(struct statement *s, struct error *err)
{
	TRY(postgres_bind_failure(s, err));
	statement_of(s)->is_sent = true;
	return postgres_statement_send(postgres_reader_of(s->on), statement_of(s), err);
}

/* ---- running ---- */

static bool take_ahead(struct statement *s)
{
	struct postgres_statement *statement = statement_of(s);

	statement->is_sent = !s->code && ahead_find(postgres_reader_of(s->on), statement);
	return statement->is_sent;
}

/* Nobody reads the text: there was nothing to be had yet. */
static enum status ask_ahead(struct statement *s, bool *has_row, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(s->on);

	*has_row = false;
	TRY(postgres_bind_failure(s, err));
	if (ahead_note(on, statement_of(s)) == AHEAD_IS_SENT) {
		TRY(send_statement(s, err));
		on->ahead.items[on->ahead.count - 1].answer = ahead_sent(on, false);
		TRY(pipeline_deferred(on, err));
	}
	statement_of(s)->is_over = true;
	return on->ahead.mode == AHEAD_GO_ON ? OK
					     : error_set(err, ERR_UNAVAILABLE, "this was asked ahead, if it could be");
}

enum status postgres_statement_step(struct statement *s, bool *has_row, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(s->on);
	struct postgres_statement *statement = statement_of(s);

	s->column = 0;
	if (!statement->is_sent && !take_ahead(s)) {
		if (on->ahead.is_asking)
			return ask_ahead(s, has_row, err);
		TRY(send_statement(s, err));
		TRY(pipeline_read(on, statement, err));
	}
	return pipeline_next(on, statement, has_row, err);
}

enum status postgres_statement_run(struct statement *s, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(s->on);
	bool has_row;

	TRY(ahead_refuses(on, err));
	if (on->head.is_writer && on->head.is_in_snapshot && on->defers && !statement_of(s)->is_sent) {
		TRY(send_statement(s, err));
		statement_of(s)->is_over = true;
		return pipeline_deferred(on, err);
	}
	do {
		TRY(postgres_statement_step(s, &has_row, err));
	} while (has_row);
	return OK;
}

bool postgres_statement_is_conflict(const struct statement *s)
{
	return strcmp(statement_of(s)->sqlstate, "23505") == 0;
}

int postgres_statement_parameters(const struct statement *s)
{
	return statement_of(s)->count;
}
