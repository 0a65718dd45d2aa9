#include "model/query.h"

static const char *const names[AGGREGATE_NUMBER] = {
	[AGGREGATE_LAST] = "last",
	[AGGREGATE_MIN] = "min",
	[AGGREGATE_MAX] = "max",
	[AGGREGATE_MEAN] = "mean",
	[AGGREGATE_COUNT] = "count",
	[AGGREGATE_STEP] = "step",
	[AGGREGATE_BEST] = "best",
	[AGGREGATE_BEST_STEP] = "best_step",
	[AGGREGATE_FINAL] = "final",
};

const char *query_aggregate_name(enum query_aggregate aggregate)
{
	return names[aggregate];
}

bool query_take_aggregate(struct span *name, enum query_aggregate *aggregate)
{
	size_t dot = name->len;

	while (dot && name->ptr[dot - 1] != '.')
		dot--;
	if (dot < 2)
		return false;
	for (unsigned i = 0; i < AGGREGATE_NUMBER; i++)
		if (span_equal(span_skip(*name, dot), span_from(names[i]))) {
			*aggregate = (enum query_aggregate)i;
			name->len = dot - 1;
			return true;
		}
	return false;
}

size_t query_log_terms(const struct query_node *node, const struct query_term **out, size_t cap)
{
	if (!node)
		return 0;
	if (node->kind == QUERY_TERM) {
		bool is_log = node->term.family == QUERY_PROPERTY && node->term.compare != QUERY_EXISTS &&
			      span_equal(node->term.key, SPAN("log"));
		if (is_log && cap)
			*out = &node->term;
		return is_log;
	}
	size_t left = query_log_terms(node->left, out, cap), put = left < cap ? left : cap;
	return left + query_log_terms(node->right, out + put, cap - put);
}
