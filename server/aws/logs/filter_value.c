#include "aws/logs/filter_program.h"

#include <ctype.h>
#include <stdio.h>

enum { NEEDLE_LEAST = 2 }; /* a text of one byte is in nearly every block */

enum status filter_wrong(const struct filter_reader *r, size_t at, const char *what, struct error *err)
{
	enum status status =
		error_set_field(err, ERR_INVALID, "filterPattern", "Invalid filter pattern: %s at column %zu of '%.*s'",
			what, at + 1, (int)(r->text.len < 200 ? r->text.len : 200), r->text.ptr ? r->text.ptr : "");

	if (err)
		err->column = (int64_t)at + 1;
	return status;
}

char filter_peek(const struct filter_reader *r)
{
	return r->at < r->text.len ? r->text.ptr[r->at] : 0;
}

void filter_skip_blanks(struct filter_reader *r)
{
	while (r->at < r->text.len && isspace((unsigned char)r->text.ptr[r->at]))
		r->at++;
}

bool filter_take(struct filter_reader *r, const char *text)
{
	if (!span_starts_with(span_skip(r->text, r->at), span_from(text)))
		return false;
	r->at += strlen(text);
	return true;
}

enum status filter_quoted(struct filter_reader *r, struct span *out, struct error *err)
{
	size_t begin = r->at++, len = 0;
	char *text = arena_alloc(r->pattern->arena, r->text.len + 1);

	if (!text)
		return error_no_memory(err);
	for (; r->at < r->text.len; r->at++) {
		char c = r->text.ptr[r->at], next = r->at + 1 < r->text.len ? r->text.ptr[r->at + 1] : 0;
		if (c == '"') {
			r->at++;
			*out = span_of(text, len);
			return len ? OK : filter_wrong(r, begin, "empty quotes", err);
		}
		if (c == '\\' && (next == '"' || next == '\\'))
			c = r->text.ptr[++r->at];
		text[len++] = c;
	}
	return filter_wrong(r, begin, "quotes that do not end", err);
}

/* AWS's expressions are these characters alone; PCRE2 knows more, and means the same by what is common. */
static enum status check_regex(const struct filter_reader *r, size_t begin, size_t end, struct error *err)
{
	for (size_t i = begin; i < end; i++) {
		char c = r->text.ptr[i];
		if (c == '\\' && i + 1 < end && isalpha((unsigned char)r->text.ptr[i + 1]) &&
			!strchr("dDsSwWxabntfrv", r->text.ptr[i + 1]))
			return filter_wrong(r, i, "an escape that regular expressions do not have here", err);
		if (c == '\\' && i + 1 < end && (unsigned char)r->text.ptr[i + 1] < 0x80) {
			i++;
			continue;
		}
		if (!isalnum((unsigned char)c) && (!c || !strchr(":_#=@/;,-^$?[]{}|\\*+. ", c)))
			return filter_wrong(r, i, "a character that regular expressions do not have here", err);
	}
	return OK;
}

enum status filter_regex(struct filter_reader *r, const struct regex **out, struct error *err)
{
	struct filter_pattern *pattern = r->pattern;
	size_t begin = ++r->at;

	while (r->at < r->text.len && r->text.ptr[r->at] != '%')
		r->at += r->text.ptr[r->at] == '\\' && r->at + 1 < r->text.len ? 2 : 1;
	if (r->at >= r->text.len)
		return filter_wrong(r, begin - 1, "a regular expression that does not end by %", err);
	struct span text = span_of(r->text.ptr + begin, r->at - begin);
	if (!text.len)
		return filter_wrong(r, begin - 1, "an empty regular expression", err);
	if (pattern->regex_count == FILTER_REGEX_MAX)
		return filter_wrong(r, begin - 1, "a third regular expression (2 may be there)", err);
	TRY(check_regex(r, begin, r->at, err));
	r->at++;
	enum status status = regex_new(&pattern->regexes[pattern->regex_count], text, 0, err);
	if (status == ERR_SEMANTIC) {
		size_t column = err ? (size_t)err->column : 1;
		return filter_wrong(r, begin + (column ? column - 1 : 0), "a regular expression that is none", err);
	}
	TRY(status);
	*out = pattern->regexes[pattern->regex_count++];
	return OK;
}

enum status filter_read_op(struct filter_reader *r, enum filter_op *op, struct error *err)
{
	static const struct {
		const char *text;
		enum filter_op op;
	} ops[] = {{"!=", FILTER_NOT_EQUAL}, {">=", FILTER_GREATER_EQUAL}, {"<=", FILTER_LESS_EQUAL},
		{"=", FILTER_EQUAL}, {">", FILTER_GREATER}, {"<", FILTER_LESS}};

	filter_skip_blanks(r);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (filter_take(r, ops[i].text)) {
			*op = ops[i].op;
			return OK;
		}
	return filter_wrong(r, r->at, "no comparison (= != > < >= <=)", err);
}

static bool is_number_text(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isdigit((unsigned char)text.ptr[i]) && !strchr("+-.eE", text.ptr[i]))
			return false;
	return text.len > 0;
}

static enum status read_bare(struct filter_reader *r, const char *ends, struct filter_value *out, struct error *err)
{
	size_t begin = r->at;

	while (r->at < r->text.len && !isspace((unsigned char)r->text.ptr[r->at]) &&
		!strchr(ends, r->text.ptr[r->at]) && !span_starts_with(span_skip(r->text, r->at), SPAN("&&")) &&
		!span_starts_with(span_skip(r->text, r->at), SPAN("||")))
		r->at++;
	out->text = span_of(r->text.ptr + begin, r->at - begin);
	if (!out->text.len)
		return filter_wrong(r, begin, "no value", err);
	for (size_t i = 0; i < out->text.len; i++) {
		unsigned char c = (unsigned char)out->text.ptr[i];
		if (!isalnum(c) && c < 0x80 && !strchr("_*.-+:/@#", c))
			return filter_wrong(r, begin + i, "a character that a value has only within quotes", err);
	}
	out->is_number = is_number_text(out->text) && span_parse_double(out->text, &out->number);
	return OK;
}

enum status filter_read_value(
	struct filter_reader *r, const char *ends, enum filter_op op, struct filter_value *out, struct error *err)
{
	*out = (struct filter_value){.text = SPAN("")};
	filter_skip_blanks(r);
	size_t begin = r->at;
	if (filter_peek(r) == '%') {
		TRY(filter_regex(r, &out->regex, err));
	} else if (filter_peek(r) == '"') {
		out->is_quoted = true;
		TRY(filter_quoted(r, &out->text, err));
	} else {
		TRY(read_bare(r, ends, out, err));
	}
	out->has_wildcard = out->text.len && memchr(out->text.ptr, '*', out->text.len);
	if (op != FILTER_EQUAL && op != FILTER_NOT_EQUAL && !out->is_number)
		return filter_wrong(r, begin, "no number behind > < >= <=", err);
	return OK;
}

/* ---- comparing ---- */

bool filter_regex_finds(const struct regex *regex, struct regex_scratch *scratch, struct span text)
{
	struct span groups[REGEX_MAX_GROUPS];

	return regex_search(regex, scratch, text.ptr ? text : SPAN(""), 0, groups) == REGEX_MATCH;
}

/* '*' stands for any bytes. The first and the last piece are the ends; those between are found from left to right. */
static bool matches_wildcard(struct span pattern, struct span text)
{
	struct span rest = pattern, piece;
	bool is_first = true;

	while (span_next(&rest, '*', &piece)) {
		bool is_last = !rest.ptr;
		if (is_last && !is_first)
			return span_ends_with(text, piece);
		if (is_first) {
			if (!span_starts_with(text, piece))
				return false;
			text = span_skip(text, piece.len);
		} else {
			ptrdiff_t at = span_find(text, piece);
			if (at < 0)
				return false;
			text = span_skip(text, (size_t)at + piece.len);
		}
		is_first = false;
	}
	return true; /* nothing is behind a '*' at the end */
}

static bool is_equal(const struct filter_value *value, struct span text, bool is_number, double number,
	struct regex_scratch *scratch)
{
	if (value->regex)
		return filter_regex_finds(value->regex, scratch, text);
	if (value->has_wildcard)
		return matches_wildcard(value->text, text);
	if (value->is_number && is_number)
		return number == value->number;
	return span_equal(value->text, text);
}

bool filter_compare(enum filter_op op, const struct filter_value *value, struct span text, bool is_number,
	double number, struct regex_scratch *scratch)
{
	if (op == FILTER_EQUAL || op == FILTER_NOT_EQUAL)
		return is_equal(value, text, is_number, number, scratch) == (op == FILTER_EQUAL);
	if (!is_number)
		return false;
	switch (op) {
	case FILTER_GREATER:
		return number > value->number;
	case FILTER_GREATER_EQUAL:
		return number >= value->number;
	case FILTER_LESS:
		return number < value->number;
	default:
		return number <= value->number;
	}
}

/* ---- needles ---- */

struct filter_needle filter_needle_text(struct span text)
{
	struct filter_needle needle = {.count = 0};

	if (text.len >= NEEDLE_LEAST)
		needle.texts[needle.count++] = text;
	return needle;
}

struct filter_needle filter_needle_of(const struct filter_value *value)
{
	struct span rest = value->text, piece, best = SPAN("");

	if (value->regex || value->is_number)
		return (struct filter_needle){.count = 0};
	while (span_next(&rest, '*', &piece))
		best = piece.len > best.len ? piece : best;
	return filter_needle_text(best);
}

static size_t shortest(const struct filter_needle *needle)
{
	size_t len = needle->count ? SIZE_MAX : 0;

	for (size_t i = 0; i < needle->count; i++)
		len = needle->texts[i].len < len ? needle->texts[i].len : len;
	return len;
}

struct filter_needle filter_needle_and(const struct filter_needle *a, const struct filter_needle *b)
{
	size_t left = shortest(a), right = shortest(b);

	if (left && right && a->count != b->count)
		return a->count < b->count ? *a : *b;
	return left >= right ? *a : *b;
}

struct filter_needle filter_needle_or(const struct filter_needle *a, const struct filter_needle *b)
{
	struct filter_needle both = *a;

	if (!a->count || !b->count || a->count + b->count > NEEDLE_TEXTS)
		return (struct filter_needle){.count = 0};
	memcpy(both.texts + both.count, b->texts, b->count * sizeof *b->texts);
	both.count += b->count;
	return both;
}
