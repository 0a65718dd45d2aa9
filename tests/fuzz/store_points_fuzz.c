/* Any bytes as the points of a journal's slice: walked to the end, or refused with a reason. What is whole comes back. */
#include "store/pack/journal_points.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body = span_of((const char *)data, size);
	AUTO(arena) arena = arena_new();
	struct journal_points cursor = journal_points_open(body);
	struct batch_series series;
	struct error err = {0};
	bool has_one = true;
	size_t count = 0;

	while (has_one) {
		if (journal_points_next(&cursor, arena, &series, &has_one, &err) != OK) {
			if (!err.text[0])
				abort();
			return 0;
		}
		count += has_one ? batch_series_points(&series) : 0;
	}
	if (journal_points_check(body, count, NULL) != OK || journal_points_check(body, count + 1, NULL) == OK)
		abort();
	return 0;
}
