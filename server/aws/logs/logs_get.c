/*
 * GetLogEvents. Without a time range a page is of the stream's own order, that of arrival: who follows it by tokens sees each
 * line, whatever its time is. With one it is in order of times, as those read it who go on from the last time that they saw.
 * A token is a place between two lines: behind its line when forward, before it when backward.
 */
#include "aws/logs/logs.h"
#include "read/logs/merge.h"

struct event {
	struct log_place place;
	int64_t ts_ms;
	struct span text;
};

struct reading {
	struct aws_call *call;
	struct logs_stream stream;
	bool has_range;
	int64_t from_ms, to_ms; /* inclusive */
	size_t limit;
	bool is_backward;
	bool has_token;
	struct span token;
	struct log_place place; /* of the token */
	struct event *events; /* the oldest first */
	size_t count;
};

/* ---- what is asked ---- */

static enum status read_token(struct reading *r, struct error *err)
{
	struct logs_token token;

	r->token = SPAN("");
	aws_string(r->call, "nextToken", &r->token);
	r->is_backward = !json_is_true(json_get(r->call->input, "startFromHead"));
	if (!r->token.len)
		return OK;
	if (!logs_token_read(r->token, r->stream.full, &token) || token.is_by_time != r->has_range)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException", "The specified nextToken is invalid.");
	r->has_token = true;
	r->is_backward = token.is_backward;
	r->place = (struct log_place){token.ts_ms, r->stream.view.stream_id, token.line};
	return OK;
}

static enum status read_request(struct reading *r, struct error *err)
{
	int64_t limit = LOGS_PAGE_EVENTS, end_ms = INT64_MAX;
	struct logs_name name;

	TRY(logs_stream_name(r->call, &name, err));
	TRY(logs_find_stream(r->call, &name, &r->stream, err));
	r->from_ms = INT64_MIN;
	bool has_from = aws_integer(json_get(r->call->input, "startTime"), &r->from_ms);
	bool has_end = aws_integer(json_get(r->call->input, "endTime"), &end_ms);
	r->has_range = has_from || has_end;
	r->to_ms = has_end ? end_ms - 1 : INT64_MAX;
	aws_integer(json_get(r->call->input, "limit"), &limit);
	r->limit = (size_t)limit;
	return read_token(r, err);
}

/* ---- in order of arrival ---- */

static enum status take_merged(struct reading *r, const struct merged_line *lines, size_t count, struct error *err)
{
	r->events = arena_alloc(r->call->arena, (count + 1) * sizeof *r->events);
	if (!r->events)
		return error_no_memory(err);
	r->count = 0;
	for (size_t i = 0; i < count; i++)
		if (lines[i].line.number >= r->stream.view.first_line)
			r->events[r->count++] = (struct event){lines[i].place, lines[i].line.ts_ms, lines[i].line.text};
	return OK;
}

static enum status read_by_arrival(struct reading *r, struct error *err)
{
	struct merge merge = {.job = r->stream.name.job,
		.stream = r->stream.view.stream,
		.is_backward = r->is_backward,
		.after = r->has_token ? &r->place : NULL,
		.limit = r->limit,
		.max_bytes = LOGS_PAGE_BYTES};
	struct merged_line *lines;
	struct log_place last;
	bool has_more;
	size_t count;

	do { /* lines of a stream that was deleted and made again come first */
		TRY(merge_read_lines(
			r->call->pipeline, r->call->reader, r->call->arena, &merge, &lines, &count, &has_more, err));
		TRY(take_merged(r, lines, count, err));
		if (count) {
			last = lines[count - 1].place;
			merge.after = &last;
		}
	} while (!r->count && count && has_more && !r->is_backward);
	return OK;
}

/* ---- in order of times ---- */

static enum status read_by_time(struct reading *r, struct error *err)
{
	struct log_search_stream only = {r->stream.view.stream_id, r->stream.view.first_line};
	struct log_search search = {.job = r->stream.name.job,
		.stream = r->stream.view.stream,
		.text = SPAN(""),
		.oldest_first = !r->is_backward,
		.from_ms = r->from_ms,
		.to_ms = r->to_ms,
		.after = r->has_token ? &r->place : NULL,
		.limit = r->limit,
		.text_bytes = SIZE_MAX / 2,
		.max_bytes = LOGS_PAGE_BYTES,
		.time_ms = INT32_MAX, /* the reader's deadline holds */
		.streams = &only,
		.stream_count = 1};
	struct log_search_result result;

	TRY(log_search_run(r->call->pipeline, r->call->reader, r->call->arena, &search, &result, err));
	r->events = arena_alloc(r->call->arena, (result.count + 1) * sizeof *r->events);
	if (!r->events)
		return error_no_memory(err);
	for (size_t i = 0; i < result.count; i++) {
		const struct log_hit *hit = &result.hits[r->is_backward ? result.count - 1 - i : i];
		r->events[r->count++] = (struct event){hit->place, hit->place.ts_ms, hit->text};
	}
	return OK;
}

/* ---- the reply ---- */

static void put_token(struct reading *r, const char *key, bool is_backward, const struct log_place *place)
{
	struct logs_token token = {is_backward, r->has_range, place->ts_ms, place->line};
	char text[LOGS_TOKEN_BYTES];

	logs_token_print(&token, r->stream.full, text);
	json_put_text(&r->call->w, key, text);
}

/* At the end of the stream its client gets the same token again: that is how it knows. */
static void put_tokens(struct reading *r)
{
	struct log_place before = r->has_token ? r->place : (struct log_place){0, 0, 0}, behind = before;

	if (r->count) {
		before = r->events[0].place;
		behind = r->events[r->count - 1].place;
	} else if (r->has_token && r->is_backward) {
		behind.line -= behind.line > 0; /* the line that the token names is behind */
	} else if (r->has_token) {
		before.line++;
	} else {
		before.ts_ms = behind.ts_ms = r->has_range && r->from_ms > 0 ? r->from_ms - 1 : 0;
		before.line = behind.line = r->has_range && r->from_ms > 0 ? UINT64_MAX : 0;
	}
	if (!r->count && r->has_token && !r->is_backward)
		json_put_span(&r->call->w, "nextForwardToken", r->token);
	else
		put_token(r, "nextForwardToken", false, &behind);
	if (!r->count && r->has_token && r->is_backward)
		json_put_span(&r->call->w, "nextBackwardToken", r->token);
	else
		put_token(r, "nextBackwardToken", true, &before);
}

enum status logs_get_events(struct aws_call *call, struct error *err)
{
	struct reading r = {.call = call};

	TRY(read_request(&r, err));
	if (r.stream.view.stream_id)
		TRY(r.has_range ? read_by_time(&r, err) : read_by_arrival(&r, err));
	json_key(&call->w, "events");
	json_array(&call->w);
	for (size_t i = 0; i < r.count; i++) {
		json_object(&call->w);
		json_put_i64(&call->w, "timestamp", r.events[i].ts_ms);
		json_put_span(&call->w, "message", r.events[i].text);
		json_put_i64(&call->w, "ingestionTime", r.events[i].ts_ms);
		json_object_end(&call->w);
	}
	json_array_end(&call->w);
	put_tokens(&r);
	return OK;
}
