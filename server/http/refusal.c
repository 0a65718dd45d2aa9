/*
 * "No" while a body arrives. A client that is cut off while it sends never reads the reply: its own write fails first
 * (Python's http.client loses 20 of 20 replies to 20 MB bodies). So the body is read and thrown away, and then answered.
 *
 * When that would take too long (a body without an end, or one of gigabytes) the reply is written to the socket directly,
 * because libmicrohttpd takes none before the body has ended; then what still comes is thrown away for a while more.
 * Through TLS the socket cannot be written to: there such a connection is only closed.
 */
#include "base/clock.h"
#include "http/server.h"

#include <sys/socket.h>

static void restart_deadline(struct exchange *exchange)
{
	unsigned drain_ms = exchange->server->options.drain_ms;

	exchange->refusal_deadline_ms = clock_mono_ms() + drain_ms;
	exchange->must_close = true;
	mhd_set_timeout(exchange->connection, drain_ms / 1000 + 1); /* for clients that stop in the middle */
}

static enum step answer_around(struct exchange *exchange)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);
	int fd = mhd_socket(exchange->connection);

	if (exchange->server->options.tls_key_file)
		return STEP_CLOSE;
	response_write(exchange->reply, exchange->request.is_head, &text);
	if (text.failure || send(fd, text.ptr, text.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)text.len)
		return STEP_CLOSE;
	shutdown(fd, SHUT_WR);
	exchange->phase = PHASE_LINGER;
	restart_deadline(exchange);
	return STEP_MORE;
}

static bool fits(const struct exchange *exchange)
{
	return !exchange->has_unknown_length &&
	       exchange->content_length - exchange->wire_bytes <= exchange->server->options.drain_bytes;
}

enum step refusal_begin(struct exchange *exchange)
{
	exchange->phase = PHASE_REFUSED;
	if (!exchange->has_unknown_length && exchange->content_length <= exchange->wire_bytes)
		return STEP_MORE;
	if (exchange->expects_continue && !exchange->wire_bytes)
		return STEP_REPLY;
	restart_deadline(exchange);
	return fits(exchange) || exchange->server->options.tls_key_file ? STEP_MORE : answer_around(exchange);
}

enum step refusal_drain(struct exchange *exchange)
{
	bool is_over = clock_mono_ms() > exchange->refusal_deadline_ms;

	if (exchange->phase == PHASE_LINGER)
		return is_over ? STEP_CLOSE : STEP_MORE;
	return is_over ? answer_around(exchange) : STEP_MORE;
}
