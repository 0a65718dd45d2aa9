/* QUERY_ONE in the job's document, of which the attributes keep no elements apart. */
#include "store/sql/search/search_document.h"

#include "base/json/json_read.h"
#include "model/query.h"
#include "store/columns/case_fold.h"
#include "store/sql/search/search_pattern.h"

struct element_search {
	const struct query_node *tree;
	size_t prefix; /* of the keys: the list's path and the dot */
};

static bool compare_numbers(enum query_compare compare, double a, double b)
{
	switch (compare) {
	case QUERY_LESS:
		return a < b;
	case QUERY_AT_MOST:
		return a <= b;
	case QUERY_MORE:
		return a > b;
	case QUERY_AT_LEAST:
		return a >= b;
	default:
		return a == b;
	}
}

static bool contains_folded(struct span text, struct span part)
{
	AUTO_DONE(buf) folded_text = BUF_INIT(1 << 24);
	AUTO_DONE(buf) folded_part = BUF_INIT(1 << 24);

	fold_append(&folded_text, text);
	fold_append(&folded_part, part);
	return span_find(buf_span(&folded_text), buf_span(&folded_part)) >= 0;
}

static bool leaf_satisfies(struct span text, const struct query_term *term)
{
	double number;

	for (size_t i = 0; i < term->value_count; i++) {
		const struct query_value *value = &term->values[i];
		bool is_hit;
		if (value->is_number)
			is_hit = span_parse_double(text, &number) &&
				 compare_numbers(term->compare, number, value->number);
		else if (term->compare == QUERY_CONTAINS)
			is_hit = contains_folded(text, value->text);
		else
			is_hit = span_equal(text, value->text);
		if (is_hit)
			return true;
	}
	return term->compare == QUERY_EXISTS;
}

/* Does any leaf at the path below `node` satisfy the term? Lists on the way share the path. */
static bool any_leaf(const struct json *node, struct span path, const struct query_term *term)
{
	enum json_kind kind = json_kind(node);

	if (kind == JSON_ARRAY) {
		for (const struct json *at = json_first(node); at; at = json_next(at))
			if (any_leaf(at, path, term))
				return true;
		return false;
	}
	if (kind == JSON_OBJECT) {
		for (const struct json *at = json_first(node); at && path.len; at = json_next(at)) {
			struct span key = json_key_of(at);
			bool is_end = path.len == key.len;
			if (!span_starts_with(path, key) || (!is_end && path.ptr[key.len] != '.'))
				continue;
			if (any_leaf(at, span_skip(path, key.len + !is_end), term))
				return true;
		}
		return false;
	}
	if (path.len || kind == JSON_NULL)
		return false;
	AUTO_DONE(buf) text = BUF_INIT(1 << 24);
	if (kind != JSON_STRING)
		json_print(node, &text);
	return leaf_satisfies(kind == JSON_STRING ? json_string_of(node) : buf_span(&text), term);
}

static bool element_satisfies(
	const struct element_search *search, const struct query_node *tree, const struct json *element)
{
	struct query_term term = tree->term;

	switch (tree->kind) {
	case QUERY_TERM:
		if (!search_is_negated(&term))
			return any_leaf(element, span_skip(term.key, search->prefix), &term);
		term.compare = QUERY_EQUAL;
		return !any_leaf(element, span_skip(term.key, search->prefix), &term);
	case QUERY_NOT:
		return !element_satisfies(search, tree->left, element);
	case QUERY_OR:
		return element_satisfies(search, tree->left, element) ||
		       element_satisfies(search, tree->right, element);
	case QUERY_AND:
	case QUERY_ONE:
		break;
	}
	return element_satisfies(search, tree->left, element) && element_satisfies(search, tree->right, element);
}

bool search_document_has(struct span document, const struct query_node *one)
{
	const struct element_search search = {.tree = one->left, .prefix = one->term.key.len + 1};
	AUTO_DONE(buf) path = BUF_INIT(1024);
	AUTO(json) root = NULL;
	struct error ignored = {0};

	buf_append_span(&path, one->term.key);
	buf_append_char(&path, 0);
	if (path.failure || json_parse(&root, document, &ignored))
		return false;
	const struct json *list = json_get_path(root, path.ptr);
	if (!list || json_kind(list) != JSON_ARRAY)
		return false;
	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (element_satisfies(&search, search.tree, at))
			return true;
	return false;
}
