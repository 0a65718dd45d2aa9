#include "http/server.h"

enum status stream_open(struct exchange *exchange, struct error *err)
{
	TRY(exchange->route->stream->open(exchange_context(exchange), &exchange->request, &exchange->stream,
		&exchange->object, exchange->reply, err));
	exchange->has_object = true;
	atomic_fetch_add(&exchange->server->counters.streams, 1);
	server_list(exchange->server, exchange);
	return OK;
}

ssize_t stream_read(struct exchange *exchange, char *out, size_t room)
{
	for (;;) {
		park_clear(
			&exchange->park); /* before all that a wake-up may mean: one that comes from now on is kept */
		if (atomic_load(&exchange->server->is_ending) || atomic_load(&exchange->is_revoked))
			return -1;
		ssize_t bytes = exchange->route->stream->read(exchange->object, out, room);
		if (bytes != 0)
			return bytes < 0 ? -1 : bytes;
		if (park_wait(&exchange->park))
			return 0;
	}
}

void stream_end(struct exchange *exchange)
{
	server_unlist(exchange->server, exchange); /* first: the server's end wakes what is listed */
	exchange->route->stream->free(exchange->object);
	exchange->has_object = false;
	atomic_fetch_sub(&exchange->server->counters.streams, 1);
}

void http_stream_wake(struct http_stream *handle)
{
	park_wake(&handle->exchange->park);
}
