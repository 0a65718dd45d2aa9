#include "read/logs/log_matcher.h"

#include "base/alloc.h"

/*
 * A search of many lines at once cannot be stopped, so what it may cost is bounded beforehand, by the text and the steps:
 * in the worst case each byte starts a match, and each step of it reads all of the text. What needs more is looked at line
 * by line, in a search that can be stopped anywhere.
 */
enum { PIECE_BYTES = 1024, PIECE_STEPS = 64, QUICK_PATTERN_BYTES = 512 };

struct log_matcher {
	struct regex *regex; /* NULL: the literal */
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

static enum status compile(
	struct log_matcher *matcher, struct span text, bool is_regex, bool ignore_case, struct error *err)
{
	AUTO_DONE(buf) quoted = BUF_INIT(1 << 20);
	unsigned flags =
		REGEX_MULTILINE | (ignore_case ? REGEX_IGNORE_CASE : 0) | (span_is_ascii(text) ? 0 : REGEX_UTF);

	if (!is_regex) {
		regex_quote(text, &quoted);
		TRY(buf_status(&quoted, err));
		text = buf_span(&quoted);
	}
	enum status status = regex_new(&matcher->regex, text, flags, err);
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
	*out = TAKE(matcher);
	return OK;
}

void log_matcher_free(struct log_matcher *matcher)
{
	if (!matcher)
		return;
	regex_free(matcher->regex);
	mem_free(matcher->literal);
	mem_free(matcher);
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
	enum regex_result result = regex_search(matcher->regex, scratch, text, from, groups);
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

	if (!matcher->regex)
		return match(matcher, scratch, piece, 0, start, end);
	enum regex_result result = regex_search_within(matcher->regex, scratch, piece, 0, groups, PIECE_STEPS);
	if (result == REGEX_MATCH) {
		*start = (size_t)(groups[0].ptr - piece.ptr);
		*end = *start + groups[0].len;
	}
	return result;
}

/* Whole lines, PIECE_BYTES of them at most; empty: the first line is longer. */
static struct span first_piece(struct span text)
{
	if (text.len <= PIECE_BYTES)
		return text;
	const char *end = memrchr(text.ptr, '\n', PIECE_BYTES);
	return span_of(text.ptr, end ? (size_t)(end + 1 - text.ptr) : 0);
}

bool log_matcher_may_match(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text)
{
	size_t start, end;

	if (!matcher->regex)
		return match(matcher, scratch, text, 0, &start, &end) == REGEX_MATCH;
	while (matcher->is_quick && text.len) {
		struct span piece = first_piece(text);
		if (!piece.len)
			return true;
		text = span_skip(text, piece.len);
		piece.len -= piece.ptr[piece.len - 1] == '\n'; /* else an empty line would be behind it */
		if (match_piece(matcher, scratch, piece, &start, &end) != REGEX_NO_MATCH)
			return true;
	}
	return !matcher->is_quick;
}

static bool matches_line(
	const struct log_matcher *matcher, struct regex_scratch *scratch, const struct line *line, uint64_t *limited)
{
	size_t start, end;
	enum regex_result result = match(matcher, scratch, line->text, 0, &start, &end);

	*limited += result == REGEX_LIMIT;
	return result == REGEX_MATCH;
}

static size_t next_by_line(const struct log_matcher *matcher, struct regex_scratch *scratch, const struct line *lines,
	size_t count, size_t from, uint64_t *limited)
{
	while (from < count && !matches_line(matcher, scratch, &lines[from], limited))
		from++;
	return from;
}

/* The last line that starts at or before the place; from low on, where hits are close to each other. */
static size_t line_at(const struct line *lines, size_t low, size_t count, const char *place)
{
	size_t high = low + 1;

	for (size_t step = 1; high < count && lines[high].text.ptr <= place; step *= 2) {
		low = high;
		high += step;
	}
	high = high < count ? high : count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (lines[middle].text.ptr <= place)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The lines from `from` on that one search looks through, at least one. */
static size_t piece_end(const struct log_matcher *matcher, const struct line *lines, size_t count, size_t from)
{
	const char *begin = lines[from].text.ptr;
	size_t end = from + 1;

	if (!matcher->regex)
		return count;
	while (end < count && lines[end].text.ptr + lines[end].text.len - begin <= PIECE_BYTES)
		end++;
	return end;
}

size_t log_matcher_next(const struct log_matcher *matcher, struct regex_scratch *scratch, const struct line *lines,
	size_t count, size_t from, uint64_t *limited)
{
	if (matcher->regex && !matcher->is_quick)
		return next_by_line(matcher, scratch, lines, count, from, limited);
	while (from < count) {
		const char *begin = lines[from].text.ptr;
		size_t last = piece_end(matcher, lines, count, from), start = 0, end = 0;
		struct span text =
			span_of(begin, (size_t)(lines[last - 1].text.ptr + lines[last - 1].text.len - begin));
		enum regex_result result = matcher->regex && text.len > PIECE_BYTES
						   ? REGEX_LIMIT
						   : match_piece(matcher, scratch, text, &start, &end);
		if (result == REGEX_LIMIT) { /* what is much for the whole may be little for a line */
			size_t found = next_by_line(matcher, scratch, lines, last, from, limited);
			if (found < last)
				return found;
		}
		if (result != REGEX_MATCH) {
			from = last;
			continue;
		}
		from = line_at(lines, from, last, begin + start);
		if (begin + end <= lines[from].text.ptr + lines[from].text.len ||
			matches_line(matcher, scratch, &lines[from], limited))
			return from;
		from++;
	}
	return count;
}
