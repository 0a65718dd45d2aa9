/*
 * Pages of jobs in one order, from a cursor on: out of columns in memory, where all that the query and the order ask for lies there,
 * else by SQL, with the condition of search_compile.c.
 */
#include "base/clock.h"
#include "model/query.h"
#include "store/driver/connection.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/sql/search/search_compile.h"
#include "store/sql/search/search_order.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- SQL ---- */

/* Of several elements the first one; of two keys the first that the job has. */
static void add_attribute_keys(struct search_sql *sql, const struct search_sort *sort)
{
	search_add(sql,
		"CASE WHEN a.job_id IS NULL THEN 2 WHEN a.number IS NULL THEN 1 ELSE 0 END AS rank,"
		" a.number AS value, a.folded AS word FROM jobs AS j LEFT JOIN attributes AS a ON a.job_id = j.job_id");
	if (sort->source_count == 2) {
		search_add_text(sql,
			" AND a.key = CASE WHEN EXISTS (SELECT 1 FROM attributes AS h WHERE h.job_id = j.job_id AND h.key = ?)",
			sort->sources[0].key);
		search_add_text(sql, " THEN ?", sort->sources[0].key);
		search_add_text(sql, " ELSE ? END", sort->sources[1].key);
	} else {
		search_add_text(sql, " AND a.key = ?", sort->sources[0].key);
	}
	search_add(sql, " AND a.position = (SELECT min(b.position) FROM attributes AS b WHERE b.job_id = j.job_id"
			" AND b.key = a.key)");
}

/* Of the inner SELECT: job_id, rank and value of every job. */
static void add_keys(struct search_sql *sql, const struct search_sort *sort)
{
	search_add(sql, "SELECT j.job_id AS job_id, ");
	const struct search_source *source = &sort->sources[0];
	if (sort->kind == SEARCH_SORT_FIGURE) {
		struct search_figure figure = search_figure_of(source->aggregate);
		search_add(sql, "CASE WHEN s.job_id IS NULL OR NOT (");
		search_add(sql, figure.is_there);
		search_add(sql, ") THEN 2 WHEN ");
		search_add(sql, figure.is_nan);
		search_add(sql, " THEN 1 ELSE 0 END AS rank, CAST(");
		search_add(sql, figure.column);
		search_add(sql,
			" AS DOUBLE PRECISION) AS value FROM jobs AS j LEFT JOIN summaries AS s ON s.job_id = j.job_id AND ");
		if (source->role != ROLE_OTHER)
			search_add_i64(sql, "s.main_role > 0 AND s.main_role = ?", source->role);
		else
			search_add_text(sql, "s.metric = ?", source->key);
		search_add(sql, source->aggregate >= AGGREGATE_BEST ? SEARCH_RANKINGS : "");
		return;
	}
	if (sort->kind == SEARCH_SORT_ATTRIBUTE) {
		add_attribute_keys(sql, sort);
		return;
	}
	if (sort->kind == SEARCH_SORT_NUMBER) {
		search_add(sql, "CASE WHEN ");
		search_add(sql, sort->column);
		search_add(sql, " IS NULL THEN 2 ELSE 0 END AS rank, CAST(");
		search_add(sql, sort->column);
		search_add(sql, " AS DOUBLE PRECISION) AS value FROM jobs AS j");
		return;
	}
	if (sort->kind == SEARCH_SORT_MISSING_I64 || sort->kind == SEARCH_SORT_MISSING_TEXT) {
		search_add(sql, "CASE WHEN ");
		search_add(sql, sort->column);
		search_add(sql,
			sort->kind == SEARCH_SORT_MISSING_I64 ? " > 0 THEN 0 ELSE 2 END" : " <> '' THEN 0 ELSE 2 END");
	} else {
		search_add(sql, "0");
	}
	search_add(sql, " AS rank, ");
	search_add(sql, sort->column);
	search_add(sql, " AS value FROM jobs AS j");
}

static bool is_real(const struct search_sort *sort)
{
	return sort->kind == SEARCH_SORT_FIGURE || sort->kind == SEARCH_SORT_ATTRIBUTE ||
	       sort->kind == SEARCH_SORT_NUMBER;
}

/* Of an attribute that is a text the text. */
static bool is_word(const struct search_sort *sort, int64_t rank)
{
	return sort->kind == SEARCH_SORT_ATTRIBUTE && rank == SEARCH_RANK_OTHER;
}

static void add_place_value(struct search_sql *sql, const struct search_sort *sort, const struct search_place *place)
{
	if (sort->kind == SEARCH_SORT_TEXT || sort->kind == SEARCH_SORT_MISSING_TEXT)
		search_add_text(sql, "?", place->text);
	else if (is_word(sort, place->rank))
		search_add_text(sql, "?", place->text);
	else if (is_real(sort))
		search_add_double(sql, "?", place->real);
	else
		search_add_i64(sql, "?", place->number);
}

/* Rows behind the place. Without ranks a row value does, which SQLite looks up in the index. */
static void add_from(struct search_sql *sql, const struct search_sort *sort, const struct search_place *place)
{
	bool has_ranks = sort->kind != SEARCH_SORT_TEXT && sort->kind != SEARCH_SORT_I64;

	if (!has_ranks) {
		search_add(sql, " AND (");
		search_add(sql, sort->column);
		search_add(sql, sort->is_descending ? ", j.job_id) < (" : ", j.job_id) > (");
		add_place_value(sql, sort, place);
		search_add_i64(sql, ", ?)", place->job_id);
		return;
	}
	search_add_i64(sql, " WHERE (rank > ?", place->rank);
	search_add_i64(sql, " OR rank = ?", place->rank);
	if (search_has_value(sort, place->rank)) {
		search_add(sql, is_word(sort, place->rank) ? " AND (word, job_id)" : " AND (value, job_id)");
		search_add(sql, sort->is_descending ? " < (" : " > (");
		add_place_value(sql, sort, place);
		search_add_i64(sql, ", ?))", place->job_id);
	} else {
		search_add_i64(sql, sort->is_descending ? " AND job_id < ?)" : " AND job_id > ?)", place->job_id);
	}
}

/* Values behind rank 0 are no values: they must not order the rows, because the cursor does not hold them. */
#define IF_RANK(number, column) "CASE WHEN rank = " number " THEN " column " END"

static const char *order_of(const struct search_sort *sort)
{
	switch (sort->kind) {
	case SEARCH_SORT_TEXT:
	case SEARCH_SORT_I64:
		return sort->is_descending ? " ORDER BY value DESC, job_id DESC" : " ORDER BY value, job_id";
	case SEARCH_SORT_ATTRIBUTE:
		return sort->is_descending
			       ? " ORDER BY rank, " IF_RANK("0", "value") " DESC, " IF_RANK(
					 "1", "word") " DESC, job_id DESC"
			       : " ORDER BY rank, " IF_RANK("0", "value") ", " IF_RANK("1", "word") ", job_id";
	case SEARCH_SORT_MISSING_I64:
	case SEARCH_SORT_MISSING_TEXT:
	case SEARCH_SORT_FIGURE:
	case SEARCH_SORT_NUMBER:
		break;
	}
	return sort->is_descending ? " ORDER BY rank, " IF_RANK("0", "value") " DESC, job_id DESC"
				   : " ORDER BY rank, " IF_RANK("0", "value") ", job_id";
}

static enum status add_page(struct search_sql *sql, const struct job_search *search, const struct search_sort *sort,
	const struct search_place *from, struct error *err)
{
	bool has_ranks = sort->kind != SEARCH_SORT_TEXT && sort->kind != SEARCH_SORT_I64;

	search_add(sql, !has_ranks                            ? ""
			: sort->kind == SEARCH_SORT_ATTRIBUTE ? "SELECT job_id, rank, value, word FROM ("
							      : "SELECT job_id, rank, value FROM (");
	add_keys(sql, sort);
	search_add(sql, " WHERE ");
	TRY(search_compile(sql, search->query, err));
	search_add(sql, has_ranks ? ") AS ranked" : "");
	if (from)
		add_from(sql, sort, from);
	search_add(sql, order_of(sort));
	/* One more tells whether a page follows. */
	search_add_i64(sql, " LIMIT ?", search->limit < INT64_MAX ? (int64_t)search->limit + 1 : INT64_MAX);
	if (search->offset)
		search_add_i64(sql, " OFFSET ?", (int64_t)search->offset);
	return OK;
}

/* ---- reading ---- */

static void read_place(
	struct statement *s, const struct search_sort *sort, struct arena *arena, struct search_place *place)
{
	*place = (struct search_place){.text = SPAN("")};
	place->job_id = column_i64(s);
	place->rank = column_i64(s);
	if (!search_has_value(sort, place->rank))
		return;
	if (is_word(sort, place->rank))
		(void)column_finite(s); /* the word is behind the number that it is not */
	if (sort->kind == SEARCH_SORT_TEXT || sort->kind == SEARCH_SORT_MISSING_TEXT || is_word(sort, place->rank))
		place->text = column_span(s, arena);
	else if (is_real(sort))
		place->real = column_finite(s);
	else
		place->number = column_i64(s);
}

static enum status read_places(struct search_sql *sql, const struct job_search *search, const struct search_sort *sort,
	const struct search_place *from, struct search_page *page, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct arena *arena = sql->arena;
	size_t cap = 0;
	bool has_row;

	TRY(add_page(sql, search, sort, from, err));
	TRY(search_sql_open(&s, sql->reader, sql, err));
	TRY(statement_step(&s, &has_row, err));
	while (has_row && page->count < search->limit) {
		page->places = rows_grow(arena, page->places, page->count, &cap, sizeof *page->places);
		if (!page->places)
			return error_no_memory(err);
		read_place(&s, sort, arena, &page->places[page->count++]);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	page->has_more = has_row && page->count;
	return search_sql_check(sql, err);
}

static enum status count_all(struct search_sql *sql, const struct query_node *query, uint64_t *total, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	search_add(sql, "SELECT count(*) FROM jobs AS j WHERE ");
	TRY(search_compile(sql, query, err));
	TRY(search_sql_open(&s, sql->reader, sql, err));
	TRY(statement_step(&s, &has_row, err));
	*total = column_u64(&s);
	return search_sql_check(sql, err);
}

/* A step that ran out of time leaves what was found. */
static enum status cut(
	struct store_reader *reader, int64_t limit_ms, enum status status, bool *is_partial, struct error *err)
{
	if (status != ERR_UNAVAILABLE || !limit_ms || !connection_is_late(reader))
		return status;
	*is_partial = true;
	if (err)
		*err = (struct error){0};
	return OK;
}

static enum status run_sql(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	const struct search_sort *sort, const struct search_place *from, struct search_page *page,
	struct job_search_result *result, struct error *err)
{
	AUTO_DONE(search_sql) page_sql = search_sql_on(reader, arena);
	AUTO_DONE(search_sql) count_sql = search_sql_on(reader, arena);

	page_sql.logs = count_sql.logs = search->logs;
	TRY(cut(reader, search->limit_ms, read_places(&page_sql, search, sort, from, page, err), &result->is_partial,
		err));
	page->has_more |= result->is_partial && page->count; /* the next page goes on behind what was found */
	result->is_partial |= page_sql.is_partial;
	if (!search->wants_total)
		return OK;
	TRY(cut(reader, search->limit_ms, count_all(&count_sql, search->query, &result->total, err),
		&result->is_partial, err));
	result->total = result->total < page->count ? page->count : result->total; /* a count that was cut is none */
	return OK;
}

static enum status search_by_sql(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	const struct search_sort *sort, const struct search_place *from, struct search_page *page,
	struct job_search_result *result, struct error *err)
{
	int64_t deadline = connection_deadline_ms(reader), limit = clock_mono_ms() + search->limit_ms;

	if (search->limit_ms && (!deadline || limit < deadline))
		connection_set_deadline_ms(reader, limit);
	enum status status = run_sql(reader, arena, search, sort, from, page, result, err);
	connection_set_deadline_ms(reader, deadline); /* the rows are still to be read */
	return status == OK ? connection_mend_view(reader, err) : status;
}

/* ---- in memory ---- */

static enum status want_all(struct search_memory *memory, const struct job_search *search,
	const struct search_sort *sort, struct error *err)
{
	for (size_t i = 0; i < sort->source_count; i++)
		TRY(search_memory_want(memory, &sort->sources[i], err));
	return search->query ? search_memory_want_query(memory, search->query, err) : OK;
}

static enum status search_by_columns(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	const struct search_sort *sort, const struct search_place *from, struct search_page *page,
	struct job_search_result *result, struct error *err)
{
	AUTO_DONE(search_memory) memory = search_memory_on(reader, arena);

	TRY(want_all(&memory, search, sort, err));
	TRY(search_memory_enter(&memory, err));
	memory.deadline_ms = search->limit_ms ? clock_mono_ms() + search->limit_ms : connection_deadline_ms(reader);
	struct bits found = memory.all;
	if (search->query)
		TRY(search_memory_find(&memory, search->query, &memory.all, &found, err));
	if (memory.is_partial && !search->limit_ms)
		return error_set(err, ERR_UNAVAILABLE, "the search took longer than it may");
	result->total = bits_size(&found);
	result->is_partial = memory.is_partial;
	struct search_place last;
	bool is_there = true;
	if (search->offset && !from) {
		TRY(search_place_at(&memory, sort, &found, search->offset - 1, &last, &is_there, err));
		from = &last;
	}
	return is_there ? search_pick(&memory, sort, &found, from, search->limit, page, err) : OK;
}

static enum status ask_rows(
	struct store_reader *reader, struct arena *arena, const struct search_page *page, struct error *err)
{
	struct job_row row;

	if (!store_reader_ahead_begin(reader, AHEAD_STOP))
		return OK;
	for (size_t i = 0; i < page->count; i++)
		(void)!store_read_job_by_id(reader, arena, page->places[i].job_id, &row, NULL);
	return store_reader_ahead_end(reader, err);
}

/* A column may be newer than the view, and hold a job that is not there yet. order "": no cursors are wanted. */
static enum status read_rows(struct store_reader *reader, struct arena *arena, const struct search_page *page,
	struct span order, struct job_search_result *out, struct error *err)
{
	struct error missing = {0};

	out->rows = arena_alloc(arena, (page->count + 1) * sizeof *out->rows);
	out->cursors = arena_alloc(arena, (page->count + 1) * sizeof *out->cursors);
	if (!out->rows || !out->cursors)
		return error_no_memory(err);
	TRY(ask_rows(reader, arena, page, err));
	for (size_t i = 0; i < page->count; i++) {
		enum status status =
			store_read_job_by_id(reader, arena, page->places[i].job_id, &out->rows[out->count], &missing);
		if (status != OK && status != ERR_NOT_FOUND)
			return error_set(err, status, "%s", missing.text);
		if (order.len)
			TRY(search_cursor_print(order, &page->places[i], arena, &out->cursors[out->count], err));
		out->count += status == OK;
	}
	store_reader_ahead_drop(reader);
	return OK;
}

static enum status search_in_view(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, struct error *err)
{
	struct job_search_result result = {.next_cursor = SPAN("")};
	struct span order = search->sort.len ? search->sort : SPAN("-created");
	const struct search_place *behind = NULL;
	struct search_page page = {0};
	struct search_place from;
	struct search_sort sort = {0};

	TRY(search_sort_parse(&sort, order, err));
	if (search->cursor.len) {
		TRY(search_cursor_parse(search->cursor, order, arena, &from, err));
		behind = &from;
	}
	bool is_in_memory = sort.source_count && (!search->query || search_is_in_memory(search->query, arena));
	if (is_in_memory)
		TRY(search_by_columns(reader, arena, search, &sort, behind, &page, &result, err));
	else
		TRY(search_by_sql(reader, arena, search, &sort, behind, &page, &result, err));
	TRY(read_rows(reader, arena, &page, search->wants_cursors ? order : SPAN(""), &result, err));
	if (page.has_more)
		TRY(search_cursor_print(order, &page.places[page.count - 1], arena, &result.next_cursor, err));
	*out = result;
	return OK;
}

enum status store_search_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, struct error *err)
{
	bool has_view = connection_is_in_view(reader);

	/* The page, its rows and the total are of one moment. */
	if (!has_view)
		TRY(store_reader_begin(reader, err));
	enum status status = search_in_view(reader, arena, search, out, err);
	if (!has_view)
		store_reader_end(reader);
	return status;
}
