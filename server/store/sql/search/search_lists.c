/*
 * QUERY_ONE: one element of a list that satisfies a whole tree of terms. Transitions and metrics are tables: a row is an element.
 * Other lists are in the job's document, of which the attributes keep no elements apart: job_one(tree, document) looks.
 */
#include "base/json_read.h"
#include "store/columns/case_fold.h"
#include "store/sql/search/search_compile.h"

/* ---- lists that are tables ---- */

enum { TABLE_COLUMNS = 4 };

struct row_column {
	const char *name;
	struct search_operand operand;
	const char *is_there;
};

static const struct row_table {
	const char *name;
	const char *from; /* has job_id */
	struct row_column columns[TABLE_COLUMNS];
} tables[] = {
	{"SecondaryStatusTransitions", "transitions AS e",
		{{"Status", {.text = "e.status", .ignores_case = true}, "1"},
			{"StatusMessage", {.text = "e.message"}, "e.message <> ''"},
			{"StartTime", {.number = "e.start_ms"}, "1"},
			{"EndTime", {.number = "e.end_ms"}, "e.end_ms > 0"}}},
	{"FinalMetricDataList", "summaries AS e",
		{{"MetricName", {.text = "e.metric"}, "1"},
			{"Value", {.number = "+e.last"}, "e.count > 0 AND e.last_kind <> 1"},
			{"Timestamp", {.number = "e.last_ts_ms"}, "1"}}},
};

static const struct row_table *find_table(struct span list)
{
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (span_equal(list, span_from(tables[i].name)))
			return &tables[i];
	return NULL;
}

static const struct row_column *find_column(const struct row_table *table, struct span key)
{
	size_t prefix = strlen(table->name) + 1;

	for (size_t i = 0; i < TABLE_COLUMNS && key.len > prefix; i++)
		if (table->columns[i].name && span_equal(span_skip(key, prefix), span_from(table->columns[i].name)))
			return &table->columns[i];
	return NULL;
}

static enum status add_row_term(
	struct search_sql *sql, const struct row_table *table, const struct query_term *term, struct error *err)
{
	const struct row_column *column = find_column(table, term->key);

	if (!column)
		return search_mistake(err, term, "'%.*s' is not searchable", SPAN_ARGS(term->key));
	search_add(sql, search_is_negated(term) ? "NOT (" : "(");
	search_add(sql, column->is_there);
	if (term->compare != QUERY_EXISTS) {
		search_add(sql, " AND ");
		TRY(search_add_comparisons(sql, &column->operand, term, err));
	}
	search_add(sql, ")");
	return OK;
}

static enum status add_row_tree(
	struct search_sql *sql, const struct row_table *table, const struct query_node *node, struct error *err)
{
	if (node->kind == QUERY_TERM)
		return add_row_term(sql, table, &node->term, err);
	search_add(sql, node->kind == QUERY_NOT ? "NOT (" : "(");
	TRY(add_row_tree(sql, table, node->left, err));
	if (node->right) {
		search_add(sql, node->kind == QUERY_OR ? " OR " : " AND ");
		TRY(add_row_tree(sql, table, node->right, err));
	}
	search_add(sql, ")");
	return OK;
}

static enum status add_rows(
	struct search_sql *sql, const struct row_table *table, const struct query_node *tree, struct error *err)
{
	search_add(sql, "EXISTS (SELECT 1 FROM ");
	search_add(sql, table->from);
	search_add(sql, " WHERE e.job_id = j.job_id AND ");
	TRY(add_row_tree(sql, table, tree, err));
	search_add(sql, ")");
	return OK;
}

bool search_is_row_list(const struct query_term *term)
{
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct span name = span_from(tables[i].name);
		if (term->family == QUERY_PROPERTY && span_starts_with(term->key, name) && term->key.len > name.len &&
			term->key.ptr[name.len] == '.')
			return true;
	}
	return false;
}

enum status search_add_row_term(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	struct query_node node = {.kind = QUERY_TERM, .term = *term};
	size_t dot = (size_t)span_find_char(term->key, '.');

	/* Plain negation: no element has it. */
	bool is_negated = search_is_negated(term);
	if (is_negated) {
		node.term.compare = term->compare == QUERY_NOT_EQUAL ? QUERY_EQUAL : QUERY_MATCHES;
		search_add(sql, "NOT ");
	}
	return add_rows(sql, find_table(span_of(term->key.ptr, dot)), &node, err);
}

/* ---- lists in the document ---- */

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

/* What every job has that has such an element: much cheaper than the document. */
static enum status add_hints(struct search_sql *sql, const struct query_node *tree, struct error *err)
{
	if (tree->kind == QUERY_AND) {
		TRY(add_hints(sql, tree->left, err));
		return add_hints(sql, tree->right, err);
	}
	if (tree->kind != QUERY_TERM || search_is_negated(&tree->term))
		return OK;
	TRY(search_add_term(sql, &tree->term, err));
	search_add(sql, " AND ");
	return OK;
}

enum status search_add_one(struct search_sql *sql, const struct query_node *node, struct error *err)
{
	const struct row_table *table = find_table(node->term.key);

	if (table)
		return add_rows(sql, table, node->left, err);
	search_add(sql, "(");
	TRY(add_hints(sql, node->left, err));
	search_add_one_call(sql, "job_one(?, j.document))", node);
	return OK;
}
