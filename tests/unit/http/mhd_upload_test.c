#include "base/codec/inflate.h"
#include "toy_server.h"

static void send_chunks(struct client *client, size_t count, size_t bytes)
{
	static char chunk[1 << 16];
	char head[32];

	memset(chunk, 'z', sizeof chunk);
	snprintf(head, sizeof head, "%zx\r\n", bytes);
	for (size_t i = 0; i < count; i++) {
		if (!client_send_bytes(client, head, strlen(head)) || !client_send_bytes(client, chunk, bytes) ||
			!client_send_bytes(client, "\r\n", 2))
			return;
	}
}

TEST(chunked_upload)
{
	START;
	CONNECT;
	client_send(&client, "POST /upload HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	send_chunks(&client, 50, 40000);
	client_send(&client, "0\r\n\r\n");
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 200);
	check_has(&reply, "{\"bytes\":2000000}");
}

TEST(upload_waits_for_another_thread)
{
	START;
	CONNECT;
	client_send(&client, "POST /upload?mode=wait HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	send_chunks(&client, 100, 3000);
	client_send(&client, "0\r\n\r\n");
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 200);
	check_has(&reply, "{\"bytes\":300000}");
	CHECK_INT(toy.feeds_while_waiting, 0);
}

static void append_gzip(struct buf *out, size_t plain_bytes)
{
	AUTO_MEM char *plain = mem_zeroed(plain_bytes);

	CHECK_OK(deflate_gzip(span_of(plain, plain_bytes), 6, out, &err));
}

static void send_gzip(struct client *client, struct span body, size_t announced, const char *mode)
{
	char head[300];

	snprintf(head, sizeof head,
		"POST /upload?mode=%s HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", mode,
		announced);
	client_send(client, head);
	client_send_bytes(client, body.ptr, body.len);
}

TEST(gzip_upload_in_pieces_that_wait)
{
	AUTO_DONE(buf) body = BUF_INIT(1 << 20);
	START;
	CONNECT;

	append_gzip(&body, 5 << 20); /* a few KiB that become many pieces */
	send_gzip(&client, buf_span(&body), body.len, "wait");
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 200);
	check_has(&reply, "{\"bytes\":5242880}");
	CHECK(toy.largest_piece <= 64 << 10);
	CHECK_INT(toy.feeds_while_waiting, 0);
}

TEST(half_gzip_is_refused)
{
	AUTO_DONE(buf) body = BUF_INIT(1 << 20);
	START;
	CONNECT;

	append_gzip(&body, 1 << 20);
	send_gzip(&client, span_of(body.ptr, body.len / 2), body.len / 2, "count");
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 400);
	check_has(&reply, "cut off");
	CHECK_INT(toy.aborted, 1);
	CHECK_INT(toy.finished, 0);
}

TEST(gzip_bomb_stops_at_the_limit)
{
	AUTO_DONE(buf) body = BUF_INIT(1 << 20);
	START;
	CONNECT;

	append_gzip(&body, UPLOAD_BYTES + 1);
	send_gzip(&client, buf_span(&body), body.len, "count");
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 413);
	check_has(&reply, "--max-upload-bytes");
	CHECK_INT(toy.aborted, 1);
}

/* As Python's http.client does: the whole body first, then the reply. */
static void check_refused_after_sending(const char *mode, const char *length, int status, const char *text)
{
	static char body[BIG_BODY_BYTES];
	char head[300];
	START;
	CONNECT;

	snprintf(head, sizeof head, "POST /upload?mode=%s HTTP/1.1\r\n" HOST "%s\r\n\r\n", mode, length);
	client_send(&client, head);
	if (span_starts_with(span_from(length), SPAN("Content-Length"))) {
		uint64_t bytes = 0;
		CHECK(span_parse_u64(span_from(length + 16), &bytes));
		CHECK(client_send_bytes(&client, body, bytes));
	} else {
		send_chunks(&client, 400, 50000);
		client_send_bytes(&client, "0\r\n\r\n", 5);
	}
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, status);
	check_has(&reply, text);
	CHECK_INT(toy.finished, 0);
	CHECK_INT(toy.uploads_open, 0);
}

TEST(refusal_reaches_who_sends_first)
{
	check_refused_after_sending("refuse", "Content-Length: 500000", 429, "not now");
	check_refused_after_sending("refuse", "Content-Length: 20971520", 429, "not now");
	check_refused_after_sending("fail", "Content-Length: 500000", 413, "line 7");
	check_refused_after_sending("fail", "Content-Length: 20971520", 413, "line 7");
	check_refused_after_sending("refuse", "Transfer-Encoding: chunked", 429, "not now");
	check_refused_after_sending("fail", "Transfer-Encoding: chunked", 413, "line 7");
}

TEST(refusal_comes_while_an_endless_body_goes_on)
{
	START;
	CONNECT;
	client_send(&client, "POST /upload?mode=fail HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	send_chunks(&client, 3, 50000);
	AUTO_DONE(reply) reply = client_read_reply(&client, false);
	CHECK_INT(reply.status, 413);
	CHECK_SPAN(reply_header(&reply, "Connection"), SPAN("close"));
}

TEST(expecting_clients_are_refused_before_they_send)
{
	START;
	CONNECT;
	AUTO_DONE(reply)
	refused = client_ask(&client, "POST /upload?mode=refuse HTTP/1.1\r\n" HOST
				      "Expect: 100-continue\r\nContent-Length: 20971520\r\n\r\n");
	CHECK_INT(refused.status, 429);
	CHECK_SPAN(reply_header(&refused, "Retry-After"), SPAN("1"));
	AUTO_DONE(client) second = client_open(http_server_port(fixture.server));
	client_send(&second, "POST /upload HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	CHECK(client_wait_for(&second, "100 Continue\r\n\r\n"));
	check_ask(&second, "abc", 200, "{\"bytes\":3}");
}

TEST(a_lost_client_aborts_its_upload_once)
{
	START;
	CONNECT;
	client_send(&client, "POST /upload HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\nbegin");
	WAIT_UNTIL(toy.bytes == 5);
	client_done(&client);
	WAIT_UNTIL(toy.aborted == 1);
	CHECK_INT(toy.finished, 0);
	CHECK_INT(toy.uploads_open, 0);
}

/* The end of input comes together with the last bytes, before the server has looked at the connection. */
TEST(a_client_lost_at_once_is_noticed)
{
	START;
	for (int i = 1; i <= 20; i++) {
		CONNECT;
		client_send(&client, i % 2 ? "POST /upload HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\nbegin"
					   : "POST /upload HTTP/1.1\r\n" HOST
					     "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
		client_done(&client);
		WAIT_UNTIL(toy.aborted == i);
	}
}

TEST(a_whole_chunked_body_before_the_end_of_input_is_answered)
{
	START;
	for (int i = 0; i < 20; i++) {
		CONNECT;
		client_send(&client, "POST /upload HTTP/1.1\r\n" HOST
				     "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
		shutdown(client.fd, SHUT_WR);
		AUTO_DONE(reply) reply = client_read_reply(&client, false);
		CHECK_INT(reply.status, 200);
		check_has(&reply, "{\"bytes\":5}");
	}
}

/* The wake-up of a suspended upload comes only after the server is gone. */
TEST(stop_outlives_an_owed_wake_up)
{
	struct fixture fixture = fixture_start(&(struct http_options){.io_threads = 1});
	CONNECT;

	lock();
	toy.is_waker_holding = true;
	unlock();
	client_send(&client, "POST /upload?mode=wait HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\nbegin");
	WAIT_UNTIL(toy.waiting != NULL);
	http_server_free(fixture.server, 100);
	CHECK_INT(toy.aborted, 0);
	lock();
	toy.is_waker_holding = false;
	unlock();
	WAIT_UNTIL(toy.aborted == 1);
	fixture.server = NULL;
	fixture_done(&fixture);
}
