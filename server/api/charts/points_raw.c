/* Every point, in constant memory: a batch is read, written and sent before the next one; no lock, no snapshot between. */
#include "api/charts/points_raw.h"

#include "api/charts/points_asked.h"
#include "api/charts/points_columns.h"
#include "api/core/api_state.h"
#include "api/core/csv.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "model/query.h"
#include "read/charts/chart_query.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/charts/work_axis.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/search.h"

#define CSV_HEAD "job,stream,step,ts_ms,value"

enum raw_format { RAW_JSON, RAW_NDJSON, RAW_CSV };

struct raw {
	struct api *api;
	struct arena *arena;
	enum raw_format format;
	struct span job;
	struct chart_query query; /* by steps or times; its spans are in the arena */
	const char *work_name; /* of a last column: NULL, "tokens" or "flops" */
	struct work_axis work;
	struct raw_series {
		struct span stream, metric;
	} * series;
	size_t series_count;
	size_t at; /* the one at work */
	uint64_t ordinal; /* of its next point */
	uint32_t generation, series_base; /* of what was written; 0: nothing yet */
	uint64_t total;
	uint64_t seq;
	struct points_columns columns; /* of JSON */
};

static void raw_free(void *state)
{
	struct raw *raw = state;

	arena_free(raw->arena); /* with the state itself */
}

/* ---- formats ---- */

static void write_csv(const struct raw *raw, const struct points_batch *batch, struct buf *out)
{
	AUTO_DONE(buf) prefix = BUF_INIT(1 << 16);

	csv_put_cell(&prefix, raw->job);
	buf_append_char(&prefix, ',');
	AUTO_DONE(buf) stream = BUF_INIT(1 << 16); /* with the labels, where there are any: no column says the metric */
	const struct raw_series *series = &raw->series[raw->at];
	buf_append_span(&stream, series->stream);
	buf_append_span(&stream, span_skip(series->metric, raw->query.metric.len));
	csv_put_cell(&prefix, buf_span(&stream));
	for (size_t i = 0; i < batch->count; i++) {
		buf_append_span(out, buf_span(&prefix));
		buf_printf(out, ",%lld,%lld,", (long long)batch->points[i].step, (long long)batch->points[i].ts_ms);
		api_csv_double(out, batch->points[i].value);
		if (raw->work_name) {
			buf_append_char(out, ',');
			api_csv_double(out, points_work_of(&raw->work, &batch->points[i]));
		}
		buf_append_char(out, '\n');
	}
}

static void write_ndjson(const struct raw *raw, const struct points_batch *batch, struct buf *out)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct point *point = &batch->points[i];
		struct json_writer w = json_writer_on(out);
		json_object(&w);
		json_put_span(&w, "metric", raw->series[raw->at].metric);
		json_put_span(&w, "stream", raw->series[raw->at].stream);
		json_put_i64(&w, "step", point->step);
		json_put_i64(&w, "ts_ms", point->ts_ms);
		json_put_double(&w, "value", point->value);
		json_put_i64(&w, "attempt", point->attempt);
		json_put_i64(&w, "line", point->line == NO_LINE ? -1 : (int64_t)point->line);
		if (raw->work_name)
			json_put_double(&w, raw->work_name, points_work_of(&raw->work, point));
		json_object_end(&w);
		buf_append_char(out, '\n');
	}
}

static void write_csv_head(const char *work_name, struct buf *out)
{
	buf_printf(out, CSV_HEAD "%s%s\n", work_name ? "," : "", work_name ? work_name : "");
}

static void write_head(const struct raw *raw, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	if (raw->format == RAW_CSV)
		write_csv_head(raw->work_name, out);
	if (raw->format != RAW_JSON)
		return;
	buf_append_text(out, "{\"metric\":");
	json_span(&w, raw->query.metric);
	buf_append_text(out, ",\"series\":[");
}

static enum status write_columns(
	struct raw *raw, const struct points_batch *batch, struct buf *out, enum columns_want *want, struct error *err)
{
	const struct raw_series *series = &raw->series[raw->at];

	raw->columns.work_name = raw->work_name;
	raw->columns.work = &raw->work;
	TRY(points_columns_take(&raw->columns, raw->arena, series->metric, series->stream, batch, out, want, err));
	raw->total += *want == COLUMNS_DONE ? raw->columns.count : 0;
	return OK;
}

static enum status write_batch(
	struct raw *raw, const struct points_batch *batch, struct buf *out, enum columns_want *want, struct error *err)
{
	if (raw->format == RAW_JSON)
		return write_columns(raw, batch, out, want, err);
	*want = batch->is_end ? COLUMNS_DONE : COLUMNS_NEXT;
	raw->total += batch->count;
	if (raw->format == RAW_CSV)
		write_csv(raw, batch, out);
	else
		write_ndjson(raw, batch, out);
	return OK;
}

static enum status raw_more(void *state, void *worker, struct buf *out, bool *is_done, struct error *err)
{
	struct raw *raw = state;

	while (!out->len && raw->at < raw->series_count) {
		AUTO(arena) arena = NULL;
		struct points_batch batch;
		TRY(api_arena(&arena, err));
		struct chart_query query = raw->query;
		query.metric = raw->series[raw->at].metric;
		TRY(points_read(raw->api->options.pipeline, ((struct api_worker *)worker)->reader, arena, raw->job,
			raw->series[raw->at].stream, &query, raw->ordinal, &batch, err));
		bool is_other = raw->generation && batch.generation != raw->generation;
		if (is_other || (raw->ordinal && batch.series_base != raw->series_base))
			return error_set(err, ERR_CONFLICT,
				"the job's metric definitions were changed while its points were read: read them again");
		raw->generation = batch.generation;
		raw->series_base = batch.series_base;
		enum columns_want want;
		TRY(write_batch(raw, &batch, out, &want, err));
		raw->ordinal = want == COLUMNS_NEXT ? batch.next_ordinal : 0;
		raw->at += want == COLUMNS_DONE;
	}
	*is_done = raw->at == raw->series_count;
	if (*is_done && raw->format == RAW_JSON)
		buf_printf(out, "],\"total_points\":%llu,\"seq\":\"%llu\"}", (unsigned long long)raw->total,
			(unsigned long long)raw->seq);
	return buf_status(out, err);
}

static const struct http_producer_ops raw_ops = {raw_more, raw_free};

/* ---- the request ---- */

static enum status keep_series(struct raw *raw, const struct job_view *view, struct error *err)
{
	size_t cap = 0;

	for (size_t i = 0; i < view->stream_count; i++)
		cap += view->streams[i].series_count;
	raw->series = arena_alloc(raw->arena, cap * sizeof *raw->series);
	raw->query.metric = arena_copy(raw->arena, raw->query.metric);
	raw->job = arena_copy(raw->arena, view->row.name);
	bool is_whole = raw->series && raw->query.metric.ptr && raw->job.ptr;
	for (size_t i = 0; i < view->stream_count && is_whole; i++)
		for (size_t j = 0; j < view->streams[i].series_count && is_whole; j++) {
			const struct series_view *given = &view->streams[i].series[j];
			struct raw_series *series = &raw->series[raw->series_count];
			if (!stream_view_means(&view->streams[i], given, raw->query.metric))
				continue;
			series->stream = arena_copy(raw->arena, view->streams[i].name);
			series->metric = arena_copy(raw->arena, given->metric);
			is_whole = series->stream.ptr && series->metric.ptr;
			raw->series_count++;
		}
	return is_whole ? OK : error_no_memory(err);
}

static const char *work_name_of(enum chart_axis axis)
{
	return axis == AXIS_TOKENS ? "tokens" : axis == AXIS_FLOPS ? "flops" : NULL;
}

static enum status open_raw(
	struct raw *raw, struct api_worker *worker, struct span job, const struct chart_query *query, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_view view;

	raw->query = *query;
	if (chart_axis_is_work(query->axis)) {
		raw->work_name = work_name_of(query->axis);
		TRY(work_axis_read(raw->api->options.pipeline, worker->reader, raw->arena, job, query->axis, false,
			&raw->work, err));
		work_axis_narrow(&raw->work, query, &raw->query);
	}
	TRY(api_arena(&arena, err));
	TRY(view_read_job(raw->api->options.pipeline, worker->reader, arena, job, query->stream, query->metric,
		VIEW_SERIES, &view, err));
	TRY(main_series_resolve(worker->reader, arena, &view, query, &raw->query.metric, err));
	raw->seq = view.seq;
	return keep_series(raw, &view, err);
}

static enum status check_axis(const struct chart_query *query, struct error *err)
{
	if (query->axis == AXIS_RELATIVE)
		return error_set_field(err, ERR_SEMANTIC, "x",
			"every point has a step and a time: from and to are of x=step, time, tokens or flops here");
	return OK;
}

enum status api_points_raw(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct chart_query *query, bool is_csv, struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	bool is_ndjson = span_find(http_request_header(request, "Accept"), SPAN("application/x-ndjson")) >= 0;

	TRY(check_axis(query, err));
	TRY(api_arena(&arena, err));
	struct raw *raw = arena_alloc(arena, sizeof *raw);
	if (!raw)
		return error_no_memory(err);
	*raw = (struct raw){.api = api, .arena = arena, .format = is_csv ? RAW_CSV : is_ndjson ? RAW_NDJSON : RAW_JSON};
	TRY(open_raw(raw, worker, http_request_segment(request, 0), query, err));
	arena = NULL; /* the reply's from here on */
	response->content_type = is_csv      ? "text/csv; charset=utf-8"
				 : is_ndjson ? "application/x-ndjson"
					     : "application/json";
	write_head(raw, &response->body);
	http_response_produce(response, &raw_ops, raw);
	return OK;
}

/* ---- the jobs of a search, one after the other ---- */

enum { SEARCH_PAGE = 100 };

struct searched {
	struct api *api;
	struct arena *arena;
	struct chart_query query;
	struct query_node *terms;
	struct arena *page_arena; /* of jobs and cursor */
	struct job_search_result page;
	size_t at; /* in the page */
	bool has_page;
	struct raw *raw; /* the job at work */
};

static void searched_free(void *state)
{
	struct searched *searched = state;

	if (searched->raw)
		raw_free(searched->raw);
	arena_free(searched->page_arena);
	arena_free(searched->arena);
}

static enum status next_page(struct searched *searched, struct api_worker *worker, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_search search = {.query = searched->terms,
		.sort = SPAN("name"),
		.limit = SEARCH_PAGE,
		.cursor = searched->page.next_cursor};

	TRY(api_arena(&arena, err));
	TRY(store_search_jobs(worker->reader, arena, &search, &searched->page, err));
	arena_free(searched->page_arena);
	searched->page_arena = TAKE(arena);
	searched->has_page = true;
	searched->at = 0;
	return OK;
}

/* A job without the metric or the axis, or deleted meanwhile, has no rows. */
static enum status next_job(struct searched *searched, struct api_worker *worker, struct error *err)
{
	AUTO(arena) arena = NULL;

	TRY(api_arena(&arena, err));
	struct raw *raw = arena_alloc(arena, sizeof *raw);
	if (!raw)
		return error_no_memory(err);
	*raw = (struct raw){.api = searched->api, .arena = arena, .format = RAW_CSV};
	enum status status = open_raw(raw, worker, searched->page.rows[searched->at++].name, &searched->query, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	if (status != OK)
		return status;
	searched->raw = raw;
	arena = NULL;
	return OK;
}

static enum status searched_more(void *state, void *worker, struct buf *out, bool *is_done, struct error *err)
{
	struct searched *searched = state;
	bool is_job_done = false;

	while (!out->len) {
		if (searched->raw) {
			TRY(raw_more(searched->raw, worker, out, &is_job_done, err));
			if (is_job_done)
				raw_free(searched->raw);
			searched->raw = is_job_done ? NULL : searched->raw;
		} else if (searched->at < searched->page.count) {
			TRY(next_job(searched, worker, err));
		} else if (!searched->has_page || searched->page.next_cursor.len) {
			TRY(next_page(searched, worker, err));
		} else {
			*is_done = true;
			return OK;
		}
	}
	return OK;
}

static const struct http_producer_ops searched_ops = {searched_more, searched_free};

enum status api_points_search(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct span format = SPAN("csv"), metric = SPAN(""), axis = SPAN("");
	struct chart_query query = {.stream = SPAN(""), .attempts = ATTEMPTS_LIVE};

	http_request_query(request, "metric", &metric);
	http_request_query(request, "format", &format);
	http_request_query(request, "x", &axis);
	if (!metric.len)
		return error_set_field(err, ERR_INVALID, "metric", "which metric? give metric=NAME");
	if (!span_equal(format, SPAN("csv")))
		return error_set_field(err, ERR_INVALID, "format", "format '%.*s' is not csv", SPAN_ARGS(format));
	TRY(api_parse_axis(axis, &query, err));
	TRY(check_axis(&query, err));
	TRY(api_read_window(request, &query, err));
	TRY(api_arena(&arena, err));
	struct searched *searched = arena_alloc(arena, sizeof *searched);
	if (!searched)
		return error_no_memory(err);
	query.metric = arena_copy(arena, metric);
	*searched =
		(struct searched){.api = context, .arena = arena, .query = query, .page = {.next_cursor = SPAN("")}};
	if (!searched->query.metric.ptr)
		return error_no_memory(err);
	TRY(api_parse_query(context, request, arena, &searched->terms, err));
	TRY(next_page(searched, worker, err)); /* what is wrong with the search is a refusal, not a cut */
	arena = NULL;
	response->content_type = "text/csv; charset=utf-8";
	write_csv_head(work_name_of(query.axis), &response->body);
	http_response_produce(response, &searched_ops, searched);
	return OK;
}
