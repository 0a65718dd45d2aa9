/* by= and of=: any text is refused, or its names and figures are parts of it. */
#include "model/jobs/aggregate.h"
#include "query/query.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(struct span text, struct span part)
{
	if (!part.len || part.ptr < text.ptr || part.ptr + part.len > text.ptr + text.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct aggregate_figure figures[QUERY_MAX_FIGURES];
	struct span text = span_of((const char *)data, size);
	AUTO(arena) arena = arena_new();
	struct error err = {0};
	size_t count;

	if (query_parse_names(names, &count, text, arena, &err) == OK)
		for (size_t i = 0; i < count; i++)
			check_part(text, names[i].text);
	else if (!err.text[0])
		abort();
	if (query_parse_figures(figures, &count, text, arena, &err) == OK)
		for (size_t i = 0; i < count; i++)
			check_part(text, figures[i].text);
	return 0;
}
