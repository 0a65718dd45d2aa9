/* Any JSON either is a SearchExpression or is refused with words; what is one prints. */
#include "model/query.h"
#include "query/expression.h"
#include "query/query.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) printed = BUF_INIT(1 << 20);
	AUTO(json) json = NULL;
	struct query_node *query = NULL;
	struct span sort;
	struct error err = {0};

	if (json_parse(&json, span_of((const char *)data, size), &err) || json_kind(json) != JSON_OBJECT)
		return 0;
	if (search_expression_parse(&query, json_get(json, "SearchExpression"), json_get(json, "VisibilityConditions"),
		    arena, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	query_print(query, &printed);
	(void)!expression_sort(&sort, json_string_of(json_get(json, "SortBy")), size % 2, arena, &err);
	return 0;
}
