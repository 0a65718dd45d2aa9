#include "extract/line/voice.h"

#include "extract/line/cursor.h"
#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "extract/line/own_line.h"
#include "extract/line/prefix.h"
#include "extract/line/said_tag.h"
#include "extract/line/saved_line.h"
#include "extract/line/unwrap.h"

enum { SOURCE_INDENT = 4 };

static const struct rule {
	own_line_shape *is_own; /* NULL: any line that is no quotation */
	enum voice otherwise; /* where it is not, and no quotation */
} rules[SPEAKERS] = {
	[SPEAKER_KERNEL] = {kernel_line_is_sure, VOICE_QUOTE},
	[SPEAKER_DRIVER] = {own_line_is_drivers, VOICE_QUOTE},
	[SPEAKER_CHECK] = {own_line_is_checks, VOICE_QUOTE},
	[SPEAKER_WITNESS] = {own_line_is_programs, VOICE_TALK},
	[SPEAKER_PROGRAM] = {NULL, VOICE_OWN},
	[SPEAKER_TRAINER] = {saved_line_is_trainers, VOICE_QUOTE},
};

/* The pattern of the signature leaves out the first letter: kernels print it large or small. */
bool voice_is_drivers(struct span said)
{
	return kernel_line_begins(said) || span_starts_with(said, SPAN("ut of memory: Kill"));
}

/* Kubernetes' node-problem-detector, and what was made of it, tells of its own machine what the kernel said. */
static bool is_of_monitor(struct span text)
{
	return span_find(text, SPAN("Node condition ")) >= 0 && span_find(text, SPAN(" is now: True")) >= 0;
}

/* ---- a record ---- */

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
	struct span inside = span_skip(*record, 1);
	return char_at(*record, 0) == '{' && char_at(span_skip(inside, count_char(inside, ' ')), 0) == '"';
}

static enum voice voice_in_record(enum speaker speaker, struct span record, struct span said)
{
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);

	enum record_words words = kernel_record_words(record, said, rules[speaker].is_own, &plain);
	if (plain.failure || words == RECORD_IS_OWN)
		return VOICE_OWN;
	return words == RECORD_LISTS ? VOICE_QUOTE : rules[speaker].otherwise;
}

/* ---- a line ---- */

static bool drop_char(struct span *text, char c)
{
	if (!text->len || text->ptr[text->len - 1] != c)
		return false;
	text->len--;
	return true;
}

/* What tells of an error, or is an exception's, is what happened: err="…", 'error': '…', RuntimeError('…'); not in a traceback's line of
 * source, which is indented. */
static bool is_errors(struct span front, bool is_source)
{
	static const struct span names[] = {SPAN("err"), SPAN("error"), SPAN("exc"), SPAN("exception"), SPAN("reason"),
		SPAN("cause"), SPAN("detail"), SPAN("details"), SPAN("traceback"), SPAN("stderr"), SPAN("stdout"),
		SPAN("output"), SPAN("line"), SPAN("failure"), SPAN("failed")};
	bool is_call = false;

	while (drop_char(&front, ' '))
		;
	if (!drop_char(&front, '=') && !drop_char(&front, ':') && !(is_call = drop_char(&front, '(')))
		return false;
	(void)!(drop_char(&front, '"') || drop_char(&front, '\''));
	size_t from = front.len;
	while (from && is_name_char(front.ptr[from - 1]))
		from--;
	struct span name = span_skip(front, from);
	if (span_ends_with(name, SPAN("Error")) || span_ends_with(name, SPAN("Exception")))
		return !is_call || !is_source;
	if (is_call)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal_fold(name, names[i]))
			return true;
	return unwrap_is_message(name);
}

static bool is_in_quotes(struct span line, struct span said)
{
	struct span front = span_of(line.ptr, (size_t)(said.ptr - line.ptr));
	const char *open = own_line_open_quote(front);

	return open &&
	       !is_errors(span_of(front.ptr, (size_t)(open - front.ptr)), count_char(line, ' ') >= SOURCE_INDENT);
}

/* ---- what has not happened ---- */

/* The words of the sentence, or of the quoted text, in which it stands. */
static struct span sentence_before(struct span text, struct span said)
{
	size_t end = (size_t)(said.ptr - text.ptr), from = end;

	while (from && !memchr("\"\n", text.ptr[from - 1], 2) &&
		!(from > 1 && text.ptr[from - 1] == ' ' && memchr(".:;!?", text.ptr[from - 2], 5)))
		from--;
	return span_of(text.ptr + from, end - from);
}

/* "we may hit …", "to avoid …", "if you see …"; not "could not run because of …", which says that it did. */
static bool supposes(struct span word, struct span next)
{
	static const struct span sure[] = {SPAN("may"), SPAN("might"), SPAN("if"), SPAN("unless"), SPAN("avoid"),
		SPAN("avoids"), SPAN("avoiding"), SPAN("prevent"), SPAN("prevents"), SPAN("preventing")};
	static const struct span unless_denied[] = {SPAN("can"), SPAN("could"), SPAN("would"), SPAN("should")};

	for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
		if (span_equal_fold(word, sure[i]))
			return true;
	for (size_t i = 0; i < sizeof unless_denied / sizeof *unless_denied; i++)
		if (span_equal_fold(word, unless_denied[i]))
			return !span_equal_fold(next, SPAN("not"));
	return false;
}

/* A program that failed says so with the words in front; one that says how much it asked for did, whatever stands there. */
static bool is_supposed(struct span text, struct span said)
{
	struct span rest = sentence_before(text, said),
		    behind = span_skip(text, (size_t)(said.ptr - text.ptr) + said.len);
	struct span word = SPAN(""), next;

	if (span_starts_with(behind, SPAN(" Tried to allocate")))
		return false;
	while (rest.len) {
		if (!span_next(&rest, ' ', &next)) {
			next = rest;
			rest = SPAN("");
		}
		if (supposes(word, next))
			return true;
		word = next;
	}
	return supposes(word, SPAN(""));
}

/* ---- who says it ---- */

/* "INST", "user", "doc7", "sample_17": a model that is asked, who asks it, and what it is given to read. */
static bool names_talker(struct span name)
{
	static const struct span names[] = {SPAN("inst"), SPAN("user"), SPAN("human"), SPAN("assistant"), SPAN("bot"),
		SPAN("chat"), SPAN("doc"), SPAN("document"), SPAN("ticket"), SPAN("case"), SPAN("sample"),
		SPAN("example"), SPAN("chunk"), SPAN("passage"), SPAN("snippet"), SPAN("article"), SPAN("question"),
		SPAN("answer"), SPAN("query"), SPAN("prompt"), SPAN("turn"), SPAN("q"), SPAN("response"),
		SPAN("completion"), SPAN("rollout"), SPAN("trajectory"), SPAN("observation")};

	while (name.len && (is_digit(name.ptr[name.len - 1]) || memchr("-_", name.ptr[name.len - 1], 2)))
		name.len--;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal_fold(name, names[i]))
			return true;
	return false;
}

/* "[user] ", "<user> ", "doc7: " */
static bool begins_with_talker(struct span text)
{
	char open = char_at(text, 0), close = open == '[' ? ']' : open == '<' ? '>' : ':';
	struct span rest = span_skip(text, close != ':');
	size_t len = count_name(rest);

	return char_at(rest, len) == close && char_at(rest, len + 1) == ' ' && names_talker(span_of(rest.ptr, len));
}

/* In front of a whole line, a kernel's header and all. */
static bool is_talkers(struct span text)
{
	struct span places[PLACES_MAX];
	size_t count = line_places(text, places);

	for (size_t i = 0; i < count; i++)
		if (begins_with_talker(places[i]))
			return true;
	return false;
}

static bool is_row(struct span text)
{
	struct prefix prefix;
	struct span start = line_peel(text, NULL, &prefix);

	return char_at(start, 0) == '|';
}

static enum voice judge(enum speaker speaker, struct span text, struct span said)
{
	const struct rule *rule = &rules[speaker];
	struct span until = span_of(text.ptr, (size_t)(said.ptr - text.ptr) + said.len), record, host;
	bool is_record = find_record(text, &record) && record.ptr <= said.ptr;

	if (is_record && speaker != SPEAKER_PROGRAM && kernel_record_is_sample(record))
		return VOICE_QUOTE;
	if (kernel_line_find(until, kernel_line_is_talked_of, &host))
		return VOICE_QUOTE;
	if (speaker == SPEAKER_KERNEL)
		return kernel_line_is_sure(text, said) ? VOICE_OWN : rule->otherwise;
	if (speaker == SPEAKER_CHECK && said.len && memchr("\" \t", said.ptr[0], 3))
		return VOICE_OWN; /* a check's own JSON, of which the signature has the structure */
	if (own_line_is_marked(text))
		return VOICE_QUOTE;
	if (speaker == SPEAKER_PROGRAM && is_supposed(text, said))
		return VOICE_QUOTE;
	if (speaker != SPEAKER_CHECK && is_of_monitor(until))
		return VOICE_OWN;
	if (is_record)
		return voice_in_record(speaker, record, said);
	if (speaker == SPEAKER_TRAINER && (is_row(text) || is_in_quotes(text, said)))
		return VOICE_QUOTE;
	if (rule->is_own && rule->is_own(text, said))
		return VOICE_OWN;
	return is_row(text) || is_in_quotes(text, said) || (rule->is_own && said_tag_is_before(text, said))
		       ? VOICE_QUOTE
		       : rule->otherwise;
}

enum voice voice_of(enum speaker speaker, struct span text, struct span said)
{
	enum voice voice = judge(speaker, text, said);
	struct span until = span_of(text.ptr, (size_t)(said.ptr - text.ptr) + said.len);

	return voice == VOICE_OWN && rules[speaker].is_own && is_talkers(until) ? rules[speaker].otherwise : voice;
}
