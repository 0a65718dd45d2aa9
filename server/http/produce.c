/* Long replies: a worker makes one batch, the I/O thread sends it, and only then the next one is made. */
#include "http/exchange.h"

#include "base/log.h"
#include "http/server.h"

enum { BATCH_MAX_BYTES = 64 << 20 };

void http_response_produce(struct http_response *response, const struct http_producer_ops *ops, void *state)
{
	response->producer = ops;
	response->producer_state = state;
}

void produce_begin(struct exchange *exchange)
{
	struct http_response *reply = exchange->reply;

	exchange->producer = reply->producer;
	exchange->producer_state = reply->producer_state;
	reply->producer = NULL;
	exchange->batch = reply->body;
	reply->body = BUF_INIT(BATCH_MAX_BYTES);
	exchange->batch.max_bytes = BATCH_MAX_BYTES;
}

void produce_end(struct exchange *exchange)
{
	if (!exchange->producer)
		return;
	exchange->producer->free(exchange->producer_state);
	exchange->producer = NULL;
	buf_done(&exchange->batch);
}

static void produce_in_worker(struct work *work, void *worker, bool is_dropped)
{
	struct exchange *exchange = (struct exchange *)((char *)work - offsetof(struct exchange, work));
	struct error err = {0};

	exchange->batch_at = 0;
	buf_reset(&exchange->batch);
	enum status status = is_dropped ? error_set(&err, ERR_UNAVAILABLE, "the server is stopping")
					: exchange->producer->more(exchange->producer_state, worker, &exchange->batch,
						  &exchange->is_produced, &err);
	if (status == OK)
		status = buf_status(&exchange->batch, &err);
	exchange->has_failed = status != OK;
	if (exchange->has_failed)
		log_line(LOG_WARNING, "reply_cut", "path=\"%.*s\" error=\"%s\"", SPAN_ARGS(exchange->target), err.text);
	mhd_resume(exchange->connection); /* the last touch */
}

ssize_t produce_read(struct exchange *exchange, char *out, size_t room)
{
	struct error err = {0};
	size_t left = exchange->batch.len - exchange->batch_at;

	if (exchange->has_failed || atomic_load(&exchange->server->is_ending))
		return PRODUCE_FAILED; /* what the client has is visibly not the whole */
	if (left) {
		size_t some = left < room ? left : room;
		memcpy(out, exchange->batch.ptr + exchange->batch_at, some);
		exchange->batch_at += some;
		return (ssize_t)some;
	}
	if (exchange->is_produced)
		return -1;
	exchange->work.run = produce_in_worker;
	exchange->work.item.bytes = 0;
	mhd_suspend(exchange->connection);
	if (workers_push(exchange->server->workers, &exchange->work, &err) != OK) {
		exchange->has_failed = true;
		mhd_resume(exchange->connection);
	}
	return 0;
}
