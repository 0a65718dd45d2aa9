/*
 * Job: matchers of labels, =, !=, =~, !~, which PromQL and LogQL share. A label that is not there is "".
 * Ownership: in the caller's arena; matchers_prepare makes regular expressions that matchers_done frees. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/text/regex.h"

enum matcher_op { MATCHER_IS, MATCHER_IS_NOT, MATCHER_LIKE, MATCHER_NOT_LIKE };

struct matcher {
	enum matcher_op op;
	struct span name, value;
	struct regex *regex;
};

/* ERR_INVALID names the pattern. */
enum status matchers_prepare(struct matcher *matchers, size_t count, struct error *err) MUST_CHECK;
void matchers_done(struct matcher *matchers, size_t count);
/* ERR_SEMANTIC: the pattern was given up on that value, of which nobody knows whether it fits. */
enum status matcher_fits(const struct matcher *matcher, struct regex_scratch *scratch, struct span value, bool *fits,
	struct error *err) MUST_CHECK;
