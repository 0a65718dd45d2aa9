#include "aws/protocol/put_events.h"

#include "base/hash128.h"
#include "ingest/lines/lines.h"

#include <math.h>
#include <stdio.h>

static const int64_t hour_ms = 60 * 60 * 1000;

void put_events_done(struct put_events *put)
{
	buf_done(&put->text);
}

/* ---- the members ---- */

static enum status violated(
	struct put_events *put, const char *field, struct span value, const char *constraint, struct error *err)
{
	put->wrong = value;
	return error_set_field(err, ERR_SEMANTIC, field, "%s", constraint);
}

static struct span value_at(const struct json_scan *before, const struct json_scan *behind)
{
	return span_trim(span_of(before->at, (size_t)(behind->at - before->at)));
}

/* A value of another type: it is taken, so that it can be told. */
static enum status other_type(
	struct put_events *put, struct json_scan *s, const char *field, const char *what, struct error *err)
{
	struct json_scan before = *s;

	TRY(json_scan_skip(s, err));
	return violated(put, field, value_at(&before, s), what, err);
}

static enum status read_name(
	struct put_events *put, struct json_scan *s, const char *field, struct span *out, bool *has, struct error *err)
{
	struct ndjson_value raw;
	struct span name;

	if (json_scan_null(s))
		return OK;
	if (json_scan_peek(s) != '"')
		return other_type(put, s, field, "Member must be a string", err);
	TRY(json_scan_text(s, &raw, err));
	buf_reset(&put->text);
	TRY(json_scan_decode(s, &raw, &put->text, &name, err));
	*out = arena_copy(put->arena, name);
	*has = true;
	return out->ptr ? OK : error_no_memory(err);
}

static enum status read_member(
	struct put_events *put, struct json_scan *s, const struct ndjson_value *key, struct error *err)
{
	if (json_scan_is(key, "logGroupName"))
		return read_name(put, s, "logGroupName", &put->group, &put->has_group, err);
	if (json_scan_is(key, "logStreamName"))
		return read_name(put, s, "logStreamName", &put->stream, &put->has_stream, err);
	if (!json_scan_is(key, "logEvents"))
		return json_scan_skip(s, err);
	if (json_scan_null(s))
		return OK;
	if (json_scan_peek(s) != '[')
		return other_type(put, s, "logEvents", "Member must be a list", err);
	put->events = *s;
	put->has_events = true;
	return json_scan_skip(s, err);
}

static enum status check_members(struct put_events *put, struct error *err)
{
	static const char missing[] = "Member must not be null";
	struct span null = SPAN("");

	if (!put->has_group)
		return violated(put, "logGroupName", null, missing, err);
	if (!put->has_stream)
		return violated(put, "logStreamName", null, missing, err);
	return put->has_events ? OK : violated(put, "logEvents", null, missing, err);
}

enum status put_events_open(struct put_events *put, struct error *err)
{
	struct json_scan s = json_scan_on(put->body);
	struct ndjson_value key;
	bool is_end;

	put->text = BUF_INIT(put->body.len + 1);
	TRY(json_scan_open(&s, '{', err));
	for (;;) {
		TRY(json_scan_key(&s, &key, &is_end, err));
		if (is_end)
			break;
		TRY(read_member(put, &s, &key, err));
	}
	TRY(json_scan_end(&s, err));
	return check_members(put, err);
}

/* ---- events ---- */

struct event {
	bool has_timestamp, has_message;
	int64_t ts_ms;
	struct span message; /* in the body, or in put->text */
};

/* The common case first: plain digits. */
static bool is_integer(struct span number, int64_t *out)
{
	double value;

	if (span_parse_i64(number, out))
		return true;
	if (!span_parse_double(number, &value) || !(fabs(value) < 9e15) || value != floor(value))
		return false;
	*out = (int64_t)value;
	return true;
}

static enum status read_timestamp(struct put_events *put, struct json_scan *s, struct event *event, struct error *err)
{
	struct json_scan before = *s;
	struct span number;
	char field[64];

	snprintf(field, sizeof field, "logEvents[%zu].timestamp", put->count);
	if (json_scan_null(s))
		return OK;
	char c = json_scan_peek(s);
	if (c != '-' && (c < '0' || c > '9'))
		return other_type(put, s, field, "Member must be an integer", err);
	TRY(json_scan_number(s, &number, err));
	if (!is_integer(number, &event->ts_ms))
		return violated(put, field, value_at(&before, s), "Member must be an integer", err);
	if (event->ts_ms < 0)
		return violated(put, field, number, "Member must have value greater than or equal to 0", err);
	event->has_timestamp = true;
	return OK;
}

static enum status read_message(struct put_events *put, struct json_scan *s, struct event *event, struct error *err)
{
	struct ndjson_value raw;
	char field[64];

	if (json_scan_null(s))
		return OK;
	snprintf(field, sizeof field, "logEvents[%zu].message", put->count);
	if (json_scan_peek(s) != '"')
		return other_type(put, s, field, "Member must be a string", err);
	TRY(json_scan_text(s, &raw, err));
	buf_reset(&put->text);
	TRY(json_scan_decode(s, &raw, &put->text, &event->message, err));
	if (!event->message.len)
		return violated(put, field, event->message, "Member must have length greater than or equal to 1", err);
	event->has_message = true;
	return OK;
}

static enum status missing(struct put_events *put, const char *member, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "logEvents[%zu].%s", put->count, member);
	return violated(put, field, SPAN(""), "Member must not be null", err);
}

static enum status read_event(struct put_events *put, struct json_scan *s, struct event *event, struct error *err)
{
	struct ndjson_value key;
	char field[64];
	bool is_end;

	*event = (struct event){.ts_ms = 0};
	if (json_scan_peek(s) != '{') {
		snprintf(field, sizeof field, "logEvents[%zu]", put->count);
		return other_type(put, s, field, "Member must be a structure", err);
	}
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		if (json_scan_is(&key, "timestamp"))
			TRY(read_timestamp(put, s, event, err));
		else if (json_scan_is(&key, "message"))
			TRY(read_message(put, s, event, err));
		else
			TRY(json_scan_skip(s, err));
	}
	if (!event->has_timestamp)
		return missing(put, "timestamp", err);
	return event->has_message ? OK : missing(put, "message", err);
}

/* ---- limits ---- */

static enum status check_order(struct put_events *put, const struct event *event, struct error *err)
{
	if (put->count && event->ts_ms < put->last_ms)
		return error_set(err, ERR_SEMANTIC,
			"Log events in a single PutLogEvents request must be in chronological order.");
	put->last_ms = event->ts_ms;
	return OK;
}

/* Events are in order: those in front are too old, those at the end too new. */
static bool is_rejected(struct put_events *put, const struct event *event)
{
	if (event->ts_ms < put->now_ms - 14 * 24 * hour_ms) {
		put->too_old_end = put->count + 1;
		return true;
	}
	if (event->ts_ms < put->kept_from_ms) {
		put->expired_end = put->count + 1;
		return true;
	}
	if (event->ts_ms <= put->now_ms + 2 * hour_ms)
		return false;
	if (!put->has_too_new) {
		put->has_too_new = true;
		put->too_new_start = put->count;
	}
	return true;
}

static enum status check_span(struct put_events *put, const struct event *event, struct error *err)
{
	if (!put->taken)
		put->first_taken_ms = event->ts_ms;
	if (event->ts_ms - put->first_taken_ms > 24 * hour_ms)
		return error_set(err, ERR_SEMANTIC,
			"The batch of log events in a single PutLogEvents request cannot span more than 24 hours.");
	return OK;
}

static enum status add_event(struct put_events *put, struct batch *batch, struct batch_part *part,
	const struct event *event, struct error *err)
{
	size_t most = ingest_lines_max(PUT_BYTES_MAX);

	if (batch->line_count + ingest_count_lines(event->message) > most)
		return error_set(err, ERR_SEMANTIC, "the messages hold more than %zu lines", most);
	hash128_add(&part->push_hash, event->message);
	hash128_add_number(&part->push_hash, (uint64_t)event->ts_ms);
	put->taken++;
	return ingest_add_lines(batch, part, event->message, event->ts_ms, put->max_line_bytes) ? OK
												: error_no_memory(err);
}

static enum status take_event(
	struct put_events *put, struct json_scan *s, struct batch *batch, struct batch_part *part, struct error *err)
{
	struct event event;

	if (put->count == PUT_EVENTS_MAX)
		return violated(
			put, "logEvents", SPAN("[...]"), "Member must have length less than or equal to 10000", err);
	TRY(read_event(put, s, &event, err));
	put->bytes += event.message.len + PUT_EVENT_BYTES;
	if (put->bytes > PUT_BYTES_MAX)
		return error_set(err, ERR_SEMANTIC,
			"Upload too large: %zu bytes exceeds limit of %d (of the first %zu events, 26 for each)",
			put->bytes, PUT_BYTES_MAX, put->count + 1);
	TRY(check_order(put, &event, err));
	if (!is_rejected(put, &event)) {
		TRY(check_span(put, &event, err));
		TRY(add_event(put, batch, part, &event, err));
	}
	put->count++;
	return OK;
}

enum status put_events_read(struct put_events *put, struct batch *batch, struct batch_part *part, struct error *err)
{
	struct json_scan s = put->events;
	bool is_end;

	part->is_push = true;
	TRY(json_scan_open(&s, '[', err));
	for (;;) {
		TRY(json_scan_item(&s, &is_end, err));
		if (is_end)
			break;
		TRY(take_event(put, &s, batch, part, err));
	}
	if (!put->count)
		return violated(
			put, "logEvents", SPAN("[]"), "Member must have length greater than or equal to 1", err);
	return OK;
}
