/*
 * Job: one expression on a line whose prefix is known: at the first start, and when it has a '^' at each other one. Internal
 *      to extract/.
 * Ownership: spans into the line. Threads: any.
 */
#pragma once

#include "base/text/regex.h"
#include "extract/line/prefix.h"

/* *start: where it matched, when it did. Each text is looked at up to `most` bytes. */
static inline enum regex_result starts_search(const struct prefix *prefix, const struct regex *regex, bool has_start,
	struct regex_scratch *scratch, size_t most, struct span groups[REGEX_MAX_GROUPS], size_t *start)
{
	size_t count = has_start ? prefix->count : 1;
	enum regex_result result = REGEX_NO_MATCH;

	for (size_t i = 0; i < count && result == REGEX_NO_MATCH; i++) {
		result = regex_search(regex, scratch,
			span_of(prefix->starts[i].ptr, prefix->starts[i].len < most ? prefix->starts[i].len : most), 0,
			groups);
		*start = i;
	}
	return result;
}
