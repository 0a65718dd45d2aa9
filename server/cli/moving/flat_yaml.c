#include "cli/moving/flat_yaml.h"

#include "base/buf.h"

struct scalar {
	struct span rest; /* of the document */
	struct buf *text;
};

/* A line end within a value is a space; each further one stays. */
static void fold(struct scalar *scalar)
{
	size_t ends = 0;

	while (scalar->rest.len) {
		struct span space = scalar->rest;
		while (space.len && (*space.ptr == ' ' || *space.ptr == '\t' || *space.ptr == '\r'))
			space = span_skip(space, 1);
		if (!space.len || *space.ptr != '\n') {
			scalar->rest = ends ? space : scalar->rest;
			break;
		}
		scalar->rest = span_skip(space, 1);
		ends++;
	}
	for (size_t i = 1; i < ends; i++)
		buf_append_char(scalar->text, '\n');
	if (ends == 1)
		buf_append_char(scalar->text, ' ');
}

static bool is_at_fold(struct span rest)
{
	while (rest.len && (*rest.ptr == ' ' || *rest.ptr == '\t' || *rest.ptr == '\r'))
		rest = span_skip(rest, 1);
	return rest.len && *rest.ptr == '\n';
}

static void put_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_append_char(out, (char)c);
		return;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char heads[] = {0, 0xC0, 0xE0, 0xF0};
	buf_append_char(out, (char)(heads[more] | (c >> (6 * more))));
	while (more-- > 0)
		buf_append_char(out, (char)(0x80 | ((c >> (6 * more)) & 0x3F)));
}

/* \xNN, \uNNNN and \UNNNNNNNN. */
static enum status put_hex(struct scalar *scalar, size_t digits, struct error *err)
{
	uint32_t c = 0;

	for (size_t i = 0; i < digits; i++) {
		int digit = i < scalar->rest.len ? span_hex_digit(scalar->rest.ptr[i]) : -1;
		if (digit < 0)
			return error_set(err, ERR_INVALID, "an escape in double quotes lacks digits");
		c = c << 4 | (uint32_t)digit;
	}
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return error_set(err, ERR_INVALID, "an escape in double quotes is no character");
	scalar->rest = span_skip(scalar->rest, digits);
	put_utf8(scalar->text, c);
	return OK;
}

static enum status put_escape(struct scalar *scalar, struct error *err)
{
	static const char names[] = "0abtnvfre\"/\\ \tN_LP";
	static const uint32_t meanings[] = {
		0, 7, 8, 9, 10, 11, 12, 13, 27, '"', '/', '\\', ' ', '\t', 0x85, 0xA0, 0x2028, 0x2029};

	if (!scalar->rest.len)
		return error_set(err, ERR_INVALID, "double quotes do not end");
	char name = *scalar->rest.ptr;
	if (name == '\n' || name == '\r') { /* the line goes on, without a space */
		size_t before = scalar->text->len;
		fold(scalar);
		scalar->text->len = scalar->text->len > before ? before : scalar->text->len;
		return OK;
	}
	scalar->rest = span_skip(scalar->rest, 1);
	if (name == 'x' || name == 'u' || name == 'U')
		return put_hex(scalar, name == 'x' ? 2 : name == 'u' ? 4 : 8, err);
	const char *found = name ? strchr(names, name) : NULL;
	if (!found)
		return error_set(err, ERR_INVALID, "an escape in double quotes is not known");
	put_utf8(scalar->text, meanings[found - names]);
	return OK;
}

static enum status read_quoted(struct scalar *scalar, char quote, struct error *err)
{
	while (scalar->rest.len) {
		char c = *scalar->rest.ptr;
		if (is_at_fold(scalar->rest)) {
			fold(scalar);
			continue;
		}
		scalar->rest = span_skip(scalar->rest, 1);
		if (c == quote && !(quote == '\'' && scalar->rest.len && *scalar->rest.ptr == '\''))
			return OK;
		if (c == '\\' && quote == '"') {
			TRY(put_escape(scalar, err));
			continue;
		}
		if (c == quote)
			scalar->rest = span_skip(scalar->rest, 1);
		buf_append_char(scalar->text, c);
	}
	return error_set(err, ERR_INVALID, "quotes do not end");
}

/* To the end of its line, and of those that are indented below it. */
static void read_plain(struct scalar *scalar)
{
	struct span line;

	if (!span_next(&scalar->rest, '\n', &line))
		return;
	buf_append_span(scalar->text, span_trim(line));
	while (scalar->rest.len && (*scalar->rest.ptr == ' ' || *scalar->rest.ptr == '\n') &&
		span_next(&scalar->rest, '\n', &line)) {
		buf_append_char(scalar->text, span_trim(line).len ? ' ' : '\n');
		buf_append_span(scalar->text, span_trim(line));
	}
	size_t len = span_trim(buf_span(scalar->text)).len;
	scalar->text->len = len; /* a plain value begins with no space */
}

static bool is_null(struct span text)
{
	return !text.len || span_equal(text, SPAN("null")) || span_equal(text, SPAN("~"));
}

static enum status read_value(
	const char *key, struct scalar *scalar, struct arena *arena, struct span *out, struct error *err)
{
	struct span *rest = &scalar->rest;
	struct error cause;

	while (rest->len && *rest->ptr == ' ')
		*rest = span_skip(*rest, 1);
	char first = rest->len ? *rest->ptr : 0;
	if (first == '\'' || first == '"') {
		*rest = span_skip(*rest, 1);
		if (read_quoted(scalar, first, &cause) != OK)
			return error_set(err, ERR_INVALID, "'%s': %s", key, cause.text);
	} else {
		read_plain(scalar);
		if (is_null(buf_span(scalar->text)))
			return OK;
	}
	TRY(buf_status(scalar->text, err));
	struct span copy = arena_copy(arena, buf_span(scalar->text));
	*out = copy.ptr ? copy : SPAN("");
	return copy.ptr || !scalar->text->len ? OK : error_no_memory(err);
}

enum status flat_yaml_read(
	struct span document, const char *key, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(2 * document.len + 16);
	struct scalar scalar = {.rest = document, .text = &text};
	struct span before, line;
	enum status status = OK;

	for (;;) {
		before = scalar.rest;
		if (!span_next(&scalar.rest, '\n', &line))
			break;
		if (span_take(&line, span_from(key)) && line.len && *line.ptr == ':') {
			scalar.rest = span_skip(before, strlen(key) + 1);
			status = read_value(key, &scalar, arena, out, err);
			break;
		}
	}
	return status;
}
