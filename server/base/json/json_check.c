/* Recursive descent over RFC 8259, one function a rule; depth is counted, so that the stack is not the limit. */
#include "base/json/json_check.h"

#include <stdio.h>

enum { MAX_DEPTH = 1000, MAX_NUMBER_CHARACTERS = 511 };

struct checker {
	struct span text;
	size_t at;
	int depth;
	struct error *err;
};

static enum status check_value(struct checker *p);

static enum status fail_at(struct checker *p, size_t at, const char *what)
{
	int64_t line = 1;
	size_t line_start = 0;

	for (size_t i = 0; i < at; i++)
		if (p->text.ptr[i] == '\n') {
			line++;
			line_start = i + 1;
		}
	int64_t column = (int64_t)(at - line_start) + 1;
	error_set(p->err, ERR_INVALID, "line %lld, column %lld: %s", (long long)line, (long long)column, what);
	if (p->err) {
		p->err->line = line;
		p->err->column = column;
	}
	return ERR_INVALID;
}

static enum status fail_here(struct checker *p)
{
	char what[48];

	if (p->at >= p->text.len)
		return fail_at(p, p->text.len, "the text ends in the middle of a value");
	unsigned char c = (unsigned char)p->text.ptr[p->at];
	if (c == 0)
		return fail_at(p, p->at, "a NUL character is not accepted");
	if (c > ' ' && c < 0x7f)
		snprintf(what, sizeof what, "'%c' is not valid JSON here", c);
	else
		snprintf(what, sizeof what, "byte 0x%02x is not valid JSON here", c);
	return fail_at(p, p->at, what);
}

static char peek(const struct checker *p) /* NUL at the end: it is valid nowhere */
{
	return p->at < p->text.len ? p->text.ptr[p->at] : 0;
}

static void skip_space(struct checker *p)
{
	while (p->at < p->text.len && strchr(" \t\r\n", p->text.ptr[p->at]) && p->text.ptr[p->at])
		p->at++;
}

static bool skip_digits(struct checker *p)
{
	size_t start = p->at;

	while (peek(p) >= '0' && peek(p) <= '9')
		p->at++;
	return p->at > start;
}

static enum status check_number(struct checker *p)
{
	size_t start = p->at;

	p->at += peek(p) == '-';
	if (peek(p) == '0' && p->at + 1 < p->text.len && p->text.ptr[p->at + 1] >= '0' && p->text.ptr[p->at + 1] <= '9')
		return fail_at(p, start, "a number has no leading zero");
	if (!skip_digits(p))
		return fail_here(p);
	if (peek(p) == '.') {
		p->at++;
		if (!skip_digits(p))
			return fail_here(p);
	}
	if (peek(p) == 'e' || peek(p) == 'E') {
		p->at++;
		p->at += peek(p) == '+' || peek(p) == '-';
		if (!skip_digits(p))
			return fail_here(p);
	}
	return p->at - start > MAX_NUMBER_CHARACTERS ? fail_at(p, start, "this number has too many digits") : OK;
}

/* Four hexadecimal digits behind "\u"; -1: they are not there. */
static int32_t read_unit(struct span escape)
{
	int32_t unit = 0;

	if (escape.len < 6 || escape.ptr[0] != '\\' || escape.ptr[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		int digit = span_hex_digit(escape.ptr[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* p->at is on the backslash. */
static enum status check_escape(struct checker *p)
{
	struct span rest = span_skip(p->text, p->at);

	if (rest.len > 1 && rest.ptr[1] && strchr("\"\\/bfnrt", rest.ptr[1])) {
		p->at += 2;
		return OK;
	}
	int32_t code = read_unit(rest);
	if (code == 0)
		return fail_at(p, p->at, "a NUL character is not accepted");
	if (code < 0 || (code >= 0xdc00 && code < 0xe000))
		return fail_at(p, p->at, "not a valid escape");
	if (code >= 0xd800 && code < 0xdc00) {
		int32_t low = read_unit(span_skip(rest, 6));
		if (low < 0xdc00 || low > 0xdfff)
			return fail_at(p, p->at, "not a valid escape");
		p->at += 6;
	}
	p->at += 6;
	return OK;
}

/* p->at is on the opening quote. Unescaped control characters are taken as they are, but for NUL. */
static enum status check_string(struct checker *p)
{
	size_t start = ++p->at;

	while (p->at < p->text.len && p->text.ptr[p->at] != '"') {
		if (p->text.ptr[p->at] == 0)
			return fail_here(p);
		if (p->text.ptr[p->at] == '\\')
			TRY(check_escape(p));
		else
			p->at++;
	}
	if (p->at == p->text.len)
		return fail_at(p, start, "this string does not end");
	p->at++;
	return OK;
}

static enum status check_key(struct checker *p)
{
	skip_space(p);
	if (peek(p) != '"')
		return fail_here(p);
	TRY(check_string(p));
	skip_space(p);
	if (peek(p) != ':')
		return fail_here(p);
	p->at++;
	return OK;
}

static enum status check_children(struct checker *p)
{
	bool is_object = peek(p) == '{';
	char end = is_object ? '}' : ']';

	if (++p->depth > MAX_DEPTH)
		return fail_at(p, p->at, "nested too deeply, more than 1000 levels");
	p->at++;
	skip_space(p);
	for (bool is_first = true; !is_first || peek(p) != end; is_first = false) {
		if (is_object)
			TRY(check_key(p));
		TRY(check_value(p));
		skip_space(p);
		if (peek(p) == end)
			break;
		if (peek(p) != ',')
			return fail_here(p);
		p->at++;
	}
	p->at++;
	p->depth--;
	return OK;
}

static enum status check_word(struct checker *p)
{
	static const struct span words[] = {SPAN("null"), SPAN("true"), SPAN("false")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_starts_with(span_skip(p->text, p->at), words[i])) {
			p->at += words[i].len;
			return OK;
		}
	return fail_here(p);
}

static enum status check_value(struct checker *p)
{
	skip_space(p);
	switch (peek(p)) {
	case '{':
	case '[':
		return check_children(p);
	case '"':
		return check_string(p);
	case '-':
	case '0' ... '9':
		return check_number(p);
	default:
		return check_word(p);
	}
}

size_t json_bom_length(struct span text)
{
	return span_starts_with(text, SPAN("\xef\xbb\xbf")) ? 3 : 0;
}

enum status json_check(struct span text, struct error *err)
{
	struct checker p = {.text = text, .at = json_bom_length(text), .err = err};

	skip_space(&p);
	if (p.at == text.len)
		return fail_at(&p, text.len, "there is no JSON value, the text is empty");
	TRY(check_value(&p));
	skip_space(&p);
	return p.at < text.len ? fail_here(&p) : OK;
}
