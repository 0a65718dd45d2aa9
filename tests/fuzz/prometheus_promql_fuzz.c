/* Whatever is asked in PromQL: a tree of bounded depth, or an error that says what is wrong. */
#include "prometheus/promql.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct promql_node *node, unsigned depth)
{
	bool is_call = node->kind == PROMQL_CALL || node->kind == PROMQL_AGGREGATE;

	if (depth > PROMQL_NODES_MAX || node->argument_count > PROMQL_ARGUMENTS_MAX || (is_call && !node->function))
		abort();
	if (node->kind == PROMQL_SELECTOR &&
		(!node->matcher_count || (node->type == PROMQL_MATRIX) != (node->range_ms > 0)))
		abort();
	for (size_t i = 0; i < node->argument_count; i++)
		check(node->arguments[i], depth + 1);
}

/* What was printed is a query, and is printed so again. */
static void check_print(const struct promql_node *node, struct arena *arena)
{
	AUTO_DONE(buf) text = BUF_INIT(16 << 20);
	AUTO_DONE(buf) again = BUF_INIT(16 << 20);
	struct promql_node *other;
	struct error err = {0};

	promql_print(node, &text);
	if (text.failure || promql_parse(&other, buf_span(&text), arena, &err) != OK)
		abort();
	promql_print(other, &again);
	if (!span_equal(buf_span(&text), buf_span(&again)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	struct promql_node *node;
	struct error err = {0};

	if (!arena || size > 4096 || memchr(data, 0, size)) /* no parameter holds a NUL */
		return 0;
	struct span query = span_of((const char *)data, size);
	enum status status = promql_parse(&node, query, arena, &err);
	if (status == OK) {
		check(node, 0);
		check_print(node, arena);
	} else if (status != ERR_INVALID || !err.text[0])
		abort();
	status = promql_parse_selector(&node, query, arena, &err);
	if (status == OK && node->kind != PROMQL_SELECTOR)
		abort();
	return 0;
}
