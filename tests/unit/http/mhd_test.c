#include "base/inflate.h"
#include "client.h"
#include "http/http.h"

#include <pthread.h>

#define HOST "Host: localhost\r\n"

enum { WORKER_BODY_BYTES = 64 << 10, UPLOAD_BYTES = 64 << 20, BIG_BODY_BYTES = 20 << 20, DRAIN_BYTES = 1 << 20, READER_ID = 7 };

/* What the toy routes saw. One mutex: the I/O threads, the waker and the test look at it. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct http_upload *waiting; /* for the waker */
	bool is_waker_ending;
	bool is_waker_holding; /* it leaves uploads asleep */
	int uploads_open;
	int begun, finished, aborted, feeds_while_waiting, freed_streams;
	bool is_asleep;
	uint64_t bytes;
	struct http_stream *stream;
	char text[64]; /* for the stream */
	bool is_stream_over;
} toy = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void lock(void)
{
	pthread_mutex_lock(&toy.mutex);
}

static void unlock(void)
{
	pthread_cond_broadcast(&toy.changed);
	pthread_mutex_unlock(&toy.mutex);
}

#define WAIT_UNTIL(condition)                                                                                          \
	do {                                                                                                           \
		lock();                                                                                                \
		while (!(condition))                                                                                   \
			pthread_cond_wait(&toy.changed, &toy.mutex);                                                   \
		unlock();                                                                                              \
	} while (0)

static enum status echo(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct span value = SPAN(""), body = http_request_body(request);
	int64_t limit = 5;

	(void)context;
	TRY(http_query_i64(request, "limit", 1, 10, &limit, err));
	http_request_query(request, "tag", &value);
	struct json_writer w = json_writer_on(&response->body);
	json_object(&w);
	json_put_span(&w, "segment", http_request_segment(request, 0));
	json_put_i64(&w, "limit", limit);
	json_put_span(&w, "tag", value);
	json_put_bool(&w, "worker", worker != NULL);
	json_put_text(&w, "who", http_request_principal(request)->name);
	json_put_span(&w, "body", body);
	json_object_end(&w);
	return OK;
}

static enum status upload_begin(void *context, const struct http_request *request, struct http_upload *handle, void **upload,
	struct error *err)
{
	struct span mode = SPAN("");

	(void)context;
	http_request_query(request, "mode", &mode);
	if (span_equal(mode, SPAN("refuse")))
		return error_set(err, ERR_BUSY, "not now");
	lock();
	toy.begun++;
	toy.uploads_open++;
	toy.bytes = 0;
	toy.waiting = NULL;
	toy.is_asleep = false;
	*upload = mem_alloc(sizeof(struct http_upload *) + 16);
	memcpy(*upload, &handle, sizeof handle);
	((char *)*upload)[sizeof handle] = mode.len ? mode.ptr[0] : 0;
	unlock();
	return OK;
}

static char mode_of(const void *upload)
{
	return ((const char *)upload)[sizeof(struct http_upload *)];
}

/* 'w': each piece waits for the waker; 'f': fails behind 100,000 bytes. */
static enum status upload_feed(void *upload, struct span bytes, bool *must_wait, struct error *err)
{
	enum status status = OK;

	CHECK(bytes.len <= 64 << 10);
	lock();
	toy.feeds_while_waiting += toy.is_asleep;
	toy.bytes += bytes.len;
	if (mode_of(upload) == 'f' && toy.bytes > 100000)
		status = error_set(err, ERR_TOO_LARGE, "line 7 is longer than --max-line-bytes");
	if (mode_of(upload) == 'w') {
		toy.is_asleep = *must_wait = true;
		memcpy(&toy.waiting, upload, sizeof toy.waiting);
	}
	unlock();
	return status;
}

static enum status upload_finish(void *upload, struct http_response *response, bool *must_wait, struct error *err)
{
	(void)must_wait;
	(void)err;
	lock();
	toy.finished++;
	toy.uploads_open--;
	buf_printf(&response->body, "{\"bytes\":%llu}", (unsigned long long)toy.bytes);
	unlock();
	mem_free(upload);
	return OK;
}

static void upload_abort(void *upload)
{
	lock();
	toy.aborted++;
	toy.uploads_open--;
	unlock();
	mem_free(upload);
}

static enum status stream_open(void *context, const struct http_request *request, struct http_stream *handle, void **stream,
	struct http_response *head, struct error *err)
{
	(void)context;
	(void)request;
	(void)err;
	lock();
	toy.stream = handle;
	toy.is_stream_over = false;
	snprintf(toy.text, sizeof toy.text, ": hello\n\n");
	*stream = &toy;
	unlock();
	head->content_type = "text/event-stream";
	return OK;
}

static ssize_t stream_read(void *stream, char *out, size_t room)
{
	(void)stream;
	lock();
	size_t len = strlen(toy.text);
	ssize_t bytes = len ? (ssize_t)len : toy.is_stream_over ? -1 : 0;
	CHECK(len <= room);
	memcpy(out, toy.text, len);
	toy.text[0] = 0;
	unlock();
	return bytes;
}

static void stream_free(void *stream)
{
	(void)stream;
	lock();
	toy.freed_streams++;
	toy.stream = NULL;
	unlock();
}

static void *wake_uploads(void *unused)
{
	(void)unused;
	lock();
	for (;;) {
		while ((!toy.waiting || toy.is_waker_holding) && !toy.is_waker_ending)
			pthread_cond_wait(&toy.changed, &toy.mutex);
		if (toy.is_waker_ending)
			break;
		struct http_upload *handle = toy.waiting;
		toy.waiting = NULL;
		toy.is_asleep = false;
		unlock();
		http_upload_resume(handle);
		lock();
	}
	unlock();
	return NULL;
}

static enum status authenticate(void *context, struct span token, struct principal *out, struct error *err)
{
	(void)context;
	if (!span_equal(token, SPAN("secret")))
		return error_set(err, ERR_UNAUTHORIZED, "this token is not known");
	*out = (struct principal){.scope = SCOPE_READ, .name = "reader", .id = READER_ID};
	return OK;
}

static enum status worker_new(void *context, void **worker, struct error *err)
{
	(void)context;
	(void)err;
	*worker = &toy;
	return OK;
}

static const struct http_upload_ops upload_ops = {upload_begin, upload_feed, upload_finish, upload_abort};
static const struct http_stream_ops stream_ops = {stream_open, stream_read, stream_free};
static const struct http_route routes[] = {
	{HTTP_GET, "/inline/{name}", SCOPE_PUBLIC, ROUTE_INLINE, echo, NULL, NULL, "limit tag", 0, ""},
	{HTTP_POST | HTTP_PUT, "/worker/{name}", SCOPE_PUBLIC, ROUTE_WORKER, echo, NULL, NULL, "", WORKER_BODY_BYTES, ""},
	{HTTP_GET, "/private", SCOPE_READ, ROUTE_WORKER, echo, NULL, NULL, "", 0, ""},
	{HTTP_POST, "/private", SCOPE_ADMIN, ROUTE_WORKER, echo, NULL, NULL, "", 0, ""},
	{HTTP_POST | HTTP_PUT, "/upload", SCOPE_PUBLIC, ROUTE_UPLOAD, NULL, &upload_ops, NULL, "mode", 0, ""},
	{HTTP_GET, "/stream", SCOPE_PUBLIC, ROUTE_STREAM, NULL, NULL, &stream_ops, "", 0, ""},
};
static const struct http_hooks hooks = {NULL, authenticate, worker_new, NULL};

struct fixture {
	struct http_server *server;
	pthread_t waker;
};

static struct fixture fixture_start(const struct http_options *options)
{
	struct fixture fixture = {0};
	struct http_options filled = *options;

	lock();
	toy.is_waker_ending = toy.is_waker_holding = toy.is_asleep = false;
	toy.waiting = NULL;
	toy.bytes = 0;
	toy.begun = toy.finished = toy.aborted = toy.feeds_while_waiting = toy.freed_streams = toy.uploads_open = 0;
	unlock();
	filled.listen = "127.0.0.1:0";
	filled.max_upload_bytes = UPLOAD_BYTES;
	filled.drain_bytes = DRAIN_BYTES;
	CHECK_OK(http_server_start(&fixture.server, &filled, routes, sizeof routes / sizeof *routes, &hooks, &err));
	CHECK(pthread_create(&fixture.waker, NULL, wake_uploads, NULL) == 0);
	return fixture;
}

static void fixture_done(struct fixture *fixture)
{
	http_server_free(fixture->server, 5000);
	lock();
	toy.is_waker_ending = true;
	unlock();
	pthread_join(fixture->waker, NULL);
}
AUTO_DONE_TYPE(fixture)

#define START AUTO_DONE(fixture) fixture = fixture_start(&(struct http_options){.io_threads = 2, .workers = 2})
#define CONNECT AUTO_DONE(client) client = client_open(http_server_port(fixture.server))

static void check_has(const struct reply *reply, const char *text)
{
	if (span_find(buf_span(&reply->body), span_from(text)) < 0)
		test_fail(__FILE__, __LINE__, "'%.*s' does not hold '%s'", SPAN_ARGS(buf_span(&reply->body)), text);
}

static void check_ask(struct client *client, const char *request, int status, const char *text)
{
	AUTO_DONE(reply) reply = client_ask(client, request);

	CHECK_INT(reply.status, status);
	check_has(&reply, text);
}

TEST(inline_and_worker_share_a_connection)
{
	START;
	CONNECT;
	check_ask(&client, "GET /inline/a%2Fb?tag=x+y%26&limit=7 HTTP/1.1\r\n" HOST "\r\n", 200,
		"{\"segment\":\"a/b\",\"limit\":7,\"tag\":\"x y&\",\"worker\":false");
	check_ask(&client, "POST /worker/w HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 200,
		"\"worker\":true,\"who\":\"\",\"body\":\"hello\"");
	check_ask(&client, "PUT /worker/w HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
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
	check_ask(&client, "POST /worker/x HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\nContent-Length: 1\r\n\r\nx", 403,
		"evil.example");
	AUTO_DONE(client) second = client_open(http_server_port(fixture.server));
	check_ask(&second, "GET /inline/x HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", 200, "x");
	check_ask(&second, "POST /worker/x HTTP/1.1\r\n" HOST "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", 415, "br");
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
	check_ask(&client, "GET /private HTTP/1.1\r\n" HOST "Authorization: bearer secret\r\n\r\n", 200, "\"who\":\"reader\"");
	check_ask(&client, "GET /private HTTP/1.1\r\n" HOST "Cookie: a=b; smfleet_session=secret\r\n\r\n", 200, "reader");
	check_ask(&client, "POST /private HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\nContent-Length: 0\r\n\r\n", 403,
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
		snprintf(head, sizeof head, "POST /worker/w HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", sizeof body - 1 + excess);
		client_send(&client, head);
		CHECK(client_send_bytes(&client, body, sizeof body - 1 + excess));
		AUTO_DONE(reply) reply = client_read_reply(&client, false);
		CHECK_INT(reply.status, excess ? 413 : 200);
		if (excess)
			check_has(&reply, "larger than 65536 bytes");
	}
	CONNECT;
	check_ask(&client, "GET /private HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\nContent-Length: 1\r\n\r\nx", 413,
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
	check_ask(&client, "POST /worker/w HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi", 200, "hi");
}

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

	snprintf(head, sizeof head, "POST /upload?mode=%s HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		mode, announced);
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
	AUTO_DONE(reply) refused = client_ask(&client,
		"POST /upload?mode=refuse HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 20971520\r\n\r\n");
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

static void wake_stream(const char *text, bool is_over)
{
	lock();
	snprintf(toy.text, sizeof toy.text, "%s", text);
	toy.is_stream_over = is_over;
	struct http_stream *stream = toy.stream;
	unlock();
	http_stream_wake(stream);
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

TEST(quiesce_refuses_new_uploads_and_connections)
{
	START;
	CONNECT;
	check_ask(&client, "GET /inline/x HTTP/1.1\r\n" HOST "\r\n", 200, "x");
	http_server_quiesce(fixture.server);
	check_ask(&client, "GET /inline/y HTTP/1.1\r\n" HOST "\r\n", 200, "y");
	check_ask(&client, "POST /upload HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx", 503, "stopping");
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(fixture.server))};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	AUTO_DONE(client) late = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
	CHECK(connect(late.fd, (struct sockaddr *)&address, sizeof address) != 0);
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

TEST(bad_addresses_are_named)
{
	struct http_server *server;

	CHECK_FAILS(http_server_start(&server, &(struct http_options){.listen = "nowhere"}, routes, 1, &hooks, &err), ERR_INVALID,
		"'nowhere'");
	START;
	char taken[64];
	snprintf(taken, sizeof taken, "127.0.0.1:%u", http_server_port(fixture.server));
	CHECK_FAILS(http_server_start(&server, &(struct http_options){.listen = taken}, routes, 1, &hooks, &err), ERR_IO, taken);
}
