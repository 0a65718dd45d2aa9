#include "ingest/json_scan.h"

struct json_scan json_scan_on(struct span document)
{
	const char *start = document.len ? document.ptr : "";

	return (struct json_scan){.start = start, .at = start, .end = start + document.len};
}

enum status json_scan_expected(const struct json_scan *s, const char *what, struct error *err)
{
	const char *line_start = s->start, *newline;
	int64_t line = 1;

	while (line_start < s->at && (newline = memchr(line_start, '\n', (size_t)(s->at - line_start)))) {
		line_start = newline + 1;
		line++;
	}
	int64_t column = s->at - line_start + 1;
	error_set(err, ERR_INVALID, "line %lld, column %lld: expected %s", (long long)line, (long long)column, what);
	if (err) {
		err->line = line;
		err->column = column;
	}
	return ERR_INVALID;
}

char json_scan_peek(struct json_scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
	return s->at < s->end ? *s->at : 0;
}

static bool accept_char(struct json_scan *s, char c)
{
	if (json_scan_peek(s) != c)
		return false;
	s->at++;
	return true;
}

static bool take_word(struct json_scan *s, struct span word)
{
	json_scan_peek(s);
	if (!span_starts_with(span_of(s->at, (size_t)(s->end - s->at)), word))
		return false;
	s->at += word.len;
	return true;
}

bool json_scan_null(struct json_scan *s)
{
	return take_word(s, SPAN("null"));
}

enum status json_scan_open(struct json_scan *s, char bracket, struct error *err)
{
	if (!accept_char(s, bracket))
		return json_scan_expected(s, bracket == '{' ? "'{'" : "'['", err);
	if (++s->depth > JSON_SCAN_DEPTH)
		return json_scan_expected(s, "no deeper nesting than 64", err);
	s->is_first = true;
	return OK;
}

static void close(struct json_scan *s)
{
	s->depth--;
	s->is_first = false; /* what is around it has this one */
}

enum status json_scan_key(struct json_scan *s, struct ndjson_value *key, bool *is_end, struct error *err)
{
	*is_end = accept_char(s, '}');
	if (*is_end) {
		close(s);
		return OK;
	}
	if (!s->is_first && !accept_char(s, ','))
		return json_scan_expected(s, "',' or '}'", err);
	s->is_first = false;
	TRY(json_scan_text(s, key, err));
	return accept_char(s, ':') ? OK : json_scan_expected(s, "':'", err);
}

enum status json_scan_item(struct json_scan *s, bool *is_end, struct error *err)
{
	*is_end = accept_char(s, ']');
	if (*is_end) {
		close(s);
		return OK;
	}
	if (!s->is_first && !accept_char(s, ','))
		return json_scan_expected(s, "',' or ']'", err);
	s->is_first = false;
	return OK;
}

enum status json_scan_text(struct json_scan *s, struct ndjson_value *text, struct error *err)
{
	if (!accept_char(s, '"'))
		return json_scan_expected(s, "a text in quotes", err);
	const char *first = s->at, *at = first, *quote = NULL, *escape;
	bool has_escapes = false;
	for (;;) {
		if ((!quote || at > quote) && !(quote = memchr(at, '"', (size_t)(s->end - at)))) {
			s->at = s->end;
			return json_scan_expected(s, "the end of a text", err);
		}
		if (!(escape = memchr(at, '\\', (size_t)(quote - at))))
			break;
		has_escapes = true;
		at = escape + 2; /* perhaps behind the quote, never behind the end: the quote is there */
	}
	*text = (struct ndjson_value){NDJSON_STRING, span_of(first, (size_t)(quote - first)), has_escapes};
	s->at = quote + 1;
	return OK;
}

static bool is_number_char(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

enum status json_scan_number(struct json_scan *s, struct span *number, struct error *err)
{
	struct ndjson_value text;

	*number = SPAN("");
	if (json_scan_peek(s) == '"') {
		TRY(json_scan_text(s, &text, err));
		*number = text.raw;
		return OK;
	}
	if (json_scan_null(s))
		return OK;
	const char *first = s->at;
	while (s->at < s->end && is_number_char(*s->at))
		s->at++;
	*number = span_of(first, (size_t)(s->at - first));
	return number->len ? OK : json_scan_expected(s, "a number", err);
}

enum status json_scan_bool(struct json_scan *s, bool *value, struct error *err)
{
	*value = take_word(s, SPAN("true"));
	if (*value || take_word(s, SPAN("false")))
		return OK;
	return json_scan_expected(s, "true or false", err);
}

static enum status skip_plain(struct json_scan *s, struct error *err)
{
	struct ndjson_value text;
	struct span number;

	if (json_scan_peek(s) == '"')
		return json_scan_text(s, &text, err);
	if (take_word(s, SPAN("true")) || take_word(s, SPAN("false")) || take_word(s, SPAN("null")) ||
		take_word(s, SPAN("NaN")) || take_word(s, SPAN("Infinity")) || take_word(s, SPAN("-Infinity")))
		return OK;
	return json_scan_number(s, &number, err) == OK ? OK : json_scan_expected(s, "a value", err);
}

/* Without recursion: which brackets are open is all that there is to know. */
enum status json_scan_skip(struct json_scan *s, struct error *err)
{
	unsigned outside = s->depth;
	bool is_object[JSON_SCAN_DEPTH + 1] = {false}, is_end = false;
	struct ndjson_value key;

	do {
		char c = json_scan_peek(s);
		if (c == '{' || c == '[') {
			TRY(json_scan_open(s, c, err));
			is_object[s->depth] = c == '{';
		} else {
			TRY(skip_plain(s, err));
			s->is_first = false;
		}
		for (is_end = true; is_end && s->depth > outside;)
			TRY(is_object[s->depth] ? json_scan_key(s, &key, &is_end, err)
						: json_scan_item(s, &is_end, err));
	} while (s->depth > outside);
	return OK;
}

enum status json_scan_end(struct json_scan *s, struct error *err)
{
	return json_scan_peek(s) || s->at < s->end ? json_scan_expected(s, "nothing behind the document", err) : OK;
}

enum status json_scan_decode(const struct json_scan *s, const struct ndjson_value *text, struct buf *scratch,
	struct span *out, struct error *err)
{
	size_t column;

	*out = text->raw;
	if (!text->has_escapes)
		return OK;
	buf_reset(scratch);
	if (!ndjson_decode(text->raw, scratch, &column)) {
		struct json_scan at = *s;
		at.at = text->raw.ptr + column - 1;
		return json_scan_expected(&at, "an escape that JSON knows", err);
	}
	*out = buf_span(scratch);
	return buf_status(scratch, err);
}

enum status json_scan_each(struct json_scan *s, json_scan_take *take_item, void *context, struct error *err)
{
	bool is_end;

	TRY(json_scan_open(s, '[', err));
	for (;;) {
		TRY(json_scan_item(s, &is_end, err));
		if (is_end)
			return OK;
		TRY(take_item(context, s, err));
	}
}
