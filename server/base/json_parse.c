/* Recursive descent over RFC 8259, one function a rule; depth is counted, so that the stack is not the limit. */
#include "base/buf.h"
#include "base/json_node.h"

#include <stdio.h>

enum { MAX_DEPTH = 1000, MAX_CODE_POINT_BYTES = 4 };

struct parser {
	struct span text;
	size_t at;
	int depth;
	struct error *err;
};

static enum status parse_value(struct parser *p, struct json **out);

static enum status fail_at(struct parser *p, size_t at, const char *what)
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

static enum status fail_out_of_memory(struct parser *p)
{
	return error_set(p->err, ERR_MEMORY, "out of memory");
}

static enum status fail_here(struct parser *p)
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

static char peek(const struct parser *p) /* NUL at the end: it is valid nowhere */
{
	return p->at < p->text.len ? p->text.ptr[p->at] : 0;
}

static void skip_space(struct parser *p)
{
	while (p->at < p->text.len && strchr(" \t\r\n", p->text.ptr[p->at]) && p->text.ptr[p->at])
		p->at++;
}

static bool skip_digits(struct parser *p)
{
	size_t start = p->at;

	while (peek(p) >= '0' && peek(p) <= '9')
		p->at++;
	return p->at > start;
}

static enum status parse_number(struct parser *p, struct json *node)
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
	node->kind = JSON_NUMBER;
	if (!span_parse_double(span_of(p->text.ptr + start, p->at - start), &node->number))
		return fail_at(p, start, "this number has too many digits");
	return OK;
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

static size_t put_utf8(char *out, int32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = len; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(code | (0xf0 << (4 - len)));
	return len;
}

/* The escape at p->at becomes bytes at out, which are never more. */
static enum status parse_escape(struct parser *p, char *out, size_t *len)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	struct span rest = span_skip(p->text, p->at);
	const char *name = rest.len > 1 && rest.ptr[1] ? strchr(names, rest.ptr[1]) : NULL;

	if (name) {
		*out = values[name - names];
		*len = 1;
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
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		p->at += 6;
	}
	p->at += 6;
	*len = put_utf8(out, code);
	return OK;
}

/* Where the string that starts at p->at ends; NULL: it does not. */
static const char *find_quote(const struct parser *p)
{
	const char *end = p->text.ptr + p->text.len;

	for (const char *c = p->text.ptr + p->at; c < end; c++) {
		if (*c == '"')
			return c;
		c += *c == '\\';
	}
	return NULL;
}

/* p->at is on the opening quote. Unescaped control characters are taken as they are, but for NUL. */
static enum status parse_string(struct parser *p, struct span *out)
{
	const char *quote = (p->at++, find_quote(p));
	size_t start = p->at, len = 0;

	if (!quote) /* the first bad escape before the end tells more */
		quote = p->text.ptr + p->text.len;
	size_t end = (size_t)(quote - p->text.ptr);
	AUTO_MEM char *text = mem_alloc(end - start + 1);
	if (!text)
		return fail_out_of_memory(p);
	while (p->at < end) {
		size_t added = 1;
		if (p->text.ptr[p->at] == 0)
			return fail_here(p);
		if (p->text.ptr[p->at] == '\\')
			TRY(parse_escape(p, text + len, &added));
		else
			text[len] = p->text.ptr[p->at++];
		len += added;
	}
	if (end == p->text.len)
		return fail_at(p, start, "this string does not end");
	p->at = end + 1;
	text[len] = 0;
	*out = span_of(text, len);
	text = NULL;
	return OK;
}

static enum status parse_member(struct parser *p, bool is_object, struct json **out)
{
	struct span key = {0};

	skip_space(p);
	if (is_object) {
		if (peek(p) != '"')
			return fail_here(p);
		TRY(parse_string(p, &key));
		AUTO_MEM char *owned = (char *)(uintptr_t)key.ptr;
		skip_space(p);
		if (peek(p) != ':')
			return fail_here(p);
		p->at++;
		TRY(parse_value(p, out));
		(*out)->key = key;
		owned = NULL;
		return OK;
	}
	return parse_value(p, out);
}

static enum status parse_children(struct parser *p, struct json *node)
{
	bool is_object = peek(p) == '{';
	char end = is_object ? '}' : ']';
	struct json **last = &node->child;

	node->kind = is_object ? JSON_OBJECT : JSON_ARRAY;
	if (++p->depth > MAX_DEPTH)
		return fail_at(p, p->at, "nested too deeply, more than 1000 levels");
	p->at++;
	skip_space(p);
	for (bool is_first = true; !is_first || peek(p) != end; is_first = false) {
		TRY(parse_member(p, is_object, last));
		last = &(*last)->next;
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

static enum status parse_word(struct parser *p, struct json *node)
{
	static const struct {
		struct span word;
		enum json_kind kind;
		bool is_true;
	} words[] = {
		{SPAN("null"), JSON_NULL, false}, {SPAN("true"), JSON_BOOL, true}, {SPAN("false"), JSON_BOOL, false}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!span_starts_with(span_skip(p->text, p->at), words[i].word))
			continue;
		node->kind = words[i].kind;
		node->is_true = words[i].is_true;
		p->at += words[i].word.len;
		return OK;
	}
	return fail_here(p);
}

/* *out is set as soon as there is a node, which the whole document's end frees with it. */
static enum status parse_value(struct parser *p, struct json **out)
{
	struct json *node = *out = mem_zeroed(sizeof *node);

	if (!node)
		return fail_out_of_memory(p);
	skip_space(p);
	switch (peek(p)) {
	case '{':
	case '[':
		return parse_children(p, node);
	case '"': {
		struct span text = {0};
		TRY(parse_string(p, &text));
		node->kind = JSON_STRING;
		node->text = text;
		return OK;
	}
	case '-':
	case '0' ... '9':
		return parse_number(p, node);
	default:
		return parse_word(p, node);
	}
}

enum status json_parse(struct json **out, struct span text, struct error *err)
{
	struct parser p = {.text = text, .err = err};
	AUTO(json) document = NULL;

	if (span_starts_with(text, SPAN("\xef\xbb\xbf")))
		p.at = 3;
	skip_space(&p);
	if (p.at == text.len)
		return fail_at(&p, text.len, "there is no JSON value, the text is empty");
	TRY(parse_value(&p, &document));
	skip_space(&p);
	if (p.at < text.len)
		return fail_here(&p);
	*out = document;
	document = NULL;
	return OK;
}
