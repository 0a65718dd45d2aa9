#include "http/server.h"
#include "base/clock.h"
#include "http/listen.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	DEFAULT_IO_THREADS = 2,
	DEFAULT_WORKERS = 2,
	DEFAULT_SLOW_WORKERS = 1,
	DEFAULT_CONNECTIONS = 4096,
	DEFAULT_PENDING = 256,
	DEFAULT_DRAIN_BYTES = 8 << 20,
	DEFAULT_DRAIN_MS = 2000,
	STOP_CHECK_MS = 10,
};

/* Whoever asked without being anybody, of what all may have, goes on. */
static void check_principal(struct http_server *server, struct exchange *exchange)
{
	const struct http_hooks *hooks = server->hooks;

	if (exchange->route->scope == SCOPE_PUBLIC || !hooks->is_known ||
		hooks->is_known(hooks->context, &exchange->request.principal))
		return;
	atomic_store(&exchange->is_revoked, true);
	if (exchange->route->kind == ROUTE_STREAM)
		park_wake(&exchange->park);
}

void server_list(struct http_server *server, struct exchange *exchange)
{
	pthread_mutex_lock(&server->mutex);
	exchange->next = server->listed;
	exchange->previous = NULL;
	if (server->listed)
		server->listed->previous = exchange;
	server->listed = exchange;
	exchange->is_listed = true;
	check_principal(server, exchange); /* it may have been let in before, and the others checked since */
	pthread_mutex_unlock(&server->mutex);
}

void server_unlist(struct http_server *server, struct exchange *exchange)
{
	if (!exchange->is_listed)
		return;
	pthread_mutex_lock(&server->mutex);
	if (exchange->previous)
		exchange->previous->next = exchange->next;
	else
		server->listed = exchange->next;
	if (exchange->next)
		exchange->next->previous = exchange->previous;
	exchange->is_listed = false;
	pthread_mutex_unlock(&server->mutex);
}

void server_count_underway(struct http_server *server, int change)
{
	pthread_mutex_lock(&server->mutex);
	server->underway += (size_t)change;
	if (server->underway == 0)
		pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->mutex);
}

static void init_locks(struct http_server *server)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&server->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&server->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void fill_defaults(struct http_options *options)
{
	options->io_threads = options->io_threads ? options->io_threads : DEFAULT_IO_THREADS;
	options->workers = options->workers ? options->workers : DEFAULT_WORKERS;
	options->slow_workers = options->slow_workers ? options->slow_workers : DEFAULT_SLOW_WORKERS;
	options->max_connections = options->max_connections ? options->max_connections : DEFAULT_CONNECTIONS;
	options->max_pending = options->max_pending ? options->max_pending : DEFAULT_PENDING;
	options->drain_bytes = options->drain_bytes ? options->drain_bytes : DEFAULT_DRAIN_BYTES;
	options->drain_ms = options->drain_ms ? options->drain_ms : DEFAULT_DRAIN_MS;
}

static enum status read_tls(struct http_server *server, struct error *err)
{
	const struct http_options *options = &server->options;

	if (!options->tls_cert_file && !options->tls_key_file && !options->tls_client_ca_file)
		return OK;
	if (!options->tls_cert_file || !options->tls_key_file)
		return error_set(err, ERR_INVALID, "TLS needs both a certificate and its key (--tls-cert, --tls-key)");
	return tls_new(&server->tls, options->tls_cert_file, options->tls_key_file, options->tls_client_ca_file, err);
}

enum status http_server_reread_certificate(struct http_server *server, bool *is_new, struct error *err)
{
	*is_new = false;
	return server->tls ? tls_reread(server->tls, is_new, err) : OK;
}

static enum status make_parts(struct http_server *server, struct error *err)
{
	const struct http_options *options = &server->options;

	TRY(read_tls(server, err));
	TRY(guard_new(&server->guard,
		&(struct guard_options){.listen = options->listen,
			.allowed_hosts = options->allowed_hosts,
			.public_url = options->public_url,
			.cors_origins = options->cors_origins,
			.is_tls = server->tls != NULL},
		err));
	TRY(vouched_new(&server->vouched,
		&(struct vouched_options){
			options->trusted_proxies, options->proxy_user_header, options->proxy_groups_header},
		err));
	if (!(server->rate = rate_new(
		      options->rate_requests_per_s, options->rate_bytes_per_s, options->rate_cpu_ms_per_s)))
		return error_no_memory(err);
	TRY(listen_open(&server->listen_socket, options->listen, err));
	server->port = listen_port(server->listen_socket);
	TRY(peers_start(&server->peers,
		&(struct peers_options){options->max_connections_an_address, options->proxies, options->header_ms,
			options->body_bytes_per_s, server->tls},
		err));
	return mhd_start(&server->mhd, server,
		&(struct mhd_options){server->listen_socket, options->io_threads, options->idle_timeout_s,
			options->max_connections, server->tls},
		err);
}

static void free_parts(struct http_server *server)
{
	workers_free(server->workers);
	workers_free(server->slow_workers);
	peers_free(server->peers);
	rate_free(server->rate);
	router_free(server->router);
	guard_free(server->guard);
	vouched_free(server->vouched);
	if (server->listen_socket >= 0)
		close(server->listen_socket);
	tls_free(server->tls);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->mutex);
	mem_free(server);
}

enum status http_server_listen(
	struct http_server **out, const struct http_options *options, http_handler *before, struct error *err)
{
	struct http_server *server = mem_zeroed(sizeof *server);

	if (!server)
		return error_no_memory(err);
	server->options = *options;
	server->before = before;
	server->listen_socket = -1;
	fill_defaults(&server->options);
	init_locks(server);
	enum status status = make_parts(server, err);
	if (status)
		free_parts(server);
	else
		*out = server;
	return status;
}

enum status http_server_serve(struct http_server *server, const struct http_route *routes, size_t route_count,
	const struct http_hooks *hooks, struct error *err)
{
	const struct http_options *options = &server->options;

	server->hooks = hooks;
	server->routes = routes;
	server->route_count = route_count;
	TRY(router_new(&server->router, routes, route_count, err));
	TRY(workers_new(&server->workers, options->workers, options->max_pending, hooks, err));
	TRY(workers_new(&server->slow_workers, options->slow_workers, options->max_pending, hooks, err));
	atomic_store(&server->is_serving, true);
	return OK;
}

unsigned http_server_port(const struct http_server *server)
{
	return server->port;
}

const struct http_route *http_server_routes(const struct http_server *server, size_t *count)
{
	*count = server->route_count;
	return server->routes;
}

const struct http_counters *http_server_counters(const struct http_server *server)
{
	return &server->counters;
}

/*
 * Connections are still taken, and told 503 where it matters: libmicrohttpd 0.9.75 ends the process when
 * MHD_quiesce_daemon meets one of its own threads at the removal of the listening socket from the epoll set.
 */
void http_server_quiesce(struct http_server *server)
{
	atomic_store(&server->is_quiescing, true);
}

static void wake_streams(struct http_server *server)
{
	for (struct exchange *at = server->listed; at; at = at->next)
		if (at->route->kind == ROUTE_STREAM)
			park_wake(&at->park);
}

void http_server_recheck(struct http_server *server)
{
	pthread_mutex_lock(&server->mutex);
	for (struct exchange *at = server->listed; at; at = at->next)
		check_principal(server, at);
	pthread_mutex_unlock(&server->mutex);
}

void http_server_end_streams(struct http_server *server)
{
	atomic_store(&server->is_ending, true);
	pthread_mutex_lock(&server->mutex);
	wake_streams(server);
	pthread_mutex_unlock(&server->mutex);
}

static bool is_idle(const struct http_server *server)
{
	for (const struct exchange *at = server->listed; at; at = at->next)
		if (at->route->kind == ROUTE_UPLOAD && park_is_suspended(&at->park))
			return false;
	return server->underway == 0;
}

static void wait_until_idle(struct http_server *server, int64_t deadline_mono_ms)
{
	pthread_mutex_lock(&server->mutex);
	while (!is_idle(server) && clock_mono_ms() < deadline_mono_ms) {
		/* An upload that goes on after its wake-up signals nothing: look again soon. */
		struct timespec soon = clock_deadline(STOP_CHECK_MS);
		pthread_cond_timedwait(&server->changed, &server->mutex, &soon);
	}
	pthread_mutex_unlock(&server->mutex);
}

static void detach_suspended(struct http_server *server, enum http_route_kind kind)
{
	pthread_mutex_lock(&server->mutex);
	for (struct exchange *at = server->listed; at; at = at->next)
		if (at->route->kind == kind)
			exchange_detach(at);
	pthread_mutex_unlock(&server->mutex);
}

void http_server_give_up(struct http_server *server)
{
	atomic_store(&server->is_stopping, true);
	detach_suspended(server, ROUTE_UPLOAD);
}

/* Replies in pieces whose clients read too slowly: the transport would close them as if they were whole. */
static void break_off(struct http_server *server)
{
	pthread_mutex_lock(&server->mutex);
	for (struct exchange *at = server->listed; at; at = at->next)
		if (at->route->kind == ROUTE_WORKER && at->request.is_http_10)
			mhd_reset(at->connection);
	pthread_mutex_unlock(&server->mutex);
}

void http_server_free(struct http_server *server, int64_t deadline_ms)
{
	if (!server)
		return;
	http_server_quiesce(server);
	http_server_end_streams(server);
	wait_until_idle(server, clock_mono_ms() + deadline_ms);
	http_server_give_up(server); /* before workers are waited for: they may wait for the same disk */
	if (server->workers)
		workers_stop(server->workers);
	if (server->slow_workers)
		workers_stop(server->slow_workers);
	detach_suspended(server, ROUTE_WORKER);
	break_off(server);
	mhd_stop(server->mhd);
	free_parts(server);
}

void http_server_set_rates(struct http_server *server, uint64_t requests_per_s, uint64_t bytes_per_s)
{
	rate_set(server->rate, requests_per_s, bytes_per_s);
}
