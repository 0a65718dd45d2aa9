#include "base/json/json_pull.h"

#include <stdio.h>

enum { WINDOW_BYTES = 256 << 10 };

/* What may come next. */
enum state { VALUE, VALUE_OR_END, KEY, KEY_OR_END, BEHIND, DONE };

struct json_pull {
	json_pull_fill *fill;
	void *context;
	uint64_t passed; /* bytes of the document in front of the window */
	size_t at, len;
	bool is_at_end; /* of the source */
	enum state state;
	unsigned depth;
	uint64_t is_object; /* a bit a level */
	char window[WINDOW_BYTES];
};

enum status json_pull_new(struct json_pull **out, json_pull_fill *fill, void *context, struct error *err)
{
	struct json_pull *pull = mem_alloc(sizeof *pull);

	if (!pull)
		return error_no_memory(err);
	memset(pull, 0, offsetof(struct json_pull, window)); /* the window is written before it is read */
	pull->fill = fill;
	pull->context = context;
	*out = pull;
	return OK;
}

void json_pull_free(struct json_pull *pull)
{
	mem_free(pull);
}

/* ---- the window ---- */

static enum status fail(const struct json_pull *p, const char *what, struct error *err)
{
	unsigned long long at = p->passed + p->at;

	if (p->at >= p->len && p->is_at_end)
		return error_set(err, ERR_INVALID, "byte %llu: it is cut off: %s expected", at, what);
	return error_set(err, ERR_INVALID, "byte %llu: %s expected", at, what);
}

/* More bytes behind those from `keep` on, which move to the front; false in *is_more: there are none. There is room. */
static enum status fill(struct json_pull *p, size_t keep, bool *is_more, struct error *err)
{
	size_t got = 0;

	if (keep) {
		memmove(p->window, p->window + keep, p->len - keep);
		p->passed += keep;
		p->at -= keep;
		p->len -= keep;
	}
	if (!p->is_at_end)
		TRY(p->fill(p->context, p->window + p->len, WINDOW_BYTES - p->len, &got, err));
	p->is_at_end = got == 0;
	p->len += got;
	*is_more = got > 0;
	return OK;
}

/* The next byte that is no space; 0: the end, or a NUL, which stands nowhere. */
static enum status peek(struct json_pull *p, char *c, struct error *err)
{
	bool is_more = true;

	while (is_more) {
		while (p->at < p->len) {
			*c = p->window[p->at];
			if (*c != ' ' && *c != '\n' && *c != '\t' && *c != '\r')
				return OK;
			p->at++;
		}
		TRY(fill(p, p->at, &is_more, err));
	}
	*c = 0;
	return OK;
}

/* ---- texts ---- */

/* Where an escaped byte is: a backslash speaks for the one behind it. Returns the quote's place, or len. */
static size_t find_quote(const struct json_pull *p, size_t from, bool *is_escaped)
{
	for (size_t i = from; i < p->len; i++) {
		if (*is_escaped)
			*is_escaped = false;
		else if (p->window[i] == '\\')
			*is_escaped = true;
		else if (p->window[i] == '"')
			return i;
	}
	return p->len;
}

/* Most texts are in the window, and have no escapes. */
static size_t find_plain_quote(const struct json_pull *p)
{
	const char *first = p->window + p->at, *quote = memchr(first, '"', p->len - p->at);

	return quote && !memchr(first, '\\', (size_t)(quote - first)) ? (size_t)(quote - p->window) : p->len;
}

/* A long one: its beginning stays in front, and what follows runs through the room behind it. */
static enum status take_long_text(struct json_pull *p, struct span *text, struct error *err)
{
	bool is_escaped = false, is_more = true;
	size_t start = p->at, quote = find_quote(p, start, &is_escaped);

	while (quote == p->len) {
		if (p->len - start > JSON_PULL_TEXT_BYTES) {
			p->passed += p->len - start - JSON_PULL_TEXT_BYTES;
			p->len = start + JSON_PULL_TEXT_BYTES;
		}
		p->at = p->len;
		TRY(fill(p, start, &is_more, err));
		start = 0;
		if (!is_more)
			return fail(p, "the end of a text", err);
		quote = find_quote(p, p->at, &is_escaped);
	}
	size_t bytes = quote - start;
	*text = span_of(p->window + start, bytes < JSON_PULL_TEXT_BYTES ? bytes : JSON_PULL_TEXT_BYTES);
	p->at = quote + 1;
	return OK;
}

/* Behind its first quote. */
static enum status take_text(struct json_pull *p, struct span *text, struct error *err)
{
	size_t quote = find_plain_quote(p);

	if (quote == p->len || quote - p->at > JSON_PULL_TEXT_BYTES)
		return take_long_text(p, text, err);
	*text = span_of(p->window + p->at, quote - p->at);
	p->at = quote + 1;
	return OK;
}

/* ---- values ---- */

static bool is_bare(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
	       c == '.';
}

static bool is_word(struct span text)
{
	static const struct span words[] = {{"true", 4}, {"false", 5}, {"null", 4}, {"NaN", 3}, {"nan", 3}, {"-nan", 4},
		{"inf", 3}, {"-inf", 4}, {"Infinity", 8}, {"-Infinity", 9}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal(text, words[i]))
			return true;
	return false;
}

/* RFC 8259's numbers. */
static bool is_number(struct span s)
{
	size_t at = s.len && s.ptr[0] == '-', digits = at;

	while (at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9')
		at++;
	if (at == digits || (at > digits + 1 && s.ptr[digits] == '0'))
		return false;
	if (at < s.len && s.ptr[at] == '.') {
		for (digits = ++at; at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9';)
			at++;
		if (at == digits)
			return false;
	}
	if (at < s.len && (s.ptr[at] | 0x20) == 'e') {
		at++;
		at += at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-');
		for (digits = at; at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9';)
			at++;
		if (at == digits)
			return false;
	}
	return at == s.len;
}

static enum status take_bare(struct json_pull *p, enum json_token *token, struct span *text, struct error *err)
{
	size_t end = p->at;
	bool is_more = true;

	for (;;) {
		while (end < p->len && is_bare(p->window[end]))
			end++;
		if (end < p->len || end - p->at > JSON_PULL_NUMBER_BYTES || !is_more)
			break;
		end -= p->at;
		TRY(fill(p, p->at, &is_more, err));
	}
	*text = span_of(p->window + p->at, end - p->at);
	*token = is_word(*text) ? JSON_PULL_WORD : JSON_PULL_NUMBER;
	if (text->len > JSON_PULL_NUMBER_BYTES || (*token == JSON_PULL_NUMBER && !is_number(*text)))
		return fail(p, "a value", err);
	p->at = end;
	p->state = p->depth ? BEHIND : DONE;
	return OK;
}

static enum status open_level(struct json_pull *p, bool is_object, enum json_token *token, struct error *err)
{
	if (p->depth == JSON_PULL_DEPTH)
		return fail(p, "no deeper nesting than 64", err);
	p->at++;
	uint64_t bit = (uint64_t)1 << p->depth++;
	p->is_object = is_object ? p->is_object | bit : p->is_object & ~bit;
	p->state = is_object ? KEY_OR_END : VALUE_OR_END;
	*token = is_object ? JSON_PULL_OBJECT : JSON_PULL_ARRAY;
	return OK;
}

static enum status close_level(struct json_pull *p, enum json_token *token)
{
	p->at++;
	p->depth--;
	*token = p->is_object >> p->depth & 1 ? JSON_PULL_OBJECT_END : JSON_PULL_ARRAY_END;
	p->state = p->depth ? BEHIND : DONE;
	return OK;
}

static enum status take_value(struct json_pull *p, char c, enum json_token *token, struct span *text, struct error *err)
{
	if (c == '{' || c == '[')
		return open_level(p, c == '{', token, err);
	if (c != '"')
		return is_bare(c) ? take_bare(p, token, text, err) : fail(p, "a value", err);
	p->at++;
	TRY(take_text(p, text, err));
	*token = JSON_PULL_STRING;
	p->state = p->depth ? BEHIND : DONE;
	return OK;
}

/* The colon is found where the value is: what stands before it may move out of the window, the key's text not yet. */
static enum status take_key(struct json_pull *p, char c, enum json_token *token, struct span *text, struct error *err)
{
	if (c != '"')
		return fail(p, "a name in quotes", err);
	p->at++;
	TRY(take_text(p, text, err));
	*token = JSON_PULL_KEY;
	p->state = VALUE;
	return OK;
}

static bool is_in_object(const struct json_pull *p)
{
	return p->depth && p->is_object >> (p->depth - 1) & 1;
}

/* Behind a value: passes over a comma, to what then has to come. */
static enum status pass_comma(struct json_pull *p, char *c, struct error *err)
{
	if (*c != ',')
		return fail(p, is_in_object(p) ? "',' or '}'" : "',' or ']'", err);
	p->at++;
	p->state = is_in_object(p) ? KEY : VALUE;
	return peek(p, c, err);
}

static enum status pass_colon(struct json_pull *p, char *c, struct error *err)
{
	if (*c != ':')
		return fail(p, "':'", err);
	p->at++;
	return peek(p, c, err);
}

enum status json_pull_next(struct json_pull *p, enum json_token *token, struct span *text, struct error *err)
{
	bool may_end = p->state == BEHIND || p->state == KEY_OR_END || p->state == VALUE_OR_END;
	bool is_behind_key = p->state == VALUE && is_in_object(p);
	char c;

	*text = SPAN("");
	TRY(peek(p, &c, err));
	if (p->state == DONE) {
		*token = JSON_PULL_END;
		return p->at < p->len ? fail(p, "nothing more", err) : OK;
	}
	if (may_end && c == (is_in_object(p) ? '}' : ']'))
		return close_level(p, token);
	if (is_behind_key)
		TRY(pass_colon(p, &c, err));
	else if (p->state == BEHIND)
		TRY(pass_comma(p, &c, err));
	if (p->state == KEY || p->state == KEY_OR_END)
		return take_key(p, c, token, text, err);
	return take_value(p, c, token, text, err);
}

enum status json_pull_skip(struct json_pull *p, enum json_token token, struct error *err)
{
	if (token != JSON_PULL_OBJECT && token != JSON_PULL_ARRAY)
		return OK;
	unsigned until = p->depth - 1;
	struct span text;
	while (p->depth > until)
		TRY(json_pull_next(p, &token, &text, err));
	return OK;
}
