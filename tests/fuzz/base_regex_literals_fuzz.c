/* A pattern up to the first NUL, then a subject: what matches holds a literal of every clause, also of a first match in bytes, and
 * as many bytes behind each other as are needed. */
#include "base/text/regex.h"
#include "base/text/regex_literals.h"

#include <stdlib.h>

enum { MATCH_STEPS = 2000, PATTERN_MAX = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool holds(struct span text, struct span literal)
{
	for (size_t i = 0; i + literal.len <= text.len; i++)
		if (span_equal_fold(span_of(text.ptr + i, literal.len), literal))
			return true;
	return false;
}

static void check(struct span subject, const struct regex_clause *clauses, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool has_any = false;
		for (size_t j = 0; j < clauses[i].count; j++)
			has_any |= holds(subject, clauses[i].any[j].text);
		if (!has_any)
			abort();
	}
}

static void check_run(struct span match, const struct regex_run *run)
{
	unsigned longest = 0;

	for (size_t i = 0, now = 0; i < match.len; i++) {
		unsigned char c = (unsigned char)match.ptr[i], other = (unsigned char)(c ^ 0x20);
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
		now = run->has[c] || (is_letter && run->has[other]) ? now + 1 : 0;
		longest = now > longest ? (unsigned)now : longest;
	}
	if (longest < run->at_least)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	AUTO(regex) regex = NULL;
	AUTO(regex) of_bytes = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS], pattern, rest = span_of((const char *)data, size);
	struct regex_clause *clauses, *of_first;
	struct regex_run run;
	size_t count, first_count;

	if (!arena || !scratch || !span_next(&rest, 0, &pattern) || pattern.len > PATTERN_MAX)
		return 0;
	if (regex_literals(pattern, arena, &clauses, &count, NULL) != OK ||
		regex_literals_of_first(pattern, arena, &of_first, &first_count, NULL) != OK ||
		regex_run_of(pattern, &run, NULL) != OK)
		abort();
	if (regex_new(&regex, pattern, REGEX_MULTILINE, NULL) != OK || regex_new(&of_bytes, pattern, 0, NULL) != OK)
		return 0;
	regex_scratch_limit(scratch, MATCH_STEPS);
	if (regex_search(regex, scratch, rest, 0, groups) == REGEX_MATCH) {
		check(rest, clauses, count);
		check_run(rest, &run);
	}
	if (regex_search(of_bytes, scratch, rest, 0, groups) == REGEX_MATCH)
		check(rest, of_first, first_count);
	return 0;
}
