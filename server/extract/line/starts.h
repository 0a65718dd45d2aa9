/*
 * Job: one expression on a line whose prefix is known: at the first start, and when it has a '^' at each other one. Internal
 *      to extract/.
 * Ownership: spans into the line. Threads: any.
 */
#pragma once

#include "base/text/regex.h"
#include "extract/line/prefix.h"

/* Where one without a '^' is looked for: behind all that is no word of the trainer's, else from the first start on. */
static inline size_t starts_next(const struct prefix *prefix, bool has_start, size_t tried)
{
	if (has_start)
		return tried;
	return tried == 0 ? prefix->certain : tried == 1 && prefix->certain ? 0 : SIZE_MAX;
}

/* *start: where it matched, when it did. Each text is looked at up to `most` bytes. */
static inline enum regex_result starts_search(const struct prefix *prefix, const struct regex *regex, bool has_start,
	struct regex_scratch *scratch, size_t most, struct span groups[REGEX_MAX_GROUPS], size_t *start)
{
	enum regex_result result = REGEX_NO_MATCH;

	for (size_t tried = 0, at;
		result == REGEX_NO_MATCH && (at = starts_next(prefix, has_start, tried)) < prefix->count; tried++) {
		struct span text = prefix->starts[at];
		text.len = text.len < most ? text.len : most;
		result = regex_search(regex, scratch, text, 0, groups);
		*start = at;
	}
	return result;
}
