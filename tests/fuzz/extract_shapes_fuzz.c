/* Any lines: what is found compiles, matches its own example there, and is the same when it is asked again. */
#include "extract/shapes/shapes.h"
#include "base/text/regex.h"

#include <stdlib.h>

enum { MATCH_STEPS = 10000, LINES_MAX = 4096 };

static size_t find(struct arena *arena, struct span text, struct line_shape out[SHAPES_MAX])
{
	struct span *lines = arena_alloc(arena, LINES_MAX * sizeof *lines), line;
	size_t count = 0, found;
	struct error err;

	if (!lines)
		abort();
	while (count < LINES_MAX && span_next(&text, '\n', &line))
		lines[count++] = line;
	if (shapes_find(arena, lines, count, MATCH_STEPS, out, &found, &err) != OK)
		abort(); /* no input is an error, and memory is not out */
	return found;
}

static void check_pattern(struct span pattern)
{
	AUTO(regex) regex = NULL;
	struct error err;

	if (pattern.len > METRIC_REGEX_MAX_BYTES || !span_is_utf8(pattern) || regex_new(&regex, pattern, 0, &err) != OK)
		abort();
}

static void check_shape(const struct line_shape *shape)
{
	if (shape->count < SHAPE_LINES_LEAST || !shape->metric_count || shape->metric_count > SHAPE_METRICS_MAX)
		abort();
	for (size_t i = 0; i < shape->metric_count; i++) {
		const struct shape_metric *metric = &shape->metrics[i];
		check_pattern(metric->definition.regex);
		if (metric->definition.step_regex.len)
			check_pattern(metric->definition.step_regex);
		if (metric->start >= metric->end || metric->end > shape->example.len ||
			metric->matched > shape->count || metric->matched * 10 < shape->count * 9 ||
			!metric->definition.name.len || metric->definition.name.len > METRIC_NAME_MAX_BYTES ||
			!span_is_utf8(metric->definition.name) || !span_is_utf8(metric->definition.unit))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of((const char *)data, size);
	AUTO(arena) arena = arena_new();
	struct line_shape first[SHAPES_MAX], second[SHAPES_MAX];

	if (!arena)
		abort();
	size_t count = find(arena, text, first);
	if (count > SHAPES_MAX || count != find(arena, text, second))
		abort();
	for (size_t i = 0; i < count; i++) {
		check_shape(&first[i]);
		if (first[i].metric_count != second[i].metric_count ||
			!span_equal(first[i].metrics[0].definition.regex, second[i].metrics[0].definition.regex))
			abort();
	}
	return 0;
}
