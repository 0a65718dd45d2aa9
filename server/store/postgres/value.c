/* Values in PostgreSQL's binary form: what is bound has the type of the call that binds it, what is read that of its column. */
#include "store/postgres/postgres_store.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>

/* ---- parameters ---- */

enum { CODE_NO_PARAMETER = 1, CODE_TOO_LARGE, CODE_POINTER };

static void bind(struct statement *s, Oid type, const char *value, size_t len)
{
	struct postgres_statement *statement = statement_of(s);
	int at = s->parameter - 1;

	if (at >= statement->count || len > INT32_MAX) {
		s->code = at >= statement->count ? CODE_NO_PARAMETER : CODE_TOO_LARGE;
		return;
	}
	statement->bound[at] = type;
	statement->values[at] = value;
	statement->lengths[at] = (int)len;
}

static void bind_bits(struct statement *s, Oid type, uint64_t bits)
{
	struct postgres_statement *statement = statement_of(s);
	int at = s->parameter - 1;

	if (at < statement->count)
		statement->numbers[at] = htobe64(bits);
	bind(s, type, at < statement->count ? (const char *)&statement->numbers[at] : NULL, sizeof bits);
}

void postgres_bind_i64(struct statement *s, int64_t value)
{
	bind_bits(s, OID_INT8, (uint64_t)value);
}

void postgres_bind_finite(struct statement *s, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	bind_bits(s, OID_FLOAT8, bits);
}

void postgres_bind_text(struct statement *s, struct span text)
{
	bind(s, OID_TEXT, text.ptr, text.len);
}

void postgres_bind_blob(struct statement *s, struct span bytes)
{
	bind(s, OID_BYTEA, bytes.ptr, bytes.len);
}

void postgres_bind_null(struct statement *s)
{
	bind(s, 0, NULL, 0);
}

/* There are no functions of ours in the server. */
void postgres_bind_pointer(struct statement *s, const char *predicate, const void *pointer)
{
	(void)predicate;
	(void)pointer;
	s->code = CODE_POINTER;
}

enum status postgres_bind_failure(const struct statement *s, struct error *err)
{
	switch (s->code) {
	case CODE_TOO_LARGE:
		return error_set(err, ERR_TOO_LARGE, "a value is larger than the database holds");
	case CODE_POINTER:
		return error_set(err, ERR_UNSUPPORTED, "PostgreSQL has no predicates of this program");
	case CODE_NO_PARAMETER:
		return error_set(err, ERR_INTERNAL, "'%s' has fewer parameters than were bound", statement_of(s)->sql);
	default:
		return OK;
	}
}

/* ---- columns ---- */

struct cell {
	Oid type;
	const char *bytes; /* NULL: the value is NULL, or there is no such column */
	size_t len;
};

static struct cell cell_of(const struct statement *s)
{
	const struct libpq *pq = postgres_reader_of(s->on)->pq;
	PGresult *row = statement_of(s)->row;
	int at = statement_of(s)->row_at;

	if (!row || s->column >= pq->PQnfields(row) || pq->PQgetisnull(row, at, s->column))
		return (struct cell){0};
	return (struct cell){.type = pq->PQftype(row, s->column),
		.bytes = pq->PQgetvalue(row, at, s->column),
		.len = (size_t)pq->PQgetlength(row, at, s->column)};
}

static uint64_t big_endian(struct cell cell)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < cell.len && i < sizeof bits; i++)
		bits = bits << 8 | (unsigned char)cell.bytes[i];
	return bits;
}

static bool is_integer(Oid type)
{
	return type == OID_INT8 || type == OID_INT4 || type == OID_INT2 || type == OID_BOOL;
}

static bool is_real(Oid type)
{
	return type == OID_FLOAT8 || type == OID_FLOAT4;
}

static int64_t integer_of(struct cell cell)
{
	uint64_t bits = big_endian(cell);

	switch (cell.type) {
	case OID_INT4:
		return (int32_t)bits;
	case OID_INT2:
		return (int16_t)bits;
	default:
		return (int64_t)bits;
	}
}

static double real_of(struct cell cell)
{
	uint64_t bits = big_endian(cell);
	uint32_t half = (uint32_t)bits;
	double value;
	float single;

	memcpy(&value, &bits, sizeof value);
	memcpy(&single, &half, sizeof single);
	return cell.type == OID_FLOAT4 ? (double)single : value;
}

/* As numeric_send writes it: digits of base 10,000, the first of which is worth 10,000 to the power of `weight`. */
struct numeric {
	int count, weight, scale;
	unsigned sign;
	const char *digits;
};
enum { NUMERIC_HEAD_BYTES = 8, NUMERIC_BASE = 10000, NUMERIC_NEGATIVE = 0x4000, NUMERIC_NAN = 0xc000 };

static unsigned short_at(const char *bytes)
{
	return (unsigned)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];
}

static struct numeric numeric_of(struct cell cell)
{
	struct numeric n = {.sign = NUMERIC_NAN};

	if (cell.len < NUMERIC_HEAD_BYTES)
		return n;
	n = (struct numeric){.count = (int)short_at(cell.bytes),
		.weight = (int16_t)short_at(cell.bytes + 2),
		.sign = short_at(cell.bytes + 4),
		.scale = (int)short_at(cell.bytes + 6),
		.digits = cell.bytes + NUMERIC_HEAD_BYTES};
	if (cell.len < NUMERIC_HEAD_BYTES + 2 * (size_t)n.count)
		n.count = 0;
	return n;
}

/* A sum of many integers may be more than one holds: then the nearest that it does. */
static int64_t numeric_integer(struct numeric n)
{
	bool is_negative = n.sign == NUMERIC_NEGATIVE;
	int64_t value = 0;

	for (int i = 0; i <= n.weight; i++) {
		int64_t digit = i < n.count ? (int64_t)short_at(n.digits + 2 * i) : 0;
		if (__builtin_mul_overflow(value, NUMERIC_BASE, &value) ||
			__builtin_sub_overflow(value, digit, &value)) /* below zero there is one more */
			return is_negative ? INT64_MIN : INT64_MAX;
	}
	if (is_negative)
		return value;
	return value == INT64_MIN ? INT64_MAX : -value;
}

static double numeric_real(struct numeric n)
{
	double value = 0;

	if (n.sign != 0 && n.sign != NUMERIC_NEGATIVE)
		return NAN;
	for (int i = 0; i < n.count; i++)
		value = value * NUMERIC_BASE + short_at(n.digits + 2 * i);
	value *= pow(NUMERIC_BASE, n.weight - n.count + 1);
	return n.sign == NUMERIC_NEGATIVE ? -value : value;
}

/* The nearest integer towards zero, as SQLite makes it. */
static int64_t truncate_real(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 0x1p63)
		return INT64_MAX;
	return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

static int64_t i64_of(struct cell cell)
{
	double value = 0;

	if (!cell.bytes)
		return 0;
	if (is_integer(cell.type))
		return integer_of(cell);
	if (is_real(cell.type))
		return truncate_real(real_of(cell));
	if (cell.type == OID_NUMERIC)
		return numeric_integer(numeric_of(cell));
	int64_t number = 0;
	if (span_parse_i64(span_of(cell.bytes, cell.len), &number))
		return number;
	return span_parse_double(span_of(cell.bytes, cell.len), &value) ? truncate_real(value) : 0;
}

static double finite_of(struct cell cell)
{
	double value = 0;

	if (!cell.bytes)
		return 0;
	if (is_real(cell.type))
		return real_of(cell);
	if (is_integer(cell.type))
		return (double)integer_of(cell);
	if (cell.type == OID_NUMERIC)
		return numeric_real(numeric_of(cell));
	return span_parse_double(span_of(cell.bytes, cell.len), &value) ? value : 0;
}

static enum column_kind kind_of(struct cell cell)
{
	if (!cell.bytes)
		return COLUMN_NULL;
	if (is_integer(cell.type))
		return COLUMN_INTEGER;
	if (is_real(cell.type))
		return COLUMN_REAL;
	if (cell.type == OID_NUMERIC)
		return numeric_of(cell).scale ? COLUMN_REAL : COLUMN_INTEGER;
	return cell.type == OID_BYTEA ? COLUMN_BLOB : COLUMN_TEXT;
}

enum column_kind postgres_column_kind(const struct statement *s)
{
	return kind_of(cell_of(s));
}

static struct cell next_cell(struct statement *s)
{
	struct cell cell = cell_of(s);

	s->column++;
	return cell;
}

int64_t postgres_column_i64(struct statement *s)
{
	return i64_of(next_cell(s));
}

double postgres_column_finite(struct statement *s)
{
	return finite_of(next_cell(s));
}

struct span postgres_column_borrow(struct statement *s)
{
	struct cell cell = next_cell(s);
	char *number = statement_of(s)->number;

	switch (kind_of(cell)) {
	case COLUMN_INTEGER:
		snprintf(number, NUMBER_BYTES, "%lld", (long long)i64_of(cell));
		return span_from(number);
	case COLUMN_REAL:
		snprintf(number, NUMBER_BYTES, "%.15g", finite_of(cell));
		return span_from(number);
	default:
		return cell.bytes ? span_of(cell.bytes, cell.len) : SPAN("");
	}
}

int postgres_statement_columns(const struct statement *s)
{
	const struct postgres_statement *statement = statement_of(s);

	return statement->row ? postgres_reader_of(s->on)->pq->PQnfields(statement->row) - statement->is_joined : 0;
}

const char *postgres_column_name(const struct statement *s)
{
	PGresult *row = statement_of(s)->row;

	return row ? postgres_reader_of(s->on)->pq->PQfname(row, s->column) : NULL;
}
