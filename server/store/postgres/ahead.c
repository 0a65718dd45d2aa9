/*
 * Reads asked ahead: statements sent without waiting, whose answers are kept by what was asked. Whoever asks the same again gets them
 * without a round trip. All of a round are behind one Sync, so outside of a view they are one transaction, too.
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

	for (size_t i = 0; i < ahead->count; i++) {
		buf_done(&ahead->items[i].values);
		on->pq->PQclear(ahead->items[i].answer);
	}
	mem_free(ahead->items);
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

bool ahead_find(struct postgres_reader *on, const struct postgres_statement *statement, const PGresult **out)
{
	AUTO_DONE(buf) values = BUF_INIT(VALUES_BYTES_MAX);

	if (!on->ahead.count || !statement->literal)
		return false;
	pack_values(&values, statement);
	if (buf_status(&values, NULL) != OK)
		return false;
	const struct asked *asked = find(&on->ahead, statement->literal, buf_span(&values));
	*out = asked ? asked->answer : NULL;
	return *out;
}

bool ahead_note(struct postgres_reader *on, const struct postgres_statement *statement)
{
	struct ahead *ahead = &on->ahead;
	struct asked asked = {.literal = statement->literal, .values = BUF_INIT(VALUES_BYTES_MAX)};

	if (!statement->literal || ahead->count == ASKED_MAX || ahead->bytes > ANSWERS_BYTES_MAX)
		return false;
	pack_values(&asked.values, statement);
	if (buf_status(&asked.values, NULL) == OK && !find(ahead, asked.literal, buf_span(&asked.values)) &&
		mem_grow((void **)&ahead->items, ahead->count, &ahead->cap, sizeof *ahead->items)) {
		ahead->items[ahead->count++] = asked;
		return true;
	}
	buf_done(&asked.values);
	return false;
}

void ahead_sent(struct postgres_reader *on)
{
	on->ahead.items[on->ahead.count - 1].command = on->sent;
}

/* ---- what came ---- */

bool ahead_keep(struct postgres_reader *on, PGresult *result)
{
	struct ahead *ahead = &on->ahead;

	while (ahead->answered < ahead->count && ahead->items[ahead->answered].command <= on->answered)
		ahead->answered++; /* has been, or was lost with its connection */
	if (ahead->answered == ahead->count || ahead->items[ahead->answered].command != on->answered + 1 ||
		on->pq->PQresultStatus(result) != PGRES_TUPLES_OK)
		return false;
	ahead->bytes += on->pq->PQresultMemorySize(result);
	if (ahead->bytes > ANSWERS_BYTES_MAX)
		return false;
	ahead->items[ahead->answered].answer = result;
	return true;
}

enum status ahead_end(struct store_reader *reader, struct error *err)
{
	struct postgres_reader *on = postgres_reader_of(reader);
	struct ahead *ahead = &on->ahead;

	if (!ahead->is_asking)
		return OK;
	ahead->is_asking = false;
	ahead->next = 0;
	return pipeline_settle(on, err);
}
