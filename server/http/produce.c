/* Long replies: a worker makes one batch, the I/O thread sends it, and only then the next one is made. */
#include "http/exchange.h"

#include "base/clock.h"
#include "base/log.h"
#include "http/server.h"

enum { BATCH_MAX_BYTES = 64 << 20, LEVEL = 1 };

void http_response_produce(struct http_response *response, const struct http_producer_ops *ops, void *state)
{
	response->producer = ops;
	response->producer_state = state;
}

/* The batch becomes what is sent of it. */
static enum status pack(struct exchange *exchange, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(BATCH_MAX_BYTES);

	if (!exchange->deflater)
		return OK;
	TRY(deflater_step(exchange->deflater, buf_span(&exchange->batch), exchange->is_produced, &packed, err));
	struct buf plain = exchange->batch;
	exchange->batch = packed;
	packed = plain;
	return OK;
}

static enum status begin_packing(struct exchange *exchange, struct error *err)
{
	enum encoding encoding =
		response_choose_encoding(exchange->reply, http_request_header(&exchange->request, "Accept-Encoding"));

	if (encoding == ENCODING_IDENTITY)
		return OK;
	TRY(deflater_new(&exchange->deflater, encoding, LEVEL, err));
	http_response_header(exchange->reply, "Content-Encoding", encoding == ENCODING_ZSTD ? "zstd" : "gzip");
	return pack(exchange, err);
}

/* Its head is with the client, and says 200: only a connection that breaks tells that this is not the whole. */
static void cut(struct exchange *exchange, const struct error *err)
{
	exchange->has_failed = true;
	atomic_fetch_add(&exchange->server->counters.cut_replies, 1);
	log_line(LOG_WARNING, "reply_cut", "path=\"%.*s\" error=\"%s\"", SPAN_ARGS(exchange->target), err->text);
}

enum status produce_begin(struct exchange *exchange, struct error *err)
{
	struct http_response *reply = exchange->reply;

	exchange->producer = reply->producer;
	exchange->producer_state = reply->producer_state;
	reply->producer = NULL;
	exchange->batch = reply->body;
	reply->body = BUF_INIT(BATCH_MAX_BYTES);
	exchange->batch.max_bytes = BATCH_MAX_BYTES;
	enum status status = begin_packing(exchange, err);
	if (status != OK)
		produce_end(exchange);
	else if (!exchange->is_listed)
		server_list(exchange->server, exchange); /* the server's end finds it */
	return status;
}

void produce_leave(struct exchange *exchange)
{
	bool is_whole = exchange->is_produced && exchange->batch_at == exchange->batch.len;
	struct error err = {0};

	if (!exchange->producer || is_whole || exchange->has_failed || !atomic_load(&exchange->server->is_ending))
		return; /* a client that has gone need not be told */
	error_set(&err, ERR_UNAVAILABLE, "the server is stopping");
	cut(exchange, &err);
}

void produce_end(struct exchange *exchange)
{
	if (!exchange->producer)
		return;
	exchange->producer->free(exchange->producer_state);
	exchange->producer = NULL;
	deflater_free(exchange->deflater);
	exchange->deflater = NULL;
	buf_done(&exchange->batch);
}

static void produce_in_worker(struct work *work, void *worker, bool is_dropped)
{
	struct exchange *exchange = (struct exchange *)((char *)work - offsetof(struct exchange, work));
	struct error err = {0};

	int64_t began_ns = clock_thread_ns();

	exchange->batch_at = 0;
	buf_reset(&exchange->batch);
	enum status status = is_dropped ? error_set(&err, ERR_UNAVAILABLE, "the server is stopping")
					: exchange_see(exchange, worker, &err);
	if (status == OK)
		status = exchange->producer->more(
			exchange->producer_state, worker, &exchange->batch, &exchange->is_produced, &err);
	if (status == OK)
		status = buf_status(&exchange->batch, &err);
	if (status == OK)
		status = pack(exchange, &err);
	if (status != OK)
		cut(exchange, &err);
	http_request_charge(&exchange->request, clock_thread_ns() - began_ns);
	mhd_resume(exchange->connection); /* the last touch */
}

static ssize_t fail(struct exchange *exchange)
{
	if (exchange->request.is_http_10) /* its end of a body is the connection's */
		mhd_reset(exchange->connection);
	return PRODUCE_FAILED;
}

static size_t copy_batch(struct exchange *exchange, char *out, size_t room, size_t left)
{
	size_t some = left < room ? left : room;

	memcpy(out, exchange->batch.ptr + exchange->batch_at, some);
	exchange->batch_at += some;
	return some;
}

ssize_t produce_read(struct exchange *exchange, char *out, size_t room)
{
	struct error err = {0};
	size_t left = exchange->batch.len - exchange->batch_at;

	if (exchange->has_failed)
		return fail(exchange);
	if (exchange->is_produced && !left)
		return -1;
	enum status status = exchange_check(exchange, &err);
	if (status == OK && atomic_load(&exchange->server->is_ending))
		status = error_set(&err, ERR_UNAVAILABLE, "the server is stopping");
	if (status != OK) {
		cut(exchange, &err);
		return fail(exchange);
	}
	if (left)
		return (ssize_t)copy_batch(exchange, out, room, left);
	exchange->work.run = produce_in_worker;
	exchange->work.item.bytes = 0;
	mhd_suspend(exchange->connection);
	if (workers_push_again(exchange_workers(exchange), &exchange->work, &err) != OK) {
		cut(exchange, &err);
		mhd_resume(exchange->connection);
	}
	return 0;
}
