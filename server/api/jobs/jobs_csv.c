/*
 * The jobs of a search as CSV, for notebooks: pandas.read_csv(".../api/v1/jobs?format=csv"), or as rows of JSON, a line each. All of
 * them: there is no page.
 */
#include "api/core/api_state.h"
#include "api/core/csv.h"
#include "api/core/request.h"
#include "api/jobs/job_values.h"
#include "api/jobs/jobs.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/query.h"
#include "pipeline/jobs/job_json.h"
#include "store/jobs.h"
#include "store/search.h"

enum { PAGE_JOBS = 100, ROW_BYTES = 4 << 20 };

/* Those of a table that asks for none. */
static const char default_fields[] =
	"TrainingJobName,TrainingJobStatus,SecondaryStatus,FailureReason,team,CreationTime,TrainingStartTime,TrainingEndTime,"
	"TrainingTimeInSeconds,ResourceConfig.InstanceType,ResourceConfig.InstanceCount,streams,lines,open_incidents,"
	"total_steps,goodput,cost,currency";

struct listing {
	const struct pipeline *pipeline;
	const struct http_request *request; /* lives until the reply has ended */
	struct arena *arena;
	struct query_node *terms;
	struct span sort;
	bool is_ndjson;
	struct job_fields fields; /* of CSV, and of NDJSON where they are asked for */
	struct arena *page_arena; /* of jobs and cursor */
	struct job_search_result page;
	bool is_done;
};

static void listing_free(void *state)
{
	struct listing *listing = state;

	arena_free(listing->page_arena);
	arena_free(listing->arena); /* with the state itself */
}

static const struct json *get(const struct json *node, struct span key)
{
	for (const struct json *child = json_first(node); child; child = json_next(child))
		if (span_equal(json_key_of(child), key))
			return child;
	return NULL;
}

static void write_cell(const struct json *node, struct buf *out)
{
	AUTO_DONE(buf) text = BUF_INIT(ROW_BYTES);

	if (!node)
		return;
	if (json_kind(node) == JSON_STRING) {
		csv_put_cell(out, json_string_of(node));
		return;
	}
	json_print(node, &text);
	csv_put_cell(out, buf_span(&text));
}

static enum status write_job(struct listing *listing, struct api_worker *worker, const struct job_row *row,
	struct buf *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ROW_BYTES);
	AUTO(json) json = NULL;
	struct json_writer w = json_writer_on(&text);

	TRY(api_write_values(worker, listing->page_arena, row, &listing->fields, &w, err));
	TRY(buf_status(&text, err));
	TRY(json_parse(&json, buf_span(&text), err));
	for (size_t i = 0; i < listing->fields.count; i++) {
		if (i)
			buf_append_char(out, ',');
		write_cell(get(json, listing->fields.list[i].name), out);
	}
	buf_append_char(out, '\n');
	return buf_status(out, err);
}

static enum status write_line(struct listing *listing, struct api_worker *worker, const struct job_row *row,
	struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);

	if (listing->fields.are_asked)
		TRY(api_write_values(worker, listing->page_arena, row, &listing->fields, &w, err));
	else
		TRY(pipeline_write_job_row(listing->pipeline, worker->reader, listing->page_arena, row, &w, err));
	buf_append_char(out, '\n');
	return buf_status(out, err);
}

static enum status write_page(struct listing *listing, struct api_worker *worker, struct buf *out, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_search search = {.query = listing->terms,
		.sort = listing->sort,
		.limit = PAGE_JOBS,
		.cursor = listing->page.next_cursor};

	TRY(api_arena(&arena, err));
	bool is_partial; /* the next page goes on where time ended this one */
	TRY(api_search_page(worker, listing->request, arena, &search, &listing->page, &is_partial, err));
	arena_free(listing->page_arena);
	listing->page_arena = TAKE(arena);
	enum status status = OK;
	for (size_t i = 0; i < listing->page.count && status == OK; i++)
		status = (listing->is_ndjson ? write_line : write_job)(
			listing, worker, &listing->page.rows[i], out, err);
	store_reader_end(worker->reader);
	listing->is_done = !listing->page.next_cursor.len;
	return status;
}

static enum status listing_more(void *state, void *context, struct buf *out, bool *is_done, struct error *err)
{
	struct listing *listing = state;
	struct api_worker *worker = context;

	if (listing->is_done) {
		*is_done = true;
		return OK;
	}
	while (!out->len && !listing->is_done) /* a page that ran out of time may be empty */
		TRY(write_page(listing, worker, out, err));
	*is_done = listing->is_done && !out->len;
	return OK;
}

static const struct http_producer_ops listing_ops = {listing_more, listing_free};

static enum status open_listing(
	struct listing *listing, const struct http_request *request, struct api_worker *worker, struct error *err)
{
	struct span fields = SPAN("");

	listing->request = request;
	http_request_query(request, "sort", &listing->sort);
	listing->fields.are_asked = http_request_query(request, "fields", &fields);
	fields = arena_copy(listing->arena, fields);
	listing->sort = arena_copy(listing->arena, listing->sort);
	if (!fields.ptr || !listing->sort.ptr)
		return error_no_memory(err);
	TRY(api_read_fields(fields, listing->arena, &listing->fields, err));
	if (!listing->fields.count && !listing->is_ndjson)
		TRY(api_read_fields(span_from(default_fields), listing->arena, &listing->fields, err));
	TRY(api_parse_query(worker->api, request, listing->arena, &listing->terms, err));
	bool are_runs = false;
	TRY(api_want_runs(request, listing->arena, &listing->terms, &are_runs, err));
	/* what is wrong with the search is a refusal, not a cut */
	struct job_search search = {.query = listing->terms, .sort = listing->sort, .limit = 1, .cursor = SPAN("")};
	struct job_search_result result;
	bool is_partial;
	TRY(api_search_page(worker, request, listing->arena, &search, &result, &is_partial, err));
	store_reader_end(worker->reader);
	return OK;
}

static void write_head(const struct listing *listing, struct http_response *response)
{
	response->content_type = listing->is_ndjson ? "application/x-ndjson" : "text/csv; charset=utf-8";
	for (size_t i = 0; i < listing->fields.count && !listing->is_ndjson; i++) {
		csv_put_cell(&response->body, listing->fields.list[i].name);
		buf_append_char(&response->body, i + 1 < listing->fields.count ? ',' : '\n');
	}
}

static enum status refuse_pages(const struct http_request *request, bool is_ndjson, struct error *err)
{
	static const char *const of_pages[] = {"limit", "cursor", "offset", "total"};
	struct span value;

	for (size_t i = 0; i < sizeof of_pages / sizeof *of_pages; i++)
		if (http_request_query(request, of_pages[i], &value))
			return error_set_field(err, ERR_INVALID, of_pages[i],
				"format=%s has no pages: it is all jobs of the search, without %s",
				is_ndjson ? "ndjson" : "csv", of_pages[i]);
	return OK;
}

enum status api_jobs_listing(const struct api *api, const struct http_request *request, struct api_worker *worker,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct span format = SPAN("");

	http_request_query(request, "format", &format);
	bool is_ndjson = span_equal(format, SPAN("ndjson"));
	TRY(refuse_pages(request, is_ndjson, err));
	TRY(api_arena(&arena, err));
	struct listing *listing = arena_alloc(arena, sizeof *listing);
	if (!listing)
		return error_no_memory(err);
	*listing = (struct listing){.pipeline = api->options.pipeline,
		.arena = arena,
		.sort = SPAN(""),
		.is_ndjson = is_ndjson,
		.page = {.next_cursor = SPAN("")}};
	TRY(open_listing(listing, request, worker, err));
	arena = NULL; /* the reply's from here on */
	write_head(listing, response);
	http_response_produce(response, &listing_ops, listing);
	return OK;
}
