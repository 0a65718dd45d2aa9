/*
 * Job: SageMaker's Search: SearchExpression -> the same tree as of query text; SortBy -> the store's order.
 * Ownership: everything in the caller's arena; the JSON must live as long as the tree. Threads: values.
 * Source: SageMaker's API, 2017-07-24: Search, SearchExpression, Filter, NestedFilters, VisibilityConditions.
 */
#pragma once

#include "base/json/json_read.h"
#include "model/query.h"

enum {
	EXPRESSION_LIST_MAX = 20, /* elements of Filters, of NestedFilters, of SubExpressions */
	EXPRESSION_TOTAL_MAX = 50, /* of all of them, in all depths */
	EXPRESSION_NAME_MAX = 255,
	EXPRESSION_VALUE_MAX = 1024,
	EXPRESSION_VISIBILITY_MAX = 5,
};

/* expression, visibility: NULL where the request has none; *out is NULL then. ERR_INVALID with SageMaker's words. */
enum status search_expression_parse(struct query_node **out, const struct json *expression,
	const struct json *visibility, struct arena *arena, struct error *err) MUST_CHECK;
/* "-created" of CreationTime, "metric.X.last" of Metrics.X … */
enum status expression_sort(
	struct span *out, struct span sort_by, bool is_descending, struct arena *arena, struct error *err) MUST_CHECK;
/* "1 validation error detected: Value 'V' at 'FIELD' failed to satisfy constraint: CONSTRAINT" */
enum status expression_violation(struct error *err, const char *field, struct span value, const char *constraint);
