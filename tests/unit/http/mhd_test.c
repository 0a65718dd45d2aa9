#include "toy_server.h"

#include <errno.h>

TEST(inline_and_worker_share_a_connection)
{
	START;
	CONNECT;
	check_ask(&client, "GET /inline/a%2Fb?tag=x+y%26&limit=7 HTTP/1.1\r\n" HOST "\r\n", 200,
		"{\"segment\":\"a/b\",\"limit\":7,\"tag\":\"x y&\",\"worker\":false");
	check_ask(&client, "POST /worker/w HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 200,
		"\"worker\":true,\"who\":\"\",\"body\":\"hello\"");
	check_ask(&client,
		"PUT /worker/w HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		200, "\"body\":\"abcde\"");
	check_ask(&client, "GET /inline/again HTTP/1.1\r\n" HOST "\r\n", 200, "again");
}

TEST(bad_requests_have_problems)
{
	START;
	CONNECT;
	check_ask(&client, "GET /nothing HTTP/1.1\r\n" HOST "\r\n", 404, "\"status\":404");
	check_ask(&client, "GET /inline/x?limits=7 HTTP/1.1\r\n" HOST "\r\n", 400, "did you mean 'limit'?");
	check_ask(&client, "GET /inline/x?limit=11 HTTP/1.1\r\n" HOST "\r\n", 400, "\"field\":\"limit\"");
	check_ask(&client, "GET /inline/%zz HTTP/1.1\r\n" HOST "\r\n", 400, "two hexadecimal digits");
	check_ask(&client, "GET /inline/x HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "evil.example");
	check_ask(&client,
		"POST /worker/x HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\nContent-Length: 1\r\n\r\nx", 403,
		"evil.example");
	AUTO_DONE(client) second = client_open(http_server_port(fixture.server));
	check_ask(&second, "GET /inline/x HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", 200, "x");
	check_ask(&second, "POST /worker/x HTTP/1.1\r\n" HOST "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", 415,
		"br");
}

/* What a proxy in front may have read otherwise: answered by 400, and nothing that follows is taken for a request. */
TEST(ambiguous_framing_ends_the_connection)
{
	static const char *const heads[] = {"POST /worker/x HTTP/1.1\r\n" HOST
					    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST /worker/x HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 4\r\n\r\n",
		"POST /worker/x HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"POST /worker/x HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"POST /worker/x HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n",
		"GET /inline/x HTTP/1.1\r\n" HOST "Host: other.example\r\n\r\n"};
	START;

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		CONNECT;
		check_ask(&client, heads[i], 400, "\"status\":400");
		client_send_bytes(&client, "GET /inline/x HTTP/1.1\r\n" HOST "\r\n", 26);
		CHECK(client_is_closed(&client));
		CHECK(span_find(buf_span(&client.received), SPAN("HTTP/1.1")) < 0);
	}
}

TEST(a_door_of_another_protocol)
{
	static const struct {
		const char *request;
		int status;
		const char *text;
	} cases[] = {
		{"POST /foreign/x HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", 403, "refused x: no key"},
		{"POST /foreign/x HTTP/1.1\r\n" HOST
		 "Key: k\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nas it is",
			200, "as it is"},
		{"POST /foreign/fail HTTP/1.1\r\n" HOST "Key: k\r\nContent-Length: 0\r\n\r\n", 409,
			"refused fail: at once"},
		{"POST /foreign/x HTTP/1.1\r\n" HOST "Key: k\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n",
			413, "refused x: the body is larger than 65536 bytes"},
	};
	START;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CONNECT;
		check_ask(&client, cases[i].request, cases[i].status, cases[i].text);
	}
}

TEST(deferred_replies)
{
	START;
	for (int i = 0; i < 50; i++) {
		CONNECT;
		check_ask(&client, "POST /foreign/late HTTP/1.1\r\n" HOST "Key: k\r\nContent-Length: 0\r\n\r\n", 200,
			"in time");
		check_ask(&client, "POST /foreign/back HTTP/1.1\r\n" HOST "Key: k\r\nContent-Length: 2\r\n\r\nhi", 200,
			"hi");
		check_ask(&client, "POST /foreign/late-fail HTTP/1.1\r\n" HOST "Key: k\r\nContent-Length: 0\r\n\r\n",
			429, "refused late-fail: in the end");
	}
}

TEST(stop_outlives_an_owed_reply)
{
	struct fixture fixture = fixture_start(&(struct http_options){.io_threads = 1, .workers = 1});
	CONNECT;

	lock();
	toy.is_waker_holding = true;
	unlock();
	client_send(&client, "POST /foreign/late HTTP/1.1\r\n" HOST "Key: k\r\nContent-Length: 0\r\n\r\n");
	WAIT_UNTIL(toy.deferred != NULL);
	http_server_free(fixture.server, 100);
	CHECK(client_is_closed(&client));
	lock();
	toy.is_waker_holding = false;
	unlock();
	WAIT_UNTIL(toy.deferred == NULL);
	fixture.server = NULL;
	fixture_done(&fixture);
}

TEST(method_and_allow)
{
	START;
	CONNECT;
	AUTO_DONE(reply) wrong = client_ask(&client, "DELETE /worker/x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(wrong.status, 405);
	CHECK_SPAN(reply_header(&wrong, "Allow"), SPAN("POST, PUT, OPTIONS"));
	AUTO_DONE(reply) options = client_ask(&client, "OPTIONS /inline/x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(options.status, 204);
	CHECK_SPAN(reply_header(&options, "Allow"), SPAN("GET, HEAD, OPTIONS"));
	AUTO_DONE(reply) head = client_ask(&client, "HEAD /inline/x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(head.status, 200);
	CHECK(reply_header(&head, "Content-Length").len > 0);
	CHECK_SPAN(reply_header(&head, "X-Content-Type-Options"), SPAN("nosniff"));
	CHECK_SPAN(reply_header(&head, "Cache-Control"), SPAN("no-store"));
	AUTO_DONE(reply) stream = client_ask(&client, "HEAD /stream HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(stream.status, 200);
	CHECK_SPAN(reply_header(&stream, "Content-Type"), SPAN("text/event-stream"));
	WAIT_UNTIL(toy.freed_streams == 1);
}

TEST(tokens_and_scopes)
{
	START;
	CONNECT;
	AUTO_DONE(reply) nobody = client_ask(&client, "GET /private HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(nobody.status, 401);
	CHECK_SPAN(reply_header(&nobody, "WWW-Authenticate"), SPAN("Bearer"));
	check_ask(&client, "GET /private HTTP/1.1\r\n" HOST "Authorization: bearer secret\r\n\r\n", 200,
		"\"who\":\"reader\"");
	check_ask(&client, "GET /private HTTP/1.1\r\n" HOST "Cookie: a=b; smfleet_session=sms_secret\r\n\r\n", 200,
		"reader");
	check_ask(&client,
		"POST /private HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\nContent-Length: 0\r\n\r\n", 403,
		"scope 'admin'");
	check_ask(&client, "GET /inline/x HTTP/1.1\r\n" HOST "Authorization: Bearer stale\r\n\r\n", 200, "x");
	CHECK_INT(atomic_load(&http_server_counters(fixture.server)->refused_auth), 2);
}

TEST(buffered_bodies_have_a_limit)
{
	static char body[WORKER_BODY_BYTES + 1];
	char head[200];
	START;

	memset(body, 'x', sizeof body);
	for (size_t excess = 0; excess < 2; excess++) {
		CONNECT;
		snprintf(head, sizeof head, "POST /worker/w HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n",
			sizeof body - 1 + excess);
		client_send(&client, head);
		CHECK(client_send_bytes(&client, body, sizeof body - 1 + excess));
		AUTO_DONE(reply) reply = client_read_reply(&client, false);
		CHECK_INT(reply.status, excess ? 413 : 200);
		if (excess)
			check_has(&reply, "larger than 65536 bytes");
	}
	CONNECT;
	check_ask(&client,
		"GET /private HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\nContent-Length: 1\r\n\r\nx", 413,
		"takes no body");
}

TEST(replies_are_compressed_when_asked)
{
	char request[8300];
	START;
	CONNECT;

	int head = snprintf(request, sizeof request,
		"POST /worker/w HTTP/1.1\r\n" HOST "Accept-Encoding: br, gzip;q=0.5\r\nContent-Length: 8000\r\n\r\n");
	memset(request + head, 'y', 8000);
	CHECK(client_send_bytes(&client, request, (size_t)head + 8000));
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 200);
	CHECK_SPAN(reply_header(&reply, "Content-Encoding"), SPAN("gzip"));
	CHECK(reply.body.len < 500);
	check_ask(&client, "POST /worker/w HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi",
		200, "hi");
}

static void wake_stream(const char *text, bool is_over)
{
	lock();
	snprintf(toy.text, sizeof toy.text, "%s", text);
	toy.is_stream_over = is_over;
	if (toy.stream) /* under the lock: stream_free waits for it, so that no wake comes behind it */
		http_stream_wake(toy.stream);
	unlock();
}

TEST(streams_send_what_comes)
{
	START;
	CONNECT;
	client_send(&client, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
	CHECK(client_wait_for(&client, "text/event-stream"));
	CHECK(client_wait_for(&client, ": hello\n\n"));
	for (int i = 0; i < 50; i++) {
		char text[32];
		snprintf(text, sizeof text, "data: %d\n\n", i);
		wake_stream(text, false);
		CHECK(client_wait_for(&client, text));
	}
	wake_stream("bye", true);
	CHECK(client_wait_for(&client, "bye"));
	CHECK(client_wait_for(&client, "0\r\n\r\n"));
	WAIT_UNTIL(toy.freed_streams == 1);
	check_ask(&client, "GET /inline/after HTTP/1.1\r\n" HOST "\r\n", 200, "after");
}

static int64_t ms_between(struct timespec a, struct timespec b)
{
	return (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
}

TEST(stop_ends_a_parked_stream_at_once)
{
	struct timespec before, after;
	struct fixture fixture = fixture_start(&(struct http_options){.io_threads = 2});
	CONNECT;

	client_send(&client, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
	CHECK(client_wait_for(&client, ": hello\n\n"));
	clock_gettime(CLOCK_MONOTONIC, &before);
	fixture_done(&fixture);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK(ms_between(before, after) < 1000);
	CHECK(client_wait_for(&client, "0\r\n\r\n"));
	CHECK_INT(toy.freed_streams, 1);
}

TEST(a_reply_that_fails_in_the_middle_breaks_and_is_counted)
{
	char bytes[256];
	START;
	CONNECT;
	AUTO_DONE(client) old = client_open(http_server_port(fixture.server));

	client_send(&client, "GET /pieces/3 HTTP/1.1\r\n" HOST "\r\n");
	CHECK(client_wait_for(&client, "piece 2;"));
	CHECK(client_is_closed(&client));
	CHECK(span_find(buf_span(&client.received), SPAN("0\r\n\r\n")) < 0);
	client_send(&old, "GET /pieces/2 HTTP/1.0\r\n" HOST "\r\n");
	ssize_t got;
	while ((got = recv(old.fd, bytes, sizeof bytes, 0)) > 0)
		;
	CHECK(got < 0 && errno == ECONNRESET); /* its end of input would be the end of the body */
	CHECK_INT(atomic_load(&http_server_counters(fixture.server)->cut_replies), 2);
}

TEST(quiesce_refuses_new_uploads)
{
	START;
	CONNECT;
	check_ask(&client, "GET /inline/x HTTP/1.1\r\n" HOST "\r\n", 200, "x");
	http_server_quiesce(fixture.server);
	check_ask(&client, "GET /inline/y HTTP/1.1\r\n" HOST "\r\n", 200, "y");
	check_ask(&client, "POST /upload HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx", 503, "stopping");
}

TEST(requests_are_rationed)
{
	AUTO_DONE(fixture) fixture = fixture_start(&(struct http_options){.io_threads = 1, .rate_requests_per_s = 1});
	CONNECT;

	check_ask(&client, "GET /inline/1 HTTP/1.1\r\n" HOST "\r\n", 200, "1");
	check_ask(&client, "GET /inline/2 HTTP/1.1\r\n" HOST "\r\n", 200, "2");
	AUTO_DONE(reply) reply = client_ask(&client, "GET /inline/3 HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(reply.status, 429);
	CHECK_SPAN(reply_header(&reply, "Retry-After"), SPAN("1"));
}

/* One connection, from before the routes to after them. */
TEST(a_server_answers_before_it_serves)
{
	struct http_server *server;
	struct http_options options = {.listen = "127.0.0.1:0"};

	CHECK_OK(http_server_listen(&server, &options, not_yet, &err));
	AUTO_DONE(client) client = client_open(http_server_port(server));
	check_ask(&client, "GET /alive HTTP/1.1\r\n" HOST "\r\n", 200, "alive");
	AUTO_DONE(reply) reply = client_ask(&client, "GET /inline/x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(reply.status, 503);
	CHECK_SPAN(reply_header(&reply, "Retry-After"), SPAN("1"));
	check_has(&reply, "no routes yet");
	check_ask(&client, "POST /worker/w HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 503, "no routes yet");
	AUTO_DONE(client) stranger = client_open(http_server_port(server));
	check_ask(&stranger, "GET /alive HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "evil.example");
	AUTO_DONE(client) second = client_open(http_server_port(server));
	check_ask(&second, "GET /inline/x HTTP/1.1\r\n" HOST "\r\n", 503, "no routes yet");

	CHECK_OK(http_server_serve(server, routes, sizeof routes / sizeof *routes, &hooks, &err));
	check_ask(&second, "GET /inline/x HTTP/1.1\r\n" HOST "\r\n", 200, "x");
	check_ask(&second, "POST /worker/w HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 200, "hello");
	check_ask(&second, "GET /alive HTTP/1.1\r\n" HOST "\r\n", 404, "nothing at");
	http_server_free(server, 5000);
}

TEST(a_server_that_never_served_ends)
{
	struct http_server *server;

	CHECK_OK(http_server_listen(&server, &(struct http_options){.listen = "127.0.0.1:0"}, not_yet, &err));
	AUTO_DONE(client) client = client_open(http_server_port(server));
	check_ask(&client, "GET /alive HTTP/1.1\r\n" HOST "\r\n", 200, "alive");
	http_server_free(server, 5000);
	CHECK(client_is_closed(&client));
}

TEST(bad_addresses_are_named)
{
	struct http_server *server;

	CHECK_FAILS(http_server_listen(&server, &(struct http_options){.listen = "nowhere"}, not_yet, &err),
		ERR_INVALID, "'nowhere'");
	START;
	char taken[64];
	snprintf(taken, sizeof taken, "127.0.0.1:%u", http_server_port(fixture.server));
	CHECK_FAILS(http_server_listen(&server, &(struct http_options){.listen = taken}, not_yet, &err), ERR_IO, taken);
}
