/*
 * Pages of jobs: the condition of search_compile.c, in one order, from a cursor on. A row's place is (rank, value, job_id); rank
 * puts numbers before NaN before what is missing, whichever way the values go.
 */
#include "store/sqlite/search.h"
#include "store/sqlite/search_derived.h"

#include <inttypes.h>
#include <stdio.h>

enum sort_kind { SORT_TEXT, SORT_I64, SORT_MISSING_I64, SORT_MISSING_TEXT, SORT_METRIC, SORT_ATTRIBUTE };

/* RANK_OTHER: a metric's NaN, an attribute that is a text; missing comes last, in either direction. */
enum { RANK_VALUE, RANK_OTHER, RANK_MISSING, CURSOR_TEXT_BYTES = 16384 };

struct sort {
	enum sort_kind kind;
	bool is_descending;
	const char *column; /* of jobs AS j */
	struct search_figure figure; /* else of the summaries */
	enum role role;
	struct span metric; /* when it is no role; of SORT_ATTRIBUTE its key */
};

/* What a cursor holds: the last row's place. */
struct place {
	int64_t rank;
	int64_t job_id;
	int64_t number;
	double real;
	struct span text;
};

/* ---- what to sort by ---- */

#define ENDED_MS "(CASE WHEN j.started_ms > 0 AND j.ended_ms > 0 THEN j.ended_ms - j.started_ms ELSE 0 END)"

static bool find_column(struct span name, struct sort *sort)
{
	static const struct {
		const char *name;
		enum sort_kind kind;
		const char *column;
	} columns[] = {
		{"name", SORT_TEXT, "j.folded"},
		{"status", SORT_TEXT, "j.status"},
		{"created", SORT_I64, "j.created_ms"},
		{"modified", SORT_I64, "j.modified_ms"},
		{"started", SORT_MISSING_I64, "j.started_ms"},
		{"ended", SORT_MISSING_I64, "j.ended_ms"},
		{"team", SORT_TEXT, "j.team"},
		{"secondary", SORT_TEXT, "j.secondary"},
		{"FailureReason", SORT_TEXT, "j.failure_reason"},
		/* What still runs has no time of its own yet: its place would move from page to page. */
		{"duration", SORT_MISSING_I64, ENDED_MS},
		{"billable", SORT_MISSING_I64, ENDED_MS},
		{"TrainingTimeInSeconds", SORT_MISSING_I64, ENDED_MS},
		{"BillableTimeInSeconds", SORT_MISSING_I64, ENDED_MS},
	};

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		if (span_equal(name, span_from(columns[i].name))) {
			sort->kind = columns[i].kind;
			sort->column = columns[i].column;
			return true;
		}
	bool is_text;
	sort->column = search_derived_order(name, &is_text);
	sort->kind = is_text ? SORT_MISSING_TEXT : SORT_MISSING_I64;
	return sort->column != NULL;
}

static struct span unquoted(struct span name)
{
	bool is_quoted = name.len >= 2 && name.ptr[0] == '"' && name.ptr[name.len - 1] == '"';

	return is_quoted ? span_of(name.ptr + 1, name.len - 2) : name;
}

static enum status parse_sort(struct sort *out, struct span text, struct error *err)
{
	struct sort sort = {.is_descending = text.ptr[0] == '-'};
	enum query_aggregate aggregate = AGGREGATE_LAST;

	struct span name = span_skip(text, sort.is_descending);
	bool is_column = find_column(name, &sort);
	if (!is_column && search_attribute_key(name, &sort.metric)) {
		sort.kind = SORT_ATTRIBUTE;
	} else if (!is_column) {
		bool is_metric = span_starts_with(name, SPAN("metric."));
		struct span metric = span_skip(name, is_metric ? 7 : 0);
		bool has_aggregate = query_take_aggregate(&metric, &aggregate);
		metric = unquoted(metric);
		bool is_role = !is_metric && role_parse(metric, &sort.role) && sort.role != ROLE_OTHER;
		if (metric.len == 0 || (!is_metric && !is_role && !has_aggregate))
			return error_set_field(err, ERR_SEMANTIC, "sort",
				"jobs are not sorted by '%.*s' but by name, status, created, started, ended, modified, a role or "
				"metric.NAME.AGG, hp.KEY, tag.KEY, env.KEY or a property as ResourceConfig.InstanceCount",
				(int)(text.len < 200 ? text.len : 200), text.ptr);
		sort.kind = SORT_METRIC;
		sort.role = is_role ? sort.role : ROLE_OTHER;
		sort.metric = metric;
		sort.figure = search_figure_of(aggregate);
	}
	*out = sort;
	return OK;
}

/* ---- cursors: hex of "SORT NUL rank job_id number bits NUL text" ---- */

static enum status print_cursor(
	struct span sort, const struct place *place, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(CURSOR_TEXT_BYTES);
	uint64_t bits;

	memcpy(&bits, &place->real, sizeof bits);
	buf_append_span(&plain, sort);
	buf_append_char(&plain, 0);
	buf_printf(&plain, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64, place->rank, place->job_id, place->number,
		bits);
	buf_append_char(&plain, 0);
	buf_append_span(&plain, place->text);
	TRY(buf_status(&plain, err));
	char *hex = arena_alloc(arena, 2 * plain.len + 1);
	if (!hex)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < plain.len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)plain.ptr[i]);
	*out = span_of(hex, 2 * plain.len);
	return OK;
}

static bool decode_hex(struct span cursor, struct arena *arena, struct span *out)
{
	char *plain = cursor.len % 2 ? NULL : arena_alloc(arena, cursor.len / 2);

	if (!plain)
		return false;
	for (size_t i = 0; i < cursor.len / 2; i++) {
		int high = span_hex_digit(cursor.ptr[2 * i]), low = span_hex_digit(cursor.ptr[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		plain[i] = (char)(high << 4 | low);
	}
	*out = span_of(plain, cursor.len / 2);
	return true;
}

static bool parse_figures(struct span text, struct place *place)
{
	struct span rest = text, parts[4] = {{0}};
	uint64_t bits;

	for (size_t i = 0; i < 4; i++)
		if (!span_next(&rest, ' ', &parts[i]))
			return false;
	if (!span_parse_i64(parts[0], &place->rank) || !span_parse_i64(parts[1], &place->job_id) ||
		!span_parse_i64(parts[2], &place->number) || !span_parse_u64(parts[3], &bits))
		return false;
	memcpy(&place->real, &bits, sizeof bits);
	return !rest.ptr && !isnan(place->real) && place->rank >= RANK_VALUE && place->rank <= RANK_MISSING;
}

static enum status parse_cursor(
	struct span cursor, struct span sort, struct arena *arena, struct place *out, struct error *err)
{
	struct span rest, found_sort, figures;
	struct place place = {0};

	if (!decode_hex(cursor, arena, &rest) || !span_next(&rest, 0, &found_sort) || !span_next(&rest, 0, &figures) ||
		!rest.ptr || !parse_figures(figures, &place) || !span_is_utf8(rest))
		return error_set_field(err, ERR_INVALID, "cursor", "this is not a cursor of the job search");
	if (!span_equal(found_sort, sort))
		return error_set_field(err, ERR_INVALID, "cursor",
			"the cursor is of a list sorted by '%.*s', not by '%.*s'",
			(int)(found_sort.len < 100 ? found_sort.len : 100), found_sort.ptr,
			(int)(sort.len < 100 ? sort.len : 100), sort.ptr);
	place.text = rest;
	*out = place;
	return OK;
}

/* ---- SQL ---- */

/* Of the inner SELECT: job_id, rank and value of every job. */
static void add_keys(struct search_sql *sql, const struct sort *sort)
{
	search_add(sql, "SELECT j.job_id AS job_id, ");
	if (sort->kind == SORT_METRIC) {
		search_add(sql, "CASE WHEN s.job_id IS NULL OR NOT (");
		search_add(sql, sort->figure.is_there);
		search_add(sql, ") THEN 2 WHEN ");
		search_add(sql, sort->figure.is_nan);
		search_add(sql, " THEN 1 ELSE 0 END AS rank, CAST(");
		search_add(sql, sort->figure.column);
		search_add(
			sql, " AS REAL) AS value FROM jobs AS j LEFT JOIN summaries AS s ON s.job_id = j.job_id AND ");
		if (sort->role != ROLE_OTHER)
			search_add_i64(sql, "s.main_role = ?", sort->role);
		else
			search_add_text(sql, "s.metric = ?", sort->metric);
		return;
	}
	if (sort->kind == SORT_ATTRIBUTE) {
		/* Of several elements the first one. */
		search_add(sql,
			"CASE WHEN a.job_id IS NULL THEN 2 WHEN a.number IS NULL THEN 1 ELSE 0 END AS rank,"
			" ifnull(a.number, a.folded) AS value FROM jobs AS j LEFT JOIN attributes AS a ON a.job_id = j.job_id");
		search_add_text(sql, " AND a.key = ?", sort->metric);
		search_add_text(sql,
			" AND a.position = (SELECT min(b.position) FROM attributes AS b WHERE b.job_id = j.job_id"
			" AND b.key = ?)",
			sort->metric);
		return;
	}
	if (sort->kind == SORT_MISSING_I64 || sort->kind == SORT_MISSING_TEXT) {
		search_add(sql, "CASE WHEN ");
		search_add(sql, sort->column);
		search_add(sql, sort->kind == SORT_MISSING_I64 ? " > 0 THEN 0 ELSE 2 END" : " <> '' THEN 0 ELSE 2 END");
	} else {
		search_add(sql, "0");
	}
	search_add(sql, " AS rank, ");
	search_add(sql, sort->column);
	search_add(sql, " AS value FROM jobs AS j");
}

static void add_place_value(struct search_sql *sql, const struct sort *sort, const struct place *place)
{
	if (sort->kind == SORT_TEXT || sort->kind == SORT_MISSING_TEXT)
		search_add_text(sql, "?", place->text);
	else if (sort->kind == SORT_ATTRIBUTE && place->rank == RANK_OTHER)
		search_add_text(sql, "?", place->text);
	else if (sort->kind == SORT_METRIC || sort->kind == SORT_ATTRIBUTE)
		search_add_double(sql, "?", place->real);
	else
		search_add_i64(sql, "?", place->number);
}

/* Are rows of the rank ordered by what they have? */
static bool has_value(const struct sort *sort, int64_t rank)
{
	return rank == RANK_VALUE || (rank == RANK_OTHER && sort->kind == SORT_ATTRIBUTE);
}

/* Rows behind the place. Without ranks a row value does, which SQLite looks up in the index. */
static void add_from(struct search_sql *sql, const struct sort *sort, const struct place *place)
{
	bool has_ranks = sort->kind != SORT_TEXT && sort->kind != SORT_I64;

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
	if (has_value(sort, place->rank)) {
		search_add(sql, sort->is_descending ? " AND (value, job_id) < (" : " AND (value, job_id) > (");
		add_place_value(sql, sort, place);
		search_add_i64(sql, ", ?))", place->job_id);
	} else {
		search_add_i64(sql, sort->is_descending ? " AND job_id < ?)" : " AND job_id > ?)", place->job_id);
	}
}

/* Values behind rank 0 are no values: they must not order the rows, because the cursor does not hold them. */
static const char *order_of(const struct sort *sort)
{
	switch (sort->kind) {
	case SORT_TEXT:
	case SORT_I64:
		return sort->is_descending ? " ORDER BY value DESC, job_id DESC" : " ORDER BY value, job_id";
	case SORT_ATTRIBUTE:
		return sort->is_descending ? " ORDER BY rank, iif(rank < 2, value, 0) DESC, job_id DESC"
					   : " ORDER BY rank, iif(rank < 2, value, 0), job_id";
	case SORT_MISSING_I64:
	case SORT_MISSING_TEXT:
	case SORT_METRIC:
		break;
	}
	return sort->is_descending ? " ORDER BY rank, iif(rank = 0, value, 0) DESC, job_id DESC"
				   : " ORDER BY rank, iif(rank = 0, value, 0), job_id";
}

static enum status add_page(struct search_sql *sql, const struct job_search *search, const struct sort *sort,
	const struct place *from, struct error *err)
{
	bool has_ranks = sort->kind != SORT_TEXT && sort->kind != SORT_I64;

	search_add(sql, has_ranks ? "SELECT job_id, rank, value FROM (" : "");
	add_keys(sql, sort);
	search_add(sql, " WHERE ");
	TRY(search_compile(sql, search->query, err));
	search_add(sql, has_ranks ? ")" : "");
	if (from)
		add_from(sql, sort, from);
	search_add(sql, order_of(sort));
	/* One more tells whether a page follows. */
	search_add_i64(sql, " LIMIT ?", search->limit < INT64_MAX ? (int64_t)search->limit + 1 : INT64_MAX);
	return OK;
}

/* ---- reading ---- */

static void read_place(struct statement *s, const struct sort *sort, struct arena *arena, struct place *place)
{
	*place = (struct place){.text = SPAN("")};
	place->job_id = column_i64(s);
	place->rank = column_i64(s);
	if (!has_value(sort, place->rank))
		return;
	if (sort->kind == SORT_TEXT || sort->kind == SORT_MISSING_TEXT ||
		(sort->kind == SORT_ATTRIBUTE && place->rank == RANK_OTHER))
		place->text = column_span(s, arena);
	else if (sort->kind == SORT_METRIC || sort->kind == SORT_ATTRIBUTE)
		place->real = sqlite3_column_double(s->prepared, 2);
	else
		place->number = column_i64(s);
}

struct page {
	struct place *places;
	size_t count;
	bool has_more;
};

static enum status read_places(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	const struct sort *sort, const struct place *from, struct page *page, struct error *err)
{
	AUTO_DONE(search_sql) sql = search_sql_on(reader, arena);
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	sql.logs = search->logs;
	TRY(add_page(&sql, search, sort, from, err));
	TRY(search_sql_open(&s, reader, &sql, err));
	TRY(statement_step(&s, &has_row, err));
	while (has_row && page->count < search->limit) {
		page->places = rows_grow(arena, page->places, page->count, &cap, sizeof *page->places);
		if (!page->places)
			return error_set(err, ERR_MEMORY, "out of memory");
		read_place(&s, sort, arena, &page->places[page->count++]);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	page->has_more = has_row && page->count;
	return search_sql_check(&sql, err);
}

static enum status count_all(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	uint64_t *total, struct error *err)
{
	AUTO_DONE(search_sql) sql = search_sql_on(reader, arena);
	AUTO_DONE(statement) s = {0};
	bool has_row;

	sql.wants_all = true;
	sql.logs = search->logs;
	search_add(&sql, "SELECT count(*) FROM jobs AS j WHERE ");
	TRY(search_compile(&sql, search->query, err));
	TRY(search_sql_open(&s, reader, &sql, err));
	TRY(statement_step(&s, &has_row, err));
	*total = column_u64(&s);
	return search_sql_check(&sql, err);
}

static enum status read_rows(struct store_reader *reader, struct arena *arena, const struct page *page,
	struct job_row **out, struct error *err)
{
	struct job_row *rows = arena_alloc(arena, (page->count + 1) * sizeof *rows);

	if (!rows)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < page->count; i++)
		TRY(store_read_job_by_id(reader, arena, page->places[i].job_id, &rows[i], err));
	*out = rows;
	return OK;
}

static enum status print_cursors(
	struct span order, const struct page *page, struct arena *arena, struct span **out, struct error *err)
{
	struct span *cursors = arena_alloc(arena, (page->count + 1) * sizeof *cursors);

	if (!cursors)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < page->count; i++)
		TRY(print_cursor(order, &page->places[i], arena, &cursors[i], err));
	*out = cursors;
	return OK;
}

static enum status search_in_view(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, struct error *err)
{
	struct job_search_result result = {.next_cursor = SPAN("")};
	struct span order = search->sort.len ? search->sort : SPAN("-created");
	struct page page = {0};
	struct place from;
	struct sort sort = {0};

	TRY(parse_sort(&sort, order, err));
	if (search->cursor.len)
		TRY(parse_cursor(search->cursor, order, arena, &from, err));
	TRY(read_places(reader, arena, search, &sort, search->cursor.len ? &from : NULL, &page, err));
	TRY(read_rows(reader, arena, &page, &result.rows, err));
	result.count = page.count;
	if (page.has_more)
		TRY(print_cursor(order, &page.places[page.count - 1], arena, &result.next_cursor, err));
	if (search->wants_cursors)
		TRY(print_cursors(order, &page, arena, &result.cursors, err));
	if (search->wants_total)
		TRY(count_all(reader, arena, search, &result.total, err));
	*out = result;
	return OK;
}

enum status store_search_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, struct error *err)
{
	bool has_view = reader->is_in_snapshot;

	/* The page, its rows and the total are of one moment. */
	if (!has_view)
		TRY(store_reader_begin(reader, err));
	enum status status = search_in_view(reader, arena, search, out, err);
	if (!has_view)
		store_reader_end(reader);
	return status;
}
