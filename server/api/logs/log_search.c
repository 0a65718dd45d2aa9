#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "read/logs/log_groups.h"

#include <stdio.h>

enum { HITS_DEFAULT = 50, HITS_MAX = 1000, PATTERN_MAX_BYTES = 4096, HIT_TEXT_BYTES = 4096 };

static enum status read_cursor(
	const struct http_request *request, struct log_place *place, bool *has_it, struct error *err)
{
	struct span cursor, ts, stream;
	uint64_t stream_id;

	*has_it = http_request_query(request, "cursor", &cursor) && cursor.len;
	if (!*has_it)
		return OK;
	struct span rest = cursor;
	if (!span_next(&rest, '.', &ts) || !span_next(&rest, '.', &stream) || !span_parse_i64(ts, &place->ts_ms) ||
		!span_parse_u64(stream, &stream_id) || stream_id > UINT32_MAX || !span_parse_u64(rest, &place->line))
		return error_set_field(
			err, ERR_INVALID, "cursor", "'cursor' is '%.*s', which no search has given", SPAN_ARGS(cursor));
	place->stream_id = (uint32_t)stream_id;
	return OK;
}

static enum status read_order(const struct http_request *request, bool *oldest_first, struct error *err)
{
	struct span order = SPAN("newest");

	http_request_query(request, "order", &order);
	*oldest_first = span_equal(order, SPAN("oldest"));
	if (!*oldest_first && !span_equal(order, SPAN("newest")))
		return error_set_field(
			err, ERR_INVALID, "order", "'order' is '%.*s'; it may be newest or oldest", SPAN_ARGS(order));
	return OK;
}

static enum status read_lines(const struct http_request *request, struct log_search *search, struct error *err)
{
	int64_t from = 0, to = INT64_MAX;

	TRY(http_query_i64(request, "from_line", 0, INT64_MAX, &from, err));
	TRY(http_query_i64(request, "to_line", 0, INT64_MAX, &to, err));
	search->from_line = (uint64_t)from;
	search->end_line = (uint64_t)to;
	search->has_end_line = to != INT64_MAX;
	if ((from || to != INT64_MAX) && !search->stream.len)
		return error_set_field(err, ERR_INVALID, from ? "from_line" : "to_line",
			"'%s' is a line's number in one stream: name it in 'stream'", from ? "from_line" : "to_line");
	search->ticks = SPAN("");
	if (http_request_query(request, "ticks", &search->ticks) && !search->wants_histogram)
		return error_set_field(err, ERR_INVALID, "ticks", "'ticks' are counted with the histogram only");
	return OK;
}

/* The text to look for, or with errors=true what programs write when something failed. */
static enum status read_pattern(const struct http_request *request, struct log_search *search, struct error *err)
{
	bool has_text = http_request_query(request, "q", &search->text) && search->text.len, wants_errors = false;

	TRY(http_query_bool(request, "regex", &search->is_regex, err));
	TRY(http_query_bool(request, "ignore_case", &search->ignore_case, err));
	TRY(http_query_bool(request, "errors", &wants_errors, err));
	if (wants_errors && (has_text || search->is_regex || search->ignore_case))
		return error_set_field(err, ERR_INVALID, "errors",
			"'errors' stands for a search of its own; leave out 'q', 'regex' and 'ignore_case', or 'errors'");
	if (wants_errors) {
		search->text = SPAN(LOG_ERRORS_PATTERN);
		search->is_regex = true;
		return OK;
	}
	if (!has_text)
		return error_set_field(
			err, ERR_INVALID, "q", "'q' is missing: the text to look for; or say errors=true");
	if (search->text.len > PATTERN_MAX_BYTES)
		return error_set_field(err, ERR_TOO_LARGE, "q", "'q' has %zu bytes, more than %d", search->text.len,
			PATTERN_MAX_BYTES);
	return OK;
}

static enum status read_where(const struct http_request *request, struct log_search *search, struct error *err)
{
	search->job = http_request_segment(request, 0);
	search->stream = SPAN("");
	http_request_query(request, "stream", &search->stream);
	TRY(http_query_i64(request, "from_ms", INT64_MIN, INT64_MAX, &search->from_ms, err));
	return http_query_i64(request, "to_ms", INT64_MIN, INT64_MAX, &search->to_ms, err);
}

static enum status read_search(const struct http_request *request, struct log_search *search, struct error *err)
{
	TRY(read_where(request, search, err));
	TRY(read_pattern(request, search, err));
	search->wants_histogram = !search->after;
	TRY(http_query_bool(request, "histogram", &search->wants_histogram, err));
	TRY(read_lines(request, search, err));
	TRY(api_limit(request, HITS_DEFAULT, HITS_MAX, &search->limit, err));
	return read_order(request, &search->oldest_first, err);
}

static void write_hit(struct json_writer *w, const struct log_hit *hit)
{
	json_object(w);
	json_put_span(w, "stream", hit->stream);
	json_put_i64(w, "n", (int64_t)hit->place.line);
	json_put_i64(w, "ts_ms", hit->place.ts_ms);
	json_put_span(w, "text", hit->text);
	if (hit->is_cut) {
		json_put_bool(w, "cut", true);
		json_put_i64(w, "text_from", (int64_t)hit->text_from);
	}
	json_key(w, "matches");
	json_array(w);
	for (size_t i = 0; i < hit->range_count; i++) {
		json_array(w);
		json_u64(w, hit->ranges[i][0]);
		json_u64(w, hit->ranges[i][1]);
		json_array_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

static void write_histogram(
	struct json_writer *w, const struct log_bucket *buckets, size_t count, int64_t width_ms, uint64_t total)
{
	json_key(w, "histogram");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_i64(w, "from_ms", buckets[i].from_ms);
		json_put_i64(w, "count", (int64_t)buckets[i].count);
		json_object_end(w);
	}
	json_array_end(w);
	json_put_i64(w, "bucket_ms", width_ms);
	json_put_i64(w, "total", (int64_t)total);
}

static void write_ticks(struct json_writer *w, const struct log_search_result *result)
{
	json_key(w, "ticks");
	json_array(w);
	for (size_t i = 0; i < result->tick_count; i++) {
		json_object(w);
		json_put_i64(w, "from_line", (int64_t)result->ticks[i].from_line);
		json_put_i64(w, "count", (int64_t)result->ticks[i].count);
		json_object_end(w);
	}
	json_array_end(w);
	json_put_i64(w, "tick_lines", (int64_t)result->tick_lines);
}

static void write_result(struct json_writer *w, const struct log_search *search, const struct log_search_result *result)
{
	char cursor[80];

	json_object(w);
	json_key(w, "hits");
	json_array(w);
	for (size_t i = 0; i < result->count; i++)
		write_hit(w, &result->hits[i]);
	json_array_end(w);
	if (search->wants_histogram)
		write_histogram(w, result->buckets, result->bucket_count, result->bucket_width_ms, result->total);
	if (search->ticks.len)
		write_ticks(w, result);
	if (result->is_partial)
		json_put_bool(w, "partial", true);
	if (result->limited)
		json_put_i64(w, "limited", (int64_t)result->limited);
	if (result->has_next) {
		snprintf(cursor, sizeof cursor, "%lld.%u.%llu", (long long)result->next.ts_ms, result->next.stream_id,
			(unsigned long long)result->next.line);
		json_put_text(w, "next_cursor", cursor);
	}
	json_object_end(w);
}

enum status api_log_search(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct log_search search = {.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.text_bytes = HIT_TEXT_BYTES,
		.time_ms = api->options.search_ms,
		.asker = api_asker(api, request)};
	struct log_search_result result;
	struct log_place after = {0};
	bool has_cursor;

	TRY(api_arena(&arena, err));
	TRY(read_cursor(request, &after, &has_cursor, err));
	search.after = has_cursor ? &after : NULL;
	TRY(read_search(request, &search, err));
	TRY(log_search_run(api->options.pipeline, ((struct api_worker *)worker)->reader, arena, &search, &result, err));
	write_result(&w, &search, &result);
	return buf_status(&response->body, err);
}

static void write_group(struct json_writer *w, const struct log_group *group)
{
	json_object(w);
	json_put_i64(w, "lines", (int64_t)group->lines);
	json_put_i64(w, "streams", (int64_t)group->stream_count);
	json_key(w, "named");
	json_array(w);
	for (size_t i = 0; i < group->named_count; i++)
		json_span(w, group->named[i]);
	json_array_end(w);
	json_put_span(w, "stream", group->stream);
	json_put_i64(w, "n", (int64_t)group->first.line);
	json_put_i64(w, "ts_ms", group->first.ts_ms);
	json_put_i64(w, "last_ms", group->last_ms);
	json_put_span(w, "text", group->text);
	if (group->is_cut)
		json_put_bool(w, "cut", true);
	json_object_end(w);
}

static void write_groups(struct json_writer *w, const struct log_groups *groups)
{
	json_object(w);
	json_key(w, "groups");
	json_array(w);
	for (size_t i = 0; i < groups->count; i++)
		write_group(w, &groups->groups[i]);
	json_array_end(w);
	json_put_i64(w, "found", (int64_t)groups->found);
	json_put_i64(w, "lines", (int64_t)groups->lines);
	if (groups->ungrouped)
		json_put_i64(w, "ungrouped", (int64_t)groups->ungrouped);
	if (groups->is_partial)
		json_put_bool(w, "partial", true);
	if (groups->limited)
		json_put_i64(w, "limited", (int64_t)groups->limited);
	json_object_end(w);
}

enum status api_log_groups(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct log_search search = {.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.ticks = SPAN(""),
		.time_ms = api->options.search_ms,
		.asker = api_asker(api, request)};
	struct log_groups groups;

	TRY(api_arena(&arena, err));
	TRY(read_where(request, &search, err));
	TRY(read_pattern(request, &search, err));
	TRY(api_limit(request, HITS_DEFAULT, LOG_GROUPS_MAX, &search.limit, err));
	TRY(log_groups_find(
		api->options.pipeline, ((struct api_worker *)worker)->reader, arena, &search, &groups, err));
	write_groups(&w, &groups);
	return buf_status(&response->body, err);
}

enum status api_log_histogram(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span stream = SPAN("");
	struct log_histogram histogram;

	TRY(api_arena(&arena, err));
	http_request_query(request, "stream", &stream);
	TRY(log_search_count(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
		http_request_segment(request, 0), stream, &histogram, err));
	json_object(&w);
	write_histogram(&w, histogram.buckets, histogram.count, histogram.width_ms, histogram.total);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
