/* SQL under construction, its values, and the predicates of ours that it asks. */
#include "store/sql/search/search_sql.h"

#include "base/clock.h"
#include "base/text/regex.h"
#include "model/query.h"
#include "store/columns/bits.h"
#include "store/driver/connection.h"
#include "store/search.h"
#include "store/sql/search/search_document.h"
#include "store/sql/search/search_pattern.h"

enum { SET_WORD_BITS = 64 };

/* A set's words are bytes to get_bit, of which the first has the first eight bits. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sets are bound as they lie in memory");

struct search_match {
	struct search_match *next;
	struct regex *regex;
	struct regex_scratch *scratch;
	struct query_term term; /* the caller's may be a local one */
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

static void add_now(struct search_sql *sql)
{
	if (!sql->now_ms)
		sql->now_ms = clock_wall_ms();
	search_add_i64(sql, "?", sql->now_ms);
}

void search_add(struct search_sql *sql, const char *piece)
{
	static const char NOW[] = ":now";

	for (const char *now; (now = strstr(piece, NOW)); piece = now + sizeof NOW - 1) {
		buf_append(&sql->text, piece, (size_t)(now - piece));
		add_now(sql);
	}
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

/* A bit behind the last one is a mistake, to PostgreSQL; and of both sides of an AND it may look at the second first. */
static void add_set(struct search_sql *sql, const char *job_id, const struct bits *set, const char *beyond)
{
	search_add(sql, "CASE WHEN ");
	search_add(sql, job_id);
	search_add_i64(sql, " < ?", (int64_t)(set->count * SET_WORD_BITS));
	search_add_value(sql, " THEN get_bit(?, ", (struct search_value){.kind = SEARCH_SET, .set = set});
	search_add(sql, job_id);
	search_add(sql, ") = 1 ELSE ");
	search_add(sql, beyond);
	search_add(sql, " END");
}

void search_add_set_of(struct search_sql *sql, const char *job_id, const struct bits *set)
{
	add_set(sql, job_id, set, "false");
}

void search_add_set(struct search_sql *sql, const struct bits *set)
{
	search_add_set_of(sql, "j.job_id", set);
}

enum status search_set_of_all(const struct search_sql *sql, struct bits **set, struct error *err)
{
	int64_t last;

	TRY(connection_number(sql->reader, "SELECT last FROM counters WHERE name = 'job'", &last, err));
	*set = arena_alloc(sql->arena, sizeof **set);
	if (*set)
		**set = bits_new(sql->arena, (size_t)last / SET_WORD_BITS + 1);
	return *set && (*set)->words ? OK : error_no_memory(err);
}

static bool is_in_log(const struct search_log *log, int64_t job)
{
	enum log_answer answer = log->logs->look(log->logs->context, log->term, job);

	return answer == LOG_NOT_LOOKED ? log->fallback : answer == LOG_YES;
}

/* The answers for all jobs that there are, as a set. One that is made meanwhile was not looked at. */
static enum status add_log_set(struct search_sql *sql, const struct search_log *log, struct error *err)
{
	struct bits *set;

	TRY(search_set_of_all(sql, &set, err));
	for (size_t job = 0; job < set->count * SET_WORD_BITS; job++)
		if (is_in_log(log, (int64_t)job))
			bits_add(set, job);
	add_set(sql, "j.job_id", set, log->fallback ? "true" : "false");
	return OK;
}

enum status search_add_log_call(struct search_sql *sql, const struct search_log *log, struct error *err)
{
	if (!connection_has_predicates(sql->reader))
		return add_log_set(sql, log, err);
	sql->needs_functions = true;
	search_add_value(sql, "job_log(?, j.job_id)", (struct search_value){.kind = SEARCH_LOG, .log = log});
	return OK;
}

enum status search_match_new(
	struct search_sql *sql, const struct query_term *term, struct search_match **out, struct error *err)
{
	struct search_match *match = arena_alloc(sql->arena, sizeof *match);

	if (!match)
		return error_no_memory(err);
	*match = (struct search_match){.next = sql->matches, .term = *term};
	sql->matches = *out = match;
	return search_pattern_new(&match->regex, &match->scratch, term, err);
}

bool search_match_has(struct search_match *match, struct span text)
{
	struct span groups[REGEX_MAX_GROUPS];

	/* Once it gave up, the search fails in any case. Names and documents are UTF-8, but what they came through is not ours alone,
	 * and PCRE2 relies on it. */
	if (match->gave_up || !span_is_utf8(text))
		return false;
	enum regex_result result = regex_search(match->regex, match->scratch, text, 0, groups);
	match->gave_up = result == REGEX_LIMIT;
	return result == REGEX_MATCH;
}

enum status search_add_match(
	struct search_sql *sql, const char *piece, const struct query_term *term, struct error *err)
{
	struct search_match *match;

	TRY(search_match_new(sql, term, &match, err));
	sql->needs_functions = true;
	search_add_value(sql, piece, (struct search_value){.kind = SEARCH_MATCH, .match = match});
	return OK;
}

/* ---- what SQL asks us ---- */

static bool job_matches(struct store_reader *on, void *bound, struct span text, int64_t number)
{
	(void)number;
	/* Between two looks of the progress handler there may be hundreds of texts, each worth MATCH_STEPS. */
	if (connection_is_late(on))
		connection_interrupt(on);
	return search_match_has(bound, text);
}

static bool job_one(struct store_reader *on, void *bound, struct span document, int64_t number)
{
	(void)on;
	(void)number;
	return search_document_has(document, bound);
}

static bool job_log(struct store_reader *on, void *bound, struct span text, int64_t job)
{
	(void)on;
	(void)text;
	return is_in_log(bound, job);
}

static const struct predicate predicates[] = {
	{"job_matches", job_matches},
	{"job_one", job_one},
	{"job_log", job_log},
};

static void bind(struct statement *s, const struct search_value *value)
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
		bind_pointer(s, "job_one", value->one);
		break;
	case SEARCH_SET:
		bind_blob(s, span_of((const char *)value->set->words, value->set->count * sizeof *value->set->words));
		break;
	case SEARCH_LOG:
		bind_pointer(s, "job_log", value->log);
		break;
	case SEARCH_MATCH:
		bind_pointer(s, "job_matches", value->match);
		break;
	}
}

enum status search_sql_open(struct statement *s, struct store_reader *reader, struct search_sql *sql, struct error *err)
{
	if (sql->is_out_of_memory)
		return error_no_memory(err);
	TRY(buf_status(&sql->text, err));
	if (sql->needs_functions &&
		connection_add_predicates(reader, predicates, sizeof predicates / sizeof *predicates))
		return error_no_memory(err);
	TRY(statement_open_once(s, reader, buf_span(&sql->text), err));
	for (size_t i = 0; i < sql->count; i++)
		bind(s, &sql->values[i]);
	return OK;
}

enum status search_sql_check(const struct search_sql *sql, struct error *err)
{
	for (const struct search_match *match = sql->matches; match; match = match->next)
		if (match->gave_up)
			return search_pattern_gave_up(&match->term, err);
	return OK;
}
