#include "api/jobs/jobs.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/jobs/job_copy.h"
#include "api/jobs/job_values.h"
#include "api/jobs/jobs_fields.h"
#include "api/jobs/run.h"
#include "api/machines/advice.h"
#include "api/machines/quotas.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/job_time.h"
#include "model/query.h"
#include "pipeline/backfill/definitions.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/imported_end.h"
#include "pipeline/jobs/job.h"
#include "pipeline/jobs/job_json.h"
#include "pipeline/jobs/job_record.h"
#include "pipeline/jobs/job_transition.h"
#include "pipeline/pipeline.h"
#include "query/query.h"
#include "read/search_jobs.h"
#include "read/view.h"
#include "state/jobs/history.h"
#include "state/streams/job_view.h"
#include "state/jobs/secrets.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/transitions.h"

#include <inttypes.h>
#include <stdio.h>

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 1000, OFFSET_MAX = 1000000000 };
enum { ASK_ROWS = 200, ASK_ROUNDS = 2, ASK_BYTES = 64 << 20 };

enum status api_search_page(struct api_worker *worker, const struct http_request *request, struct arena *arena,
	const struct job_search *search, struct job_search_result *out, bool *is_partial, struct error *err)
{
	const struct job_log_search_options options = {.pipeline = worker->api->options.pipeline,
		.reader = worker->reader,
		.query = search->query,
		.time_ms = worker->api->options.search_ms,
		.asker = api_asker(worker->api, request)};
	AUTO(job_log_search) logs = NULL;
	uint64_t total = 0;

	if (!job_log_search_is_needed(search->query)) {
		if (search->limit_ms)
			store_reader_deadline(worker->reader, search->limit_ms + SEARCH_ROWS_MS);
		TRY(store_reader_begin(worker->reader, err));
		enum status status = store_search_jobs(worker->reader, arena, search, out, err);
		*is_partial = status == OK && out->is_partial;
		if (status != OK)
			store_reader_end(worker->reader);
		return status;
	}
	if (search->offset)
		return error_set_field(err, ERR_SEMANTIC, "offset",
			"of a query that asks what logs hold only pages by cursor are known: offset does not go with it");
	TRY(job_log_search_new(&logs, &options, err));
	TRY(job_log_search_page(logs, arena, search, out, is_partial, err));
	if (search->wants_total) {
		bool is_total_partial;
		TRY(job_log_search_all(logs, &total, &is_total_partial, err));
		*is_partial |= is_total_partial;
	}
	out->total = total;
	return store_reader_begin(worker->reader, err);
}

void api_print_index_seq(const struct api *api, char out[24])
{
	snprintf(out, 24, "%llu",
		(unsigned long long)atomic_load(&pipeline_figures(api->options.pipeline)->indexed_seq));
}

/* Of a run, as the row of its last job. */
static enum status write_run_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);
	struct json_writer inner = json_writer_on(&text);

	TRY(pipeline_write_job_row(worker->api->options.pipeline, worker->reader, arena, row, &inner, err));
	TRY(buf_status(&text, err));
	text.len--; /* it ends with what the run is still to be put before */
	buf_append_text(&text, ",\"run\":");
	struct json_writer behind = json_writer_on(&text);
	TRY(api_write_run_jobs(worker->reader, arena, row->name, &behind, err));
	buf_append_char(&text, '}');
	TRY(buf_status(&text, err));
	json_raw(w, buf_span(&text));
	return OK;
}

/* What a page of jobs is asked as. */
struct page {
	const struct http_request *request;
	bool are_runs;
	struct job_fields fields;
};

static enum status write_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct page *page, struct json_writer *w, struct error *err)
{
	if (page->are_runs)
		return write_run_row(worker, arena, row, w, err);
	if (page->fields.are_asked)
		return api_write_fields_row(worker, arena, row, &page->fields, w, err);
	return pipeline_write_job_row(worker->api->options.pipeline, worker->reader, arena, row, w, err);
}

/*
 * What the rows from this one on will read, for so many of them at once. They are written as if nothing were found, for nobody; what follows from
 * what was found is asked in a second round. Where these rows end.
 */
static enum status ask_rows(struct api_worker *worker, const struct job_search_result *result, const struct page *page,
	size_t from, size_t *end, struct error *err)
{
	store_reader_ahead_drop(worker->reader);
	*end = result->count;
	for (int round = 0; round < ASK_ROUNDS && store_reader_ahead_begin(worker->reader, AHEAD_GO_ON); round++) {
		AUTO_DONE(buf) nobody = BUF_INIT(ASK_BYTES);
		AUTO(arena) arena = arena_new();
		struct json_writer w = json_writer_on(&nobody);
		struct error nothing;
		if (!arena)
			return error_no_memory(err);
		*end = result->count - from < ASK_ROWS ? result->count : from + ASK_ROWS;
		for (size_t i = from; i < *end; i++)
			(void)!write_row(worker, arena, &result->rows[i], page, &w, &nothing);
		TRY(store_reader_ahead_end(worker->reader, err));
	}
	return OK;
}

static enum status write_rows(struct api_worker *worker, struct arena *arena, const struct job_search_result *result,
	const struct page *page, struct json_writer *w, struct error *err)
{
	for (size_t i = 0, end; i < result->count; i = end) {
		TRY(ask_rows(worker, result, page, i, &end, err));
		for (size_t j = i; j < end; j++)
			TRY(write_row(worker, arena, &result->rows[j], page, w, err));
	}
	store_reader_ahead_drop(worker->reader);
	return OK;
}

static enum status write_page(struct api_worker *worker, struct arena *arena, const struct job_search *search,
	const struct page *page, struct http_response *response, struct error *err)
{
	struct json_writer w = api_reply(response);
	struct job_search_result result;
	char seq[24];
	bool is_partial;

	api_print_index_seq(worker->api, seq);
	TRY(api_search_page(worker, page->request, arena, search, &result, &is_partial, err));
	json_object(&w);
	json_put_text(&w, "as_of_seq", seq);
	json_key(&w, "jobs");
	json_array(&w);
	enum status status = write_rows(worker, arena, &result, page, &w, err);
	store_reader_end(worker->reader);
	TRY(status);
	json_array_end(&w);
	if (result.next_cursor.len)
		json_put_span(&w, "next_cursor", result.next_cursor);
	if (search->wants_total)
		json_put_i64(&w, "total", (int64_t)result.total);
	if (is_partial)
		json_put_bool(&w, "partial", true);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* A line a term: hp.lr<=1e-4: 660123 jobs, by hp.lr in memory. */
static enum status write_step(const struct job_search_step *step, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(64 << 10);

	if (step->term)
		query_print(step->term, &text);
	else
		buf_append_text(&text, "order");
	buf_append_text(&text, ": ");
	if (step->term && step->columns.len)
		buf_printf(&text, "%" PRIu64 " job%s, ", step->jobs, step->jobs == 1 ? "" : "s");
	buf_append_text(&text, step->columns.len ? "by " : "by SQL, job by job");
	buf_append_span(&text, step->columns);
	buf_append_text(&text, step->columns.len ? " in memory" : "");
	TRY(buf_status(&text, err));
	json_span(w, buf_span(&text));
	return OK;
}

/* How the query was understood, and how it is answered; no job is read. */
static enum status write_explanation(struct api_worker *worker, struct arena *arena, const struct job_search *search,
	struct http_response *response, struct error *err)
{
	struct json_writer w = api_reply(response);
	AUTO_DONE(buf) text = BUF_INIT(64 << 10);
	struct job_search_step *steps;
	size_t count;

	if (search->query)
		query_print(search->query, &text);
	TRY(buf_status(&text, err));
	TRY(store_reader_begin(worker->reader, err));
	enum status status = store_explain_jobs(worker->reader, arena, search, &steps, &count, err);
	store_reader_end(worker->reader);
	TRY(status);
	json_object(&w);
	json_key(&w, "jobs");
	json_array(&w);
	json_array_end(&w);
	json_key(&w, "explain");
	json_object(&w);
	json_put_span(&w, "query", buf_span(&text));
	json_put_span(&w, "sort", search->sort.len ? search->sort : SPAN("-created"));
	json_key(&w, "plan");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		TRY(write_step(&steps[i], &w, err));
	json_array_end(&w);
	json_object_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

static enum status refuse_other_format(struct span format, struct error *err)
{
	if (!span_equal(format, SPAN("json")))
		return error_set_field(
			err, ERR_INVALID, "format", "format '%.*s' is none of json, csv, ndjson", SPAN_ARGS(format));
	return OK;
}

/* A scroll bar over all jobs of a search asks for a page in their middle. */
static enum status read_offset(const struct http_request *request, struct job_search *search, struct error *err)
{
	int64_t offset = 0;

	TRY(http_query_i64(request, "offset", 0, OFFSET_MAX, &offset, err));
	search->offset = (size_t)offset;
	return offset && search->cursor.len ? error_set_field(err, ERR_INVALID, "offset",
						      "a cursor is a place already: offset does not go with it")
					    : OK;
}

enum status api_jobs_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct span format = SPAN("json");
	struct query_node *query = NULL;
	struct job_search search = {.sort = SPAN(""), .cursor = SPAN(""), .limit_ms = own->api->options.job_search_ms};

	if (http_request_query(request, "format", &format) &&
		(span_equal(format, SPAN("csv")) || span_equal(format, SPAN("ndjson"))))
		return api_jobs_listing(context, request, own, response, err);
	TRY(refuse_other_format(format, err));
	TRY(api_arena(&arena, err));
	http_request_query(request, "sort", &search.sort);
	http_request_query(request, "cursor", &search.cursor);
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &search.limit, err));
	TRY(read_offset(request, &search, err));
	TRY(http_query_bool(request, "total", &search.wants_total, err));
	TRY(api_parse_query(context, request, arena, &query, err));
	struct page page = {.request = request};
	bool explains = false;
	TRY(api_want_runs(request, arena, &query, &page.are_runs, err));
	TRY(api_parse_fields(request, arena, &page.fields, err));
	if (page.are_runs && page.fields.are_asked)
		return error_set_field(err, ERR_INVALID, "fields", "rows of runs=true are whole: without fields");
	search.query = query;
	TRY(http_query_bool(request, "explain", &explains, err));
	if (explains)
		return write_explanation(own, arena, &search, response, err);
	return write_page(own, arena, &search, &page, response, err);
}

static enum status write_dry_run(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct json *document, struct json_writer *w, struct error *err)
{
	AUTO(arena) arena = NULL;

	int64_t now_ms = http_request_arrival_ms(request);
	AUTO_DONE(buf) text = BUF_INIT(8 << 20);
	struct job_row row = {.name = json_string_of(json_get(document, "TrainingJobName"))};

	TRY(api_arena(&arena, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	row.document = buf_span(&text);
	json_put_bool(w, "dry_run", true);
	TRY(quotas_write_check(api, worker->reader, arena, document, now_ms, w, err));
	return api_write_advice(api, worker->reader, arena, &row, document, now_ms, w, err);
}

enum status api_jobs_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(json) body = NULL;
	bool is_dry = false;

	TRY(http_query_bool(request, "dry_run", &is_dry, err));
	TRY(api_body_object(request, &body, err));
	if (is_dry)
		TRY(pipeline_check_job(api->options.pipeline, own->reader, body, api_team(request), err));
	else
		TRY(pipeline_create_job(
			api->options.pipeline, body, api_team(request), http_request_arrival_ms(request), false, err));
	if (!is_dry && json_get(body, "by_hand"))
		goodput_settle(api->options.pipeline, own->reader, json_string_of(json_get(body, "TrainingJobName")));
	struct json_writer w = api_reply(response);
	response->status = is_dry ? 200 : 201;
	if (is_dry)
		TRY(by_hand_settle(body, err));
	json_object(&w);
	json_put_span(&w, "TrainingJobName", json_string_of(json_get(body, "TrainingJobName")));
	if (is_dry)
		TRY(write_dry_run(api, own, request, body, &w, err));
	json_object_end(&w);
	return OK;
}

static enum status write_attempts(struct api *api, struct api_worker *worker, struct arena *arena,
	const struct job_view *view, const struct transition_row *rows, size_t count, struct json_writer *w,
	struct error *err)
{
	struct attempt *attempts;
	size_t attempt_count;

	TRY(attempts_read(api->options.pipeline, worker->reader, arena, &view->row, job_view_attempts(view), rows,
		count, &attempts, &attempt_count, err));
	job_record_write_attempts(attempts, attempt_count, w);
	json_put_i64(w, "attempts", attempt_count ? (int64_t)attempt_count : 1);
	return OK;
}

enum status api_job_get(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	AUTO(json) document = NULL;
	struct span as;
	struct job_view view;
	struct transition_row *rows;
	struct span damage;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(view_read_job(api->options.pipeline, own->reader, arena, http_request_segment(request, 0), SPAN(""),
		SPAN(""), 0, &view, err));
	if (http_request_query(request, "as", &as))
		return api_copy_job(&view.row, as, response, err);
	TRY(json_parse(&document, view.row.document, err));
	TRY(by_hand_settle_settings(document, err));
	TRY(store_read_transitions(own->reader, arena, view.row.job_id, &rows, &count, err));
	json_object(&w);
	TRY(pipeline_write_derived(api->options.pipeline, own->reader, arena, &view.row, document, &w, err));
	TRY(pipeline_read_damage(api->options.pipeline, own->reader, arena, &view.row, &damage, err));
	if (damage.len)
		json_put_span(&w, "definitions_damaged", damage);
	job_record_write_transitions(rows, count, &w);
	job_record_write_sources(&view.row, rows, count, &w);
	TRY(write_attempts(api, own, arena, &view, rows, count, &w, err));
	TRY(api_write_run(own->reader, arena, view.row.name, &w, err));
	TRY(api_write_run_family(own->reader, arena, view.row.job_id, &w, err));
	TRY(job_record_write_outcome(own->reader, arena, &view.row, document, &w, err));
	TRY(job_record_write_document(own->reader, arena, &view.row, document, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

static enum status say_ignored(const char *reason, struct http_response *response, struct error *err)
{
	struct json_writer w = api_reply(response);

	json_object(&w);
	json_put_text(&w, "result", "ignored");
	json_put_text(&w, "reason", reason);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

static enum status check_unless(const struct json *unless, struct error *err)
{
	static const char *const known[] = {"InProgress", "Completed", "Failed", "Stopping", "Stopped"};
	bool is_good = !unless || json_kind(unless) == JSON_ARRAY || json_kind(unless) == JSON_NULL;

	for (const struct json *at = unless && is_good ? json_first(unless) : NULL; at && is_good; at = json_next(at)) {
		is_good = false;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			is_good |= span_equal(json_string_of(at), span_from(known[i]));
	}
	if (is_good)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "unless",
		"unless is an array of InProgress, Completed, Failed, Stopping and Stopped");
}

static enum status assume_end(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct job_transition *transition, char ignored[TRANSITION_REASON_BYTES], struct error *err)
{
	bool is_bare = !transition->message.len && !transition->failure_reason.len && !transition->unless;

	if (!span_equal(transition->secondary, SPAN("Completed")) || !is_bare)
		return error_set_field(err, ERR_SEMANTIC, "assumed",
			"what can be assumed is that a job is Completed where its log ends: with SecondaryStatus and time_ms (of a job without times) alone");
	return pipeline_assume_end(api->options.pipeline, worker->reader, http_request_segment(request, 0),
		api_team(request), transition->time_ms, ignored, err);
}

enum status api_job_transition(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(json) body = NULL;
	char ignored[TRANSITION_REASON_BYTES];
	bool is_assumed = false;
	struct job_transition transition = {.secondary = SPAN(""),
		.message = SPAN(""),
		.failure_reason = SPAN(""),
		.time_ms = http_request_arrival_ms(request)};

	TRY(api_body_object(request, &body, err));
	TRY(api_check_members(body, "SecondaryStatus StatusMessage FailureReason time_ms unless assumed", err));
	TRY(secrets_mask(body, err)); /* of addresses in the messages */
	TRY(json_want_string(body, "SecondaryStatus", &transition.secondary, err));
	TRY(json_want_string(body, "StatusMessage", &transition.message, err));
	TRY(json_want_string(body, "FailureReason", &transition.failure_reason, err));
	TRY(json_want_i64(body, "time_ms", &transition.time_ms, err));
	transition.has_time = json_get(body, "time_ms") && json_kind(json_get(body, "time_ms")) != JSON_NULL;
	if (!transition.secondary.len)
		return error_set_field(err, ERR_SEMANTIC, "SecondaryStatus", "a transition needs SecondaryStatus");
	transition.unless = json_get(body, "unless");
	TRY(check_unless(transition.unless, err));
	if (transition.time_ms < JOB_EARLIEST_MS || transition.time_ms >= JOB_LATEST_MS)
		return error_set_field(err, ERR_SEMANTIC, "time_ms",
			"time_ms is %lld, no time from 1990 on in Unix milliseconds", (long long)transition.time_ms);
	int64_t most_ms = http_request_arrival_ms(request) + JOB_AHEAD_MS;
	if (transition.time_ms > most_ms)
		return error_set_field(err, ERR_SEMANTIC, "time_ms",
			"time_ms is %lld, more than a day from now: %lld at most", (long long)transition.time_ms,
			(long long)most_ms);
	TRY(json_want_bool(body, "assumed", &is_assumed, err));
	if (is_assumed)
		TRY(assume_end(api, own, request, &transition, ignored, err));
	else
		TRY(pipeline_add_transition(api->options.pipeline, http_request_segment(request, 0), api_team(request),
			&transition, ignored, err));
	if (!ignored[0] && (is_assumed || phase_is_final(transition.secondary)))
		goodput_settle(api->options.pipeline, own->reader, http_request_segment(request, 0));
	response->status = ignored[0] ? 200 : 204;
	return ignored[0] ? say_ignored(ignored, response, err) : OK;
}
