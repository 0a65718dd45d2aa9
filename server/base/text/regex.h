/*
 * Job: compiled regular expressions (PCRE2, JIT) with match limits. The only user of PCRE2.
 * Ownership: new/free. Threads: a regex is immutable and shared; a scratch belongs to one thread.
 */
#pragma once

#include "base/buf.h"

struct regex;
struct regex_scratch; /* match data and stack of one thread; serves any regex */

enum regex_flags {
	REGEX_IGNORE_CASE = 1,
	REGEX_UTF = 2, /* the subject must be valid UTF-8; without it, bytes */
	REGEX_MULTILINE = 4, /* ^ and $ also match at newlines inside the subject, ^ behind its last one, too */
	REGEX_ANCHORED = 8, /* matches at the byte where the search begins, or not at all */
	REGEX_VALID = 16, /* with REGEX_UTF: whoever searches has seen that the subject is valid: quicker */
};

enum { REGEX_MAX_GROUPS = 32 }; /* group 0 included; a pattern with more is refused */

/* ERR_SEMANTIC with column = 1-based offset of the mistake in the pattern. */
enum status regex_new(struct regex **out, struct span pattern, unsigned flags, struct error *err) MUST_CHECK;
void regex_free(struct regex *regex);
/* Appends the pattern that matches exactly this text. */
void regex_quote(struct span text, struct buf *out);

unsigned regex_group_count(const struct regex *regex); /* without group 0 */
/* Number of the group of that name, or -1. */
int regex_group(const struct regex *regex, const char *name);

struct regex_scratch *regex_scratch_new(void) __attribute__((warn_unused_result));
void regex_scratch_free(struct regex_scratch *scratch);
/* Steps after which a match is given up (PCRE2's match limit; the JIT counts in its own, coarser unit). */
void regex_scratch_limit(struct regex_scratch *scratch, uint32_t match_steps);

/* While a scratch has a watch its searches ask it often, and take up to twice as long; true: the search ends at once, wherever
 * it is, and is a REGEX_LIMIT. */
struct regex_watch {
	bool (*must_stop)(void *context);
	void *context;
};
void regex_scratch_watch(struct regex_scratch *scratch, struct regex_watch watch);
/* The same by the monotonic clock alone: searches end then. */
void regex_scratch_until(struct regex_scratch *scratch, int64_t until_mono_ms);

enum regex_result { REGEX_NO_MATCH, REGEX_MATCH, REGEX_LIMIT };

/* Searches subject from byte `from`. groups[i].ptr is NULL where group i took no part. Never ERR: limits are results. */
enum regex_result regex_search(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	size_t from, struct span groups[REGEX_MAX_GROUPS]);

/* The same with at most so many steps from each start, whatever the scratch's limit is. Its watch is asked before, not within. */
enum regex_result regex_search_within(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	size_t from, struct span groups[REGEX_MAX_GROUPS], uint32_t match_steps);

/* Of a search that was ended because it ran too long, whatever its steps: two in a row are a definition's end. */
enum { REGEX_LATE_PERCENT = 5000 };

/* The same, ended after a tenth of a second, and a quarter of one a MiB, of this thread's own time. *percent: at least so much of
 * the limit, of steps or time, went into it; when it was given up 100, or REGEX_LATE_PERCENT. */
enum regex_result regex_search_counted(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	size_t from, struct span groups[REGEX_MAX_GROUPS], unsigned *percent);

AUTO_TYPE(regex)
AUTO_TYPE(regex_scratch)
