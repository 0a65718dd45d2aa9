/* What parses prints as a text that parses to an equal tree. */
#include "model/query.h"
#include "query/query.h"

#include <math.h>
#include <stdlib.h>

static bool values_equal(const struct query_term *a, const struct query_term *b)
{
	if (a->value_count != b->value_count)
		return false;
	for (size_t i = 0; i < a->value_count; i++) {
		const struct query_value *x = &a->values[i], *y = &b->values[i];
		bool is_same = x->number == y->number || (isnan(x->number) && isnan(y->number));
		if (!span_equal(x->text, y->text) || x->is_number != y->is_number || (x->is_number && !is_same))
			return false;
	}
	return true;
}

static bool trees_equal(const struct query_node *a, const struct query_node *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind)
		return false;
	if (a->kind != QUERY_TERM)
		return trees_equal(a->left, b->left) && trees_equal(a->right, b->right);
	return a->term.family == b->term.family && span_equal(a->term.key, b->term.key) &&
	       a->term.is_role == b->term.is_role && a->term.aggregate == b->term.aggregate &&
	       a->term.compare == b->term.compare && values_equal(&a->term, &b->term);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) printed = BUF_INIT(1 << 17);
	AUTO_DONE(buf) again = BUF_INIT(1 << 17);
	struct query_node *first, *second;
	struct error err = {0};

	if (query_parse(&first, span_of((const char *)data, size), 1700000000000, arena, &err)) {
		if (err.status == ERR_SEMANTIC && (err.column < 1 || err.column > (int64_t)size + 1))
			abort();
		return 0;
	}
	query_print(first, &printed);
	if (printed.failure || printed.len > QUERY_MAX_BYTES)
		return 0;
	if (query_parse(&second, buf_span(&printed), 1700000000000, arena, &err) || !trees_equal(first, second))
		abort();
	query_print(second, &again);
	if (!span_equal(buf_span(&printed), buf_span(&again)))
		abort();
	return 0;
}
