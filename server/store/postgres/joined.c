/*
 * Look-ups of one text, asked ahead with different numbers, as one statement over arrays of them (dialect_postgres_many): a statement costs the
 * server 20 us, and a look-up in an index 2. A page of 30 jobs is 12 statements instead of 240.
 */
#include "store/driver/dialect.h"
#include "store/postgres/postgres_store.h"

#include <endian.h>
#include <inttypes.h>

enum {
	TOGETHER_MIN = 3,
	TOGETHER_MAX = 32, /* their rows are in memory before it is known how large they are */
	PARAMETERS_MAX = 4,
	ARRAY_BYTES_MAX = 20 + TOGETHER_MAX * 12,
	TEXT_BYTES_MAX = 1 << 20,
};

bool joined_may_hold(const struct postgres_statement *statement)
{
	if (!statement->count || statement->count > PARAMETERS_MAX || !statement->literal)
		return false;
	for (int i = 0; i < statement->count; i++)
		if (statement->bound[i] != OID_INT8)
			return false;
	return true;
}

/* NULL: no room, or no memory; then they are asked one by one. */
static struct postgres_statement *joined_of(struct postgres_reader *on, struct postgres_statement *one)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES_MAX);

	if (one->joined)
		return one->joined;
	dialect_postgres_many(&text, span_from(one->sql), one->count);
	buf_append(&text, "", 1);
	if (buf_status(&text, NULL) == OK)
		one->joined = postgres_statement_keep(on, text.ptr, one->count);
	return one->joined;
}

/* ---- its values ---- */

static void put_u32(struct buf *out, uint32_t value)
{
	value = htobe32(value);
	buf_append(out, &value, sizeof value);
}

/* The bytes of a packed parameter (ahead.c): its type, its length, then these. */
static const char *packed_number(const struct asked *asked, int parameter)
{
	size_t each = sizeof(Oid) + sizeof(size_t) + sizeof(uint64_t);

	return asked->values.ptr + (size_t)parameter * each + sizeof(Oid) + sizeof(size_t);
}

/* As array_recv of PostgreSQL's arrayfuncs.c reads it: dimensions, whether one is NULL, type, length, first index, elements. */
static void put_array(struct buf *out, struct asked *const *members, int count, int parameter)
{
	put_u32(out, 1);
	put_u32(out, 0);
	put_u32(out, OID_INT8);
	put_u32(out, (uint32_t)count);
	put_u32(out, 1);
	for (int i = 0; i < count; i++) {
		put_u32(out, sizeof(uint64_t));
		buf_append(out, packed_number(members[i], parameter), sizeof(uint64_t));
	}
}

/* ---- sending ---- */

static void bind(struct postgres_statement *statement, int at, Oid type, const char *bytes, size_t len)
{
	statement->bound[at] = type;
	statement->values[at] = bytes;
	statement->lengths[at] = (int)len;
}

static enum status send_together(struct postgres_reader *on, struct postgres_statement *joined, struct asked **members,
	int count, struct error *err)
{
	AUTO_DONE(buf) arrays = BUF_INIT(PARAMETERS_MAX * ARRAY_BYTES_MAX);
	size_t each = 20 + (size_t)count * 12;

	for (int i = 0; i < joined->count; i++)
		put_array(&arrays, members, count, i);
	TRY(buf_status(&arrays, err));
	for (int i = 0; i < joined->count; i++)
		bind(joined, i, OID_INT8_ARRAY, arrays.ptr + (size_t)i * each, each);
	enum status status = postgres_statement_send(on, joined, err);
	postgres_statement_unbind(joined);
	TRY(status);
	size_t answer = ahead_sent(on, true);
	for (int i = 0; i < count; i++) {
		members[i]->answer = answer;
		members[i]->number = i + 1;
	}
	return pipeline_deferred(on, err);
}

static enum status send_alone(
	struct postgres_reader *on, struct postgres_statement *one, struct asked *asked, struct error *err)
{
	for (int i = 0; i < one->count; i++)
		bind(one, i, OID_INT8, packed_number(asked, i), sizeof(uint64_t));
	enum status status = postgres_statement_send(on, one, err);
	postgres_statement_unbind(one);
	TRY(status);
	asked->answer = ahead_sent(on, false);
	return pipeline_deferred(on, err);
}

static enum status send_members(struct postgres_reader *on, struct asked **members, int count, struct error *err)
{
	struct postgres_statement *one = postgres_statement_kept(on, members[0]->literal);

	if (!one || one->is_open)
		return OK; /* it is being read further up the stack: they are asked when they are wanted */
	struct postgres_statement *joined = count >= TOGETHER_MIN ? joined_of(on, one) : NULL;
	if (joined)
		return send_together(on, joined, members, count, err);
	for (int i = 0; i < count; i++)
		TRY(send_alone(on, one, members[i], err));
	return OK;
}

enum status joined_send(struct postgres_reader *on, struct error *err)
{
	struct ahead *ahead = &on->ahead;
	struct asked *members[TOGETHER_MAX];

	for (size_t i = ahead->shared; i < ahead->count; i++) {
		int count = 0;
		const char *literal = ahead->items[i].literal;
		if (!ahead->items[i].is_waiting)
			continue;
		for (size_t j = i; j < ahead->count && count < TOGETHER_MAX; j++) {
			if (!ahead->items[j].is_waiting || ahead->items[j].literal != literal)
				continue;
			ahead->items[j].is_waiting = false;
			members[count++] = &ahead->items[j];
		}
		TRY(send_members(on, members, count, err));
	}
	return OK;
}

/* ---- what came ---- */

static int number_of(const struct libpq *pq, const PGresult *rows, int row)
{
	uint64_t number = 0;
	int last = pq->PQnfields(rows) - 1;

	if (pq->PQgetlength(rows, row, last) == sizeof number)
		memcpy(&number, pq->PQgetvalue(rows, row, last), sizeof number);
	return (int)be64toh(number);
}

void joined_take(const struct libpq *pq, struct asked *asked, struct answer *answer)
{
	int count = pq->PQntuples(answer->rows);

	asked->first = answer->next;
	while (answer->next < count &&
		(!answer->is_joined || number_of(pq, answer->rows, answer->next) == asked->number))
		answer->next++;
	asked->count = answer->next - asked->first;
}

/*
 * A nested loop gives them by number, and those of one number in the order of the text. Nothing promises that it is one: rows that came
 * in another order are nobody's, and asked for one by one.
 */
void joined_check(const struct libpq *pq, struct answer *answer)
{
	if (!answer->rows || answer->next == pq->PQntuples(answer->rows))
		return;
	pq->PQclear(answer->rows);
	answer->rows = NULL;
}
