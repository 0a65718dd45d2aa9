/*
 * Job: libmicrohttpd behind a dozen functions; mhd.c is the only file that includes its header.
 *
 * What its manual says in passing, and what measuring it (0.9.75) added:
 *  - Outside thread-per-connection no callback may block: all connections of that I/O thread would wait.
 *  - Suspend before the hand-over: whoever resumes may be faster than the callback returns (park.h).
 *  - A suspended connection notices no disconnect and runs into no timeout: streams need a heartbeat.
 *  - Stopping with suspended connections aborts the process: hence the stop order in http.h.
 *  - A content reader that returns 0 must have suspended, or the I/O thread spins.
 *  - No reply can be queued while a body arrives: refusals drain it, or go around (refusal.h).
 *  - An end of input that arrives together with the last bytes is not seen (edge-triggered epoll, short read), and an
 *    upload whose client has died would stay until its timeout: mhd_notice_end.
 *  - A request that fails between its first line and its handler is not told as completed: exchanges end with their
 *    connection, too.
 *  - Without a no-op in place of its unescaping, "%2F" would be a '/' before anybody can route.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;
struct exchange;
struct http_server;
struct mhd;
struct tls;

struct mhd_options {
	int listen_socket; /* stays the caller's */
	unsigned io_threads;
	unsigned idle_timeout_s;
	size_t max_connections;
	const struct tls *tls; /* lives as long as the daemon; NULL: no TLS */
};

enum status mhd_start(
	struct mhd **out, struct http_server *server, const struct mhd_options *options, struct error *err) MUST_CHECK;
void mhd_stop(struct mhd *mhd); /* ends all connections; no connection may be suspended; frees */

void mhd_suspend(struct MHD_Connection *connection);
void mhd_resume(struct MHD_Connection *connection);
/* Of the other end; NULL where it has none. */
const struct sockaddr *mhd_peer(struct MHD_Connection *connection);
/* The same as text; empty where it has none. */
void mhd_address(struct MHD_Connection *connection, char *out, size_t room);
/* peer_network, or "". */
const char *mhd_network(struct MHD_Connection *connection);
/* Has it shown a certificate of the authorities that clients must have one of, which is valid now? */
bool mhd_is_certified(struct MHD_Connection *connection);
int mhd_socket(struct MHD_Connection *connection);
/* Has the client stopped sending? Makes the daemon look, once a piece of a body was taken. */
void mhd_notice_end(struct MHD_Connection *connection);
/* Ends it so that the client sees it break, not close. */
void mhd_reset(struct MHD_Connection *connection);
/* The client has closed its side, or both: whatever it waited for. */
bool mhd_has_left(struct MHD_Connection *connection);
/* Of silence, from now on, for this connection; 0: none. */
void mhd_set_timeout(struct MHD_Connection *connection, unsigned timeout_s);
