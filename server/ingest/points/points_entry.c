#include "ingest/points/points_entry.h"

#include "base/text/decimal.h"
#include "ingest/ingest.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>

enum { FIRST_ITEMS = 64, EXACT_POWER = 22, EXACT_DIGITS = 19, PLAIN_DIGITS = 18 };
/* As for log times: what is outside is a mistake, mostly of the unit. 1990 and 2200. */
static const int64_t EARLIEST_MS = 631152000000, LATEST_MS = 7258118400000, STEP_LIMIT = (int64_t)1 << 53;

struct scanner {
	const char *start, *at, *end;
	struct error *err;
};

enum column_kind { COLUMN_STEP, COLUMN_TIME, COLUMN_VALUE };
static const char *const column_names[] = {"step", "ts_ms", "value"};

static enum status expected(struct scanner *s, const char *what)
{
	return error_set(s->err, ERR_INVALID, "expected %s", what);
}

static inline void skip_blanks(struct scanner *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
}

static inline bool accept_char(struct scanner *s, char c)
{
	skip_blanks(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static enum status scan_string(struct scanner *s, struct ndjson_value *value)
{
	if (!accept_char(s, '"'))
		return expected(s, "a text in quotes");
	const char *first = s->at;
	bool has_escapes = false;
	while (s->at < s->end && *s->at != '"') {
		bool is_escape = *s->at == '\\';
		has_escapes = has_escapes || is_escape;
		s->at += is_escape ? 2 : 1;
	}
	if (s->at >= s->end) {
		s->at = s->end;
		return expected(s, "the end of a text");
	}
	*value = (struct ndjson_value){NDJSON_STRING, span_of(first, (size_t)(s->at - first)), has_escapes};
	s->at++;
	return OK;
}

/* ---- numbers ---- */

static bool is_digit(const struct scanner *s)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

struct number {
	uint64_t digits;
	int count; /* of significant digits read */
	int power; /* of ten */
	bool is_negative;
};

static void scan_digits(struct scanner *s, struct number *number, int step)
{
	for (; is_digit(s); s->at++) {
		if (number->count < EXACT_DIGITS)
			number->digits = number->digits * 10 + (uint64_t)(*s->at - '0');
		number->count += number->count || *s->at != '0';
		number->power += step;
	}
}

static bool scan_exponent(struct scanner *s, struct number *number)
{
	int sign = 1, exponent = 0;

	s->at++;
	if (s->at < s->end && (*s->at == '-' || *s->at == '+'))
		sign = *s->at++ == '-' ? -1 : 1;
	if (!is_digit(s))
		return false;
	for (; is_digit(s); s->at++)
		exponent = exponent < 100000 ? exponent * 10 + (*s->at - '0') : exponent;
	number->power += sign * exponent;
	return true;
}

/* A JSON number; false: it is none. */
static bool scan_digits_of(struct scanner *s, struct number *number)
{
	*number = (struct number){0};
	if (s->at < s->end && *s->at == '-') {
		number->is_negative = true;
		s->at++;
	}
	if (!is_digit(s))
		return false;
	scan_digits(s, number, 0);
	if (s->at < s->end && *s->at == '.') {
		s->at++;
		if (!is_digit(s))
			return false;
		scan_digits(s, number, -1);
	}
	return s->at == s->end || (*s->at | 0x20) != 'e' || scan_exponent(s, number);
}

static bool number_value(const struct number *number, double *value)
{
	static const double powers[EXACT_POWER + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	double whole = (double)number->digits;

	if (number->count > EXACT_DIGITS)
		return false;
	/* both are exact, so their quotient or product is the nearest double */
	if (number->digits <= (uint64_t)1 << 53 && number->power >= -EXACT_POWER && number->power <= EXACT_POWER)
		whole = number->power < 0 ? whole / powers[-number->power] : whole * powers[number->power];
	else if (!decimal_read(number->digits, number->power, &whole))
		return false;
	*value = number->is_negative ? -whole : whole;
	return true;
}

/* ---- numbers as nearly all are: digits, in values perhaps a point ---- */

/* Eight digits, the first one lowest: pairs, then fours, then all, each by one multiplication. False: they are not all digits. */
static bool eight_digits(const char *at, uint64_t *value)
{
	uint64_t text;

	memcpy(&text, at, sizeof text);
	text = le64toh(text);
	uint64_t above = text + 0x4646464646464646, below = text - 0x3030303030303030;
	if ((above | below) & 0x8080808080808080)
		return false;
	text = (below * 10 + (below >> 8)) & 0x00ff00ff00ff00ff;
	text = (text * 100 + (text >> 16)) & 0x0000ffff0000ffff;
	*value = *value * 100000000 + (uint32_t)(text * 10000 + (text >> 32));
	return true;
}

static const char *plain_digits(const char *at, const char *end, uint64_t *value)
{
	unsigned digit;

	while (end - at >= 8 && eight_digits(at, value))
		at += 8;
	for (; at < end && (digit = (unsigned)(*at - '0')) <= 9; at++)
		*value = *value * 10 + digit;
	return at;
}

static bool is_over(const char *at, const char *end)
{
	return at < end && *at != '.' && (*at | 0x20) != 'e';
}

/* False: it is to be looked at more closely. */
static bool take_integer(struct scanner *s, int64_t *out)
{
	const char *at = s->at, *end = s->end;
	bool is_negative = at < end && *at == '-';
	const char *first = at + is_negative;
	uint64_t digits = 0;

	at = plain_digits(first, end, &digits);
	if (at == first || at - first > PLAIN_DIGITS || !is_over(at, end))
		return false;
	*out = is_negative ? -(int64_t)digits : (int64_t)digits;
	s->at = at;
	return true;
}

static bool take_value(struct scanner *s, double *out)
{
	struct number number = {.is_negative = s->at < s->end && *s->at == '-'};
	const char *first = s->at + number.is_negative, *end = s->end;

	const char *at = plain_digits(first, end, &number.digits), *point = at;
	bool has_point = at < end && *at == '.';
	if (has_point)
		at = plain_digits(point + 1, end, &number.digits);
	bool has_digits = point > first && (!has_point || at > point + 1);
	if (!has_digits || at - first - has_point > PLAIN_DIGITS || !is_over(at, end))
		return false;
	number.power = has_point ? -(int)(at - point - 1) : 0;
	if (!number_value(&number, out))
		return false;
	s->at = at;
	return true;
}

static enum status scan_value(struct scanner *s, double *value)
{
	struct ndjson_value word;
	struct number number;
	const char *first;

	skip_blanks(s);
	if (take_value(s, value))
		return OK;
	first = s->at;
	if (s->at < s->end && *s->at == '"') {
		TRY(scan_string(s, &word));
		if (word.raw.len && span_scan_non_finite(word.raw, value) == word.raw.len)
			return OK;
		s->at = first;
		return expected(s, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
	}
	if (scan_digits_of(s, &number) &&
		(number_value(&number, value) || span_parse_double(span_of(first, (size_t)(s->at - first)), value)))
		return OK;
	s->at = first;
	if (s->at < s->end && *s->at == 'n')
		return expected(s, "a number, not null: leave the point out, or send \"NaN\"");
	return expected(s, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

/* As it is written, where a double would hold its neighbour. Of too many digits: what is well within the doubles that are exact. */
static bool whole_number(const struct number *number, struct span text, int64_t *out)
{
	uint64_t digits = number->digits;
	int power = number->power;
	double value;

	if (number->count > EXACT_DIGITS) {
		if (!span_parse_double(text, &value) || fabs(value) >= (double)STEP_LIMIT || value != trunc(value))
			return false;
		*out = (int64_t)value;
		return true;
	}
	for (; digits && power < 0 && digits % 10 == 0; power++)
		digits /= 10;
	for (; digits && power > 0 && digits <= (uint64_t)STEP_LIMIT; power--)
		digits *= 10;
	if (digits > (uint64_t)STEP_LIMIT || (digits && power))
		return false;
	*out = number->is_negative ? -(int64_t)digits : (int64_t)digits;
	return true;
}

static enum status scan_integer(struct scanner *s, enum column_kind kind, int64_t *out)
{
	int64_t lowest = kind == COLUMN_STEP ? -STEP_LIMIT : EARLIEST_MS;
	int64_t highest = kind == COLUMN_STEP ? STEP_LIMIT : LATEST_MS - 1;
	struct number number;
	const char *first;

	skip_blanks(s);
	first = s->at;
	if (take_integer(s, out) && *out >= lowest && *out <= highest)
		return OK;
	s->at = first;
	if (s->at < s->end && *s->at == '"')
		return expected(s, "an integer");
	if (!scan_digits_of(s, &number)) {
		s->at = first;
		return scan_value(s, &(double){0}); /* which says what it is not */
	}
	struct span text = span_of(first, (size_t)(s->at - first));
	if (whole_number(&number, text, out) && *out >= lowest && *out <= highest)
		return OK;
	s->at = first;
	if (kind == COLUMN_STEP)
		return error_set(s->err, ERR_INVALID, "'%.*s' is no integer between -2^53 and 2^53",
			(int)(text.len < 64 ? text.len : 64), text.ptr);
	return error_set(s->err, ERR_INVALID, "'%.*s' is no time in Unix milliseconds between 1990 and 2200",
		(int)(text.len < 64 ? text.len : 64), text.ptr);
}

/* ---- columns ---- */

static bool grow(struct points_column *column, enum column_kind kind)
{
	if (column->count < column->cap)
		return true;
	size_t cap = column->cap ? column->cap * 2 : FIRST_ITEMS;
	void *old = kind == COLUMN_VALUE ? (void *)column->values : (void *)column->integers;
	void *grown = mem_resize(old, cap, sizeof(int64_t));
	if (!grown)
		return false;
	if (kind == COLUMN_VALUE)
		column->values = grown;
	else
		column->integers = grown;
	column->cap = cap;
	return true;
}

static enum status scan_item(struct scanner *s, struct points_column *column, enum column_kind kind)
{
	if (!grow(column, kind))
		return error_no_memory(s->err);
	TRY(kind == COLUMN_VALUE ? scan_value(s, &column->values[column->count])
				 : scan_integer(s, kind, &column->integers[column->count]));
	column->count++;
	return OK;
}

static enum status scan_items(struct scanner *s, struct points_column *column, enum column_kind kind)
{
	if (!accept_char(s, '['))
		return expected(s, "'[': an entry of \"series\" has columns");
	if (accept_char(s, ']'))
		return OK;
	do
		TRY(scan_item(s, column, kind));
	while (accept_char(s, ','));
	return accept_char(s, ']') ? OK : expected(s, "',' or ']'");
}

static enum status scan_column(struct scanner *s, struct points_column *column, enum column_kind kind, bool is_columns)
{
	char field[sizeof((struct error *)0)->field];

	if (column->is_given)
		return error_set_field(s->err, ERR_INVALID, column_names[kind], "comes twice");
	column->is_given = true;
	enum status status = is_columns ? scan_items(s, column, kind) : scan_item(s, column, kind);
	if (status != ERR_INVALID || !s->err)
		return status;
	if (is_columns)
		snprintf(field, sizeof field, "%s[%zu]", column_names[kind], column->count);
	else
		snprintf(field, sizeof field, "%s", column_names[kind]);
	memcpy(s->err->field, field, sizeof s->err->field);
	return status;
}

/* ---- the object ---- */

static enum status scan_name(struct scanner *s, struct points_entry *entry, enum points_name name, const char *text)
{
	if (entry->names[name].kind != NDJSON_ABSENT)
		return error_set_field(s->err, ERR_INVALID, text, "comes twice");
	enum status status = scan_string(s, &entry->names[name]);
	if (status == ERR_INVALID && s->err)
		snprintf(s->err->field, sizeof s->err->field, "%s", text);
	return status;
}

static enum status scan_field(struct scanner *s, struct points_entry *entry, bool is_columns)
{
	static const char *const names[POINTS_NAME_COUNT] = {"metric", "stream", "unit", "role"};
	struct ndjson_value key;
	const char *first;

	skip_blanks(s);
	first = s->at;
	TRY(scan_string(s, &key));
	if (!accept_char(s, ':'))
		return expected(s, "':'");
	if (span_equal(key.raw, SPAN("value")))
		return scan_column(s, &entry->values, COLUMN_VALUE, is_columns);
	if (span_equal(key.raw, SPAN("step")))
		return scan_column(s, &entry->steps, COLUMN_STEP, is_columns);
	if (span_equal(key.raw, SPAN("ts_ms")))
		return scan_column(s, &entry->times, COLUMN_TIME, is_columns);
	for (unsigned i = 0; i < POINTS_NAME_COUNT; i++)
		if (span_equal(key.raw, span_from(names[i])))
			return scan_name(s, entry, (enum points_name)i, names[i]);
	s->at = first;
	return error_set(s->err, ERR_INVALID,
		"there is no field '%.*s' here; there are metric, stream, step, ts_ms, value, unit and role",
		(int)(key.raw.len < 64 ? key.raw.len : 64), key.raw.ptr);
}

static enum status check_length(struct scanner *s, const struct points_column *column, const char *name, size_t count)
{
	if (!column->is_given || column->count == count)
		return OK;
	return error_set_field(
		s->err, ERR_INVALID, name, "%s has %zu items, value has %zu", name, column->count, count);
}

static enum status scan_object(struct scanner *s, struct points_entry *entry, bool is_columns, bool is_alone)
{
	if (!accept_char(s, '{'))
		return expected(s, "'{'");
	if (!accept_char(s, '}')) {
		do
			TRY(scan_field(s, entry, is_columns));
		while (accept_char(s, ','));
		if (!accept_char(s, '}'))
			return expected(s, "',' or '}'");
	}
	if (is_alone)
		skip_blanks(s);
	if (is_alone && s->at != s->end)
		return expected(s, "nothing behind '}'");
	if (entry->names[POINTS_METRIC].kind == NDJSON_ABSENT)
		return error_set_field(s->err, ERR_INVALID, "metric", "there is no metric");
	if (!entry->values.is_given)
		return error_set_field(s->err, ERR_INVALID, "value", "there is no value");
	TRY(check_length(s, &entry->steps, "step", entry->values.count));
	return check_length(s, &entry->times, "ts_ms", entry->values.count);
}

static void reset_column(struct points_column *column)
{
	column->count = 0;
	column->is_given = false;
}

static enum status scan(struct points_entry *entry, struct scanner *s, bool is_columns, bool is_alone)
{
	memset(entry->names, 0, sizeof entry->names);
	reset_column(&entry->steps);
	reset_column(&entry->times);
	reset_column(&entry->values);
	return scan_object(s, entry, is_columns, is_alone);
}

enum status points_entry_scan(
	struct points_entry *entry, struct span text, bool is_columns, size_t *at, struct error *err)
{
	struct scanner s = {.start = text.ptr, .at = text.ptr, .end = text.ptr + text.len, .err = err};

	enum status status = scan(entry, &s, is_columns, true);
	*at = (size_t)(s.at - s.start);
	return status;
}

size_t points_entry_take(struct points_entry *entry, struct span bytes, bool is_columns)
{
	struct scanner s = {.start = bytes.ptr, .at = bytes.ptr, .end = bytes.ptr + bytes.len};

	return scan(entry, &s, is_columns, false) == OK ? (size_t)(s.at - s.start) : 0;
}

static void shrink_column(struct points_column *column, size_t items)
{
	if (column->cap <= items)
		return;
	mem_free(column->integers);
	mem_free(column->values);
	*column = (struct points_column){0};
}

void points_entry_shrink(struct points_entry *entry, size_t items)
{
	shrink_column(&entry->steps, items);
	shrink_column(&entry->times, items);
	shrink_column(&entry->values, items);
}

void points_entry_done(struct points_entry *entry)
{
	mem_free(entry->steps.integers);
	mem_free(entry->times.integers);
	mem_free(entry->values.values);
}
