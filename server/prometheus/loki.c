/*
 * Loki's queries of lines: jobs are looked through one after the other, and no more lines are held than are asked for, twice. Later jobs
 * are searched only for what would still have a place.
 */
#include "prometheus/loki_streams.h"

#include "base/clock.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES_DEFAULT = 100, LINES_MAX = 5000, LINE_BYTES = 1 << 18, FORMAT_LINE_BYTES = 100, FORMAT_BYTES = 16 << 20 };
static const size_t HELD_MAX_BYTES = 32 << 20;

void loki_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	call_refuse(context, request, err, response); /* its codes */
	response->content_type = "text/plain; charset=utf-8";
	buf_reset(&response->body);
	buf_printf(&response->body, "%s\n", err->text);
}

/* ---- lines ---- */

struct held_line {
	struct log_place place;
	struct span text; /* its own memory */
	size_t stream; /* of holding->streams */
};

struct holding {
	struct loki_asked *asked;
	struct held_line *lines;
	size_t count, cap, bytes;
	struct prom_labels *streams;
	size_t stream_count, stream_cap;
};

static void holding_done(struct holding *holding)
{
	for (size_t i = 0; i < holding->count; i++)
		mem_free((char *)holding->lines[i].text.ptr);
	mem_free(holding->lines);
	mem_free(holding->streams);
}

static int by_place(const void *left, const void *right)
{
	const struct held_line *a = left, *b = right;

	if (a->place.ts_ms != b->place.ts_ms)
		return a->place.ts_ms > b->place.ts_ms ? 1 : -1;
	if (a->stream != b->stream)
		return a->stream > b->stream ? 1 : -1;
	return (a->place.line > b->place.line) - (a->place.line < b->place.line);
}

static int by_place_back(const void *left, const void *right)
{
	return by_place(right, left);
}

/* What has no place among so many goes. */
static void trim(struct holding *holding)
{
	if (holding->count)
		qsort(holding->lines, holding->count, sizeof *holding->lines,
			holding->asked->is_forward ? by_place : by_place_back);
	while (holding->count > holding->asked->limit) {
		struct held_line *last = &holding->lines[--holding->count];
		holding->bytes -= last->text.len;
		mem_free((char *)last->text.ptr);
	}
}

static enum status hold_stream(
	struct holding *holding, struct span job, const struct stream_view *stream, size_t *out, struct error *err)
{
	struct prom_label room[LOKI_LABELS + 1];
	struct prom_labels labels;

	loki_stream_labels(&labels, room, job, stream);
	if (!mem_grow(
		    (void **)&holding->streams, holding->stream_count, &holding->stream_cap, sizeof *holding->streams))
		return error_no_memory(err);
	*out = holding->stream_count;
	return labels_clone(&holding->streams[holding->stream_count++], &labels, holding->asked->call->arena, err);
}

static enum status hold_line(struct holding *holding, const struct log_hit *hit, size_t stream, struct error *err)
{
	if (!mem_grow((void **)&holding->lines, holding->count, &holding->cap, sizeof *holding->lines))
		return error_no_memory(err);
	char *text = mem_copy_bytes(hit->text.ptr, hit->text.len);
	if (!text)
		return error_no_memory(err);
	holding->lines[holding->count++] = (struct held_line){hit->place, span_of(text, hit->text.len), stream};
	holding->bytes += hit->text.len;
	if (holding->bytes > 2 * HELD_MAX_BYTES)
		return error_set(err, ERR_TOO_LARGE, "the lines have more than %zu bytes; ask for fewer (limit=)",
			HELD_MAX_BYTES);
	return budget_take(holding->asked->call->reading.budget, 1, err);
}

static enum status search_job(struct holding *holding, struct arena *arena, struct span job,
	const struct log_search_stream *streams, size_t stream_count, struct log_search_result *out, struct error *err)
{
	const struct loki_asked *asked = holding->asked;
	const struct prom_call *call = asked->call;
	bool is_full = holding->count == asked->limit;
	int64_t bound_ms = is_full ? holding->lines[holding->count - 1].place.ts_ms : 0;
	struct log_search search = {.job = job,
		.stream = SPAN(""),
		.text = SPAN(""),
		.ticks = SPAN(""),
		.oldest_first = asked->is_forward,
		.from_ms = is_full && !asked->is_forward && bound_ms > asked->from_ms ? bound_ms : asked->from_ms,
		.to_ms = is_full && asked->is_forward && bound_ms < asked->to_ms - 1 ? bound_ms : asked->to_ms - 1,
		.limit = asked->limit,
		.text_bytes = LINE_BYTES,
		.max_bytes = HELD_MAX_BYTES,
		.time_ms = loki_left_ms(call),
		.asker = loki_asker(call),
		.streams = streams,
		.stream_count = stream_count,
		.takes = asked->logql.filter_count ? logql_takes : NULL,
		.context = &asked->logql};

	TRY(log_search_run(call->options->pipeline, call->reading.reader, arena, &search, out, err));
	if (out->is_partial)
		return error_set(err, ERR_UNAVAILABLE,
			"the search of lines timed out (--search-cpu-ms, --job-search-ms); ask for less time or fewer jobs");
	TRY(loki_check_patterns(asked, job, err));
	return out->count < asked->limit && out->has_next
		       ? error_set(err, ERR_TOO_LARGE, "the lines have more than %zu bytes; ask for fewer (limit=)",
				 HELD_MAX_BYTES)
		       : OK;
}

static enum status hold_hits(
	struct holding *holding, const struct job_view *view, const struct log_search_result *result, struct error *err)
{
	size_t *places = mem_alloc((view->stream_count + 1) * sizeof *places);
	enum status status = places ? OK : error_no_memory(err);

	for (size_t i = 0; status == OK && i < view->stream_count; i++)
		places[i] = SIZE_MAX;
	for (size_t i = 0; status == OK && i < result->count; i++) {
		size_t at = 0;
		while (at < view->stream_count && view->streams[at].stream_id != result->hits[i].place.stream_id)
			at++;
		if (at == view->stream_count) /* made since */
			continue;
		if (places[at] == SIZE_MAX)
			status = hold_stream(holding, view->row.name, &view->streams[at], &places[at], err);
		if (status == OK)
			status = hold_line(holding, &result->hits[i], places[at], err);
	}
	mem_free(places);
	trim(holding);
	return status;
}

static enum status take_job(void *context, struct span job, struct error *err)
{
	struct holding *holding = context;
	struct prom_call *call = holding->asked->call;
	AUTO(arena) arena = arena_new();
	struct log_search_result result;
	struct job_view view;
	size_t count = 0;
	bool is;

	if (!arena)
		return error_no_memory(err);
	TRY(loki_read_streams(call, arena, job, &view, err));
	struct log_search_stream *streams = arena_alloc(arena, (view.stream_count + 1) * sizeof *streams);
	if (!streams)
		return error_no_memory(err);
	for (size_t i = 0; i < view.stream_count; i++) {
		TRY(loki_is_asked(holding->asked, job, &view.streams[i], &is, err));
		if (is)
			streams[count++] = (struct log_search_stream){view.streams[i].stream_id, 0};
	}
	if (!count)
		return OK;
	TRY(search_job(holding, arena, job, streams, count, &result, err));
	return hold_hits(holding, &view, &result, err);
}

static void write_line(struct json_writer *w, const struct held_line *line)
{
	char ns[32];

	snprintf(ns, sizeof ns, "%lld000000", (long long)line->place.ts_ms);
	json_array(w);
	json_text(w, ns);
	json_span(w, line->text);
	json_array_end(w);
}

static void write_lines(const struct holding *holding, struct json_writer *w)
{
	json_object(w);
	json_put_text(w, "resultType", "streams");
	json_key(w, "result");
	json_array(w);
	for (size_t i = 0; i < holding->stream_count; i++) {
		bool has_one = false;
		for (size_t j = 0; j < holding->count; j++) {
			if (holding->lines[j].stream != i)
				continue;
			if (!has_one) {
				json_object(w);
				json_key(w, "stream");
				labels_write(&holding->streams[i], w);
				json_key(w, "values");
				json_array(w);
			}
			has_one = true;
			write_line(w, &holding->lines[j]);
		}
		if (has_one) {
			json_array_end(w);
			json_object_end(w);
		}
	}
	json_array_end(w);
	json_key(w, "stats");
	json_object(w);
	json_object_end(w);
	json_object_end(w);
}

static enum status read_limit(const struct prom_call *call, struct loki_asked *asked, struct error *err)
{
	struct span text = call_parameter(call, "limit"), direction = call_parameter(call, "direction");
	int64_t limit = LINES_DEFAULT;

	if (text.len && (!span_parse_i64(text, &limit) || limit < 1 || limit > LINES_MAX))
		return error_set(err, ERR_INVALID, "invalid parameter \"limit\": '%.*s' is no number from 1 to %d",
			SPAN_ARGS(span_cut(text, 60)), LINES_MAX);
	asked->limit = (size_t)limit;
	asked->is_forward = span_equal_fold(direction, SPAN("forward"));
	if (direction.len && !asked->is_forward && !span_equal_fold(direction, SPAN("backward")))
		return error_set(err, ERR_INVALID,
			"invalid parameter \"direction\": '%.*s' is neither forward nor backward",
			SPAN_ARGS(span_cut(direction, 60)));
	return OK;
}

static enum status answer_lines(struct prom_call *call, struct error *err)
{
	struct loki_asked asked = {.call = call};
	struct holding holding = {.asked = &asked};

	TRY(loki_window(call, &asked.from_ms, &asked.to_ms, err));
	TRY(read_limit(call, &asked, err));
	enum status status = logql_parse(&asked.logql, call_parameter(call, "query"), call->arena, err);
	asked.logql.gave_up = &asked.gave_up;
	if (status == OK)
		status = loki_each_job(&asked, take_job, &holding, err);
	if (status == OK)
		write_lines(&holding, &call->w);
	holding_done(&holding);
	logql_done(&asked.logql);
	return status;
}

static bool is_of_lines(const struct prom_call *call)
{
	struct span query = span_trim(call_parameter(call, "query"));

	return query.len && query.ptr[0] == '{';
}

enum status loki_query_range(struct prom_call *call, struct error *err)
{
	return is_of_lines(call) ? answer_lines(call, err) : loki_counts_range(call, err);
}

enum status loki_query(struct prom_call *call, struct error *err)
{
	if (is_of_lines(call))
		return error_set(err, ERR_INVALID,
			"log queries are not supported as an instant query type, please change your query to a range query type");
	return loki_counts(call, err);
}

/* ---- what there is ---- */

struct listing {
	struct loki_asked *asked;
	struct map *seen;
	struct span label; /* whose values; "": sets of labels are written */
	size_t limit, count;
};

static enum status list_stream(struct listing *listing, const struct prom_labels *labels, struct error *err)
{
	struct prom_call *call = listing->asked->call;
	struct span key = listing->label.len ? labels_get(labels, listing->label) : SPAN("");

	if (!listing->label.len)
		TRY(labels_key(labels, call->arena, &key, err));
	if (!key.len || map_get(listing->seen, key))
		return OK;
	if (listing->count == listing->limit) {
		call->is_cut = true;
		return OK;
	}
	listing->count++;
	if (!map_put(listing->seen, key, listing))
		return error_no_memory(err);
	TRY(budget_take(call->reading.budget, 1, err));
	if (listing->label.len)
		json_span(&call->w, key);
	else
		labels_write(labels, &call->w);
	return OK;
}

static enum status list_job(void *context, struct span job, struct error *err)
{
	struct listing *listing = context;
	AUTO(arena) arena = arena_new();
	struct prom_label room[LOKI_LABELS + 1];
	struct prom_labels labels;
	struct job_view view;
	bool is;

	if (!arena)
		return error_no_memory(err);
	TRY(loki_read_streams(listing->asked->call, arena, job, &view, err));
	for (size_t i = 0; i < view.stream_count; i++) {
		TRY(loki_is_asked(listing->asked, job, &view.streams[i], &is, err));
		if (!is)
			continue;
		loki_stream_labels(&labels, room, job, &view.streams[i]);
		TRY(list_stream(listing, &labels, err));
	}
	return OK;
}

/* match: the name of the parameter with the selector, which may be left out. */
static enum status list(struct prom_call *call, const char *match, struct span label, struct error *err)
{
	struct loki_asked asked = {.call = call};
	AUTO(map) seen = map_new();
	struct listing listing = {.asked = &asked, .seen = seen, .label = label};
	struct span selector = call_parameter(call, match);

	if (!seen)
		return error_no_memory(err);
	TRY(call_limit(call, &listing.limit, err));
	TRY(loki_window(call, &asked.from_ms, &asked.to_ms, err));
	enum status status = selector.len ? logql_parse(&asked.logql, selector, call->arena, err) : OK;
	json_array(&call->w);
	if (status == OK)
		status = loki_each_job(&asked, list_job, &listing, err);
	json_array_end(&call->w);
	logql_done(&asked.logql);
	return status;
}

enum status loki_series(struct prom_call *call, struct error *err)
{
	return list(call, "match[]", SPAN(""), err);
}

enum status loki_values(struct prom_call *call, struct error *err)
{
	return list(call, "query", http_request_segment(call->request, 0), err);
}

enum status loki_labels(struct prom_call *call, struct error *err)
{
	(void)err;
	json_array(&call->w);
	json_text(&call->w, "host");
	json_text(&call->w, "job");
	json_text(&call->w, "stream");
	json_array_end(&call->w);
	return OK;
}

/* ---- how much a selector chooses ---- */

struct index_stats {
	const struct loki_asked *asked;
	uint64_t streams, entries, bytes;
};

/* Of streams as a whole, as far as their times meet the window: how many lines are in it nobody knows before they are read. */
static enum status add_job_stats(void *context, struct span job, struct error *err)
{
	struct index_stats *stats = context;
	AUTO(arena) arena = arena_new();
	struct job_view view;
	bool is;

	if (!arena)
		return error_no_memory(err);
	TRY(loki_read_streams(stats->asked->call, arena, job, &view, err));
	for (size_t i = 0; i < view.stream_count; i++) {
		const struct stream_view *stream = &view.streams[i];
		bool is_outside = stream->first_ms && stream->extracted_lines == stream->lines &&
				  (stream->last_ms < stats->asked->from_ms || stream->first_ms >= stats->asked->to_ms);
		TRY(loki_is_asked(stats->asked, job, stream, &is, err));
		if (!is || is_outside)
			continue;
		stats->streams++;
		stats->entries += stream->lines;
		stats->bytes += stream->bytes;
	}
	return OK;
}

enum status loki_index_stats(struct prom_call *call, struct error *err)
{
	struct loki_asked asked = {.call = call};
	struct index_stats stats = {.asked = &asked};
	struct buf *out = call->w.out;

	TRY(loki_window(call, &asked.from_ms, &asked.to_ms, err));
	enum status status = logql_parse(&asked.logql, call_parameter(call, "query"), call->arena, err);
	if (status == OK)
		status = loki_each_job(&asked, add_job_stats, &stats, err);
	logql_done(&asked.logql);
	buf_reset(out); /* of all of Loki's replies this one has no envelope */
	call->w = json_writer_on(out);
	json_object(&call->w);
	json_put_i64(&call->w, "streams", (int64_t)stats.streams);
	json_put_i64(&call->w, "chunks", (int64_t)stats.streams);
	json_put_i64(&call->w, "entries", (int64_t)stats.entries);
	json_put_i64(&call->w, "bytes", (int64_t)stats.bytes);
	return status;
}

/* What takes more than a line has a filter a line. */
enum status loki_format(struct prom_call *call, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FORMAT_BYTES);
	struct span query = call_parameter(call, "query");
	struct promql_node *node;
	struct logql logql;

	if (!is_of_lines(call)) {
		TRY(promql_parse_counts(&node, query, call->arena, err));
		TRY(promql_check_patterns(node, err));
		promql_print(node, &text);
	} else {
		enum status status = logql_parse(&logql, query, call->arena, err);
		if (status == OK)
			logql_print(&logql, " ", &text);
		if (status == OK && text.len > FORMAT_LINE_BYTES) {
			buf_reset(&text);
			logql_print(&logql, "\n  ", &text);
		}
		logql_done(&logql);
		TRY(status);
	}
	TRY(buf_status(&text, err));
	json_span(&call->w, buf_span(&text));
	return OK;
}

/* What Loki has and this server has not, with what there is. */
enum status loki_absent(struct prom_call *call, struct error *err)
{
	struct span rest = span_cut(http_request_segment(call->request, 0), 60);

	return error_set(err, ERR_NOT_FOUND,
		"'%.*s' of Loki's API is not here; push, query, query_range, labels, label/NAME/values, series, index/stats and "
		"format_query are (docs/grafana.md)",
		SPAN_ARGS(rest));
}

enum status loki_tail(struct prom_call *call, struct error *err)
{
	(void)call;
	return error_set(err, ERR_INVALID,
		"tail is a WebSocket, which this server does not speak: ask query_range again, or follow a job's lines at /api/v1/live");
}
