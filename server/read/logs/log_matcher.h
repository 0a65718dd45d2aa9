/*
 * Job: which lines of a block match, found by one call over the block's whole text where the pattern allows it.
 * Ownership: new/free. Threads: immutable; a scratch belongs to one thread.
 */
#pragma once

#include "base/text/regex.h"
#include "model/metrics/batch.h"

struct log_matcher;

/* Bytes; a regular expression with non-ASCII characters is matched as UTF-8. ^ and $ are the ends of lines.
 * ERR_INVALID with field "q" and column. */
enum status log_matcher_new(
	struct log_matcher **out, struct span text, bool is_regex, bool ignore_case, struct error *err) MUST_CHECK;
void log_matcher_free(struct log_matcher *matcher);

/* The first line from `from` on that matches, count when none does. The texts are one piece with a newline behind each.
 * *limited grows by the lines whose match was given up. */
size_t log_matcher_next(const struct log_matcher *matcher, struct regex_scratch *scratch, const struct line *lines,
	size_t count, size_t from, uint64_t *limited);
/* False: no line of the text can match. Costs at most one search of it. */
bool log_matcher_may_match(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text);
/* The first match in text from byte `from` on; false: none. *end may be *start. */
bool log_matcher_range(const struct log_matcher *matcher, struct regex_scratch *scratch, struct span text, size_t from,
	size_t *start, size_t *end);

AUTO_TYPE(log_matcher)
