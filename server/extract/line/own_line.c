#include "extract/line/own_line.h"

#include "extract/line/cursor.h"
#include "extract/line/kernel_line.h"
#include "extract/line/local_tag.h"
#include "extract/line/part.h"
#include "extract/line/prefix.h"
#include "extract/line/said_tag.h"
#include "extract/line/unwrap.h"

enum { HEAD_BYTES = 256 };

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

static bool drop_end(struct span *text, struct span end)
{
	if (!span_ends_with(*text, end))
		return false;
	text->len -= end.len;
	return true;
}

/* Behind a logger's name, or a program's, another word is the message's: "chat: Example: ", "rag-bot[3]: said: ". */
static bool is_second_word(struct span front)
{
	if (!drop_end(&front, SPAN(": ")))
		return false;
	size_t from = front.len;
	while (from && (is_letter(front.ptr[from - 1]) || front.ptr[from - 1] == '_'))
		from--;
	struct span word = span_skip(front, from);
	front.len = from;
	while (drop_end(&front, SPAN(" ")) || drop_end(&front, SPAN("-")))
		;
	return word.len && !span_equal(word, SPAN("kernel")) && logger_level_length(word) != word.len &&
	       span_ends_with(front, SPAN(":"));
}

/* "ERROR | ", "root - " behind a first "| ", "- ". */
static bool separates(struct span start, char mark)
{
	start = span_skip(start, count_char(start, ' '));
	size_t len = count_name(start);
	struct span rest = span_skip(start, len);

	return logger_level_length(start) || (len && char_at(span_skip(rest, count_char(rest, ' ')), 0) == mark);
}

/* What stands between the launchers' and collectors' parts and `start` is a logger's, and not words of the line's own, or what makes an item
 * or a row of them. */
static bool is_loggers(struct span first, struct span start)
{
	struct span front = span_of(first.ptr, (size_t)(start.ptr - first.ptr));

	if (!front.len)
		return true;
	if (begins_with_word(first) || is_second_word(front))
		return false;
	while (drop_end(&front, SPAN(" ")))
		;
	char mark = front.len ? front.ptr[front.len - 1] : 0;
	if (!drop_end(&front, SPAN("-")) && !drop_end(&front, SPAN("|")))
		return true;
	while (drop_end(&front, SPAN(" ")))
		;
	return front.len ? !span_ends_with(front, SPAN(":")) : separates(start, mark);
}

/* Also directly behind a tag of its process or device. */
static bool begins_message(struct span start, struct span said)
{
	return kernel_line_begins_message(start, said) ||
	       (local_tag_take(&start) && kernel_line_begins_message(start, said));
}

/* Behind what collectors, launchers and loggers put in front. */
static bool is_behind_prefix(struct span text, struct span said)
{
	struct prefix prefix;
	struct span host;

	if (kernel_line_find(text, kernel_line_is_of_program, &host) &&
		!kernel_line_find(text, kernel_line_has_header, &host))
		return false;
	if (kernel_line_begins_message(text, said) || kernel_line_find(text, kernel_line_is_handed_on, &host))
		return true;
	(void)line_peel(text, NULL, &prefix);
	if (!kernel_line_begins(prefix.starts[0]) && begins_with_word(prefix.starts[0]))
		return false;
	for (size_t i = 0; i < prefix.count && is_loggers(prefix.starts[0], prefix.starts[i]); i++)
		if (begins_message(prefix.starts[i], said))
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
		if (is_head && ends_a_word(text.ptr[at - 1]) && kernel_line_begins_message(rest, said))
			return true;
	}
	return false;
}

/* ---- message="NVRM: …", MESSAGE=NVRM: …, "msg"=>"NVRM: …" ---- */

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
	struct span name = span_skip(*text, from);
	bool is_message = unwrap_is_message(name) || span_equal(name, SPAN("err")) || span_equal(name, SPAN("error"));
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
		if (may_be && kernel_line_begins_message(span_skip(text, at), said) && drop_member(&front))
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

/* `         "msg": "NVRM: …` of dmesg -J, which prints a member a line. */
static bool is_dmesgs(struct span line, struct span said)
{
	return span_take(&line, SPAN("         \"msg\": \"")) && kernel_line_begins_message(line, said);
}

bool own_line_is_drivers(struct span text, struct span said)
{
	struct span host, line = cut_line(text, said);

	if (kernel_line_has_header(line, &host))
		return true;
	if (is_sentence(line, said) || said_tag_is_before(line, said))
		return false;
	return is_behind_prefix(line, said) || is_glued(line, said) || is_value(line, said) || is_dmesgs(line, said);
}

/* ---- what tools print ---- */

/* Each place where the line itself may begin, without its indentation. */
struct own_starts {
	struct span at[2 * STARTS_MAX];
	size_t count;
};

static void read_starts(struct span line, struct own_starts *starts)
{
	struct prefix prefix;

	(void)line_peel(line, NULL, &prefix);
	starts->count = 0;
	for (size_t i = 0; i < prefix.count && is_loggers(prefix.starts[0], prefix.starts[i]); i++) {
		struct span start = prefix.starts[i];
		while (start.len && (start.ptr[0] == ' ' || start.ptr[0] == '\t'))
			start = span_skip(start, 1);
		starts->at[starts->count++] = start;
		if (local_tag_take(&start))
			starts->at[starts->count++] = start;
	}
}

/* "| PCIe                      | Fail - GPU: 0                                  |": two cells, the first as wide as DCGM prints it. */
static bool is_row(struct span start, struct span said)
{
	enum { CELL = 28 };
	struct span cell = span_cut(start, CELL);

	if (char_at(start, 0) != '|' || cell.len < CELL || span_find_char(span_skip(cell, 1), '|') >= 0 ||
		char_at(start, CELL) != '|' || said.ptr < start.ptr || said.ptr > start.ptr + CELL)
		return false;
	struct span rest = span_skip(start, CELL + 1);
	ptrdiff_t end = span_find_char(rest, '|');
	return end >= 0 && !span_trim(span_skip(rest, (size_t)end + 1)).len;
}

/* "GPU Recovery Action : Reset means …" explains what the answer means. */
static bool is_answer(struct span line, struct span said)
{
	struct span rest = span_skip(line, (size_t)(said.ptr - line.ptr) + said.len);

	rest = span_skip(rest, count_digits(rest));
	while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t'))
		rest = span_skip(rest, 1);
	return !rest.len || memchr("|\r\n", rest.ptr[0], 3);
}

bool own_line_is_checks(struct span text, struct span said)
{
	struct span line = cut_line(text, said);
	struct own_starts starts;

	if (said_tag_is_before(line, said))
		return false;
	read_starts(line, &starts);
	for (size_t i = 0; i < starts.count; i++)
		if (is_letter(said.ptr[0]) ? starts.at[i].ptr == said.ptr && is_answer(line, said)
					   : is_row(starts.at[i], said))
			return true;
	return false;
}

/* ---- what programs say of their own failure ---- */

/* "torch.AcceleratorError: ", "ray.exceptions.RayTaskError(RuntimeError): " */
static bool take_exception(struct span *text)
{
	static const struct span ends[] = {SPAN("Error"), SPAN("Exception"), SPAN("Failure")};
	size_t len = count_name(*text);
	struct span name = span_of(text->ptr, len), rest = span_skip(*text, len);

	if (char_at(rest, 0) == '(') {
		size_t inner = count_name(span_skip(rest, 1));
		rest = inner && char_at(rest, inner + 1) == ')' ? span_skip(rest, inner + 2) : rest;
	}
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (len && len <= NAME_MAX_BYTES && span_ends_with(name, ends[i]) && span_take(&rest, SPAN(": "))) {
			*text = rest;
			return true;
		}
	return false;
}

/* What an exception says in front of the words is of its own, however long; what it quotes is not. */
static bool is_of_exception(struct span text, struct span said)
{
	struct span rest = text;

	if (span_take(&rest, SPAN("Caught "))) {
		size_t len = count_name(rest);
		if (!span_ends_with(span_of(rest.ptr, len), SPAN("Error")))
			return false;
	} else if (!take_exception(&rest)) {
		return false;
	}
	return rest.ptr <= said.ptr && !own_line_open_quote(span_of(rest.ptr, (size_t)(said.ptr - rest.ptr)));
}

/* "RuntimeError('": as repr() prints one; an indented one is source. */
static bool is_repr(struct span line, struct span start, struct span said)
{
	size_t len = count_name(start);
	struct span name = span_of(start.ptr, len), rest = span_skip(start, len);

	return char_at(line, 0) != ' ' && span_ends_with(name, SPAN("Error")) &&
	       (span_take(&rest, SPAN("('")) || span_take(&rest, SPAN("(\""))) &&
	       (span_take(&rest, SPAN("CUDA error: ")), rest.ptr == said.ptr);
}

/* "[PG ID 0 PG GUID 0(default_pg) Rank 3] ", "slurmctld[812]: ", "Rank 3, " */
static bool take_tag(struct span *text)
{
	struct span rest = *text;

	if (span_take(&rest, SPAN("Rank "))) {
		rest = span_skip(rest, count_digits(rest));
		return span_take(&rest, SPAN(", ")) && (*text = rest, true);
	}
	if (span_starts_with(rest, SPAN("[PG ")) || span_starts_with(rest, SPAN("[Rank "))) {
		ptrdiff_t end = span_find(span_cut(rest, 4 * NAME_MAX_BYTES), SPAN("] "));
		*text = span_skip(rest, end < 0 ? 0 : (size_t)end + 2);
		return end >= 0;
	}
	if (!span_take(&rest, SPAN("slurmctld")) && !span_take(&rest, SPAN("srun")))
		return false;
	if (span_take(&rest, SPAN("[")))
		rest = span_skip(rest, count_digits(rest) + 1);
	return span_take(&rest, SPAN(": ")) && (*text = rest, true);
}

/* "CUDA error at x.cu:12: ", "Cuda error x.cuh:364 '", "Cuda failure 214 '", "cuda runtime error (214) : ", "CUDA warning: " */
static bool take_cuda(struct span *text)
{
	static const struct span words[] = {
		SPAN("error"), SPAN("failure"), SPAN("warning"), SPAN("driver error"), SPAN("runtime error")};
	struct span rest = *text, head = SPAN("cuda ");
	size_t i = 0, count = sizeof words / sizeof *words;

	if (!span_equal_fold(span_cut(rest, head.len), head))
		return false;
	rest = span_skip(rest, head.len);
	while (i < count && !span_equal_fold(span_cut(rest, words[i].len), words[i]))
		i++;
	if (i == count)
		return false;
	rest = span_skip(rest, words[i].len);
	(void)!span_take(&rest, SPAN(" at"));
	size_t place = 0;
	for (size_t at = 1; char_at(rest, 0) == ' ' && at < rest.len && !memchr(" '\"", rest.ptr[at], 3); at++)
		place = at + 1;
	struct span named = span_skip(rest, place);
	if (place && named.ptr[-1] == ':' && char_at(named, 0) == ' ') {
		*text = span_skip(named, 1);
		return true;
	}
	if (!span_take(&named, SPAN(": ")) && !span_take(&named, SPAN(" : ")) && !span_take(&named, SPAN(" '")))
		return false;
	*text = span_skip(named, count_char(named, ' '));
	return true;
}

/* "cudaErrorECCUncorrectable: ", "CUDA_ERROR_UNKNOWN: " */
static bool take_code(struct span *text)
{
	size_t len = count_name(*text);
	struct span rest = span_skip(*text, len);

	if (!span_starts_with(*text, SPAN("cudaError")) && !span_starts_with(*text, SPAN("CUDA_ERROR_")))
		return false;
	return span_take(&rest, SPAN(": ")) && (*text = rest, true);
}

static bool is_word_of(struct span word, const struct span *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal_fold(word, words[i]))
			return true;
	return false;
}

/* "step failed: ", "Error during training: ", "failed to synchronize: ": a few plain words that say that something failed, and not when else. */
static bool take_failing(struct span *text)
{
	static const struct span failing[] = {SPAN("failed"), SPAN("failure"), SPAN("error"), SPAN("exception"),
		SPAN("crashed"), SPAN("died"), SPAN("fatal")};
	static const struct span others[] = {SPAN("previous"), SPAN("previously"), SPAN("last"), SPAN("earlier"),
		SPAN("expected"), SPAN("injected"), SPAN("simulated"), SPAN("known"), SPAN("example"), SPAN("sample"),
		SPAN("typical"), SPAN("if"), SPAN("when"), SPAN("no"), SPAN("old")};
	static const struct span joints[] = {SPAN("to"), SPAN("in"), SPAN("during"), SPAN("while"), SPAN("on"),
		SPAN("at"), SPAN("with"), SPAN("from"), SPAN("occurred"), SPAN("raised")};
	enum { WORDS_MAX = 5 };
	struct span rest = *text;
	bool opens = true; /* with "failed", or "error during" */

	for (int i = 0; i < WORDS_MAX; i++) {
		size_t len = 0;
		while (is_letter(char_at(rest, len)))
			len++;
		struct span word = span_of(rest.ptr, len);
		rest = span_skip(rest, len);
		bool is_end = char_at(rest, 0) == ':';
		bool is_failing = is_word_of(word, failing, sizeof failing / sizeof *failing);
		if (!len || is_word_of(word, others, sizeof others / sizeof *others))
			return false;
		if (i < 2)
			opens = opens && (i ? is_word_of(word, joints, sizeof joints / sizeof *joints) : is_failing);
		if (is_end)
			return (opens || is_failing) && span_take(&rest, SPAN(": ")) && (*text = rest, true);
		if (!span_take(&rest, SPAN(" ")))
			return false;
	}
	return false;
}

/* One part of what libraries write in front of a failure. */
static bool take_lead(struct span *text)
{
	static const struct span leads[] = {SPAN("what(): "), SPAN("NCCL watchdog thread terminated with exception: "),
		SPAN("Process group watchdog thread terminated with exception: "), SPAN("nrt_execute: "),
		SPAN("nrt_execute failed with "), SPAN("INTERNAL: "), SPAN("UNKNOWN: "), SPAN("Warning: "),
		SPAN("Triton Error [CUDA]: ")};
	struct span rest = *text;

	if (take_exception(text) || take_tag(text) || take_cuda(text) || take_code(text) || take_failing(text))
		return true;
	for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
		if (span_take(text, leads[i])) {
			*text = span_skip(*text, count_char(*text, ' '));
			return true;
		}
	if (!span_take(&rest, SPAN("nrt_execute status=")))
		return false;
	rest = span_skip(rest, count_digits(rest));
	return span_take(&rest, SPAN(" ")) && (*text = rest, true);
}

/* "E external/xla/cuda_driver.cc:1234] " of absl, which XLA logs by: the level is one letter. */
static bool take_absl(struct span front, struct span *start)
{
	ptrdiff_t file = span_find(front, SPAN(".cc:"));

	if (file < 0)
		return false;
	size_t from = (size_t)file, end = (size_t)file + sizeof ".cc:" - 1;
	end += count_digits(span_skip(front, end));
	while (from && front.ptr[from - 1] != ' ')
		from--;
	bool has_level = from >= 2 && is_upper(front.ptr[from - 2]) && (from == 2 || front.ptr[from - 3] == ' ');
	if (!has_level || !span_starts_with(span_skip(front, end), SPAN("] ")))
		return false;
	*start = span_skip(*start, end + 2);
	return true;
}

/* NCCL's and Neuron's own loggers write the place first: "n1:1:2 [0] misc/utils.cc:9 NCCL WARN ", "ERROR  TDRV:exec_core_dump (STATE) ". */
static struct span behind_logger(struct span start, struct span said)
{
	static const struct span marks[] = {SPAN(" NCCL WARN "), SPAN(" TDRV:"), SPAN(" NRT:"), SPAN(" NMGR:")};
	struct span front = span_of(start.ptr, (size_t)(said.ptr - start.ptr));

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		ptrdiff_t at = span_find(front, marks[i]);
		if (at < 0)
			continue;
		struct span rest = span_skip(start, (size_t)at + marks[i].len);
		rest = span_skip(rest, i ? count_name(rest) : 0);
		rest = span_skip(rest, count_char(rest, ' '));
		ptrdiff_t end = char_at(rest, 0) == '(' ? span_find(span_cut(rest, NAME_MAX_BYTES), SPAN(") ")) : -1;
		return end < 0 ? rest : span_skip(rest, (size_t)end + 2);
	}
	(void)!take_absl(front, &start);
	return start;
}

/* err="…" of logfmt: the value of a member that tells of an error, behind other pairs at most. */
static bool is_error_value(struct span line, struct span *start, struct span said)
{
	struct span front = span_of(line.ptr, (size_t)(said.ptr - line.ptr));

	for (size_t at = front.len; at > 1; at--) {
		struct span before = span_of(front.ptr, at);
		if (front.ptr[at - 1] != '"' || !drop_member(&before))
			continue;
		*start = span_skip(line, at);
		return is_pairs(span_skip(before, count_char(before, ' ')));
	}
	return false;
}

static bool leads_to(struct span start, struct span said)
{
	if (said.ptr < start.ptr)
		return false;
	start = behind_logger(start, said);
	while (start.ptr < said.ptr) {
		if (is_of_exception(start, said))
			return true;
		if (!take_lead(&start))
			return false;
	}
	return start.ptr == said.ptr;
}

bool own_line_is_programs(struct span text, struct span said)
{
	struct span line = cut_line(text, said), value;
	struct own_starts starts;

	if (said_tag_is_before(line, said))
		return false;
	read_starts(line, &starts);
	for (size_t i = 0; i < starts.count; i++)
		if (leads_to(starts.at[i], said) || is_repr(line, starts.at[i], said))
			return true;
	return is_error_value(line, &value, said) && leads_to(value, said);
}

/* ---- what is plainly no message ---- */

const char *own_line_open_quote(struct span front)
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

static bool begins_with_mark(struct span text)
{
	static const struct span marks[] = {
		SPAN("# "), SPAN("## "), SPAN("### "), SPAN("// "), SPAN("- "), SPAN("* "), SPAN("> "), SPAN("$ ")};

	text = span_skip(text, count_char(text, ' '));
	size_t signs = count_char(text, '+');
	if (signs && char_at(text, signs) == ' ')
		return true;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (span_starts_with(text, marks[i]))
			return true;
	size_t digits = count_digits(text);
	return digits && digits <= 2 && span_starts_with(span_skip(text, digits), SPAN(". "));
}

/* Behind a time a dash only separates. */
bool own_line_is_marked(struct span text)
{
	struct prefix prefix;

	(void)line_peel(text, NULL, &prefix);
	size_t len = (size_t)(prefix.starts[0].ptr - text.ptr);
	while (len && text.ptr[len - 1] == ' ')
		len--;
	bool is_behind_time = len && (is_digit(text.ptr[len - 1]) || text.ptr[len - 1] == 'Z');
	return begins_with_mark(text) || (!is_behind_time && begins_with_mark(prefix.starts[0]));
}
