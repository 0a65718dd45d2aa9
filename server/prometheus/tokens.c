#include "prometheus/tokens.h"

#include "base/buf.h"

#include <stdio.h>

enum { TEXT_MAX_BYTES = 1 << 16, SHOWN_BYTES = 40 };

static bool is_name_char(char c, bool is_first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
	       (!is_first && c >= '0' && c <= '9');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

enum status tokens_fail(const struct tokens *tokens, const char *what, struct error *err)
{
	struct span text = span_cut(tokens->token.text, SHOWN_BYTES);

	if (tokens->token.kind == TOKEN_END)
		error_set(err, ERR_INVALID, "parse error: %s at the end of the query", what);
	else
		error_set(err, ERR_INVALID, "parse error: %s at byte %zu: '%.*s'", what, tokens->token.at + 1,
			SPAN_ARGS(text));
	return ERR_INVALID;
}

static enum status fail_at(size_t at, const char *what, struct error *err)
{
	return error_set(err, ERR_INVALID, "parse error: %s at byte %zu", what, at + 1);
}

/* ---- durations: 1h30m, 500ms ---- */

static const struct {
	const char *unit;
	int64_t ms;
} units[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"w", 604800000}, {"y", 31536000000}};

static bool take_unit(struct span *rest, int64_t *ms)
{
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (span_take(rest, span_from(units[i].unit))) {
			*ms = units[i].ms;
			return true;
		}
	return false;
}

bool tokens_duration(struct span text, int64_t *ms)
{
	enum { MOST = 100 };
	int64_t sum = 0, last = INT64_MAX;

	while (text.len) {
		int64_t number = 0, unit;
		size_t digits = 0;
		for (; digits < text.len && digits < 15 && is_digit(text.ptr[digits]); digits++)
			number = number * 10 + (text.ptr[digits] - '0');
		text = span_skip(text, digits);
		/* each unit once, the larger ones first, and no more than a century together */
		if (!digits || !take_unit(&text, &unit) || unit >= last || number > MOST * 31536000000 / unit)
			return false;
		last = unit;
		sum += number * unit;
	}
	*ms = sum;
	return last != INT64_MAX && sum <= MOST * 31536000000;
}

/* ---- tokens ---- */

static void skip_blanks(struct tokens *tokens)
{
	struct span query = tokens->query;

	while (tokens->at < query.len) {
		char c = query.ptr[tokens->at];
		if (c == '#') { /* a comment */
			while (tokens->at < query.len && query.ptr[tokens->at] != '\n')
				tokens->at++;
		} else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			tokens->at++;
		} else {
			return;
		}
	}
}

static void put_utf8(struct buf *out, uint32_t code)
{
	if (code < 0x80) {
		buf_append_char(out, (char)code);
	} else if (code < 0x800) {
		buf_append_char(out, (char)(0xc0 | code >> 6));
		buf_append_char(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buf_append_char(out, (char)(0xe0 | code >> 12));
		buf_append_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_append_char(out, (char)(0x80 | (code & 0x3f)));
	} else {
		buf_append_char(out, (char)(0xf0 | code >> 18));
		buf_append_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
		buf_append_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_append_char(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* x41, u00e9, U0001f600: so many hex digits. */
static bool take_hex(struct span *rest, size_t digits, uint32_t *code)
{
	*code = 0;
	if (rest->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		int digit = span_hex_digit(rest->ptr[i]);
		if (digit < 0)
			return false;
		*code = *code << 4 | (uint32_t)digit;
	}
	*rest = span_skip(*rest, digits);
	return *code <= 0x10ffff && *code && !(*code >= 0xd800 && *code < 0xe000);
}

static bool take_escape(struct span *rest, struct buf *out)
{
	static const char names[] = "abfnrtv\\'\"", bytes[] = "\a\b\f\n\r\t\v\\'\"";
	char c = rest->len ? rest->ptr[0] : 0;
	const char *found = c ? strchr(names, c) : NULL;
	uint32_t code;

	*rest = span_skip(*rest, 1);
	if (found) {
		buf_append_char(out, bytes[found - names]);
		return true;
	}
	if (c == 'x' && take_hex(rest, 2, &code)) {
		buf_append_char(out, (char)code);
		return true;
	}
	if ((c == 'u' && take_hex(rest, 4, &code)) || (c == 'U' && take_hex(rest, 8, &code))) {
		put_utf8(out, code);
		return true;
	}
	return false;
}

static enum status unescape(struct tokens *tokens, struct span raw, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES);

	while (raw.len) {
		char c = raw.ptr[0];
		raw = span_skip(raw, 1);
		if (c != '\\')
			buf_append_char(&text, c);
		else if (!take_escape(&raw, &text))
			return fail_at(tokens->token.at, "unknown escape sequence in a text", err);
	}
	TRY(buf_status(&text, err));
	tokens->token.text = arena_copy(tokens->arena, text.len ? buf_span(&text) : SPAN(""));
	return tokens->token.text.ptr ? OK : error_no_memory(err);
}

static enum status take_text(struct tokens *tokens, char quote, struct error *err)
{
	size_t from = tokens->at + 1, end = from;
	bool has_escapes = false;

	for (; end < tokens->query.len && tokens->query.ptr[end] != quote; end++)
		if (quote != '`' && tokens->query.ptr[end] == '\\') {
			has_escapes = true;
			end++;
		} else if (quote != '`' && tokens->query.ptr[end] == '\n') {
			return fail_at(tokens->at, "a text does not end", err);
		}
	if (end >= tokens->query.len)
		return fail_at(tokens->at, "a text does not end", err);
	tokens->token.kind = TOKEN_TEXT;
	tokens->token.text = span_of(tokens->query.ptr + from, end - from);
	tokens->at = end + 1;
	return has_escapes ? unescape(tokens, tokens->token.text, err) : OK;
}

static bool parse_number(struct span text, double *number)
{
	uint64_t bits = 0;

	if (text.len <= 2 || text.ptr[0] != '0' || (text.ptr[1] | 0x20) != 'x')
		return span_parse_double(text, number);
	for (size_t i = 2; i < text.len; i++) {
		int digit = span_hex_digit(text.ptr[i]);
		if (digit < 0 || bits >> 60)
			return false;
		bits = bits << 4 | (uint64_t)digit;
	}
	*number = (double)bits;
	return true;
}

static enum status take_number(struct tokens *tokens, struct error *err)
{
	const char *text = tokens->query.ptr;
	size_t end = tokens->at;

	for (; end < tokens->query.len; end++) {
		bool is_sign = text[end] == '+' || text[end] == '-';
		bool is_exponent = end > tokens->at && (text[end - 1] | 0x20) == 'e' && text[tokens->at + 1] != 'x';
		if (!is_name_char(text[end], false) && text[end] != '.' && !(is_sign && is_exponent))
			break;
		if (text[end] == ':')
			break;
	}
	tokens->token.text = span_of(text + tokens->at, end - tokens->at);
	tokens->token.kind = parse_number(tokens->token.text, &tokens->token.number) ? TOKEN_NUMBER : TOKEN_DURATION;
	if (tokens->token.kind == TOKEN_DURATION && !tokens_duration(tokens->token.text, &tokens->token.ms))
		return tokens_fail(tokens, "neither a number nor a duration", err);
	tokens->at = end;
	return OK;
}

static void take_sign(struct tokens *tokens)
{
	struct span rest = span_skip(tokens->query, tokens->at), signs = span_from(tokens->signs), sign;
	size_t len = 1;

	while (len == 1 && span_next(&signs, ' ', &sign))
		if (span_starts_with(rest, sign))
			len = sign.len;
	tokens->token.kind = TOKEN_SIGN;
	tokens->token.text = span_of(rest.ptr, len);
	tokens->at += len;
}

enum status tokens_next(struct tokens *tokens, struct error *err)
{
	skip_blanks(tokens);
	tokens->token = (struct token){.kind = TOKEN_END, .at = tokens->at, .text = SPAN("")};
	if (tokens->at >= tokens->query.len)
		return OK;
	const char *text = tokens->query.ptr + tokens->at;
	size_t left = tokens->query.len - tokens->at, len = 0;
	if (*text == '"' || *text == '\'' || *text == '`')
		return take_text(tokens, *text, err);
	if (is_digit(*text) || (*text == '.' && left > 1 && is_digit(text[1])))
		return take_number(tokens, err);
	while (len < left && is_name_char(text[len], len == 0))
		len++;
	if (!len || *text == ':') {
		take_sign(tokens);
		return OK;
	}
	tokens->token.kind = TOKEN_NAME;
	tokens->token.text = span_of(text, len);
	tokens->at += len;
	return OK;
}

enum status tokens_open(
	struct tokens *tokens, struct span query, const char *signs, struct arena *arena, struct error *err)
{
	*tokens = (struct tokens){.query = query, .signs = signs, .arena = arena};
	if (!span_is_utf8(query))
		return error_set(err, ERR_INVALID, "parse error: the query is not UTF-8");
	return tokens_next(tokens, err);
}

bool tokens_is(const struct tokens *tokens, const char *sign_or_name)
{
	enum token_kind kind = tokens->token.kind;

	return (kind == TOKEN_SIGN || kind == TOKEN_NAME) && span_equal(tokens->token.text, span_from(sign_or_name));
}

enum status tokens_take(struct tokens *tokens, const char *sign_or_name, bool *is_taken, struct error *err)
{
	*is_taken = tokens_is(tokens, sign_or_name);
	return *is_taken ? tokens_next(tokens, err) : OK;
}

enum status tokens_want(struct tokens *tokens, const char *sign, struct error *err)
{
	char what[32];

	if (tokens_is(tokens, sign))
		return tokens_next(tokens, err);
	snprintf(what, sizeof what, "expected '%s'", sign);
	return tokens_fail(tokens, what, err);
}
