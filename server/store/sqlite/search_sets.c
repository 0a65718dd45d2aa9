/*
 * Terms as sets: "j.job_id IN (SELECT ... of an index)" where few jobs satisfy the term, so that SQLite begins with them,
 * or where every job is looked at in any case. SQLite has no figures of its own about values: the index is asked, up to a bound.
 */
#include "store/sqlite/search_compile.h"

#include "store/fold.h"

/* A page of 50 is sooner found by walking the sort's index when more than one of RARE_SHARE jobs satisfies the term. */
enum { RARE_SHARE = 32, RARE_MAX = 8192, SET_VALUES = 16 };

static const char *order_sign(enum query_compare compare)
{
	switch (compare) {
	case QUERY_LESS:
		return "a.number < ?";
	case QUERY_AT_MOST:
		return "a.number <= ?";
	case QUERY_MORE:
		return "a.number > ?";
	case QUERY_AT_LEAST:
		return "a.number >= ?";
	default:
		return "a.number = ?";
	}
}

/* s3:"s3://b/p" without a '*': a text, and all that begin with it and a '/'. */
static bool is_prefix(const struct query_term *term)
{
	struct span value = term->value_count ? term->values[0].text : SPAN("");

	return term->family == QUERY_PROPERTY && term->compare == QUERY_CONTAINS && span_equal(term->key, SPAN("s3")) &&
	       value.len && value.ptr[value.len - 1] != '*';
}

static void add_prefix(struct search_sql *sql, struct span value, bool is_rough)
{
	AUTO_DONE(buf) below = BUF_INIT(SEARCH_MAX_SQL_BYTES);
	AUTO_DONE(buf) folded = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	value.len -= value.ptr[value.len - 1] == '/';
	buf_append_span(&below, value);
	buf_append_char(&below, '/');
	fold_append(&folded, value);
	bool is_bad = below.failure || folded.failure;
	struct span start = is_bad ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&folded));
	buf_append_char(&folded, '0'); /* the character behind '/' */
	struct span end = is_bad || folded.failure ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&folded));
	search_add_text(sql, "a.folded >= ?", start);
	search_add_text(sql, " AND a.folded < ?", end);
	if (is_rough)
		return;
	search_add_text(sql, " AND (a.text = ?", value);
	search_add_text(
		sql, " OR instr(a.text, ?) = 1)", is_bad ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&below)));
}

static bool is_possible(const struct query_term *term)
{
	bool is_match = term->compare == QUERY_MATCHES || term->compare == QUERY_MATCHES_FOLDED ||
			term->compare == QUERY_MATCHES_NOT;
	bool is_same = term->compare == QUERY_EQUAL || term->compare == QUERY_NOT_EQUAL || term->compare == QUERY_IN;

	if (is_match || term->compare == QUERY_EXISTS || !term->value_count || term->value_count > SET_VALUES)
		return false;
	if (is_prefix(term))
		return true;
	for (size_t i = 0; i < term->value_count; i++)
		if (!term->values[i].is_number && !is_same)
			return false;
	return true;
}

/* is_rough: by the index alone; the text in its own case of letters is in the table. */
static void add_value(struct search_sql *sql, const struct search_keys *keys, const struct query_term *term,
	const struct query_value *value, bool is_rough)
{
	AUTO_DONE(buf) folded = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	search_add(sql, "SELECT a.job_id FROM attributes AS a WHERE a.key IN (");
	for (size_t i = 0; i < keys->count; i++)
		search_add_text(sql, i ? ", ?" : "?", keys->keys[i]);
	search_add(sql, ") AND ");
	if (is_prefix(term)) {
		add_prefix(sql, term->values[0].text, is_rough);
		return;
	}
	if (value->is_number) {
		search_add_double(sql, order_sign(term->compare), value->number);
		return;
	}
	fold_append(&folded, value->text);
	search_add_text(
		sql, "a.folded = ?", folded.failure ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&folded)));
	if (!is_rough)
		search_add_text(sql, " AND a.text = ?", value->text);
}

static void add_values(
	struct search_sql *sql, const struct search_keys *keys, const struct query_term *term, bool is_rough)
{
	for (size_t i = 0; i < (is_prefix(term) ? 1 : term->value_count); i++) {
		search_add(sql, i ? " UNION ALL " : "");
		add_value(sql, keys, term, &term->values[i], is_rough);
	}
}

static enum status read_number(struct search_sql *sql, struct store_reader *reader, int64_t *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(search_sql_open(&s, reader, sql, err));
	TRY(statement_step(&s, &has_row, err));
	*out = has_row ? column_i64(&s) : 0;
	return statement_check(&s, err);
}

static enum status is_rare(const struct search_sql *sql, const struct search_keys *keys, const struct query_term *term,
	bool *is, struct error *err)
{
	AUTO_DONE(search_sql) newest_sql = search_sql_on(NULL, sql->arena);
	AUTO_DONE(search_sql) count_sql = search_sql_on(NULL, sql->arena);
	int64_t jobs, found;

	search_add(&newest_sql, "SELECT ifnull(max(job_id), 0) FROM jobs");
	TRY(read_number(&newest_sql, sql->reader, &jobs, err));
	int64_t most = jobs / RARE_SHARE < RARE_MAX ? jobs / RARE_SHARE : RARE_MAX;
	search_add(&count_sql, "SELECT count(*) FROM (");
	add_values(&count_sql, keys, term, true);
	search_add_i64(&count_sql, " LIMIT ?)", most + 1);
	TRY(read_number(&count_sql, sql->reader, &found, err));
	*is = found <= most;
	return OK;
}

enum status search_add_set(struct search_sql *sql, const struct search_keys *keys, const struct query_term *term,
	bool *is_set, struct error *err)
{
	bool is_few = false;

	*is_set = false;
	if (!sql->reader || !is_possible(term))
		return OK;
	TRY(is_rare(sql, keys, term, &is_few, err));
	if (!is_few && (!sql->wants_all || sql->has_driver))
		return OK;
	/* '+': SQLite takes any IN for a short list, and would begin with a long one. */
	search_add(sql, is_few ? "(j.job_id IN (" : "(+j.job_id IN (");
	add_values(sql, keys, term, false);
	search_add(sql, "))");
	*is_set = true;
	return OK;
}

enum status search_find_driver(struct search_sql *sql, const struct query_node *query, struct error *err)
{
	struct search_keys keys;

	if (sql->has_driver || !sql->reader)
		return OK;
	if (query->kind == QUERY_AND) {
		TRY(search_find_driver(sql, query->left, err));
		return search_find_driver(sql, query->right, err);
	}
	if (query->kind != QUERY_TERM || search_is_negated(&query->term) || !is_possible(&query->term) ||
		!search_keys_of(sql, &query->term, &keys))
		return OK;
	return is_rare(sql, &keys, &query->term, &sql->has_driver, err);
}
