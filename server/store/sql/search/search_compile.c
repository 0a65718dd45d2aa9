/*
 * The query's tree -> a condition on `jobs AS j`. Each comparison is compiled in its positive form; != and !~ are its plain
 * negation, so that jobs without the key match them.
 */
#include "store/sql/search/search_compile.h"

#include "model/incident.h"
#include "model/query.h"
#include "store/driver/connection.h"
#include "store/sql/search/search_derived.h"
#include "store/sql/search/search_document.h"
#include "store/sql/search/search_judge.h"
#include "store/sql/search/search_lists.h"
#include "store/sql/search/search_memory.h"
#include "store/sql/search/search_pattern.h"

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

static enum status find(
	struct search_sql *sql, const struct query_node *node, const struct bits **out, struct error *err)
{
	struct bits *found = arena_alloc(sql->arena, sizeof *found);

	if (!found)
		return error_no_memory(err);
	TRY(search_memory_find(sql->memory, node, &sql->memory->all, found, err));
	sql->is_partial |= sql->memory->is_partial;
	*out = found;
	return OK;
}

/* Few jobs are a list, with which SQLite begins; of more it asks job by job. */
static void add_jobs(struct search_sql *sql, const struct bits *found)
{
	enum { FEW = 200 };

	if (bits_size(found) > FEW) {
		search_add_set(sql, found);
		return;
	}
	search_add(sql, "j.job_id IN (0"); /* nobody's: a list has a first element */
	for (size_t i = 0; i < found->count; i++)
		for (uint64_t left = found->words[i]; left; left &= left - 1)
			search_add_i64(sql, ", ?", (int64_t)(64 * i + bits_first(left)));
	search_add(sql, ")");
}

static enum status add_found(struct search_sql *sql, const struct query_node *node, struct error *err)
{
	const struct bits *found;

	TRY(find(sql, node, &found, err));
	add_jobs(sql, found);
	return OK;
}

static bool is_log(const struct query_term *term)
{
	return term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("log"));
}

/*
 * Terms on what a job's log holds: job_log(term, job_id) asks log_answers, which know as much as was looked up. What was not is
 * taken as it helps the job, or as it does not (log_answers.assumes): where both come to the same, nobody needs to look.
 */
static enum status add_log(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	bool is_negated = search_is_negated(term);

	if (term->compare == QUERY_EXISTS) {
		search_add(sql, "EXISTS (SELECT 1 FROM job_counts AS c WHERE c.job_id = j.job_id AND c.lines > 0)");
		return OK;
	}
	if (term->compare >= QUERY_LESS && term->compare <= QUERY_AT_LEAST)
		return search_mistake(err, term, "log takes ':', '=', '~', '~*', '!=', '!~', in and exists");
	if (!sql->logs)
		return search_mistake(err, term,
			"logs are looked through by GET /api/v1/jobs, /api/v1/aggregate and sm-search, not here");
	struct search_log *log = arena_alloc(sql->arena, sizeof *log);
	if (!log)
		return error_no_memory(err);
	*log = (struct search_log){
		.logs = sql->logs, .term = term, .fallback = sql->logs->assumes != (sql->is_negated != is_negated)};
	search_add(sql, is_negated ? "NOT " : "");
	return search_add_log_call(sql, log, err);
}

static enum status add_term(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	const struct query_node node = {.kind = QUERY_TERM, .term = *term};
	struct search_leaf leaf;

	if (search_leaf_of(term, sql->arena, &leaf))
		return add_found(sql, &node, err);
	if (is_log(term))
		return add_log(sql, term, err);
	if (search_is_derived(term))
		return search_add_derived(sql, term, err);
	if (search_is_row_list(term))
		return search_add_row_term(sql, term, err);
	if (term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("incident")))
		return add_incident(sql, term, err);
	return search_mistake(err, term, "'%.*s' is not searchable yet", SPAN_ARGS(term->key));
}

/* Of QUERY_ONE in a document what every job has that has such an element: much cheaper than the document. */
static enum status add_hints(struct search_sql *sql, const struct query_node *tree, struct error *err)
{
	if (tree->kind == QUERY_AND) {
		TRY(add_hints(sql, tree->left, err));
		return add_hints(sql, tree->right, err);
	}
	if (tree->kind != QUERY_TERM || search_is_negated(&tree->term))
		return OK;
	TRY(add_term(sql, &tree->term, err));
	search_add(sql, " AND ");
	return OK;
}

static bool document_has(void *context, struct statement *row)
{
	return search_document_has(column_borrow(row), context);
}

static enum status add_judged_one(struct search_sql *sql, const struct query_node *node, struct error *err)
{
	AUTO_DONE(search_sql) rows = search_rows_for(sql);

	search_add(&rows, "SELECT j.job_id, j.document FROM jobs AS j WHERE ");
	TRY(add_hints(&rows, node->left, err));
	search_add_among(&rows, sql, "j.job_id");
	return search_add_judged(sql, &rows, document_has, (void *)node, err);
}

static enum status add_one(struct search_sql *sql, const struct query_node *node, struct error *err)
{
	if (search_is_row_name(node->term.key))
		return search_add_row_one(sql, node, err);
	if (!connection_has_predicates(sql->reader))
		return add_judged_one(sql, node, err);
	search_add(sql, "(");
	TRY(add_hints(sql, node->left, err));
	search_add_one_call(sql, "job_one(?, j.document))", node);
	return OK;
}

static size_t height(const struct query_node *node)
{
	size_t left = node->left ? height(node->left) : 0, right = node->right ? height(node->right) : 0;

	return 1 + (left > right ? left : right);
}

static enum status add_node(
	struct search_sql *sql, const struct query_node *node, enum query_kind above, struct error *err) MUST_CHECK;

/* *among becomes those that `found` has, too. */
static enum status narrow(
	struct search_sql *sql, const struct bits **among, const struct bits *found, struct error *err)
{
	struct bits *both = arena_alloc(sql->arena, sizeof *both);

	if (both)
		*both = bits_new(sql->arena, found->count);
	if (!both || !both->words)
		return error_no_memory(err);
	for (size_t i = 0; i < found->count; i++)
		both->words[i] = found->words[i] & (*among && i < (*among)->count ? (*among)->words[i]
							   : *among               ? 0
										  : UINT64_MAX);
	*among = both;
	return OK;
}

/* Of an AND one side in memory says which jobs the other one need look at. */
static enum status add_sides(
	struct search_sql *sql, enum query_kind kind, const struct query_node *const sides[2], struct error *err)
{
	const struct bits *found[2] = {NULL, NULL}, *among = sql->among, *narrower = among;

	for (size_t i = 0; i < 2; i++)
		if (search_is_in_memory(sides[i], sql->arena)) {
			TRY(find(sql, sides[i], &found[i], err));
			if (kind == QUERY_AND)
				TRY(narrow(sql, &narrower, found[i], err));
		}
	for (size_t i = 0; i < 2; i++) {
		search_add(sql, !i ? "" : kind == QUERY_AND ? " AND " : " OR ");
		sql->among = narrower;
		if (found[i])
			add_jobs(sql, found[i]);
		else
			TRY(add_node(sql, sides[i], kind, err));
	}
	sql->among = among;
	return OK;
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
		return add_term(sql, &node->term, err);
	if (node->kind == QUERY_ONE)
		return add_one(sql, node, err);
	if (second && height(second) > SHALLOW && height(second) > height(first)) {
		first = node->right;
		second = node->left;
	}
	search_add(sql, node->kind == QUERY_NOT ? "NOT " : is_open ? "(" : "");
	if (second) {
		TRY(add_sides(sql, node->kind, (const struct query_node *const[]){first, second}, err));
	} else {
		sql->is_negated ^= node->kind == QUERY_NOT;
		TRY(add_node(sql, first, node->kind, err));
		sql->is_negated ^= node->kind == QUERY_NOT;
	}
	search_add(sql, is_open ? ")" : "");
	return OK;
}

enum status search_compile(struct search_sql *sql, const struct query_node *query, struct error *err)
{
	AUTO_DONE(search_memory) memory = search_memory_on(sql->reader, sql->arena);

	if (!query) {
		search_add(sql, "true");
		return OK;
	}
	TRY(search_memory_want_parts(&memory, query, err));
	TRY(search_memory_enter(&memory, err));
	memory.deadline_ms = connection_deadline_ms(sql->reader);
	sql->memory = &memory;
	enum status status = add_node(sql, query, QUERY_AND, err);
	sql->memory = NULL;
	return status;
}
