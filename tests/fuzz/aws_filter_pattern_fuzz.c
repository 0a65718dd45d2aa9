/* A pattern, a newline, lines: a line that matches holds the needle, and a mistake lies in the pattern. */
#include "aws/logs/filter_pattern.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_needle(const struct filter_pattern *pattern, struct regex_scratch *scratch, struct span line)
{
	AUTO(regex) regex = NULL;
	struct span groups[REGEX_MAX_GROUPS];
	bool is_regex;
	struct span needle = filter_pattern_needle(pattern, &is_regex);

	if (!is_regex && span_find(line, needle) < 0)
		abort();
	if (!is_regex || regex_new(&regex, needle, 0, NULL) != OK)
		return;
	if (regex_search(regex, scratch, line, 0, groups) == REGEX_NO_MATCH)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(filter_pattern) pattern = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span rest = span_of((const char *)data, size), text, line;
	struct error err = {0};

	if (!scratch || !span_next(&rest, '\n', &text))
		return 0;
	regex_scratch_limit(scratch, 10000);
	if (filter_pattern_new(&pattern, text, &err) != OK) {
		if (err.status == ERR_INVALID && text.len <= FILTER_PATTERN_MAX_BYTES &&
			(err.column < 1 || err.column > (int64_t)text.len + 1))
			abort();
		return 0;
	}
	while (span_next(&rest, '\n', &line)) {
		bool has_escapes =
			line.len && memchr(line.ptr, '\\', line.len); /* plain letters may be \u0041 in them */
		if (filter_pattern_matches(pattern, scratch, line) && !has_escapes)
			check_needle(pattern, scratch, line);
	}
	return 0;
}
