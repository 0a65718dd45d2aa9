/*
 * Job: texts that every match of a PCRE2 pattern contains, and characters of one class that stand behind each other in it, so that
 *      text without them need not be searched (PCRE2 itself does not tell). Conservative: what this reader does not know gives nothing.
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

enum { REGEX_RUN_MIN = 4 };
/* Each match holds so many of these bytes behind each other; no newline is one of them. at_least 0: nothing like that is known. */
struct regex_run {
	unsigned at_least;
	bool has[256]; /* of letters either case may be meant where the pattern ignores it */
};
enum status regex_run_of(struct span pattern, struct regex_run *out, struct error *err) MUST_CHECK;
