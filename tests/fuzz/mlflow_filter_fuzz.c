/* Filters and orders of searches of runs: whatever they are, an error has a text, and a run matches or does not. */
#include "mlflow/run_filter.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	struct run_filter *filter = arena ? arena_alloc(arena, sizeof *filter) : NULL;
	struct mlflow_metric metric = {.key = SPAN("loss"), .value = 1};
	struct tracked_pair pair = {SPAN("lr"), SPAN("0.1")};
	const struct mlflow_run run = {
		.row = {.run_id = SPAN("a"), .name = SPAN("n"), .user_name = SPAN("u"), .start_ms = 1},
		.status = SPAN("RUNNING"),
		.params = {&pair, 1, 1},
		.tags = {&pair, 1, 1},
		.metrics = &metric,
		.metric_count = 1};
	struct run_filter_order order;
	struct error err = {0};

	if (!filter)
		return 0;
	if (run_filter_parse(filter, arena, span_of((const char *)data, size), &err) == OK)
		run_filter_matches(filter, &run);
	else if (!err.text[0])
		abort();
	err = (struct error){0};
	if (run_filter_parse_order(&order, span_of((const char *)data, size), &err) == OK) {
		struct run_filter_value value = run_filter_value_of(&order.field, &run);
		if (run_filter_compare(&order, &value, &value) != 0)
			abort();
	} else if (!err.text[0]) {
		abort();
	}
	return 0;
}
