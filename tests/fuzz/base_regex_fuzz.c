/* First byte: the flags; then the pattern up to the first NUL, then the subject. Groups lie inside the subject. */
#include "base/text/regex.h"

#include <stdlib.h>

enum { MATCH_STEPS = 2000, MAX_PATTERN_BYTES = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_groups(struct span subject, const struct span *groups, unsigned count)
{
	for (unsigned i = 0; i <= count; i++)
		if (groups[i].ptr &&
			(groups[i].ptr < subject.ptr || groups[i].ptr + groups[i].len > subject.ptr + subject.len))
			abort();
	if (!groups[0].ptr)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(regex) regex = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS], pattern, rest = span_of((const char *)data, size);
	struct error err;

	if (size == 0 || !scratch)
		return 0;
	rest = span_skip(rest, 1);
	if (!span_next(&rest, 0, &pattern) || pattern.len > MAX_PATTERN_BYTES)
		return 0;
	if (regex_new(&regex, pattern, data[0] & (REGEX_IGNORE_CASE | REGEX_UTF), &err) != OK) {
		if (err.column < 0 || err.column > (int64_t)pattern.len + 1)
			abort();
		return 0;
	}
	regex_scratch_limit(scratch, MATCH_STEPS);
	struct span subject = rest.ptr ? rest : SPAN("");
	if (regex_search(regex, scratch, subject, data[0] / 4u % (subject.len + 1), groups) == REGEX_MATCH)
		check_groups(subject, groups, regex_group_count(regex));
	return 0;
}
