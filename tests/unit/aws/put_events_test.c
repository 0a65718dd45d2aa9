#include "aws/protocol/put_events.h"
#include "test.h"

static const int64_t now_ms = INT64_C(1700000000000), hour_ms = 60 * 60 * 1000;

struct put_harness {
	struct arena *arena;
	struct put_events put;
	struct batch *batch;
	struct error err;
	enum status status;
};

static struct put_harness put_of(struct span body)
{
	struct put_harness h = {.arena = arena_new(), .batch = batch_new(now_ms)};

	h.put = (struct put_events){.body = body,
		.arena = h.arena,
		.now_ms = now_ms,
		.kept_from_ms = now_ms - 48 * hour_ms,
		.max_line_bytes = PUT_BYTES_MAX};
	h.status = put_events_open(&h.put, &h.err);
	if (h.status == OK)
		h.status = put_events_read(&h.put, h.batch, batch_part(h.batch, SPAN("j"), SPAN("s")), &h.err);
	return h;
}

static void done(struct put_harness *h)
{
	put_events_done(&h->put);
	batch_free(h->batch);
	arena_free(h->arena);
}

#define BODY(events) "{\"logEvents\":[" events "],\"logGroupName\":\"g\",\"logStreamName\":\"s\\u0031\",\"entity\":{}}"

TEST(members_come_in_any_order)
{
	struct put_harness h =
		put_of(SPAN(BODY("{\"message\":\"a\\nb\",\"timestamp\":1700000000000},"
				 "{\"timestamp\":1.700000000001e12,\"message\":\"\\u00e9\",\"more\":[1]}")));

	CHECK_INT(h.status, OK);
	CHECK_SPAN(h.put.group, SPAN("g"));
	CHECK_SPAN(h.put.stream, SPAN("s1"));
	CHECK_INT(h.put.count, 2);
	CHECK_INT(h.put.bytes, 3 + 2 + 2 * 26);
	const struct batch_part *part = &h.batch->parts[0];
	CHECK_INT(part->count, 3); /* a message of two lines is two lines */
	CHECK_SPAN(part->lines[1].text, SPAN("b"));
	CHECK_INT(part->lines[1].ts_ms, now_ms);
	CHECK_INT(part->lines[2].ts_ms, now_ms + 1);
	CHECK(part->is_push);
	done(&h);
}

static void check_fails(struct span body, const char *field, const char *words)
{
	struct put_harness h = put_of(body);

	CHECK(h.status == ERR_SEMANTIC || h.status == ERR_INVALID);
	CHECK_TEXT(h.err.field, field);
	if (span_find(span_from(h.err.text), span_from(words)) < 0)
		test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", h.err.text, words);
	done(&h);
}

TEST(what_is_wrong_is_named)
{
	check_fails(SPAN("{"), "", "line 1");
	check_fails(SPAN("{}"), "logGroupName", "null");
	check_fails(SPAN("{\"logGroupName\":7}"), "logGroupName", "a string");
	check_fails(SPAN("{\"logGroupName\":\"g\"}"), "logStreamName", "null");
	check_fails(SPAN("{\"logGroupName\":\"g\",\"logStreamName\":\"s\"}"), "logEvents", "null");
	check_fails(SPAN("{\"logGroupName\":\"g\",\"logStreamName\":\"s\",\"logEvents\":{}}"), "logEvents", "a list");
	check_fails(SPAN(BODY("")), "logEvents", "greater than or equal to 1");
	check_fails(SPAN(BODY("7")), "logEvents[0]", "a structure");
	check_fails(SPAN(BODY("{\"timestamp\":1}")), "logEvents[0].message", "null");
	check_fails(SPAN(BODY("{\"message\":\"x\"}")), "logEvents[0].timestamp", "null");
	check_fails(SPAN(BODY("{\"message\":\"x\",\"timestamp\":\"1\"}")), "logEvents[0].timestamp", "an integer");
	check_fails(SPAN(BODY("{\"message\":\"x\",\"timestamp\":1.5}")), "logEvents[0].timestamp", "an integer");
	check_fails(SPAN(BODY("{\"message\":\"x\",\"timestamp\":-1}")), "logEvents[0].timestamp", "equal to 0");
	check_fails(SPAN(BODY("{\"message\":[],\"timestamp\":1}")), "logEvents[0].message", "a string");
	check_fails(SPAN(BODY("{\"message\":\"\",\"timestamp\":1}")), "logEvents[0].message", "equal to 1");
	check_fails(SPAN(BODY("{\"message\":\"x\",\"timestamp\":1700000000001},"
			      "{\"message\":\"x\",\"timestamp\":1700000000000}")),
		"", "chronological");
}

static struct span events_of(struct buf *out, size_t count, size_t bytes, int64_t from_ms, int64_t step_ms)
{
	*out = BUF_INIT(64 << 20);
	buf_append_text(out, "{\"logGroupName\":\"g\",\"logStreamName\":\"s\",\"logEvents\":[");
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "%s{\"timestamp\":%lld,\"message\":\"", i ? "," : "",
			(long long)(from_ms + (int64_t)i * step_ms));
		for (size_t j = 0; j < bytes; j++)
			buf_append_char(out, 'x');
		buf_append_text(out, "\"}");
	}
	buf_append_text(out, "]}");
	return buf_span(out);
}

static enum status status_of(size_t count, size_t bytes, int64_t step_ms, const char *words)
{
	AUTO_DONE(buf) text = {0};
	struct put_harness h = put_of(events_of(&text, count, bytes, now_ms, step_ms));
	enum status status = h.status;

	CHECK(span_find(span_from(h.err.text), span_from(words)) >= 0);
	done(&h);
	return status;
}

TEST(limits_hold_to_the_byte)
{
	CHECK_INT(status_of(10000, 1, 0, ""), OK);
	CHECK_INT(status_of(10001, 1, 0, "less than or equal to 10000"), ERR_SEMANTIC);
	CHECK_INT(status_of(1, PUT_BYTES_MAX - 26, 0, ""), OK);
	CHECK_INT(status_of(1, PUT_BYTES_MAX - 25, 0, "1048577 bytes exceeds limit of 1048576"), ERR_SEMANTIC);
	CHECK_INT(status_of(2, PUT_BYTES_MAX / 2 - 26, 0, ""), OK);
	CHECK_INT(status_of(2, PUT_BYTES_MAX / 2 - 25, 0, "exceeds"), ERR_SEMANTIC);
}

TEST(old_and_new_events_are_rejected_one_by_one)
{
	AUTO_DONE(buf) text = {0};
	struct put_harness h = put_of(events_of(&text, 18 * 24 + 1, 1, now_ms - 16 * 24 * hour_ms, hour_ms));

	/* more than 24 hours of what is left is too much, whatever else is rejected */
	CHECK_INT(h.status, ERR_SEMANTIC);
	done(&h);
	buf_done(&text);
	/* -20 d, -10 d, 0, +10 d: too old, expired, taken, too new */
	h = put_of(events_of(&text, 4, 1, now_ms - 20 * 24 * hour_ms, 10 * 24 * hour_ms));
	CHECK_INT(h.status, OK);
	CHECK_INT(h.put.too_old_end, 1);
	CHECK_INT(h.put.expired_end, 2);
	CHECK_INT(h.put.taken, 1);
	CHECK(h.put.has_too_new);
	CHECK_INT(h.put.too_new_start, 3);
	done(&h);
}

TEST(edges_of_time_are_inside)
{
	AUTO_DONE(buf) text = {0};
	struct put_harness h = put_of(events_of(&text, 2, 1, now_ms + 2 * hour_ms, 1));

	CHECK_INT(h.put.taken, 1);
	CHECK_INT(h.put.too_new_start, 1);
	done(&h);
	buf_done(&text);
	h = put_of(events_of(&text, 2, 1, now_ms - 24 * hour_ms, 24 * hour_ms));
	CHECK_INT(h.status, OK);
	CHECK_INT(h.put.taken, 2);
	done(&h);
	buf_done(&text);
	h = put_of(events_of(&text, 2, 1, now_ms - 24 * hour_ms, 24 * hour_ms + 1));
	CHECK_INT(h.status, ERR_SEMANTIC);
	done(&h);
}
