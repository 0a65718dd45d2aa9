/* Log streams: read on from the last page's token; after a start from the time of the last line that is here. */
#include "base/clock.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "collect/follow.h"
#include "ingest/lines/lines.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "read/logs/lines.h"

enum {
	STREAMS_PAGE = 50,
	EVENTS_PAGE = 10000,
	BODY_BYTES = 64 << 10,
	PAGES_A_ROUND = 50, /* of one stream, so that none waits long for another */
	TAIL_LINES = 20000, /* that may have the last line's time */
	TAIL_BYTES = 64 << 20,
	QUIET_ROUNDS = 3 /* lines of a job that is over may be late */
};

static void stream_free(struct followed_stream *stream)
{
	buf_done(&stream->full);
	buf_done(&stream->name);
	buf_done(&stream->token);
	mem_free(stream);
}

void follow_free_streams(struct followed_job *job)
{
	while (job->streams) {
		struct followed_stream *next = job->streams->next;
		stream_free(job->streams);
		job->streams = next;
	}
}

/* JOB/algo-1-1700000000 -> algo-1 */
static struct span short_name(struct span job, struct span full)
{
	struct span name = span_skip(full, job.len + 1);

	stream_cut_suffix(&name);
	return name;
}

/* Behind the last line that is here. */
static enum status find_place(struct follow *follow, struct span job, struct followed_stream *stream, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct line_view *lines;
	size_t count;
	uint64_t total;

	if (!arena)
		return error_no_memory(err);
	enum status status = lines_read(follow->options->pipeline, follow->reader, arena, job, buf_span(&stream->name),
		UINT64_MAX, TAIL_LINES, TAIL_BYTES, &lines, &count, &total, err);
	if (status == ERR_NOT_FOUND || (status == OK && !count))
		return OK;
	TRY(status);
	stream->from_ms = lines[count - 1].ts_ms;
	while (count && lines[count - 1].ts_ms == stream->from_ms) {
		stream->known_lines++;
		count--;
	}
	return OK;
}

static enum status add_stream(struct follow *follow, struct followed_job *job, struct span full, struct error *err)
{
	struct followed_stream *stream;

	for (stream = job->streams; stream; stream = stream->next)
		if (span_equal(buf_span(&stream->full), full))
			return OK;
	if (!(stream = mem_zeroed(sizeof *stream)))
		return error_no_memory(err);
	stream->full = stream->name = BUF_INIT(4096);
	stream->token = BUF_INIT(BODY_BYTES);
	buf_append_span(&stream->full, full);
	buf_append_span(&stream->name, short_name(buf_span(&job->name), full));
	enum status status = buf_status(&stream->full, err);
	if (status == OK)
		status = buf_status(&stream->name, err);
	if (status == OK)
		status = find_place(follow, buf_span(&job->name), stream, err);
	if (status != OK) {
		stream_free(stream);
		return status;
	}
	stream->next = job->streams;
	job->streams = stream;
	return OK;
}

static enum status list_streams(struct follow *follow, struct followed_job *job, struct error *err)
{
	AUTO_DONE(buf) token = BUF_INIT(BODY_BYTES);

	do {
		AUTO_DONE(buf) body = BUF_INIT(BODY_BYTES);
		AUTO(json) reply = NULL;
		struct json_writer w = json_writer_on(&body);
		AUTO_DONE(buf) prefix = BUF_INIT(4096);
		buf_printf(&prefix, "%.*s/", SPAN_ARGS(buf_span(&job->name)));
		json_object(&w);
		json_put_text(&w, "logGroupName", TRAINING_GROUP);
		json_put_span(&w, "logStreamNamePrefix", buf_span(&prefix));
		json_put_i64(&w, "limit", STREAMS_PAGE);
		if (token.len)
			json_put_span(&w, "nextToken", buf_span(&token));
		json_object_end(&w);
		TRY(buf_status(&body, err));
		enum status status =
			calls_ask(follow->calls, CALLS_LOGS, "DescribeLogStreams", buf_span(&body), &reply, err);
		if (status == ERR_NOT_FOUND)
			return OK; /* no job has printed anything yet */
		TRY(status);
		const struct json *list = json_get(reply, "logStreams");
		for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at)) {
			struct span full = json_string_of(json_get(at, "logStreamName"));
			if (span_starts_with(full, buf_span(&prefix)))
				TRY(add_stream(follow, job, full, err));
		}
		buf_reset(&token);
		buf_append_span(&token, json_string_of(json_get(reply, "nextToken")));
		TRY(buf_status(&token, err));
	} while (token.len);
	return OK;
}

/* ---- events to lines, and the wait for their commit ---- */

static enum status submit(struct follow *follow, struct batch **batch, struct error *err)
{
	struct ingest_result result;

	TRY(pipeline_store(follow->options->pipeline, batch, &result, err));
	atomic_fetch_add(&follow->figures->lines, result.accepted);
	return OK;
}

/* Of the lines at the time of the last one that was here at the start, the known ones come first again. */
static bool is_known(struct followed_stream *stream, struct span message, int64_t ts_ms, uint64_t *skipped)
{
	if (ts_ms != stream->from_ms || *skipped >= stream->known_lines)
		return false;
	*skipped += ingest_count_lines(message);
	return true;
}

static enum status add_events(struct follow *follow, struct followed_stream *stream, const struct json *events,
	struct batch *batch, struct batch_part *part, uint64_t *skipped, struct error *err)
{
	for (const struct json *at = events ? json_first(events) : NULL; at; at = json_next(at)) {
		struct span message = json_string_of(json_get(at, "message"));
		double ts_ms;
		if (!json_number_of(json_get(at, "timestamp"), &ts_ms))
			return error_set(err, ERR_INVALID, "GetLogEvents tells of an event without a timestamp");
		if (is_known(stream, message, (int64_t)ts_ms, skipped))
			continue;
		if (!ingest_add_lines(batch, part, message, (int64_t)ts_ms, follow->options->max_line_bytes))
			return error_no_memory(err);
	}
	return OK;
}

static enum status store_events(struct follow *follow, struct followed_job *job, struct followed_stream *stream,
	const struct json *events, uint64_t *skipped, bool *has_come, struct error *err)
{
	AUTO(batch) batch = batch_new(clock_wall_ms());
	struct batch_part *part;

	if (!batch)
		return error_no_memory(err);
	batch->source = batch->team = SPAN("");
	/* a name that ends with when its instance began is that machine's alone */
	bool is_machine = stream->full.len > job->name.len + 1 + stream->name.len;
	batch->host = is_machine ? arena_copy(batch->arena, buf_span(&stream->full)) : SPAN("");
	if (!batch->host.ptr || !(part = batch_part(batch, buf_span(&job->name), buf_span(&stream->name))))
		return error_no_memory(err);
	TRY(add_events(follow, stream, events, batch, part, skipped, err));
	if (!batch->line_count)
		return OK;
	*has_come = true;
	return submit(follow, &batch, err);
}

static enum status ask_events(
	struct follow *follow, const struct followed_stream *stream, struct json **reply, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_BYTES);
	struct json_writer w = json_writer_on(&body);

	json_object(&w);
	json_put_text(&w, "logGroupName", TRAINING_GROUP);
	json_put_span(&w, "logStreamName", buf_span(&stream->full));
	json_put_bool(&w, "startFromHead", true);
	json_put_i64(&w, "limit", EVENTS_PAGE);
	if (stream->token.len)
		json_put_span(&w, "nextToken", buf_span(&stream->token));
	if (stream->from_ms) /* with a token, too: it is of the same question */
		json_put_i64(&w, "startTime", stream->from_ms);
	json_object_end(&w);
	TRY(buf_status(&body, err));
	return calls_ask(follow->calls, CALLS_LOGS, "GetLogEvents", buf_span(&body), reply, err);
}

/* Tokens live for a day: of a stream that says nothing for longer, the place is found again as after a start. */
static enum status start_over(
	struct follow *follow, struct followed_job *job, struct followed_stream *stream, struct error *err)
{
	log_line(LOG_INFO, "collect_token_refused", "job=\"%.*s\" reason=\"%s\"", SPAN_ARGS(buf_span(&job->name)),
		err->text);
	buf_reset(&stream->token);
	stream->from_ms = 0;
	stream->known_lines = 0;
	return find_place(follow, buf_span(&job->name), stream, err);
}

/* Page after page until the token stays as it was: then there is no more for now. */
static enum status read_stream(struct follow *follow, struct followed_job *job, struct followed_stream *stream,
	bool *has_come, struct error *err)
{
	uint64_t skipped = stream->token.len ? UINT64_MAX : 0;

	for (unsigned page = 0; page < PAGES_A_ROUND; page++) {
		AUTO(json) reply = NULL;
		enum status status = ask_events(follow, stream, &reply, err);
		if (status == ERR_NOT_FOUND)
			return OK;
		if (status == ERR_INVALID && stream->token.len)
			return start_over(follow, job, stream, err);
		TRY(status);
		TRY(store_events(follow, job, stream, json_get(reply, "events"), &skipped, has_come, err));
		struct span token = json_string_of(json_get(reply, "nextForwardToken"));
		if (!token.len || span_equal(token, buf_span(&stream->token)))
			return OK;
		buf_reset(&stream->token);
		buf_append_span(&stream->token, token);
		TRY(buf_status(&stream->token, err));
	}
	follow->has_more = true;
	return OK;
}

static enum status read_job(struct follow *follow, struct followed_job *job, struct error *err)
{
	bool has_come = false;

	TRY(list_streams(follow, job, err));
	for (struct followed_stream *stream = job->streams; stream; stream = stream->next)
		TRY(read_stream(follow, job, stream, &has_come, err));
	job->quiet_rounds = has_come || !job->is_over ? 0 : job->quiet_rounds + 1;
	if (job->quiet_rounds >= QUIET_ROUNDS)
		follow_free_streams(job);
	return OK;
}

enum status follow_logs(struct follow *follow, struct error *err)
{
	size_t at = 0;
	void *value;

	follow->has_more = false;
	while (map_next(follow->jobs, &at, NULL, &value)) {
		struct followed_job *job = value;
		if (job->quiet_rounds >= QUIET_ROUNDS)
			continue;
		enum status status = read_job(follow, job, err);
		if (status != OK && !follow_is_of_one(follow, job, status, err))
			return status;
	}
	return OK;
}
