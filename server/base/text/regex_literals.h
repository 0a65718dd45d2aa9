/*
 * Job: texts that every match of a PCRE2 pattern contains, so that text without them need not be searched (PCRE2 itself
 *      does not tell). Conservative: what this reader does not know gives no literal.
 * Ownership: in the caller's arena. Threads: pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct regex_literal {
	struct span text; /* ASCII; letters of either case may stand for it */
	bool starts_word, ends_word; /* what is before or behind it in the match is no letter, digit or underscore */
};
struct regex_clause { /* a match contains at least one of these */
	struct regex_literal *any;
	size_t count;
};

/* *count 0: nothing is required, or nothing is known. */
enum status regex_literals(struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count,
	struct error *err) MUST_CHECK;
/*
 * The same of a search of bytes (without REGEX_UTF) that begins where the text does: a branch that only goes on behind an
 * earlier match, (?!^)\G, has no part in it.
 */
enum status regex_literals_of_first(struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count,
	struct error *err) MUST_CHECK;
