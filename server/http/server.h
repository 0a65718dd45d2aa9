/*
 * Job: what http_server is inside: configuration, the parts that requests go through, and who is under way.
 * Ownership: http_server_free frees it. Threads: the mutex guards the list and the counts.
 */
#pragma once

#include "http/tls.h"
#include "http/exchange.h"
#include "http/guard.h"
#include "http/mhd.h"
#include "http/peers.h"
#include "http/rate.h"
#include "http/router.h"
#include "http/vouched.h"

#include <pthread.h>

struct http_server {
	struct http_options options; /* its texts are not used after the start */
	http_handler *before; /* answers while is_serving is not set */
	atomic_bool is_serving; /* set last: hooks, routes, router and workers are there from then on */
	const struct http_hooks *hooks;
	const struct http_route *routes;
	size_t route_count;
	struct router *router;
	struct guard *guard;
	struct rate *rate;
	struct workers *workers;
	struct workers *slow_workers; /* so that slow requests keep no others waiting */
	struct mhd *mhd;
	struct peers *peers;
	struct tls *tls; /* NULL: none is spoken */
	struct vouched *vouched; /* NULL: no proxy is trusted */
	int listen_socket;
	unsigned port;
	struct http_counters counters;
	atomic_bool is_quiescing; /* new uploads are refused */
	atomic_bool is_ending; /* streams end */

	atomic_bool is_stopping; /* nobody is waited for any more */

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct exchange *listed; /* uploads, streams, deferred replies, replies in pieces */
	size_t underway; /* requests that are whole and not yet answered to the end */
};

void server_list(struct http_server *server, struct exchange *exchange);
void server_unlist(struct http_server *server, struct exchange *exchange);
void server_count_underway(struct http_server *server, int change);
