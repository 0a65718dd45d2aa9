/* A server with toy routes, and what they saw. One copy in each test file that includes it. */
#pragma once

#include "client.h"
#include "http/http.h"

#include <pthread.h>

#define HOST "Host: localhost\r\n"

enum {
	WORKER_BODY_BYTES = 64 << 10,
	UPLOAD_BYTES = 64 << 20,
	BIG_BODY_BYTES = 20 << 20,
	DRAIN_BYTES = 1 << 20,
	READER_ID = 7
};

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
	size_t largest_piece;
	struct http_stream *stream;
	char text[64]; /* for the stream */
	bool is_stream_over;
	struct http_deferred *deferred; /* for the waker */
	struct http_response *deferred_reply;
	bool fails_late;
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

static enum status upload_begin(
	void *context, const struct http_request *request, struct http_upload *handle, void **upload, struct error *err)
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

	lock();
	toy.largest_piece = bytes.len > toy.largest_piece ? bytes.len : toy.largest_piece;
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

static enum status stream_open(void *context, const struct http_request *request, struct http_stream *handle,
	void **stream, struct http_response *head, struct error *err)
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
	(void)room;
	lock();
	size_t len = strlen(toy.text);
	ssize_t bytes = len ? (ssize_t)len : toy.is_stream_over ? -1 : 0;
	memcpy(out, toy.text, len); /* there is always room for so little */
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

static void end_deferred(void);

static void *wake_uploads(void *unused)
{
	(void)unused;
	lock();
	for (;;) {
		while (((!toy.waiting && !toy.deferred) || toy.is_waker_holding) && !toy.is_waker_ending)
			pthread_cond_wait(&toy.changed, &toy.mutex);
		if (toy.deferred) {
			end_deferred();
			continue;
		}
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
	if (!span_equal(token, SPAN("secret")) && !span_equal(token, SPAN("sms_secret")))
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

/* ---- a door of another protocol: its own context, admission, refusals; replies that the waker ends ---- */

static enum status foreign_admit(
	void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	CHECK(context == &toy);
	if (!http_request_header(request, "Key").len)
		return error_set(err, ERR_FORBIDDEN, "no key");
	*out = (struct principal){.scope = SCOPE_WRITE, .name = "keeper"};
	return OK;
}

static void foreign_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	CHECK(context == &toy);
	response->content_type = "text/plain";
	buf_printf(&response->body, "refused %.*s: %s", SPAN_ARGS(http_request_segment(request, 0)), err->text);
}

/* "fail" fails, also later; "late" is answered by the waker; "back" takes the deferral back. */
static enum status foreign(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct span mode = http_request_segment(request, 0);

	(void)worker;
	CHECK(context == &toy);
	if (span_equal(mode, SPAN("fail")))
		return error_set(err, ERR_CONFLICT, "at once");
	if (span_equal(mode, SPAN("back")))
		http_deferred_cancel(http_defer(request));
	if (!span_starts_with(mode, SPAN("late"))) {
		buf_append_span(&response->body, http_request_body(request));
		return OK;
	}
	struct http_deferred *handle = http_defer(request);
	lock();
	toy.deferred = handle;
	toy.deferred_reply = response;
	toy.fails_late = span_equal(mode, SPAN("late-fail"));
	unlock();
	return OK;
}

static void end_deferred(void)
{
	struct http_deferred *handle = toy.deferred;
	struct error err = {0};
	enum status status = OK;

	toy.deferred = NULL;
	if (toy.fails_late)
		status = error_set(&err, ERR_BUSY, "in the end");
	else
		buf_append_text(&toy.deferred_reply->body, "in time");
	unlock();
	http_deferred_end(handle, status, &err);
	lock();
}

/* ---- a reply in pieces: of as many as the path says there is one less, and then an error ---- */

static enum status pieces_more(void *state, void *worker, struct buf *out, bool *is_done, struct error *err)
{
	uint64_t *left = state;

	(void)worker;
	(void)is_done;
	buf_printf(out, "piece %llu;", (unsigned long long)*left);
	return --*left ? OK : error_set(err, ERR_IO, "the disk has failed");
}

static const struct http_producer_ops pieces_ops = {pieces_more, mem_free};

static enum status pieces(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	uint64_t *left = mem_alloc(sizeof *left);

	(void)context;
	(void)worker;
	(void)err;
	CHECK(span_parse_u64(http_request_segment(request, 0), left));
	http_response_produce(response, &pieces_ops, left);
	return OK;
}

static const struct http_upload_ops upload_ops = {upload_begin, upload_feed, upload_finish, upload_abort};
static const struct http_stream_ops stream_ops = {stream_open, stream_read, stream_free};
static const struct http_route routes[] = {
	{HTTP_GET, "/inline/{name}", SCOPE_PUBLIC, ROUTE_INLINE, echo, NULL, NULL, "limit tag", .summary = ""},
	{HTTP_POST | HTTP_PUT, "/worker/{name}", SCOPE_PUBLIC, ROUTE_WORKER, echo, NULL, NULL, "", WORKER_BODY_BYTES,
		.summary = ""},
	{HTTP_GET, "/private", SCOPE_READ, ROUTE_WORKER, echo, NULL, NULL, "", .summary = ""},
	{HTTP_POST, "/private", SCOPE_ADMIN, ROUTE_WORKER, echo, NULL, NULL, "", .summary = ""},
	{HTTP_POST | HTTP_PUT, "/upload", SCOPE_PUBLIC, ROUTE_UPLOAD, NULL, &upload_ops, NULL, "mode", .summary = ""},
	{HTTP_GET, "/stream", SCOPE_PUBLIC, ROUTE_STREAM, NULL, NULL, &stream_ops, "", .summary = ""},
	{HTTP_GET, "/pieces/{count}", SCOPE_PUBLIC, ROUTE_WORKER, pieces, NULL, NULL, "", .summary = ""},
	{HTTP_POST, "/foreign/{name}", SCOPE_PUBLIC, ROUTE_WORKER, foreign, NULL, NULL, "", WORKER_BODY_BYTES,
		.context = &toy, .is_raw = true, .admit = foreign_admit, .refuse = foreign_refuse},
};
static const struct http_hooks hooks = {.authenticate = authenticate, .worker_new = worker_new};

/* Before there are routes: the path's "no", or a word. */
static enum status not_yet(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	(void)context;
	(void)worker;
	if (!span_equal(http_request_path(request), SPAN("/alive")))
		return error_set(err, ERR_UNAVAILABLE, "no routes yet");
	buf_append_text(&response->body, "alive");
	return OK;
}

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
	CHECK_OK(http_server_listen(&fixture.server, &filled, not_yet, &err));
	CHECK_OK(http_server_serve(fixture.server, routes, sizeof routes / sizeof *routes, &hooks, &err));
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

static inline void check_has(const struct reply *reply, const char *text)
{
	if (span_find(buf_span(&reply->body), span_from(text)) < 0)
		test_fail(__FILE__, __LINE__, "'%.*s' does not hold '%s'", SPAN_ARGS(buf_span(&reply->body)), text);
}

static inline void check_ask(struct client *client, const char *request, int status, const char *text)
{
	AUTO_DONE(reply) reply = client_ask(client, request);

	CHECK_INT(reply.status, status);
	check_has(&reply, text);
}
