/*
 * Job: {name="value", …} out of the tokens of a query.
 * Ownership: in the tokens' arena; patterns are not prepared. Threads: values. Pure.
 */
#pragma once

#include "prometheus/matcher.h"
#include "prometheus/tokens.h"

enum { MATCHERS_MAX = 32 };

/* One more behind *count of them; the array has room for MATCHERS_MAX. */
enum status matchers_add(const struct tokens *tokens, struct matcher *matchers, size_t *count,
	const struct matcher *matcher, struct error *err) MUST_CHECK;
/* The braces and what is in them; *matchers NULL: the array is made. */
enum status matchers_take(
	struct tokens *tokens, struct matcher **matchers, size_t *count, struct error *err) MUST_CHECK;
