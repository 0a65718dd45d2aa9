/* Lists of a job that are tables: a row is an element. */
#include "store/sql/search/search_lists.h"

#include "model/query.h"
#include "store/sql/search/search_judge.h"
#include "store/sql/search/search_pattern.h"

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
		{{"Status", {.text = "e.status", .ignores_case = true}, "true"},
			{"StatusMessage", {.text = "e.message"}, "e.message <> ''"},
			{"StartTime", {.number = "e.start_ms"}, "true"},
			{"EndTime", {.number = "e.end_ms"}, "e.end_ms > 0"}}},
	{"FinalMetricDataList", "summaries AS e",
		{{"MetricName", {.text = "e.metric"}, "true"},
			{"Value", {.number = "+e.last"}, "e.count > 0 AND e.last_kind <> 1"},
			{"Timestamp", {.number = "e.last_ts_ms"}, "true"}}},
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

/* Patterns stand alone: no QUERY_ONE holds one. */
static enum status add_judged_rows(struct search_sql *sql, const struct row_table *table,
	const struct row_column *column, const struct query_term *term, struct error *err)
{
	AUTO_DONE(search_sql) rows = search_rows_for(sql);

	search_add(&rows, "SELECT e.job_id, ");
	search_add(&rows, column->operand.text);
	search_add(&rows, " FROM ");
	search_add(&rows, table->from);
	search_add(&rows, " WHERE ");
	search_add(&rows, column->is_there);
	search_add(&rows, " AND ");
	search_add_among(&rows, sql, "e.job_id");
	return search_add_judged_match(sql, &rows, term, err);
}

enum status search_add_row_term(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	struct query_node node = {.kind = QUERY_TERM, .term = *term};
	const struct row_table *table = find_table(span_of(term->key.ptr, (size_t)span_find_char(term->key, '.')));
	const struct row_column *column = find_column(table, term->key);

	/* Plain negation: no element has it. */
	bool is_negated = search_is_negated(term);
	if (is_negated) {
		node.term.compare = term->compare == QUERY_NOT_EQUAL ? QUERY_EQUAL : QUERY_MATCHES;
		search_add(sql, "NOT ");
	}
	if (column && column->operand.text && search_is_judged(sql, term))
		return add_judged_rows(sql, table, column, term, err);
	return add_rows(sql, table, &node, err); /* which says what is wrong with it */
}

bool search_is_row_name(struct span list)
{
	return find_table(list) != NULL;
}

enum status search_add_row_one(struct search_sql *sql, const struct query_node *one, struct error *err)
{
	return add_rows(sql, find_table(one->term.key), one->left, err);
}
