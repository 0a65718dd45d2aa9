#include "extract/line/own_line.h"

#include "extract/line/cursor.h"
#include "extract/line/kernel_line.h"
#include "extract/line/part.h"
#include "extract/line/prefix.h"
#include "extract/line/unwrap.h"

enum { HEAD_BYTES = 256, OOM_HEAD_BYTES = 16 };

/* Of "Out of memory: Kill" and "Memory cgroup out of memory: Kill" the signature matches the end. */
static bool begins_with(struct span text, struct span said)
{
	size_t ahead = (size_t)(said.ptr - text.ptr);

	return said.ptr >= text.ptr && ahead <= OOM_HEAD_BYTES && kernel_line_begins(text);
}

/* "NVRM: Xid (PCI:0000:3b:00): 79 means that …": a driver has a comma behind the number. */
static bool is_sentence(struct span text, struct span said)
{
	struct span rest = span_skip(text, (size_t)(said.ptr - text.ptr));

	if (!span_starts_with(rest, SPAN("NVRM: Xid")))
		return false;
	ptrdiff_t end = span_find(rest, SPAN("): "));
	if (end < 0)
		return false;
	rest = span_skip(rest, (size_t)end + 3);
	rest = span_skip(rest, count_digits(rest));
	return rest.len && !memchr(",:;\r\n", rest.ptr[0], 5);
}

/* "Example: " is a word; "gpu07: " may be a machine, "ERROR: " is a logger's. */
static bool begins_with_word(struct span text)
{
	size_t len = 0;

	while (is_letter(char_at(text, len)) || char_at(text, len) == '_')
		len++;
	return len && char_at(text, len) == ':' && char_at(text, len + 1) == ' ' && logger_level_length(text) != len;
}

/* Behind what collectors, launchers and loggers put in front. */
static bool is_behind_prefix(struct span text, struct span said)
{
	struct prefix prefix;

	if (begins_with(kernel_line_peel(text), said))
		return true;
	(void)line_peel(text, NULL, &prefix);
	if (!kernel_line_begins(prefix.starts[0]) && begins_with_word(prefix.starts[0]))
		return false;
	for (size_t i = 0; i < prefix.count; i++)
		if (begins_with(kernel_line_peel(prefix.starts[i]), said))
			return true;
	return false;
}

static bool ends_a_word(char c)
{
	return is_letter(c) || is_digit(c) || memchr("]|%.", c, 4);
}

/* "step 5 loss 2.1[  123.4] NVRM: …": what follows a kernel's log may write into another line. In prose a blank or a quote is in front. */
static bool is_glued(struct span text, struct span said)
{
	size_t words = (size_t)(said.ptr - text.ptr), least = words > HEAD_BYTES ? words - HEAD_BYTES : 0;

	for (size_t at = words; at-- > least + 1;) {
		struct span rest = span_skip(text, at), stamp = rest;
		bool is_head = rest.ptr[0] == '[' || rest.ptr[0] == '<' ||
			       ((is_upper(rest.ptr[0]) || is_digit(rest.ptr[0])) && stamp_take(&stamp) != PART_NONE);
		if (is_head && ends_a_word(text.ptr[at - 1]) && begins_with(kernel_line_peel(rest), said))
			return true;
	}
	return false;
}

/* ---- message="NVRM: …", MESSAGE=NVRM: …, "msg"=>"NVRM: …" ---- */

static bool drop_end(struct span *text, struct span end)
{
	if (!span_ends_with(*text, end))
		return false;
	text->len -= end.len;
	return true;
}

/* The name of a member that holds a line, at the end, and what gives it its value. */
static bool drop_member(struct span *text)
{
	(void)!drop_end(text, SPAN("\""));
	if (!drop_end(text, SPAN("=>")) && !drop_end(text, SPAN("=")))
		return false;
	(void)!drop_end(text, SPAN("\""));
	size_t from = text->len;
	while (from && (is_letter(text->ptr[from - 1]) || text->ptr[from - 1] == '_'))
		from--;
	bool is_message = unwrap_is_message(span_skip(*text, from));
	text->len = from;
	(void)!drop_end(text, SPAN("\""));
	return is_message;
}

/* "level=warn host=\"a b\" ", and as Fluent Bit prints a record. */
static bool is_pairs(struct span text)
{
	bool has_sign = false, is_quoted = false;

	if (text.len && !memchr(" {,", text.ptr[text.len - 1], 3))
		return false;
	if (span_starts_with(text, SPAN("[")) && (span_ends_with(text, SPAN("{")) || span_find(text, SPAN("\"=>")) > 0))
		return true;
	for (size_t i = 0; i < text.len; i++) {
		is_quoted ^= text.ptr[i] == '"';
		has_sign |= text.ptr[i] == '=';
		if (text.ptr[i] != ' ' || is_quoted)
			continue;
		if (!has_sign)
			return false;
		has_sign = false;
	}
	return !is_quoted;
}

static bool is_value(struct span text, struct span said)
{
	size_t words = (size_t)(said.ptr - text.ptr), least = words > HEAD_BYTES ? words - HEAD_BYTES : 0;

	for (size_t at = words; at > least; at--) {
		struct span front = span_of(text.ptr, at);
		bool may_be = text.ptr[at - 1] == '=' || text.ptr[at - 1] == '>' || text.ptr[at - 1] == '"';
		if (may_be && begins_with(kernel_line_peel(span_skip(text, at)), said) && drop_member(&front))
			return is_pairs(span_skip(front, count_char(front, ' ')));
	}
	return false;
}

/* The line that holds it. */
static struct span cut_line(struct span text, struct span said)
{
	size_t from = (size_t)(said.ptr - text.ptr);

	while (from && text.ptr[from - 1] != '\n' && text.ptr[from - 1] != '\r')
		from--;
	return span_skip(text, from);
}

bool own_line_is(struct span text, struct span said)
{
	struct span host, line = cut_line(text, said);

	if (kernel_line_has_header(line, &host))
		return true;
	if (is_sentence(line, said))
		return false;
	return is_behind_prefix(line, said) || is_glued(line, said) || is_value(line, said);
}

/* {"log":"    Remapping Failure …, from the end: a member that holds a line. */
static bool is_json_value(struct span front)
{
	while (drop_end(&front, SPAN(" ")) || drop_end(&front, SPAN("\\t")))
		;
	if (!drop_end(&front, SPAN("\"")))
		return false;
	(void)!drop_end(&front, SPAN(" "));
	if (!drop_end(&front, SPAN(":")))
		return false;
	(void)!drop_end(&front, SPAN(" "));
	if (!drop_end(&front, SPAN("\"")))
		return false;
	size_t from = front.len;
	while (from && (is_letter(front.ptr[from - 1]) || front.ptr[from - 1] == '_'))
		from--;
	return from && front.ptr[from - 1] == '"' && unwrap_is_message(span_skip(front, from));
}

bool own_line_begins(struct span text, struct span said)
{
	struct span line = cut_line(text, said);
	struct prefix prefix;

	(void)line_peel(line, NULL, &prefix);
	if (begins_with_word(prefix.starts[0]))
		return false;
	for (size_t i = 0; i < prefix.count; i++) {
		struct span start = prefix.starts[i];
		while (start.len && (start.ptr[0] == ' ' || start.ptr[0] == '\t'))
			start = span_skip(start, 1);
		if (start.ptr == said.ptr)
			return true;
	}
	return is_json_value(span_of(line.ptr, (size_t)(said.ptr - line.ptr)));
}
