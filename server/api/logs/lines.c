#include "api/logs/lines.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/hosts.h"
#include "api/core/request.h"
#include "api/logs/line_page.h"
#include "base/json/json_write.h"
#include "model/metrics/stream_name.h"
#include "read/logs/lines.h"
#include "read/charts/rank_0.h"
#include "read/view.h"
#include "state/heard.h"
#include "state/streams/job_view.h"
#include "state/streams/work_times.h"
#include "store/carry.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/streams.h"

#include <stdio.h>

enum { LIMIT_DEFAULT = 200, LIMIT_MAX = 1000 };

static void put_ms(struct json_writer *w, const char *key, int64_t ms)
{
	if (ms)
		json_put_i64(w, key, ms);
}

/* How the stream's process ended, as sm-ship tells it. */
static void write_exit(const struct exit_row *rows, size_t count, uint32_t stream_id, struct json_writer *w)
{
	size_t i = 0;

	while (i < count && rows[i].stream_id != stream_id)
		i++;
	if (i == count)
		return;
	json_key(w, "exit");
	json_object(w);
	json_put_i64(w, rows[i].signal ? "signal" : "code", rows[i].signal ? rows[i].signal : rows[i].code);
	if (rows[i].reason.len)
		json_put_span(w, "reason", rows[i].reason);
	json_put_i64(w, "at_ms", rows[i].at_ms);
	json_object_end(w);
}

/* A clock that is off by whole quarters of an hour is one of another time zone, whose times state none. */
static void write_skew(struct json_writer *w, const struct stream_view *stream, int64_t warning_ms)
{
	static const int64_t quarter_ms = 15 * 60 * 1000, near_ms = 120 * 1000;
	int64_t off_ms = stream->skew_ms < 0 ? -stream->skew_ms : stream->skew_ms;
	int64_t rest_ms = off_ms % quarter_ms;
	char text[160];

	if (!stream->has_skew)
		return;
	json_put_i64(w, "skew_ms", stream->skew_ms);
	if (off_ms < warning_ms)
		return;
	bool is_zone = off_ms > quarter_ms - near_ms && (rest_ms < near_ms || rest_ms > quarter_ms - near_ms);
	snprintf(text, sizeof text, "its clock is %lld s %s the server's%s", (long long)(off_ms / 1000),
		stream->skew_ms < 0 ? "behind" : "ahead of",
		is_zone ? "; by whole quarters of an hour: times of another zone, that state none" : "");
	json_put_text(w, "skew_warning", text);
}

static void write_odd(struct json_writer *w, const struct stretches *work, const struct stream_view *stream)
{
	uint64_t odd = stream_is_system(stream->name) ? 0 : stretches_odd(work, &stream->stretches);

	if (odd)
		json_put_i64(w, "odd_times", (int64_t)odd);
}

static void write_expired(const struct expired_text *rows, size_t count, uint32_t stream_id, struct json_writer *w)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].stream_id == stream_id) {
			json_put_i64(w, "deleted_lines", (int64_t)rows[i].first_kept_line);
			put_ms(w, "deleted_ms", rows[i].deleted_ms);
		}
}

/* Where what offsets count stands: the source "" has no row as long as it is all of the stream. */
static void write_sources(
	struct json_writer *w, const struct source_row *rows, size_t count, const struct stream_view *stream)
{
	bool has_plain = false;

	json_key(w, "sources");
	json_object(w);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].stream_id != stream->stream_id)
			continue;
		has_plain |= !rows[i].source.len;
		json_key_span(w, rows[i].source);
		json_i64(w, (int64_t)rows[i].next_byte);
	}
	if (!has_plain)
		json_put_i64(w, "", (int64_t)stream->bytes);
	json_object_end(w);
}

struct streams_reply {
	const struct api *api;
	struct job_view view;
	struct stretches work;
	struct rank_0 rank_0;
	struct api_hosts hosts;
	struct exit_row *exits;
	size_t exit_count;
	struct expired_text *expired;
	size_t expired_count;
	bool wants_sources;
	struct source_row *sources;
	size_t source_count;
};

static void write_counts(struct json_writer *w, const struct stream_view *stream)
{
	json_put_i64(w, "lines", (int64_t)stream->lines);
	json_put_i64(w, "extracted_lines", (int64_t)stream->extracted_lines);
	if (stream->sent_points) {
		json_put_i64(w, "sent_points", (int64_t)stream->sent_points);
		json_put_i64(w, "extracted_points", (int64_t)stream->extracted_points);
	}
	if (stream->has_hole)
		json_put_bool(w, "is_held_up", true);
	if (stream->damage.len)
		json_put_span(w, "damaged", stream->damage);
	json_put_i64(w, "bytes", (int64_t)stream->bytes);
}

static void write_role(struct json_writer *w, const struct stream_view *stream, const struct rank_0 *rank_0)
{
	if (stream_is_system(stream->name))
		json_put_text(w, "role", "system");
	if (stream_is_alerts(stream->name))
		json_put_text(w, "role", "alerts");
	if (span_equal(stream->name, rank_0->stream)) {
		json_put_text(w, "role", "rank 0");
		json_put_span(w, "role_reason", rank_0->reason);
	}
}

/* What it speaks: the presets that took lines of it. */
static void write_formats(struct json_writer *w, const struct stream_view *stream)
{
	if (!stream->format_count)
		return;
	json_key(w, "formats");
	json_array(w);
	for (size_t i = 0; i < stream->format_count; i++) {
		json_object(w);
		json_put_span(w, "preset", stream->formats[i].preset);
		json_put_i64(w, "lines", (int64_t)stream->formats[i].lines);
		json_put_i64(w, "last_line", (int64_t)stream->formats[i].last_line);
		json_put_span(w, "reason", stream->formats[i].reason);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_stream(struct json_writer *w, const struct streams_reply *reply, const struct stream_view *stream)
{
	const struct api_options *options = &reply->api->options;

	json_object(w);
	json_put_span(w, "stream", stream->name);
	api_write_hosts(w, &reply->hosts, stream);
	write_counts(w, stream);
	put_ms(w, "first_ms", stream->first_ms);
	put_ms(w, "last_ms", stream->last_ms);
	write_odd(w, &reply->work, stream);
	put_ms(w, "last_seen_ms", stream->last_arrival_ms);
	put_ms(w, "silent_since_ms", heard_silent_since(options->pipeline, &reply->view.row, stream->last_arrival_ms));
	write_skew(w, stream, options->skew_ms);
	json_put_i64(w, "attempt", stream->attempt);
	write_role(w, stream, &reply->rank_0);
	if (stream->preset.len)
		json_put_span(w, "preset", stream->preset);
	write_formats(w, stream);
	write_exit(reply->exits, reply->exit_count, stream->stream_id, w);
	write_expired(reply->expired, reply->expired_count, stream->stream_id, w);
	if (reply->wants_sources)
		write_sources(w, reply->sources, reply->source_count, stream);
	json_object_end(w);
}

static enum status read_streams(struct streams_reply *reply, struct store_reader *reader, struct arena *arena,
	struct span job, struct error *err)
{
	struct pipeline *pipeline = reply->api->options.pipeline;
	struct job_view *view = &reply->view;

	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, view, err));
	TRY(store_read_expired(reader, arena, view->row.job_id, 0, &reply->expired, &reply->expired_count, err));
	TRY(store_read_exits(reader, arena, view->row.job_id, &reply->exits, &reply->exit_count, err));
	TRY(api_read_hosts(reader, arena, view->row.job_id, &reply->hosts, err));
	if (reply->wants_sources)
		TRY(store_read_sources(reader, arena, view->row.job_id, 0, &reply->sources, &reply->source_count, err));
	TRY(rank_0_find(reader, arena, view, &reply->rank_0, err));
	work_times_of(view, &reply->work);
	return OK;
}

enum status api_streams(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct streams_reply reply = {.api = context};
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);

	TRY(api_arena(&arena, err));
	TRY(http_query_bool(request, "sources", &reply.wants_sources, err));
	TRY(read_streams(&reply, own->reader, arena, http_request_segment(request, 0), err));
	json_object(&w);
	json_key(&w, "streams");
	json_array(&w);
	for (size_t i = 0; i < reply.view.stream_count; i++)
		write_stream(&w, &reply, &reply.view.streams[i]);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_choose_stream(struct api_worker *worker, struct arena *arena, const struct http_request *request,
	struct span *stream, struct error *err)
{
	struct job_row job;
	struct stream_row *rows;
	size_t count;

	if (http_request_query(request, "stream", stream) && stream->len)
		return OK;
	TRY(store_read_job(worker->reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_streams(worker->reader, arena, job.job_id, SPAN(""), &rows, &count, err));
	*stream = count ? rows[0].name : SPAN("");
	return OK;
}

static enum status read_mode(const struct http_request *request, struct lines_asked *asked, struct error *err)
{
	struct span unused;

	asked->from = -1;
	asked->around_ms = INT64_MIN;
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &asked->limit, err));
	TRY(http_query_i64(request, "from", 0, INT64_MAX, &asked->from, err));
	TRY(http_query_i64(request, "around_ms", -INT64_MAX, INT64_MAX, &asked->around_ms, err));
	TRY(http_query_bool(request, "merge", &asked->is_merged, err));
	asked->has_cursor = http_request_query(request, "cursor", &asked->cursor) && asked->cursor.len;
	if (asked->is_merged && asked->from >= 0)
		return error_set_field(err, ERR_INVALID, "from",
			"'from' is a line's number in one stream: with merge=true give around_ms or cursor");
	if (asked->is_merged && http_request_query(request, "stream", &unused))
		return error_set_field(err, ERR_INVALID, "stream", "merge=true is about all streams: give no 'stream'");
	if (!asked->is_merged && http_request_query(request, "streams", &unused))
		return error_set_field(err, ERR_INVALID, "streams", "'streams' goes with merge=true; one is 'stream'");
	if (!asked->is_merged && asked->has_cursor)
		return error_set_field(
			err, ERR_INVALID, "cursor", "'cursor' goes with merge=true; a stream has 'from'");
	if (asked->around_ms != INT64_MIN && (asked->from >= 0 || asked->has_cursor))
		return error_set_field(err, ERR_INVALID, "around_ms", "'around_ms' says where, and so does '%s'",
			asked->from >= 0 ? "from" : "cursor");
	return OK;
}

/* The number of the stream's first line of that time or later, else of the one that comes next. */
static enum status find_time(struct api *api, struct api_worker *worker, struct arena *arena, struct span job,
	struct span stream, int64_t ms, uint64_t *at, struct error *err)
{
	struct log_place before = {ms - 1, UINT32_MAX, UINT64_MAX};
	struct merge merge = {.job = job, .stream = stream, .after = &before, .limit = 1, .max_bytes = 1};
	struct merged_line *found;
	struct line_view *last;
	size_t count;
	bool has_more;

	TRY(merge_read_lines(api->options.pipeline, worker->reader, arena, &merge, &found, &count, &has_more, err));
	if (count) {
		*at = found[0].line.number;
		return OK;
	}
	return lines_read(
		api->options.pipeline, worker->reader, arena, job, stream, UINT64_MAX, 1, 1, &last, &count, at, err);
}

/* The last page is about the newest lines: what is too much is left out in front. */
static enum status read_lines(struct api *api, struct api_worker *worker, struct arena *arena, struct span job,
	struct span stream, const struct lines_asked *asked, struct line_page *page, struct error *err)
{
	uint64_t from = asked->from < 0 ? UINT64_MAX : (uint64_t)asked->from;
	size_t limit = asked->limit;
	struct line_view *lines;

	if (asked->around_ms != INT64_MIN) {
		TRY(find_time(api, worker, arena, job, stream, asked->around_ms, &page->at, err));
		page->has_at = true;
		from = page->at > limit / 2 ? page->at - limit / 2 : 0;
	}
	for (;; limit /= 2) {
		TRY(lines_read(api->options.pipeline, worker->reader, arena, job, stream, from, limit,
			api->options.max_reply_bytes, &lines, &page->count, &page->total, err));
		if (from != UINT64_MAX || page->count == limit || page->count == page->total || limit < 2)
			break;
	}
	page->lines = arena_alloc(arena, page->count * sizeof *page->lines);
	if (!page->lines)
		return error_no_memory(err);
	for (size_t i = 0; i < page->count; i++)
		page->lines[i] = (struct merged_line){.stream = stream, .line = lines[i]};
	page->before_count = from == UINT64_MAX ? page->count : 0;
	return OK;
}

static void write_page(struct line_page *page)
{
	line_page_write(page);
	line_page_put_u64(page, "total", "X-Total", page->total);
	if (page->has_at)
		line_page_put_u64(page, "at", "X-At", page->at);
	uint64_t next = page->count ? page->lines[page->count - 1].line.number + 1 : page->total;
	if (next < page->total)
		line_page_put_u64(page, "next_from", "X-Next-From", next);
	line_page_end(page);
}

enum status api_lines(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct span stream = SPAN("");
	struct lines_asked asked = {0};

	TRY(api_arena(&arena, err));
	api_reply(response);
	TRY(read_mode(request, &asked, err));
	struct line_page page = line_page_on(api, request, response);
	if (asked.is_merged)
		return api_lines_merged(api, worker, request, &asked, &page, arena, err);
	TRY(api_choose_stream(worker, arena, request, &stream, err));
	if (stream.len)
		TRY(read_lines(api, worker, arena, http_request_segment(request, 0), stream, &asked, &page, err));
	write_page(&page);
	return buf_status(&response->body, err);
}
