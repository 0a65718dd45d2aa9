/* SQL under construction, its values, and the one function that SQL calls back: job_matches(pattern, text). */
#include "store/sql/search/search.h"

#include "base/regex.h"

#include <stdarg.h>
#include <stdio.h>

/* The type of the pointers that are bound: SQLite hands a pointer on only to a function that names its type. */
#define MATCH_TYPE "smfleet regex"
#define ONE_TYPE "smfleet one"
#define SET_TYPE "smfleet set"

enum { MATCH_STEPS = 1000000 };

struct search_match {
	struct search_match *next;
	struct regex *regex;
	struct regex_scratch *scratch;
	const struct query_term *term;
	bool gave_up;
};

struct search_sql search_sql_on(struct store_reader *reader, struct arena *arena)
{
	return (struct search_sql){.text = BUF_INIT(SEARCH_MAX_SQL_BYTES), .arena = arena, .reader = reader};
}

void search_sql_done(struct search_sql *sql)
{
	buf_done(&sql->text);
	for (struct search_match *match = sql->matches; match; match = match->next) {
		regex_free(match->regex);
		regex_scratch_free(match->scratch);
	}
	sql->matches = NULL; /* itself in the arena */
}

void search_add(struct search_sql *sql, const char *piece)
{
	buf_append_text(&sql->text, piece);
}

void search_add_value(struct search_sql *sql, const char *piece, struct search_value value)
{
	struct search_value *values = rows_grow(sql->arena, sql->values, sql->count, &sql->cap, sizeof *values);

	search_add(sql, piece);
	if (!values) {
		sql->is_out_of_memory = true;
		return;
	}
	sql->values = values;
	values[sql->count++] = value;
}

void search_add_i64(struct search_sql *sql, const char *piece, int64_t value)
{
	search_add_value(sql, piece, (struct search_value){.kind = SEARCH_I64, .number = value});
}

void search_add_double(struct search_sql *sql, const char *piece, double value)
{
	search_add_value(sql, piece, (struct search_value){.kind = SEARCH_DOUBLE, .real = value});
}

void search_add_text(struct search_sql *sql, const char *piece, struct span value)
{
	if (!value.ptr)
		sql->is_out_of_memory = true;
	search_add_value(sql, piece, (struct search_value){.kind = SEARCH_TEXT, .text = value});
}

void search_add_one_call(struct search_sql *sql, const char *piece, const struct query_node *one)
{
	sql->needs_functions = true;
	search_add_value(sql, piece, (struct search_value){.kind = SEARCH_ONE, .one = one});
}

void search_add_set(struct search_sql *sql, const struct bits *set)
{
	sql->needs_functions = true;
	search_add_value(sql, "job_in(?, j.job_id)", (struct search_value){.kind = SEARCH_SET, .set = set});
}

enum status search_mistake(struct error *err, const struct query_term *term, const char *format, ...)
{
	char text[384];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	error_set(err, ERR_SEMANTIC, "column %zu: %s", term->column, text);
	if (err)
		err->column = (int64_t)term->column;
	return ERR_SEMANTIC;
}

enum status search_pattern_new(
	struct regex **regex, struct regex_scratch **scratch, const struct query_term *term, struct error *err)
{
	unsigned flags = REGEX_UTF | (term->compare == QUERY_MATCHES_FOLDED ? REGEX_IGNORE_CASE : 0);
	struct error reason = {0};

	if (regex_new(regex, term->values[0].text, flags, &reason))
		return reason.status == ERR_SEMANTIC ? search_mistake(err, term, "%s", reason.text)
						     : error_set(err, reason.status, "%s", reason.text);
	*scratch = regex_scratch_new();
	if (!*scratch)
		return error_no_memory(err);
	regex_scratch_limit(*scratch, MATCH_STEPS);
	return OK;
}

enum status search_pattern_gave_up(const struct query_term *term, struct error *err)
{
	struct span pattern = term->values[0].text;

	return search_mistake(err, term, "the pattern '%.*s' needs too many steps",
		(int)(pattern.len < 200 ? pattern.len : 200), pattern.ptr);
}

enum status search_add_match(
	struct search_sql *sql, const char *piece, const struct query_term *term, struct error *err)
{
	struct search_match *match = arena_alloc(sql->arena, sizeof *match);

	if (!match)
		return error_no_memory(err);
	sql->needs_functions = true;
	*match = (struct search_match){.next = sql->matches, .term = term};
	sql->matches = match;
	TRY(search_pattern_new(&match->regex, &match->scratch, term, err));
	search_add_value(sql, piece, (struct search_value){.kind = SEARCH_MATCH, .match = match});
	return OK;
}

static void job_matches(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	struct search_match *match = sqlite3_value_pointer(arguments[0], MATCH_TYPE);
	const void *bytes = sqlite3_value_blob(arguments[1]);
	struct span text = span_of(bytes ? bytes : "", (size_t)sqlite3_value_bytes(arguments[1]));
	struct store_reader *on = sqlite3_user_data(context);
	struct span groups[REGEX_MAX_GROUPS];
	bool is_hit = false;

	(void)count;
	/* Between two looks of the progress handler there may be hundreds of texts, each worth MATCH_STEPS. */
	if (connection_is_late(on))
		sqlite3_interrupt(on->db);
	/* Names and documents are UTF-8, but what they came through is not ours alone, and PCRE2 relies on it. */
	if (match && !match->gave_up && span_is_utf8(text)) { /* once it gave up, the search fails in any case */
		enum regex_result result = regex_search(match->regex, match->scratch, text, 0, groups);
		is_hit = result == REGEX_MATCH;
		match->gave_up = result == REGEX_LIMIT;
	}
	sqlite3_result_int(context, is_hit);
}

static void job_one(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	const struct query_node *one = sqlite3_value_pointer(arguments[0], ONE_TYPE);
	const void *bytes = sqlite3_value_blob(arguments[1]);
	struct span document = span_of(bytes ? bytes : "", (size_t)sqlite3_value_bytes(arguments[1]));

	(void)count;
	sqlite3_result_int(context, one && search_document_has(document, one));
}

static void job_in(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	const struct bits *set = sqlite3_value_pointer(arguments[0], SET_TYPE);
	sqlite3_int64 job = sqlite3_value_int64(arguments[1]);

	(void)count;
	sqlite3_result_int(context, set && job >= 0 && bits_has(set, (size_t)job));
}

static int add_function(struct store_reader *on, const char *name, int arguments,
	void (*call)(sqlite3_context *, int, sqlite3_value **))
{
	return sqlite3_create_function_v2(on->db, name, arguments,
		SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, on, call, NULL, NULL, NULL);
}

enum status search_register(struct store_reader *on)
{
	sqlite3_stmt *probe = NULL;

	/* To register it a second time would throw away every prepared statement of the connection. */
	int code = sqlite3_prepare_v2(on->db, "SELECT job_matches(NULL, NULL)", -1, &probe, NULL);
	sqlite3_finalize(probe);
	if (code == SQLITE_OK)
		return OK;
	code = add_function(on, "job_matches", 2, job_matches);
	if (code == SQLITE_OK)
		code = add_function(on, "job_one", 2, job_one);
	if (code == SQLITE_OK)
		code = add_function(on, "job_in", 2, job_in);
	if (code == SQLITE_OK)
		code = add_function(on, "job_log", 2, search_job_log);
	return code == SQLITE_OK ? OK : ERR_MEMORY;
}

static int bind(struct statement *s, const struct search_value *value)
{
	switch (value->kind) {
	case SEARCH_I64:
		bind_i64(s, value->number);
		break;
	case SEARCH_DOUBLE:
		bind_finite(s, value->real);
		break;
	case SEARCH_TEXT:
		bind_text(s, value->text);
		break;
	case SEARCH_ONE:
		/* SQLite takes no const; job_one only reads. */
		return sqlite3_bind_pointer(s->prepared, ++s->parameter, (void *)value->one, ONE_TYPE, NULL);
	case SEARCH_SET:
		return sqlite3_bind_pointer(s->prepared, ++s->parameter, (void *)value->set, SET_TYPE, NULL);
	case SEARCH_LOG:
		return search_bind_log(s->prepared, ++s->parameter, value->log);
	case SEARCH_MATCH:
		return sqlite3_bind_pointer(s->prepared, ++s->parameter, value->match, MATCH_TYPE, NULL);
	}
	return SQLITE_OK;
}

enum status search_sql_open(struct statement *s, struct store_reader *reader, struct search_sql *sql, struct error *err)
{
	if (sql->is_out_of_memory)
		return error_no_memory(err);
	TRY(buf_status(&sql->text, err));
	if (sql->needs_functions && search_register(reader))
		return error_no_memory(err);
	TRY(statement_open_once(s, reader, buf_span(&sql->text), err));
	for (size_t i = 0; i < sql->count; i++)
		if (bind(s, &sql->values[i]) != SQLITE_OK)
			return error_no_memory(err);
	return OK;
}

enum status search_sql_check(const struct search_sql *sql, struct error *err)
{
	for (const struct search_match *match = sql->matches; match; match = match->next)
		if (match->gave_up)
			return search_pattern_gave_up(match->term, err);
	return OK;
}
