#include "cli/http/http_reply.h"
#include "test.h"

#include <stdio.h>

/* Every way to cut the bytes into two pieces, and one byte at a time, must give the same reply. */
static void check_reply(struct span bytes, int code, struct span body, bool closes, bool needs_end)
{
	for (size_t cut = 0; cut <= bytes.len + 1; cut++) {
		AUTO_DONE(http_reply) reply;
		http_reply_init(&reply, 1000);
		if (cut <= bytes.len) {
			CHECK_OK(http_reply_feed(&reply, span_of(bytes.ptr, cut), &err));
			CHECK_OK(http_reply_feed(&reply, span_skip(bytes, cut), &err));
		} else {
			for (size_t i = 0; i < bytes.len; i++)
				CHECK_OK(http_reply_feed(&reply, span_of(bytes.ptr + i, 1), &err));
		}
		CHECK_INT(http_reply_is_complete(&reply), !needs_end);
		CHECK_OK(http_reply_end(&reply, &err));
		CHECK_INT(reply.status_code, code);
		CHECK_SPAN(buf_span(&reply.body), body);
		CHECK_INT(reply.closes, closes);
	}
}

TEST(http_reply_with_a_length)
{
	check_reply(SPAN("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 200, SPAN("hello"), false, false);
	check_reply(SPAN("HTTP/1.1 201\r\ncontent-length: 0\r\nConnection: close\r\n\r\n"), 201, SPAN(""), true, false);
	check_reply(SPAN("HTTP/1.0 200 OK\nContent-Length: 2\n\nab"), 200, SPAN("ab"), true, false);
	check_reply(SPAN("HTTP/1.1 204 No Content\r\n\r\n"), 204, SPAN(""), false, false);
}

TEST(http_reply_in_chunks)
{
	check_reply(
		SPAN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"),
		200, SPAN("abc0123456789"), false, false);
}

TEST(http_reply_until_the_end)
{
	check_reply(SPAN("HTTP/1.1 500 Oops\r\n\r\nall of it"), 500, SPAN("all of it"), true, true);
}

TEST(http_reply_after_an_interim_one)
{
	check_reply(SPAN("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"), 200, SPAN("x"),
		false, false);
}

TEST(http_reply_headers_that_matter)
{
	AUTO_DONE(http_reply) reply;
	http_reply_init(&reply, 1000);
	CHECK_OK(http_reply_feed(&reply,
		SPAN("HTTP/1.1 429 Busy\r\nRetry-After:  7 \r\nContent-Type: application/problem+json; charset=utf-8\r\n"
		     "Content-Length: 2\r\n\r\n{}"),
		&err));
	CHECK_INT(reply.retry_after_s, 7);
	CHECK(reply.is_problem && reply.is_json);
}

static void check_refused(struct span bytes, enum status status, const char *words)
{
	AUTO_DONE(http_reply) reply;
	http_reply_init(&reply, 10);
	CHECK_FAILS(http_reply_feed(&reply, bytes, &err), status, words);
}

TEST(http_reply_refuses_what_is_none)
{
	check_refused(SPAN("SSH-2.0-OpenSSH\r\n"), ERR_INVALID, "is not HTTP");
	check_refused(SPAN("HTTP/1.1 2x0 OK\r\n"), ERR_INVALID, "is not HTTP");
	check_refused(SPAN("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n"), ERR_INVALID, "'-1' is no length");
	check_refused(
		SPAN("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n"), ERR_INVALID, "is no length");
	check_refused(SPAN("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"), ERR_TOO_LARGE, "larger than 10 bytes");
	check_refused(
		SPAN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"), ERR_TOO_LARGE, "larger than 10");
	check_refused(SPAN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), ERR_INVALID,
		"'xyz' is no number");
	check_refused(
		SPAN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"), ERR_INVALID, "longer than");
	check_refused(SPAN("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n"), ERR_UNSUPPORTED, "'gzip' is not known");
	check_refused(SPAN("HTTP/1.1 200 OK\r\n\r\n01234567890"), ERR_TOO_LARGE, "larger than 10 bytes");
	check_refused(SPAN("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"), ERR_INVALID, "more bytes came");
	check_refused(SPAN("HTTP/1.1 200 OK\r\n: x\r\n"), ERR_INVALID, "without a name");
}

TEST(http_reply_bounds_its_head)
{
	AUTO_DONE(http_reply) reply;
	enum status status = OK;
	http_reply_init(&reply, 10);
	CHECK_OK(http_reply_feed(&reply, SPAN("HTTP/1.1 200 OK\r\n"), &err));
	for (int i = 0; i < 10000 && status == OK; i++)
		status = http_reply_feed(&reply, SPAN("X-Header: 0123456789\r\n"), NULL);
	CHECK_INT(status, ERR_TOO_LARGE);
}

TEST(http_reply_cut_off)
{
	AUTO_DONE(http_reply) reply;
	http_reply_init(&reply, 10);
	CHECK_OK(http_reply_feed(&reply, SPAN("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), &err));
	CHECK_FAILS(http_reply_end(&reply, &err), ERR_UNAVAILABLE, "in the middle");
}

TEST(a_reply_says_that_who_asks_may_not)
{
	AUTO_DONE(http_reply) reply;

	http_reply_init(&reply, 1000);
	CHECK_OK(http_reply_feed(&reply,
		SPAN("HTTP/1.1 403\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\"\r\nContent-Length: 0\r\n\r\n"),
		&err));
	CHECK(reply.status_code == 403 && reply.lacks_scope);
}
