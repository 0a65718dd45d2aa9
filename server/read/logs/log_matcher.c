#include "read/logs/log_matcher.h"

#include "base/alloc.h"
#include "read/logs/log_sieve.h"

#include <ctype.h>

/*
 * A search of many lines at once cannot be stopped, so what it may cost is bounded beforehand, by the text and the steps:
 * in the worst case each byte starts a match, and each step of it reads all of the text. What needs more is looked at line
 * by line, in a search that can be stopped anywhere.
 */
enum { PIECE_BYTES = 1024, PIECE_STEPS = 64, QUICK_PATTERN_BYTES = 512 };

struct log_matcher {
	struct regex *regex; /* NULL: the literal */
	struct regex *
		of_characters; /* where `regex` is of bytes, which cost less: the same of valid text that is not all ASCII */
	struct log_sieve *sieve; /* of the expression; NULL: nothing is known of it */
	bool is_quick; /* else only a line alone tells whether it matches */
	char *literal;
	size_t literal_len;
};

/* "(?" and what follows of it keeps what a line matches within a longer text: plain and named groups, (?i). */
static bool is_plain_group(struct span rest)
{
	struct span known[] = {SPAN(":"), SPAN("i)"), SPAN("i:"), SPAN("P<")};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (span_starts_with(rest, known[i]))
			return true;
	return rest.len > 1 && rest.ptr[0] == '<' && rest.ptr[1] != '=' && rest.ptr[1] != '!';
}

/*
 * Whether every line that matches alone is also found in the text of many lines: not where the pattern can see or give
 * away what lies around the line (assertions about the subject's ends, lookarounds, atomic and possessive parts).
 */
static bool is_whole_text_safe(struct span pattern)
{
	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.ptr[i], next = i + 1 < pattern.len ? pattern.ptr[i + 1] : 0;
		if (c == '\\') {
			if (!next || strchr("AzZGKRXQEcpPgk", next))
				return false;
			i++;
		} else if (c == '(' && next == '*') {
			return false;
		} else if (c == '(' && next == '?') {
			if (!is_plain_group(span_skip(pattern, i + 2)))
				return false;
			i++;
		} else if (strchr("*+?}", c) && next == '+') {
			return false;
		}
	}
	return true;
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What is not in ASCII is matched by these parts of an expression alone: without them its bytes say the same as its characters. */
static bool may_match_wide(struct span pattern)
{
	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.ptr[i], next = i + 1 < pattern.len ? pattern.ptr[i + 1] : 0;
		if (c == '.' || (c == '[' && next == '^') || (c == ':' && next == '^'))
			return true;
		if (c == '\\' && isalnum((unsigned char)next) && !strchr("dswbnrtfAzZ", next))
			return true;
		i += c == '\\';
	}
	return false;
}

static enum status compile(
	struct log_matcher *matcher, struct span text, bool is_regex, bool ignore_case, struct error *err)
{
	AUTO_DONE(buf) quoted = BUF_INIT(1 << 20);
	unsigned flags = REGEX_MULTILINE | (ignore_case ? REGEX_IGNORE_CASE : 0);
	bool is_ascii = span_is_ascii(text);

	if (!is_regex) {
		regex_quote(text, &quoted);
		TRY(buf_status(&quoted, err));
		text = buf_span(&quoted);
	}
	enum status status = is_ascii ? regex_new(&matcher->regex, text, flags, err) : OK;
	if (!is_ascii || (status == ERR_SEMANTIC && is_regex)) /* "\x{65e5}" is no byte */
		status = regex_new(&matcher->regex, text, flags | REGEX_UTF, err);
	else if (status == OK && is_regex && may_match_wide(text))
		status = regex_new(&matcher->of_characters, text, flags | REGEX_UTF | REGEX_VALID, err);
	matcher->is_quick = text.len <= QUICK_PATTERN_BYTES && is_whole_text_safe(text);
	if (status == ERR_SEMANTIC && err) {
		int64_t column = err->column;
		char reason[sizeof err->text];
		memcpy(reason, err->text, sizeof reason);
		status = error_set_field(err, ERR_INVALID, "q", "'q' is %.400s", reason);
		err->column = column;
	}
	return status;
}

enum status log_matcher_new(
	struct log_matcher **out, struct span text, bool is_regex, bool ignore_case, struct error *err)
{
	AUTO(log_matcher) matcher = mem_zeroed(sizeof *matcher);

	if (!matcher || !(matcher->literal = mem_copy_bytes(text.ptr, text.len)))
		return error_no_memory(err);
	matcher->literal_len = text.len;
	if (is_regex || ignore_case)
		TRY(compile(matcher, text, is_regex, ignore_case, err));
	if (is_regex)
		TRY(log_sieve_new(&matcher->sieve, text, ignore_case, err));
	*out = TAKE(matcher);
	return OK;
}

void log_matcher_free(struct log_matcher *matcher)
{
	if (!matcher)
		return;
	regex_free(matcher->regex);
	regex_free(matcher->of_characters);
	log_sieve_free(matcher->sieve);
	mem_free(matcher->literal);
	mem_free(matcher);
}

/* Of text that is no UTF-8 it is of bytes. */
static const struct regex *regex_for(const struct log_matcher *matcher, struct span text)
{
	bool is_wide = matcher->of_characters && !span_is_ascii(text) && span_is_utf8(text);

	return is_wide ? matcher->of_characters : matcher->regex;
}

static enum regex_result match(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text,
	size_t from, size_t *start, size_t *end)
{
	struct span groups[REGEX_MAX_GROUPS];

	if (!matcher->regex) {
		ptrdiff_t at = span_find(span_skip(text, from), span_of(matcher->literal, matcher->literal_len));
		*start = from + (size_t)at;
		*end = *start + matcher->literal_len;
		return at < 0 || from > text.len ? REGEX_NO_MATCH : REGEX_MATCH;
	}
	const struct regex *regex = regex_for(matcher, text);
	while (matcher->of_characters && regex == matcher->of_characters && from < text.len &&
		is_continuation(text.ptr[from]))
		from++; /* behind an empty match */
	enum regex_result result = regex_search(regex, scratch, text, from, groups);
	if (result == REGEX_MATCH) {
		*start = (size_t)(groups[0].ptr - text.ptr);
		*end = *start + groups[0].len;
	}
	return result;
}

bool log_matcher_range(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text, size_t from,
	size_t *start, size_t *end)
{
	if (!text.ptr)
		text = SPAN("");
	return match(matcher, scratch, text, from, start, end) == REGEX_MATCH;
}

static enum regex_result match_piece(
	const struct log_matcher *matcher, struct regex_scratch *scratch, struct span piece, size_t *start, size_t *end)
{
	struct span groups[REGEX_MAX_GROUPS];
	const struct regex *regex = matcher->regex;

	if (matcher->of_characters && !span_is_ascii(piece)) {
		if (!span_is_utf8(piece))
			return REGEX_LIMIT; /* some of its lines may be */
		regex = matcher->of_characters;
	}
	enum regex_result result = regex_search_within(regex, scratch, piece, 0, groups, PIECE_STEPS);
	if (result == REGEX_MATCH) {
		*start = (size_t)(groups[0].ptr - piece.ptr);
		*end = *start + groups[0].len;
	}
	return result;
}

/* Where the line begins that holds the place; one begins at `from`. */
static size_t line_begin(struct span text, size_t from, size_t at)
{
	const char *newline = memrchr(text.ptr + from, '\n', at - from);

	return newline ? (size_t)(newline + 1 - text.ptr) : from;
}

static struct span line_at(struct span text, size_t begin)
{
	struct span rest = span_skip(text, begin);
	ptrdiff_t len = span_find_char(rest, '\n');

	return len < 0 ? rest : span_of(rest.ptr, (size_t)len);
}

/* Whole lines, PIECE_BYTES of them at most, or the first one; without the newline at their end. */
static struct span piece_at(struct span text, size_t begin)
{
	struct span rest = span_skip(text, begin);
	const char *end = rest.len > PIECE_BYTES ? memrchr(rest.ptr, '\n', PIECE_BYTES + 1) : NULL;

	if (rest.len > PIECE_BYTES)
		return end ? span_of(rest.ptr, (size_t)(end - rest.ptr)) : line_at(text, begin);
	rest.len -= rest.len && rest.ptr[rest.len - 1] == '\n'; /* else an empty line would be behind it */
	return rest;
}

/* Where the next line begins that may match, from one that begins at `from` on; text.len: none does. */
static size_t pass_text(const struct log_matcher *matcher, struct span text, size_t from)
{
	while (matcher->sieve && from < text.len) {
		size_t at = log_sieve_next(matcher->sieve, text, from);
		size_t begin = at < text.len ? line_begin(text, from, at) : text.len;
		if (begin == from)
			return from;
		from = begin;
	}
	return from;
}

bool log_matcher_matches(
	const struct log_matcher *matcher, struct regex_scratch *scratch, struct span line, uint64_t *limited)
{
	size_t start, end;
	enum regex_result result = match(matcher, scratch, line, 0, &start, &end);

	*limited += result == REGEX_LIMIT;
	return result == REGEX_MATCH;
}

static size_t next_by_line(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text,
	size_t from, uint64_t *limited)
{
	while ((from = pass_text(matcher, text, from)) < text.len) {
		struct span line = line_at(text, from);
		if (log_matcher_matches(matcher, scratch, line, limited))
			return from;
		from += line.len + 1;
	}
	return text.len;
}

/* A match that goes beyond a line's end may hide one within it. */
static size_t next_by_piece(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text,
	size_t from, uint64_t *limited)
{
	size_t start, end;

	while ((from = pass_text(matcher, text, from)) < text.len) {
		struct span piece = piece_at(text, from);
		enum regex_result result =
			piece.len > PIECE_BYTES ? REGEX_LIMIT : match_piece(matcher, scratch, piece, &start, &end);
		size_t behind = from + piece.len + 1, begin = behind;
		if (result == REGEX_LIMIT) /* what is much for the whole may be little for a line */
			begin = next_by_line(matcher, scratch, span_of(text.ptr, behind < text.len ? behind : text.len),
				from, limited);
		if (result == REGEX_MATCH) {
			begin = line_begin(text, from, from + start);
			struct span line = line_at(text, begin);
			behind = begin + line.len + 1;
			if (from + end > begin + line.len && !log_matcher_matches(matcher, scratch, line, limited))
				begin = behind;
		}
		if (begin < behind)
			return begin;
		from = behind;
	}
	return text.len;
}

size_t log_matcher_next(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text, size_t from,
	uint64_t *limited)
{
	size_t start, end;

	if (matcher->regex)
		return (matcher->is_quick ? next_by_piece : next_by_line)(matcher, scratch, text, from, limited);
	if (match(matcher, scratch, text, from, &start, &end) != REGEX_MATCH ||
		span_find_char(span_of(matcher->literal, matcher->literal_len), '\n') >= 0)
		return text.len;
	return line_begin(text, from, start);
}
