#include "extract/line/quoted_line.h"

#include "extract/line/cursor.h"
#include "extract/line/kernel_line.h"

/* "step 5", "step=5", "\"step\": 5" */
static bool says_number(struct span text, struct span word)
{
	for (ptrdiff_t at; (at = span_find(text, word)) >= 0;) {
		bool begins = !at || !is_name_char(text.ptr[at - 1]);
		text = span_skip(text, (size_t)at + word.len);
		size_t len = 0;
		while (len < 4 && len < text.len && memchr("\": =", text.ptr[len], 4))
			len++;
		if (begins && len && is_digit(char_at(text, len)))
			return true;
	}
	return false;
}

static bool is_step(struct span front, struct span behind)
{
	return (says_number(front, SPAN("step")) || says_number(behind, SPAN("step"))) &&
	       (says_number(front, SPAN("loss")) || says_number(behind, SPAN("loss")));
}

/* "…] ", "…<4>", "… kernel: ", a line's end: a program that follows the kernel's log may write into the trainer's line. */
static bool may_end_a_kernels(struct span front)
{
	struct span trimmed = span_trim(front);

	return !trimmed.len || span_find_char(front, '\r') >= 0 || memchr("]>;", trimmed.ptr[trimmed.len - 1], 3) ||
	       span_ends_with(trimmed, SPAN("kernel:")) || span_ends_with(trimmed, SPAN("\\r")) ||
	       span_ends_with(trimmed, SPAN("\\n"));
}

bool quoted_line_is(struct span text, struct span said)
{
	struct span front = span_of(text.ptr, (size_t)(said.ptr - text.ptr));
	struct span behind = span_skip(text, front.len + said.len);
	bool is_record = char_at(text, 0) == '{';

	/* the signature's pattern leaves out the first letter: kernels print it large or small */
	if (!kernel_line_begins(said) && !span_starts_with(said, SPAN("ut of memory: Kill")))
		return false;
	if (is_record && (span_find(text, SPAN("\"prompt\":")) >= 0 || span_find(text, SPAN("\"completion\":")) >= 0))
		return true;
	return !may_end_a_kernels(front) && is_step(front, is_record ? behind : SPAN(""));
}
