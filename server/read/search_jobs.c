#include "read/search_jobs.h"

#include "base/clock.h"
#include "model/query.h"
#include "read/logs/log_matcher.h"
#include "read/logs/log_search.h"
#include "store/jobs.h"
#include "store/search.h"

enum { BATCH_JOBS = 100, TERMS_MAX = 64 /* of a query: query/query.h */, PATTERN_MAX_BYTES = 32 << 10 };

/* One bit a job, by its number. */
struct bits {
	unsigned char *bytes;
	size_t len;
};

struct asked_term {
	const struct query_term *term;
	struct bits looked, yes;
};

struct job_log_search {
	struct job_log_search_options options;
	int64_t until_ms;
	struct log_answers may, must; /* what was not looked up is as the job needs it, or as it does not */
	struct asked_term terms[TERMS_MAX];
	size_t term_count;
	bool has_decided; /* a job: time may end it now */
	bool is_partial; /* some log could not be looked through to its end */
};

/* ---- what is known ---- */

static bool is_set(const struct bits *bits, int64_t number)
{
	size_t at = (size_t)number / 8;

	return at < bits->len && bits->bytes[at] & 1u << number % 8;
}

static bool set(struct bits *bits, int64_t number)
{
	size_t at = (size_t)number / 8;

	if (at >= bits->len) {
		size_t len = at + at / 2 + 64;
		unsigned char *bytes = mem_resize(bits->bytes, len, 1);
		if (!bytes)
			return false;
		memset(bytes + bits->len, 0, len - bits->len);
		bits->bytes = bytes;
		bits->len = len;
	}
	bits->bytes[at] |= (unsigned char)(1u << number % 8);
	return true;
}

static enum log_answer look(void *context, const struct query_term *term, int64_t job_id)
{
	const struct job_log_search *search = context;

	for (size_t i = 0; i < search->term_count; i++)
		if (search->terms[i].term == term)
			return !is_set(&search->terms[i].looked, job_id) ? LOG_NOT_LOOKED
			       : is_set(&search->terms[i].yes, job_id)   ? LOG_YES
									 : LOG_NO;
	return LOG_NOT_LOOKED;
}

const struct log_answers *job_log_search_answers(const struct job_log_search *search)
{
	return &search->must;
}

/* ---- terms as searches of logs ---- */

static bool is_regex(const struct query_term *term)
{
	return term->compare >= QUERY_MATCHES && term->compare <= QUERY_MATCHES_NOT;
}

/* "=" is a whole line; of ":" a '*' stands for anything within one. */
static enum status put_pattern(
	const struct query_term *term, const struct query_value *value, struct buf *out, struct error *err)
{
	bool is_contains = term->compare == QUERY_CONTAINS;

	if (is_regex(term)) {
		buf_append_span(out, value->text);
		return buf_status(out, err);
	}
	buf_append_text(out, is_contains ? "" : "^");
	for (size_t i = 0; i < value->text.len; i++) {
		char c = value->text.ptr[i];
		if (c == '*' && is_contains && !value->is_literal) {
			buf_append_text(out, ".*");
			continue;
		}
		if (c && strchr("\\^$.[]|()?*+{}", c))
			buf_append_char(out, '\\');
		buf_append_char(out, c);
	}
	buf_append_text(out, is_contains ? "" : "$");
	return buf_status(out, err);
}

/* A plain text is looked for as such: it is quicker. */
static bool is_plain(const struct query_term *term, const struct query_value *value)
{
	return term->compare == QUERY_CONTAINS && (value->is_literal || span_find_char(value->text, '*') < 0);
}

static bool ignores_case(const struct query_term *term)
{
	return term->compare == QUERY_CONTAINS || term->compare == QUERY_MATCHES_FOLDED;
}

static enum status check_term(const struct query_term *term, struct error *err)
{
	for (size_t i = 0; i < term->value_count; i++) {
		const struct query_value *value = &term->values[i];
		AUTO_DONE(buf) pattern = BUF_INIT(PATTERN_MAX_BYTES);
		AUTO(log_matcher) matcher = NULL;
		struct error reason = {0};
		bool is_text = is_plain(term, value);
		TRY(put_pattern(term, value, &pattern, err));
		if (value->text.len == 0)
			reason = (struct error){.status = ERR_INVALID, .text = "an empty text is in every line"};
		else if (log_matcher_new(&matcher, is_text ? value->text : buf_span(&pattern), !is_text,
				 ignores_case(term), &reason) == OK)
			continue;
		if (reason.status == ERR_MEMORY)
			return error_no_memory(err);
		error_set(err, ERR_SEMANTIC, "column %zu: %s", term->column, reason.text);
		if (err)
			err->column = (int64_t)term->column;
		return ERR_SEMANTIC;
	}
	return OK;
}

bool job_log_search_is_needed(const struct query_node *query)
{
	return query_log_terms(query, NULL, 0) > 0;
}

enum status job_log_search_new(
	struct job_log_search **out, const struct job_log_search_options *options, struct error *err)
{
	const struct query_term *terms[TERMS_MAX];
	AUTO(job_log_search) search = mem_zeroed(sizeof *search);

	if (!search)
		return error_no_memory(err);
	search->options = *options;
	search->until_ms = clock_mono_ms() + options->time_ms;
	search->may = (struct log_answers){look, search, true};
	search->must = (struct log_answers){look, search, false};
	search->term_count = query_log_terms(options->query, terms, TERMS_MAX);
	if (search->term_count > TERMS_MAX)
		return error_set(err, ERR_SEMANTIC, "a query has at most %d terms", TERMS_MAX);
	for (size_t i = 0; i < search->term_count; i++) {
		search->terms[i].term = terms[i];
		TRY(check_term(terms[i], err));
	}
	*out = TAKE(search);
	return OK;
}

void job_log_search_free(struct job_log_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->term_count; i++) {
		mem_free(search->terms[i].looked.bytes);
		mem_free(search->terms[i].yes.bytes);
	}
	mem_free(search);
}

/* ---- one job ---- */

static enum status search_value(struct job_log_search *search, const struct query_term *term,
	const struct query_value *value, const struct job_row *job, struct log_search_result *result, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) pattern = BUF_INIT(PATTERN_MAX_BYTES);
	int64_t left_ms = search->until_ms - clock_mono_ms();

	if (!arena)
		return error_no_memory(err);
	TRY(put_pattern(term, value, &pattern, err));
	struct log_search ask = {.job = job->name,
		.stream = SPAN(""),
		.text = is_plain(term, value) ? value->text : buf_span(&pattern),
		.is_regex = !is_plain(term, value),
		.ignore_case = ignores_case(term),
		.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.limit = 1,
		.text_bytes = 16,
		.time_ms = left_ms > 0 ? left_ms : 0,
		.asker = search->options.asker};
	return log_search_run(search->options.pipeline, search->options.reader, arena, &ask, result, err);
}

/* *is_known false: there was no time to look through all of its log, and what was looked at has no such line. Not of the first
 * job, is_first, of which the search would be asked again for ever: it then counts as one without. */
static enum status look_through(struct job_log_search *search, struct asked_term *asked, const struct job_row *job,
	bool is_first, bool *is_known, struct error *err)
{
	bool is_found = false, is_whole = true;

	for (size_t i = 0; i < asked->term->value_count && !is_found; i++) {
		struct log_search_result result;
		struct error reason = {0};
		enum status status = search_value(search, asked->term, &asked->term->values[i], job, &result, &reason);
		if (status == ERR_NOT_FOUND) /* deleted meanwhile */
			continue;
		if (status != OK)
			return error_set(err, status, "%s", reason.text);
		is_found = result.count > 0;
		is_whole = is_whole && !result.is_partial;
		search->is_partial |= !is_found && result.limited;
	}
	*is_known = is_found || is_whole || is_first;
	if (!*is_known)
		return OK;
	search->is_partial |= !is_found && !is_whole;
	if (!set(&asked->looked, job->job_id) || (is_found && !set(&asked->yes, job->job_id)))
		return error_no_memory(err);
	return OK;
}

/* ---- some jobs ---- */

struct candidates {
	struct job_search_result jobs;
	bool may[BATCH_JOBS], must[BATCH_JOBS];
};

static enum status match(
	struct job_log_search *search, struct arena *arena, struct candidates *batch, struct error *err)
{
	const struct job_log_search_options *o = &search->options;

	TRY(store_match_jobs(
		o->reader, arena, o->query, &search->may, batch->jobs.rows, batch->jobs.count, batch->may, err));
	return store_match_jobs(
		o->reader, arena, o->query, &search->must, batch->jobs.rows, batch->jobs.count, batch->must, err);
}

/* One term, of those jobs whom it may still decide. */
static enum status look_for_term(struct job_log_search *search, struct asked_term *asked,
	const struct candidates *batch, bool *is_in_time, struct error *err)
{
	for (size_t i = 0; i < batch->jobs.count; i++) {
		const struct job_row *job = &batch->jobs.rows[i];
		bool is_first = i == 0 && !search->has_decided;
		if (batch->may[i] == batch->must[i] || is_set(&asked->looked, job->job_id))
			continue;
		*is_in_time = *is_in_time && clock_mono_ms() <= search->until_ms;
		if (!*is_in_time && !is_first)
			return OK;
		bool is_known;
		TRY(look_through(search, asked, job, is_first, &is_known, err));
		*is_in_time = *is_in_time && is_known;
	}
	return OK;
}

/* Looks where it is needed. *decided: so many of the first jobs are; the others have to wait for more time. */
static enum status decide(struct job_log_search *search, struct arena *arena, struct candidates *batch, size_t *decided,
	struct error *err)
{
	bool is_in_time = true;

	TRY(match(search, arena, batch, err));
	for (size_t t = 0; t < search->term_count; t++) {
		TRY(look_for_term(search, &search->terms[t], batch, &is_in_time, err));
		TRY(match(search, arena, batch, err));
	}
	for (*decided = 0; *decided < batch->jobs.count; ++*decided)
		if (batch->may[*decided] != batch->must[*decided])
			break;
	search->has_decided |= *decided > 0;
	return OK;
}

static enum status next_batch(struct job_log_search *search, struct arena *arena, const struct job_search *asked,
	struct span cursor, struct candidates *batch, struct error *err)
{
	struct job_search page = *asked;

	page.query = search->options.query;
	page.cursor = cursor;
	page.limit = BATCH_JOBS;
	page.wants_total = false;
	page.limit_ms = 0; /* a page that is cut would end the search */
	page.wants_cursors = true;
	page.logs = &search->may;
	return store_search_jobs(search->options.reader, arena, &page, &batch->jobs, err);
}

enum status job_log_search_page(struct job_log_search *search, struct arena *arena, const struct job_search *asked,
	struct job_search_result *out, bool *is_partial, struct error *err)
{
	struct job_row *rows = arena_alloc(arena, (asked->limit + 1) * sizeof *rows);
	struct span *cursors = arena_alloc(arena, (asked->limit + 1) * sizeof *cursors), cursor = asked->cursor;
	struct job_search_result result = {.rows = rows, .cursors = cursors, .next_cursor = SPAN("")};
	struct candidates *batch = arena_alloc(arena, sizeof *batch);
	bool is_cut = false, has_more = true;

	if (!rows || !cursors || !batch)
		return error_no_memory(err);
	while (has_more && !is_cut && result.count <= asked->limit) {
		size_t decided;
		TRY(next_batch(search, arena, asked, cursor, batch, err));
		TRY(decide(search, arena, batch, &decided, err));
		for (size_t i = 0; i < decided && result.count <= asked->limit; i++) {
			cursor = batch->jobs.cursors[i];
			if (!batch->must[i])
				continue;
			rows[result.count] = batch->jobs.rows[i];
			cursors[result.count++] = cursor;
		}
		has_more = batch->jobs.next_cursor.len > 0;
		is_cut = decided < batch->jobs.count;
	}
	if (result.count > asked->limit) { /* one more tells that a page follows */
		result.count = asked->limit;
		result.next_cursor = cursors[asked->limit - 1];
	} else if (is_cut) {
		result.next_cursor = cursor;
	}
	*is_partial = is_cut || search->is_partial;
	*out = result;
	return OK;
}

enum status job_log_search_all(struct job_log_search *search, uint64_t *total, bool *is_partial, struct error *err)
{
	const struct job_search every = {.sort = SPAN("created")};
	AUTO_DONE(buf) cursor = BUF_INIT(64 << 10);
	bool has_more = true, is_cut = false;

	*total = 0;
	while (has_more && !is_cut) {
		AUTO(arena) arena = arena_new();
		struct candidates *batch = arena ? arena_alloc(arena, sizeof *batch) : NULL;
		size_t decided;
		if (!batch)
			return error_no_memory(err);
		TRY(next_batch(search, arena, &every, buf_span(&cursor), batch, err));
		TRY(decide(search, arena, batch, &decided, err));
		for (size_t i = 0; i < decided; i++)
			*total += batch->must[i];
		has_more = batch->jobs.next_cursor.len > 0;
		is_cut = decided < batch->jobs.count;
		buf_reset(&cursor);
		buf_append_span(&cursor, batch->jobs.next_cursor);
		TRY(buf_status(&cursor, err));
	}
	*is_partial = is_cut || search->is_partial;
	return OK;
}
