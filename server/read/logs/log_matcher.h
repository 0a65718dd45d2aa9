/*
 * Job: which lines of a text match, found over many of them at once where the pattern allows it, and passed over where none can match.
 * Ownership: new/free. Threads: immutable; a scratch belongs to one thread.
 */
#pragma once

#include "base/text/regex.h"

struct log_matcher;

/* A literal is bytes, an expression of characters (of bytes in a line that is no UTF-8). ^ and $ are the ends of lines.
 * ERR_INVALID with field "q" and column. */
enum status log_matcher_new(
	struct log_matcher **out, struct span text, bool is_regex, bool ignore_case, struct error *err) MUST_CHECK;
void log_matcher_free(struct log_matcher *matcher);

/* Where the first line begins that matches, of those that begin at `from` or later; text.len: none does. Each newline of the text
 * ends a line. *limited grows by the lines whose match was given up. */
size_t log_matcher_next(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text, size_t from,
	uint64_t *limited);
/* A line alone, which may hold newlines. */
bool log_matcher_matches(
	const struct log_matcher *matcher, struct regex_scratch *scratch, struct span line, uint64_t *limited);
/* The first match in text from byte `from` on; false: none. *end may be *start. */
bool log_matcher_range(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text, size_t from,
	size_t *start, size_t *end);

AUTO_TYPE(log_matcher)
