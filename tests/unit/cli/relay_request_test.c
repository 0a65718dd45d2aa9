#include "cli/relay/relay_request.h"
#include "test.h"

#include <stdio.h>

/* Whole only with its last byte, however it is cut. */
static void check_request(struct span bytes, const char *path, const char *query, const char *body, bool closes)
{
	struct relay_request request;
	bool is_whole;

	for (size_t len = 0; len < bytes.len; len++) {
		CHECK_OK(relay_request_read(span_of(bytes.ptr, len), 100, &request, &is_whole, &err));
		CHECK_INT(is_whole, false);
	}
	CHECK_OK(relay_request_read(bytes, 100, &request, &is_whole, &err));
	CHECK_INT(is_whole, true);
	CHECK_INT(request.whole_bytes, bytes.len);
	CHECK_SPAN(request.path, span_from(path));
	CHECK_SPAN(request.query, span_from(query));
	CHECK_SPAN(request.body, span_from(body));
	CHECK_INT(request.closes, closes);
}

TEST(relay_request_forms)
{
	check_request(SPAN("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"), "/a", "b=c", "", false);
	check_request(
		SPAN("POST / HTTP/1.1\r\ncontent-length:  3 \r\nConnection: Close\r\n\r\nabc"), "/", "", "abc", true);
	check_request(SPAN("GET / HTTP/1.0\r\n\r\n"), "/", "", "", true);
	check_request(SPAN("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), "/", "", "", false);
}

TEST(relay_request_leaves_the_next_one)
{
	struct relay_request request;
	bool is_whole;

	CHECK_OK(relay_request_read(SPAN("PUT /a HTTP/1.1\r\nContent-Length: 1\r\nAuthorization: Bearer t\r\n\r\nxGET"),
		100, &request, &is_whole, &err));
	CHECK_INT(is_whole, true);
	CHECK_SPAN(request.method, SPAN("PUT"));
	CHECK_SPAN(request.authorization, SPAN("Bearer t"));
	CHECK_SPAN(request.body, SPAN("x"));
}

static void check_refused(struct span bytes, enum status status)
{
	struct relay_request request;
	bool is_whole;
	struct error cause = {0};

	CHECK_INT(relay_request_read(bytes, 100, &request, &is_whole, &cause), status);
	CHECK(cause.text[0]);
}

TEST(relay_request_refusals)
{
	check_refused(SPAN("\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET /\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET x HTTP/1.1\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET / HTTP/2\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET / HTTP/1.1\r\nnone\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n"), ERR_INVALID);
	check_refused(SPAN("GET / HTTP/1.1\r\nContent-Length: 101\r\n\r\n"), ERR_TOO_LARGE);
	check_refused(SPAN("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), ERR_UNSUPPORTED);
}

TEST(relay_request_head_at_its_limit)
{
	static const char start[] = "GET / HTTP/1.1\r\nX: ";
	AUTO_DONE(buf) bytes = BUF_INIT(1 << 20);
	struct relay_request request;
	bool is_whole;

	buf_append_text(&bytes, start);
	while (bytes.len < RELAY_HEAD_MAX_BYTES - 4)
		buf_append_char(&bytes, 'x');
	CHECK_OK(relay_request_read(buf_span(&bytes), 100, &request, &is_whole, &err));
	buf_append_text(&bytes, "\r\n\r\n");
	CHECK_OK(relay_request_read(buf_span(&bytes), 100, &request, &is_whole, &err));
	CHECK_INT(is_whole, true);
	bytes.len -= 4;
	buf_append_text(&bytes, "x\r\n\r\n");
	check_refused(buf_span(&bytes), ERR_TOO_LARGE);
}

TEST(relay_request_query)
{
	AUTO_DONE(buf) value = BUF_INIT(100);
	struct relay_request request = {.query = SPAN("a=1&name=a%20b%2Bc+d%&e")};

	CHECK_INT(relay_request_query(&request, "name", &value), true);
	CHECK_SPAN(buf_span(&value), SPAN("a b+c d%"));
	CHECK_INT(relay_request_query(&request, "a", &value), true);
	CHECK_SPAN(buf_span(&value), SPAN("1"));
	CHECK_INT(relay_request_query(&request, "none", &value), false);
}
