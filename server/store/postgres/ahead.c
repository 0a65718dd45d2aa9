/*
 * Reads asked ahead: statements sent without waiting, whose answers are kept by what was asked. Whoever asks the same again gets them
 * without a round trip. All of a round are behind one Sync, so outside of a view they are one transaction, too.
 *
 * What is asked by numbers alone waits for the round's end, where those of one text become one statement (joined.c).
 */
#include "store/postgres/postgres_store.h"

enum {
	ASKED_MAX = 4096,
	VALUES_BYTES_MAX = 4096, /* of one statement: what is asked by more is no look-up */
	ANSWERS_BYTES_MAX = 32 << 20,
};

bool ahead_begin(struct store_reader *reader, enum ahead_mode mode)
{
	struct postgres_reader *on = postgres_reader_of(reader);

	on->ahead.is_asking = true;
	on->ahead.mode = mode;
	on->ahead.next = 0;
	return true;
}

void ahead_drop(struct store_reader *reader)
{
	struct postgres_reader *on = postgres_reader_of(reader);
	struct ahead *ahead = &on->ahead;

	for (size_t i = 0; i < ahead->count; i++)
		buf_done(&ahead->items[i].values);
	for (size_t i = 0; i < ahead->answer_count; i++)
		on->pq->PQclear(ahead->answers[i].rows);
	mem_free(ahead->items);
	mem_free(ahead->answers);
	*ahead = (struct ahead){0};
}

enum status ahead_refuses(const struct postgres_reader *on, struct error *err)
{
	return on->ahead.is_asking ? error_set(err, ERR_UNAVAILABLE, "only look-ups are asked ahead") : OK;
}

/* ---- what was asked ---- */

static void pack_values(struct buf *out, const struct postgres_statement *statement)
{
	for (int i = 0; i < statement->count; i++) {
		size_t len = statement->values[i] ? (size_t)statement->lengths[i] : 0;
		buf_append(out, &statement->bound[i], sizeof statement->bound[i]);
		buf_append(out, &len, sizeof len);
		buf_append(out, statement->values[i], len);
	}
}

/* They are mostly wanted in the order in which they were asked. */
static struct asked *find(struct ahead *ahead, const char *literal, struct span values)
{
	for (size_t i = 0; i < ahead->count; i++) {
		size_t at = (ahead->next + i) % ahead->count;
		struct asked *asked = &ahead->items[at];
		if (asked->literal != literal || !span_equal(buf_span(&asked->values), values))
			continue;
		ahead->next = at + 1;
		return asked;
	}
	return NULL;
}

bool ahead_find(struct postgres_reader *on, struct postgres_statement *statement)
{
	AUTO_DONE(buf) values = BUF_INIT(VALUES_BYTES_MAX);

	if (!on->ahead.count || !statement->literal)
		return false;
	pack_values(&values, statement);
	if (buf_status(&values, NULL) != OK)
		return false;
	const struct asked *asked = find(&on->ahead, statement->literal, buf_span(&values));
	const struct answer *answer = asked && asked->answer ? &on->ahead.answers[asked->answer - 1] : NULL;
	if (!answer || !answer->rows)
		return false;
	statement->row = answer->rows;
	statement->is_ahead = true;
	statement->is_joined = answer->is_joined;
	statement->row_at = asked->first - 1;
	statement->row_end = asked->first + asked->count;
	return true;
}

enum ahead_place ahead_note(struct postgres_reader *on, const struct postgres_statement *statement)
{
	struct ahead *ahead = &on->ahead;
	struct asked asked = {.literal = statement->literal,
		.values = BUF_INIT(VALUES_BYTES_MAX),
		.is_waiting = joined_may_hold(statement)};

	if (!statement->literal || ahead->count == ASKED_MAX || ahead->bytes > ANSWERS_BYTES_MAX)
		return AHEAD_NOT_ASKED;
	pack_values(&asked.values, statement);
	if (buf_status(&asked.values, NULL) == OK && !find(ahead, asked.literal, buf_span(&asked.values)) &&
		mem_grow((void **)&ahead->items, ahead->count, &ahead->cap, sizeof *ahead->items)) {
		ahead->items[ahead->count++] = asked;
		return asked.is_waiting ? AHEAD_WAITS : AHEAD_IS_SENT;
	}
	buf_done(&asked.values);
	return AHEAD_NOT_ASKED;
}

size_t ahead_sent(struct postgres_reader *on, bool is_joined)
{
	struct ahead *ahead = &on->ahead;

	if (!mem_grow((void **)&ahead->answers, ahead->answer_count, &ahead->answer_cap, sizeof *ahead->answers))
		return 0;
	ahead->answers[ahead->answer_count] = (struct answer){.command = on->sent, .is_joined = is_joined};
	return ++ahead->answer_count;
}

/* ---- what came ---- */

bool ahead_keep(struct postgres_reader *on, PGresult *result)
{
	struct ahead *ahead = &on->ahead;

	while (ahead->answered < ahead->answer_count && ahead->answers[ahead->answered].command <= on->answered)
		ahead->answered++; /* has been, or was lost with its connection */
	if (ahead->answered == ahead->answer_count || ahead->answers[ahead->answered].command != on->answered + 1 ||
		on->pq->PQresultStatus(result) != PGRES_TUPLES_OK)
		return false;
	ahead->bytes += on->pq->PQresultMemorySize(result);
	if (ahead->bytes > ANSWERS_BYTES_MAX)
		return false;
	ahead->answers[ahead->answered].rows = result;
	return true;
}

/* To each who asked the rows that are for it. */
static void share_out(struct postgres_reader *on)
{
	struct ahead *ahead = &on->ahead;

	for (size_t i = ahead->shared; i < ahead->count; i++) {
		struct asked *asked = &ahead->items[i];
		struct answer *answer = asked->answer ? &ahead->answers[asked->answer - 1] : NULL;
		if (answer && answer->rows)
			joined_take(on->pq, asked, answer);
	}
	for (size_t i = ahead->answers_shared; i < ahead->answer_count; i++)
		joined_check(on->pq, &ahead->answers[i]);
	ahead->shared = ahead->count;
	ahead->answers_shared = ahead->answer_count;
}

enum status ahead_end(struct store_reader *reader, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(reader);
	struct ahead *ahead = &on->ahead;

	if (!ahead->is_asking)
		return OK;
	ahead->is_asking = false; /* also when it fails: what has no answer is asked in earnest */
	ahead->next = 0;
	TRY(joined_send(on, err));
	TRY(pipeline_settle(on, err));
	share_out(on);
	return OK;
}
