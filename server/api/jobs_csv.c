/*
 * The jobs of a search as CSV, for notebooks: pandas.read_csv(".../api/v1/jobs?format=csv"), or as rows of JSON, a line each. All of
 * them: there is no page.
 */
#include "api/internal.h"
#include "query/query.h"

enum { FIELDS_MAX = 100, FIELD_MAX_BYTES = 255, PAGE_JOBS = 100, ROW_BYTES = 4 << 20 };

/* The job's own fields as the JSON form names them; a dot leads inside. */
static const char *const plain_fields[] = {"TrainingJobName", "TrainingJobStatus", "SecondaryStatus", "FailureReason",
	"team", "CreationTime", "TrainingStartTime", "TrainingEndTime", "TrainingTimeInSeconds",
	"ResourceConfig.InstanceType", "ResourceConfig.InstanceCount", "streams", "lines", "open_incidents",
	"total_steps", "goodput", "cost", "currency"};
enum { PLAIN_FIELDS = sizeof plain_fields / sizeof *plain_fields };
/* What a metric's summary has. */
static const char *const measures[] = {
	"last", "min", "max", "mean", "count", "last_step", "best", "best_step", "final"};

struct listing {
	const struct pipeline *pipeline;
	struct arena *arena;
	struct query_node *terms;
	struct span sort;
	bool is_ndjson;
	struct span fields[FIELDS_MAX]; /* of CSV */
	size_t field_count;
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

static bool is_plain(struct span field)
{
	for (size_t i = 0; i < PLAIN_FIELDS; i++)
		if (span_equal(field, span_from(plain_fields[i])))
			return true;
	return false;
}

/* NAME.last -> NAME; the measure behind it. False: it is of no metric. */
static bool split_metric(struct span field, struct span *metric, const char **measure)
{
	for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
		size_t len = strlen(measures[i]);
		if (field.len <= len + 1 || field.ptr[field.len - len - 1] != '.' ||
			!span_equal(span_skip(field, field.len - len), span_from(measures[i])))
			continue;
		*metric = span_of(field.ptr, field.len - len - 1);
		*measure = measures[i];
		return true;
	}
	return false;
}

static enum status read_fields(struct listing *listing, struct span text, struct error *err)
{
	struct span part, metric;
	const char *measure;

	while (text.len && span_next(&text, ',', &part)) {
		part = span_trim(part);
		if (listing->field_count == FIELDS_MAX || part.len > FIELD_MAX_BYTES)
			return error_set_field(err, ERR_INVALID, "fields", "at most %d fields of at most %d bytes each",
				FIELDS_MAX, FIELD_MAX_BYTES);
		if (!is_plain(part) && !split_metric(part, &metric, &measure) && !api_is_property(part))
			return error_set_field(err, ERR_INVALID, "fields",
				"'%.*s' is no column: fields are those without fields=, hp.NAME, tag.NAME and other "
				"properties, and of a metric NAME.last, min, max, mean, count, last_step, best, best_step, "
				"final",
				SPAN_ARGS(part));
		listing->fields[listing->field_count++] = part;
	}
	for (size_t i = 0; !listing->field_count && i < PLAIN_FIELDS; i++)
		listing->fields[i] = span_from(plain_fields[i]);
	listing->field_count = listing->field_count ? listing->field_count : PLAIN_FIELDS;
	return OK;
}

static const struct json *get(const struct json *node, struct span key)
{
	for (const struct json *child = node ? json_first(node) : NULL; child; child = json_next(child))
		if (span_equal(json_key_of(child), key))
			return child;
	return NULL;
}

static const struct json *find_metric(const struct json *row, struct span metric, const char *measure)
{
	const struct json *metrics = json_get(row, "metrics");

	for (const struct json *one = metrics ? json_first(metrics) : NULL; one; one = json_next(one))
		if (span_equal(json_string_of(json_get(one, "metric")), metric))
			return json_get(one, measure);
	return NULL;
}

static const struct json *find(const struct json *row, struct span field)
{
	struct span metric;
	const char *measure;

	if (!is_plain(field) && split_metric(field, &metric, &measure))
		return find_metric(row, metric, measure);
	const struct json *node = row;
	struct span part;
	while (node && span_next(&field, '.', &part))
		node = get(node, part);
	return node;
}

static void write_cell(const struct json *node, struct buf *out)
{
	AUTO_DONE(buf) text = BUF_INIT(ROW_BYTES);

	if (!node)
		return;
	if (json_kind(node) == JSON_STRING) {
		api_csv_text(out, json_string_of(node));
		return;
	}
	json_print(node, &text);
	api_csv_text(out, buf_span(&text));
}

/* Of several elements of a list the first one. */
static bool write_property(const struct attribute_row *rows, size_t count, struct span key, struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].key, key)) {
			api_csv_text(out, rows[i].text);
			return true;
		}
	return false;
}

static enum status write_job(struct listing *listing, struct api_worker *worker, const struct job_row *row,
	struct buf *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ROW_BYTES);
	AUTO(json) json = NULL;
	struct json_writer w = json_writer_on(&text);
	struct attribute_row *properties;
	size_t count;

	TRY(pipeline_write_job_row(listing->pipeline, worker->reader, listing->page_arena, row, &w, err));
	TRY(buf_status(&text, err));
	TRY(json_parse(&json, buf_span(&text), err));
	TRY(store_read_attributes(worker->reader, listing->page_arena, row->job_id, &properties, &count, err));
	for (size_t i = 0; i < listing->field_count; i++) {
		if (i)
			buf_append_char(out, ',');
		if (is_plain(listing->fields[i]) || !write_property(properties, count, listing->fields[i], out))
			write_cell(find(json, listing->fields[i]), out);
	}
	buf_append_char(out, '\n');
	return buf_status(out, err);
}

static enum status write_line(struct listing *listing, struct api_worker *worker, const struct job_row *row,
	struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);

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
	TRY(api_search_page(worker, arena, &search, &listing->page, &is_partial, err));
	arena_free(listing->page_arena);
	listing->page_arena = arena;
	arena = NULL;
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

	http_request_query(request, "sort", &listing->sort);
	http_request_query(request, "fields", &fields);
	fields = arena_copy(listing->arena, fields);
	listing->sort = arena_copy(listing->arena, listing->sort);
	if (!fields.ptr || !listing->sort.ptr)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(read_fields(listing, fields, err));
	TRY(api_parse_query(worker->api, request, listing->arena, &listing->terms, err));
	bool are_runs = false;
	TRY(api_want_runs(request, listing->arena, &listing->terms, &are_runs, err));
	/* what is wrong with the search is a refusal, not a cut */
	struct job_search search = {.query = listing->terms, .sort = listing->sort, .limit = 1, .cursor = SPAN("")};
	struct job_search_result result;
	bool is_partial;
	TRY(api_search_page(worker, listing->arena, &search, &result, &is_partial, err));
	store_reader_end(worker->reader);
	return OK;
}

static void write_head(const struct listing *listing, struct http_response *response)
{
	response->content_type = listing->is_ndjson ? "application/x-ndjson" : "text/csv; charset=utf-8";
	for (size_t i = 0; i < listing->field_count && !listing->is_ndjson; i++) {
		api_csv_text(&response->body, listing->fields[i]);
		buf_append_char(&response->body, i + 1 < listing->field_count ? ',' : '\n');
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
	if (is_ndjson && http_request_query(request, "fields", &value))
		return error_set_field(
			err, ERR_INVALID, "fields", "the rows of format=ndjson are whole: without fields");
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
		return error_set(err, ERR_MEMORY, "out of memory");
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
