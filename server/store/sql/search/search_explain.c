/* How a search is answered, term by term. */
#include "model/query.h"
#include "store/driver/connection.h"
#include "store/search.h"
#include "store/sql/search/search_compile.h"
#include "store/sql/search/search_order.h"

static enum status add_step(struct search_memory *memory, const struct query_node *term,
	const struct search_source *sources, size_t source_count, struct job_search_step *step, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(SEARCH_MAX_SQL_BYTES);
	struct bits found;

	for (size_t i = 0; i < source_count; i++) {
		buf_append_text(&names, i ? ", " : "");
		search_source_name(&sources[i], &names);
	}
	TRY(buf_status(&names, err));
	*step = (struct job_search_step){.term = term, .columns = arena_copy(memory->arena, buf_span(&names))};
	if (!step->columns.ptr)
		return error_no_memory(err);
	if (!term || !source_count)
		return OK;
	TRY(search_memory_find(memory, term, &memory->all, &found, err));
	step->jobs = bits_size(&found);
	return OK;
}

/* Terms in the order in which they are written; a term on an element is one. */
static enum status add_steps(struct search_memory *memory, const struct query_node *node,
	struct job_search_step **steps, size_t *count, size_t *cap, struct error *err)
{
	struct search_leaf leaf = {0};

	if (node->kind != QUERY_TERM && node->kind != QUERY_ONE) {
		TRY(add_steps(memory, node->left, steps, count, cap, err));
		return node->right ? add_steps(memory, node->right, steps, count, cap, err) : OK;
	}
	if (node->kind == QUERY_ONE || !search_leaf_of(&node->term, memory->arena, &leaf))
		leaf.count = 0;
	*steps = rows_grow(memory->arena, *steps, *count, cap, sizeof **steps);
	if (!*steps)
		return error_no_memory(err);
	return add_step(memory, node, leaf.sources, leaf.count, &(*steps)[(*count)++], err);
}

static enum status explain(struct search_memory *memory, const struct job_search *search,
	const struct search_sort *sort, struct job_search_step **steps, size_t *count, struct error *err)
{
	size_t cap = 0;

	if (search->query) {
		TRY(search_memory_want_parts(memory, search->query, err));
		TRY(search_memory_enter(memory, err));
		memory->deadline_ms = connection_deadline_ms(memory->reader);
		TRY(add_steps(memory, search->query, steps, count, &cap, err));
	}
	*steps = rows_grow(memory->arena, *steps, *count, &cap, sizeof **steps);
	if (!*steps)
		return error_no_memory(err);
	bool is_in_memory = !search->query || search_is_in_memory(search->query, memory->arena);
	return add_step(memory, NULL, sort->sources, is_in_memory ? sort->source_count : 0, &(*steps)[(*count)++], err);
}

enum status store_explain_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_step **steps, size_t *count, struct error *err)
{
	AUTO_DONE(search_sql) sql = search_sql_on(reader, arena);
	AUTO_DONE(search_memory) memory = search_memory_on(reader, arena);
	struct search_sort sort;

	*steps = NULL;
	*count = 0;
	TRY(search_sort_parse(&sort, search->sort.len ? search->sort : SPAN("-created"), err));
	TRY(search_compile(&sql, search->query, err)); /* finds mistakes */
	return explain(&memory, search, &sort, steps, count, err);
}
