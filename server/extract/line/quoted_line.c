#include "extract/line/quoted_line.h"

#include "extract/line/cursor.h"
#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "extract/line/own_line.h"
#include "extract/line/prefix.h"

enum { SOURCE_INDENT = 4 };

/* The pattern of the signature leaves out the first letter: kernels print it large or small. */
static bool is_kernels(struct span said)
{
	return kernel_line_begins(said) || span_starts_with(said, SPAN("ut of memory: Kill"));
}

/* "+ grep -c …": a shell that prints its commands. */
static bool is_trace(struct span line)
{
	size_t signs = count_char(line, '+');

	return signs && char_at(line, signs) == ' ';
}

/* Kubernetes' node-problem-detector, and what was made of it, tells of its own machine what the kernel said. */
static bool is_of_monitor(struct span text)
{
	return span_find(text, SPAN("Node condition ")) >= 0 && span_find(text, SPAN(" is now: True")) >= 0;
}

/* "gpu07: {" of pdsh */
static bool take_machine(struct span *text)
{
	size_t len = count_name(*text);
	bool has_digit = false;

	for (size_t i = 0; i < len; i++)
		has_digit |= is_digit(text->ptr[i]);
	struct span rest = span_skip(*text, len);
	if (!has_digit || !span_take(&rest, SPAN(": ")))
		return false;
	*text = rest;
	return true;
}

/* All of the line but what launchers, collectors and clocks put in front of it. Behind a logger's words an object is one that is printed. */
static bool find_record(struct span line, struct span *record)
{
	struct prefix prefix;

	(void)line_peel(line, NULL, &prefix);
	*record = prefix.starts[0];
	*record = span_skip(*record, count_char(*record, ' '));
	(void)!take_machine(record);
	return char_at(*record, 0) == '{';
}

/* The quote that is open at the end; NULL: none. An apostrophe opens none within a word. */
static const char *find_open_quote(struct span front)
{
	const char *open = NULL;

	for (size_t i = 0; i < front.len; i++) {
		char c = front.ptr[i];
		if (open && c == *open)
			open = NULL;
		else if (!open && (c == '"' || c == '`' || (c == '\'' && (!i || !is_name_char(front.ptr[i - 1])))))
			open = &front.ptr[i];
	}
	return open;
}

/* What has a name, or is an exception's, is what happened: err="…", RuntimeError('…'). */
static bool is_value(struct span front, const char *open)
{
	size_t len = (size_t)(open - front.ptr);

	while (len && front.ptr[len - 1] == ' ')
		len--;
	return len && memchr("=:(", front.ptr[len - 1], 3);
}

/* A program's words in quotes. A line of source is indented in a traceback. */
static bool is_in_quotes(struct span line, struct span said, bool names_host)
{
	struct span front = span_of(line.ptr, (size_t)(said.ptr - line.ptr));
	const char *open = find_open_quote(front);

	if (!open)
		return false;
	return names_host || count_char(line, ' ') >= SOURCE_INDENT || !is_value(front, open);
}

static bool is_in_record(struct span record, struct span said, bool is_kernel)
{
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);

	if (is_kernel &&
		(span_find(record, SPAN("\"prompt\":")) >= 0 || span_find(record, SPAN("\"completion\":")) >= 0))
		return true;
	enum record_words words = kernel_record_words(record, said, &plain);
	if (plain.failure)
		return false;
	return is_kernel ? words != RECORD_IS_KERNELS : words == RECORD_LISTS;
}

bool quoted_line_is(struct span text, struct span said, bool is_machines, bool names_host)
{
	struct span until = span_of(text.ptr, (size_t)(said.ptr - text.ptr) + said.len), record;
	bool is_kernel = is_kernels(said);

	if (!is_kernel && !is_machines)
		return false;
	if (is_trace(text))
		return true;
	if (is_of_monitor(until))
		return false;
	if (find_record(text, &record) && record.ptr <= said.ptr)
		return is_in_record(record, said, is_kernel);
	return is_kernel ? !own_line_is(text, said) : is_in_quotes(text, said, names_host);
}

bool quoted_line_is_check(struct span text, struct span said)
{
	if (is_trace(text))
		return true;
	if (said.len && is_letter(said.ptr[0]))
		return !own_line_begins(text, said);
	return char_at(said, 0) == '|' && is_in_quotes(text, said, true);
}
