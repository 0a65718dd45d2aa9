/*
 * The query's tree -> a condition on `jobs AS j`. Each comparison is compiled in its positive form; != and !~ are its plain
 * negation, so that jobs without the key match them.
 */
#include "store/sql/search/search_compile.h"

#include "store/columns/case_fold.h"
#include "store/sql/search/search_derived.h"

/* ---- texts ---- */

/* %…% with what is special to LIKE escaped; '*' is the wildcard. */
static struct span like_pattern(struct search_sql *sql, struct span value, bool is_literal)
{
	AUTO_DONE(buf) folded = BUF_INIT(SEARCH_MAX_SQL_BYTES);
	AUTO_DONE(buf) pattern = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	fold_append(&folded, value);
	buf_append_char(&pattern, '%');
	for (size_t i = 0; i < folded.len; i++) {
		char c = folded.ptr[i];
		if (c == '%' || c == '_' || c == '\\')
			buf_append_char(&pattern, '\\');
		buf_append_char(&pattern, c == '*' && !is_literal ? '%' : c);
	}
	buf_append_char(&pattern, '%');
	if (folded.failure || pattern.failure)
		return span_of(NULL, 0);
	return arena_copy(sql->arena, buf_span(&pattern));
}

static void add_like(struct search_sql *sql, const char *column, const struct query_value *value)
{
	search_add(sql, column);
	search_add_text(sql, " LIKE ? ESCAPE '\\'", like_pattern(sql, value->text, value->is_literal));
}

static const char *order_sign(enum query_compare compare)
{
	switch (compare) {
	case QUERY_LESS:
		return " < ";
	case QUERY_AT_MOST:
		return " <= ";
	case QUERY_MORE:
		return " > ";
	case QUERY_AT_LEAST:
		return " >= ";
	default:
		return " = ";
	}
}

/* Is the comparison one of texts? Then there must be a text. */
static bool needs_text(
	const struct search_operand *operand, const struct query_term *term, const struct query_value *value)
{
	return term->compare == QUERY_MATCHES || term->compare == QUERY_MATCHES_FOLDED ||
	       term->compare == QUERY_MATCHES_NOT || !value->is_number || !operand->number;
}

/* One comparison with one value, positive. */
static enum status add_comparison(struct search_sql *sql, const struct search_operand *operand,
	const struct query_term *term, const struct query_value *value, struct error *err)
{
	if (!operand->text && needs_text(operand, term, value))
		return search_mistake(err, term, "'%.*s' is compared with numbers, and '%.*s' is none",
			SPAN_ARGS(term->key), SPAN_ARGS(value->text));
	switch (term->compare) {
	case QUERY_MATCHES:
	case QUERY_MATCHES_FOLDED:
	case QUERY_MATCHES_NOT:
		search_add(sql, "job_matches(");
		TRY(search_add_match(sql, "?, ", term, err));
		search_add(sql, operand->text);
		search_add(sql, ")");
		return OK;
	case QUERY_CONTAINS:
		if (!value->is_number || !operand->number) {
			add_like(sql, operand->folded ? operand->folded : operand->text, value);
			return OK;
		}
		break;
	default:
		break;
	}
	bool is_number = value->is_number && operand->number;
	search_add(sql, is_number ? operand->number : operand->text);
	/* On the left: of "a = ? COLLATE NOCASE OR a = ? …" SQLite makes "a IN (?, …)", and forgets the collation. */
	search_add(sql, operand->ignores_case && !is_number ? " COLLATE NOCASE" : "");
	search_add(sql, order_sign(term->compare));
	if (is_number)
		search_add_double(sql, "?", value->number);
	else
		search_add_text(sql, "?", value->text);
	return OK;
}

enum status search_add_comparisons(
	struct search_sql *sql, const struct search_operand *operand, const struct query_term *term, struct error *err)
{
	search_add(sql, "(");
	for (size_t i = 0; i < term->value_count; i++) {
		if (i)
			search_add(sql, " OR ");
		TRY(add_comparison(sql, operand, term, &term->values[i], err));
	}
	search_add(sql, ")");
	return OK;
}

/* ---- incidents: by kind, state or severity ---- */

static enum status add_incident(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	search_add(sql, search_is_negated(term) ? "NOT EXISTS (" : "EXISTS (");
	search_add_i64(sql, /* what its definitions do not find any more is none of it; a rule's was so then */
		"SELECT 1 FROM incidents AS i WHERE i.job_id = j.job_id AND (i.closed_why <> ? OR i.rule_id <> 0)",
		INCIDENT_CLOSED_DEFINITIONS);
	for (size_t i = 0; i < term->value_count; i++) {
		struct span name = term->values[i].text;
		enum incident_kind kind;
		enum incident_state state;
		enum severity severity;
		search_add(sql, i ? " OR " : " AND (");
		if (incident_kind_parse(name, &kind))
			search_add_i64(sql, "i.kind = ?", kind);
		else if (incident_state_parse(name, &state))
			search_add_i64(sql, "i.state = ?", state);
		else if (severity_parse(name, &severity))
			search_add_i64(sql, "i.severity = ?", severity);
		else
			return search_mistake(err, term, "'%.*s' is no kind, state or severity of incidents",
				(int)(name.len < 80 ? name.len : 80), name.ptr);
	}
	search_add(sql, term->value_count ? "))" : ")");
	if (term->compare == QUERY_CONTAINS || term->compare == QUERY_EQUAL || term->compare == QUERY_NOT_EQUAL ||
		term->compare == QUERY_IN || term->compare == QUERY_EXISTS)
		return OK;
	return search_mistake(err, term, "incident takes ':', '=', '!=', in and exists");
}

/* ---- the tree ---- */

/* Few jobs are a list, with which SQLite begins; of more it asks job by job. */
static enum status add_found(struct search_sql *sql, const struct query_node *node, struct error *err)
{
	enum { FEW = 200 };
	struct bits *found = arena_alloc(sql->arena, sizeof *found);

	if (!found)
		return error_no_memory(err);
	TRY(search_memory_find(sql->memory, node, &sql->memory->all, found, err));
	sql->is_partial |= sql->memory->is_partial;
	if (bits_size(found) > FEW) {
		search_add_set(sql, found);
		return OK;
	}
	search_add(sql, "j.job_id IN (0"); /* nobody's: a list has a first element */
	for (size_t i = 0; i < found->count; i++)
		for (uint64_t left = found->words[i]; left; left &= left - 1)
			search_add_i64(sql, ", ?", (int64_t)(64 * i + bits_first(left)));
	search_add(sql, ")");
	return OK;
}

enum status search_add_term(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	const struct query_node node = {.kind = QUERY_TERM, .term = *term};
	struct search_leaf leaf;

	if (search_leaf_of(term, sql->arena, &leaf))
		return add_found(sql, &node, err);
	if (search_is_log(term))
		return search_add_log(sql, term, err);
	if (search_is_derived(term))
		return search_add_derived(sql, term, err);
	if (search_is_row_list(term))
		return search_add_row_term(sql, term, err);
	if (term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("incident")))
		return add_incident(sql, term, err);
	return search_mistake(err, term, "'%.*s' is not searchable yet", SPAN_ARGS(term->key));
}

static size_t height(const struct query_node *node)
{
	size_t left = node->left ? height(node->left) : 0, right = node->right ? height(node->right) : 0;

	return 1 + (left > right ? left : right);
}

/*
 * SQLite's parser has room for 100 open things: parentheses stand only where precedence wants them, and what goes deep
 * comes first, because nothing is then open beside it. What is shallow stays as written: a cheap term before a dear one.
 */
static enum status add_node(
	struct search_sql *sql, const struct query_node *node, enum query_kind above, struct error *err)
{
	enum { SHALLOW = 8 };
	const struct query_node *first = node->left, *second = node->right;
	bool is_open = (node->kind == QUERY_OR && above != QUERY_OR) || (node->kind == QUERY_AND && above == QUERY_NOT);

	if (search_is_in_memory(node, sql->arena))
		return add_found(sql, node, err);
	if (node->kind == QUERY_TERM)
		return search_add_term(sql, &node->term, err);
	if (node->kind == QUERY_ONE)
		return search_add_one(sql, node, err);
	if (second && height(second) > SHALLOW && height(second) > height(first)) {
		first = node->right;
		second = node->left;
	}
	search_add(sql, node->kind == QUERY_NOT ? "NOT " : is_open ? "(" : "");
	sql->is_negated ^= node->kind == QUERY_NOT;
	TRY(add_node(sql, first, node->kind, err));
	sql->is_negated ^= node->kind == QUERY_NOT;
	if (second) {
		search_add(sql, node->kind == QUERY_AND ? " AND " : " OR ");
		TRY(add_node(sql, second, node->kind, err));
	}
	search_add(sql, is_open ? ")" : "");
	return OK;
}

enum status search_compile(struct search_sql *sql, const struct query_node *query, struct error *err)
{
	AUTO_DONE(search_memory) memory = search_memory_on(sql->reader, sql->arena);

	if (!query) {
		search_add(sql, "1");
		return OK;
	}
	TRY(search_memory_want_parts(&memory, query, err));
	TRY(search_memory_enter(&memory, err));
	memory.deadline_ms = sql->reader->deadline_ms;
	sql->memory = &memory;
	enum status status = add_node(sql, query, QUERY_AND, err);
	sql->memory = NULL;
	return status;
}
