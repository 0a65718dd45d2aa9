#include "http/exchange.h"
#include "base/clock.h"
#include "http/server.h"

struct exchange *exchange_new(struct http_server *server, struct MHD_Connection *connection, struct span target)
{
	struct exchange *exchange = mem_zeroed(sizeof *exchange);

	if (!exchange)
		return NULL;
	exchange->server = server;
	exchange->connection = connection;
	exchange->park.connection = connection;
	exchange->upload.exchange = exchange;
	exchange->stream.exchange = exchange;
	atomic_init(&exchange->owners, 1);
	if (request_init(&exchange->request, NULL) == OK)
		exchange->target = arena_copy(exchange->request.arena, target);
	if (!exchange->target.ptr) {
		request_done(&exchange->request);
		mem_free(exchange);
		return NULL;
	}
	return exchange;
}

struct workers *exchange_workers(const struct exchange *exchange)
{
	return exchange->is_slow ? exchange->server->slow_workers : exchange->server->workers;
}

static struct exchange *of_request(const struct http_request *request)
{
	while (request->asked_by)
		request = request->asked_by;
	return (struct exchange *)((char *)request - offsetof(struct exchange, request));
}

bool http_request_is_over(const struct http_request *request)
{
	const struct exchange *exchange = of_request(request);

	return atomic_load(&exchange->server->is_quiescing) || mhd_has_left(exchange->connection);
}

void http_request_charge(const struct http_request *request, int64_t cpu_ns)
{
	const struct exchange *exchange = of_request(request);

	if (exchange->is_slow)
		rate_charge_cpu(exchange->server->rate, &request->principal, cpu_ns, clock_mono_ms());
}

void exchange_drop_reply(struct exchange *exchange)
{
	if (exchange->reply)
		response_done(exchange->reply);
	mem_free(exchange->reply);
	exchange->reply = NULL;
}

static void abort_upload(struct exchange *exchange)
{
	if (exchange->has_object && exchange->route->kind == ROUTE_UPLOAD)
		exchange->route->upload->abort(exchange->object);
	exchange->has_object = false;
}

/* The last owner; the server may be gone already when that is a late wake-up. */
static void disown(struct exchange *exchange)
{
	if (atomic_fetch_sub(&exchange->owners, 1) != 1)
		return;
	abort_upload(exchange);
	produce_end(exchange);
	inflater_free(exchange->inflater);
	exchange_drop_reply(exchange);
	request_done(&exchange->request);
	mem_free(exchange);
}

void exchange_release(struct exchange *exchange)
{
	if (exchange->has_object && exchange->route->kind == ROUTE_STREAM)
		stream_end(exchange);
	produce_leave(exchange);
	server_unlist(exchange->server, exchange);
	/* The count is the last thing: the server may be freed behind it, so what its callbacks need is done before. */
	struct http_server *server = exchange->is_underway ? exchange->server : NULL;
	if (atomic_load(&exchange->owners) == 1)
		abort_upload(exchange);
	disown(exchange);
	if (server)
		server_count_underway(server, -1);
}

void http_upload_resume(struct http_upload *handle)
{
	struct exchange *exchange = handle->exchange;

	if (!park_wake(&exchange->park))
		disown(exchange);
}

void exchange_detach(struct exchange *exchange)
{
	atomic_fetch_add(&exchange->owners, 1);
	if (!park_detach(&exchange->park))
		atomic_fetch_sub(&exchange->owners, 1);
}

bool exchange_wait(struct exchange *exchange)
{
	if (!park_wait(&exchange->park))
		return false;
	if (atomic_load(&exchange->server->is_stopping)) /* it may have looked for the suspended before */
		exchange_detach(exchange);
	return true;
}

bool exchange_make_reply(struct exchange *exchange)
{
	exchange_drop_reply(exchange);
	exchange->reply = mem_alloc(sizeof *exchange->reply);
	if (exchange->reply)
		response_init(exchange->reply);
	return exchange->reply != NULL;
}

enum status exchange_check(const struct exchange *exchange, struct error *err)
{
	return atomic_load(&exchange->is_revoked)
		       ? error_set(err, ERR_UNAUTHORIZED, "the token of this request is not known here any more")
		       : OK;
}

static void count_reply(struct http_server *server, int code)
{
	if (code >= 500)
		atomic_fetch_add(&server->counters.errors_5xx, 1);
	else if (code >= 400)
		atomic_fetch_add(&server->counters.errors_4xx, 1);
	if (code == 429)
		atomic_fetch_add(&server->counters.refused_busy, 1);
}

void *exchange_context(const struct exchange *exchange)
{
	void *own = exchange->route->context;

	return own ? own : exchange->server->hooks->context;
}

void exchange_settle(struct exchange *exchange, enum status status, struct error *err)
{
	bool has_refused = response_settle(exchange->reply, status, err);

	if (has_refused && exchange->route && exchange->route->refuse) {
		buf_reset(&exchange->reply->body);
		exchange->route->refuse(exchange_context(exchange), &exchange->request, err, exchange->reply);
	}
	count_reply(exchange->server, exchange->reply->status);
}

void exchange_fail(struct exchange *exchange, enum status status, struct error *err)
{
	if (!exchange_make_reply(exchange))
		return;
	exchange_settle(exchange, status, err);
}

static void read_body_headers(struct exchange *exchange)
{
	struct span length = http_request_header(&exchange->request, "Content-Length");
	struct span expect = http_request_header(&exchange->request, "Expect");

	exchange->has_unknown_length = http_request_header(&exchange->request, "Transfer-Encoding").len > 0;
	if (!exchange->has_unknown_length && !span_parse_u64(span_trim(length), &exchange->content_length))
		exchange->content_length = 0; /* libmicrohttpd has refused what is no number */
	exchange->expects_continue = span_equal_fold(expect, SPAN("100-continue"));
}

/* STEP_CLOSE when there is no memory even for the refusal. */
static enum step refuse(struct exchange *exchange, enum status status, struct error *err)
{
	exchange_fail(exchange, status, err);
	return exchange->reply ? refusal_begin(exchange) : STEP_CLOSE;
}

enum step exchange_begin(struct exchange *exchange, struct span method, struct span version)
{
	struct error err = {0};

	request_set_method(&exchange->request, method);
	exchange->request.is_http_10 = span_equal(version, SPAN("HTTP/1.0"));
	exchange->request.arrival_ms = clock_wall_ms();
	atomic_fetch_add(&exchange->server->counters.requests, 1);
	read_body_headers(exchange);
	enum status status = admit(exchange, &err);
	if (status == OK && exchange->reply)
		return refusal_begin(exchange);
	exchange->phase = PHASE_BODY;
	if (status == OK)
		status = body_begin(exchange, &err);
	return status == OK ? STEP_MORE : refuse(exchange, status, &err);
}

static void account(struct exchange *exchange, size_t bytes)
{
	struct http_server *server = exchange->server;

	exchange->wire_bytes += bytes;
	atomic_fetch_add(&server->counters.bytes_in, bytes);
	if (exchange->phase == PHASE_BODY)
		rate_charge_bytes(server->rate, &exchange->request.principal, bytes, clock_mono_ms());
}

static enum step take_piece(struct exchange *exchange, struct span *piece)
{
	struct error err = {0};
	bool is_waiting = false;
	size_t before = piece->len;

	enum status status = body_take(exchange, piece, &is_waiting, &err);
	if (status)
		*piece = span_skip(*piece, piece->len);
	account(exchange, before - piece->len);
	if (status == OK)
		return STEP_MORE;
	abort_upload(exchange);
	return refuse(exchange, status, &err);
}

static enum step still_parked(const struct exchange *exchange)
{
	return park_is_suspended(&exchange->park) ? STEP_MORE : STEP_CLOSE;
}

static enum step take_or_drop(struct exchange *exchange, struct span *piece)
{
	if (exchange->phase == PHASE_BODY)
		return park_is_free(&exchange->park) ? take_piece(exchange, piece) : still_parked(exchange);
	account(exchange, piece->len);
	*piece = span_skip(*piece, piece->len);
	return exchange->phase == PHASE_REFUSED || exchange->phase == PHASE_LINGER ? refusal_drain(exchange)
										   : STEP_CLOSE;
}

/* After a read that filled the buffer the socket is read again at once, and its end is seen without our help. */
static bool was_short_read(struct exchange *exchange, size_t piece_bytes)
{
	bool is_short = piece_bytes != exchange->largest_piece_bytes;

	if (piece_bytes > exchange->largest_piece_bytes)
		exchange->largest_piece_bytes = piece_bytes;
	return is_short;
}

enum step exchange_body(struct exchange *exchange, struct span *piece)
{
	bool is_short = was_short_read(exchange, piece->len);
	enum step step = take_or_drop(exchange, piece);
	bool has_more = exchange->has_unknown_length || exchange->wire_bytes < exchange->content_length;

	if (is_short && step == STEP_MORE && has_more && piece->len == 0 && park_is_free(&exchange->park))
		mhd_notice_end(exchange->connection);
	return step;
}

enum status exchange_see(const struct exchange *exchange, void *worker, struct error *err)
{
	const struct http_hooks *hooks = exchange->server->hooks;

	return worker && hooks->see_as ? hooks->see_as(hooks->context, worker, &exchange->request.principal, err) : OK;
}

/* Runs the handler; exchange->reply is there. */
static void call_handler(struct exchange *exchange, void *worker)
{
	const struct http_hooks *hooks = exchange->server->hooks;
	const struct http_route *route = exchange->route;
	bool is_audited = route->audit && worker && hooks->enter;
	struct error err = {0};

	mhd_address(exchange->connection, exchange->request.address, sizeof exchange->request.address);
	exchange->request.network = mhd_network(exchange->connection);
	enum status status = exchange_see(exchange, worker, &err);
	if (status == OK && is_audited)
		hooks->enter(hooks->context, worker, &exchange->request, route);
	if (status == OK) {
		status = route->handler(exchange_context(exchange), worker, &exchange->request, exchange->reply, &err);
		if (is_audited)
			hooks->leave(hooks->context);
		if (status == ERR_FORBIDDEN && worker && hooks->forbidden)
			status = hooks->forbidden(hooks->context, worker, &exchange->request, route, &err);
	}

	if (!exchange->deferred.is_deferred)
		exchange_settle(exchange, status, &err);
}

/* On a worker, or on the thread that a reply was deferred to. */
static void send_reply(struct exchange *exchange, bool is_dropped)
{
	struct error err = {0};

	if (exchange->reply && exchange->reply->producer) {
		enum status status = produce_begin(exchange, &err);
		if (status != OK)
			exchange_fail(exchange, status, &err);
	} else if (!is_dropped && exchange->reply) {
		response_compress(exchange->reply, http_request_header(&exchange->request, "Accept-Encoding"));
	}
	exchange->phase = PHASE_REPLY;
	if (exchange->is_slow)
		atomic_fetch_sub(&exchange->server->counters.slow, 1);
	mhd_resume(exchange->connection); /* the last touch: it may be gone when this returns */
}

static void run_in_worker(struct work *work, void *worker, bool is_dropped)
{
	struct exchange *exchange = (struct exchange *)((char *)work - offsetof(struct exchange, work));
	struct error err = {0};
	enum status status;

	if (is_dropped) {
		exchange_fail(exchange, error_set(&err, ERR_UNAVAILABLE, "the server is stopping"), &err);
	} else if (exchange->is_slow && http_request_is_over(&exchange->request)) {
		exchange_fail(
			exchange, error_set(&err, ERR_UNAVAILABLE, "nobody waits for this request any more"), &err);
	} else if (exchange->is_slow && (status = rate_admit_slow(exchange->server->rate, &exchange->request.principal,
						 clock_mono_ms(), &err)) != OK) {
		exchange_fail(exchange, status, &err); /* what was admitted with it has used up the time since */
	} else {
		int64_t began_ns = clock_thread_ns();
		atomic_init(&exchange->deferred.answerers, 1);
		call_handler(exchange, worker);
		http_request_charge(&exchange->request, clock_thread_ns() - began_ns);
		if (atomic_fetch_sub(&exchange->deferred.answerers, 1) != 1)
			return; /* whoever has the reply sends it */
	}
	send_reply(exchange, is_dropped);
}

static struct exchange *exchange_of(struct http_deferred *handle)
{
	return (struct exchange *)((char *)handle - offsetof(struct exchange, deferred));
}

struct http_deferred *http_defer(const struct http_request *request)
{
	struct exchange *exchange = of_request(request);

	atomic_store(&exchange->deferred.answerers, 2);
	exchange->deferred.is_deferred = true;
	park_owe(&exchange->park);
	server_list(exchange->server, exchange); /* the server's end finds it */
	return &exchange->deferred;
}

void http_deferred_cancel(struct http_deferred *handle)
{
	struct exchange *exchange = exchange_of(handle);

	server_unlist(exchange->server, exchange);
	park_claim(&exchange->park); /* nobody else could: the server's end comes behind that of its workers */
	atomic_store(&handle->answerers, 1);
	handle->is_deferred = false;
}

void http_deferred_end(struct http_deferred *handle, enum status status, struct error *err)
{
	struct exchange *exchange = exchange_of(handle);

	if (!park_claim(&exchange->park)) {
		disown(exchange); /* the server has ended meanwhile */
		return;
	}
	exchange_settle(exchange, status, err);
	if (atomic_fetch_sub(&handle->answerers, 1) == 1)
		send_reply(exchange, false);
}

static enum step hand_to_worker(struct exchange *exchange)
{
	struct error err = {0};

	exchange->phase = PHASE_WORKING;
	exchange->work.run = run_in_worker;
	exchange->work.item.bytes = exchange->request.body.len;
	if (exchange->is_slow)
		atomic_fetch_add(&exchange->server->counters.slow, 1);
	mhd_suspend(exchange->connection);
	enum status status = workers_push(exchange_workers(exchange), &exchange->work, &err);
	if (status == OK)
		return STEP_MORE;
	exchange_fail(exchange, status, &err);
	if (exchange->is_slow)
		atomic_fetch_sub(&exchange->server->counters.slow, 1);
	exchange->phase = PHASE_REPLY;
	mhd_resume(exchange->connection);
	return STEP_MORE;
}

static enum step finish_upload(struct exchange *exchange)
{
	const struct http_upload_ops *ops = exchange->route->upload;
	struct error err = {0};
	enum status status;

	for (;;) {
		bool must_wait = false;
		status = ops->finish(exchange->object, exchange->reply, &must_wait, &err);
		if (status != OK || !must_wait)
			break;
		if (exchange_wait(exchange))
			return STEP_MORE;
	}
	if (status == OK)
		exchange->has_object = false;
	else
		abort_upload(exchange);
	exchange_settle(exchange, status, &err);
	return STEP_REPLY;
}

static enum step open_stream(struct exchange *exchange)
{
	struct error err = {0};
	enum status status = stream_open(exchange, &err);

	if (status == OK && !exchange->request.is_head) {
		exchange->phase = PHASE_STREAMING;
		return STEP_STREAM;
	}
	if (status == OK)
		stream_end(exchange);
	else
		exchange_fail(exchange, status, &err);
	return exchange->reply ? STEP_REPLY : STEP_CLOSE;
}

static enum step answer(struct exchange *exchange)
{
	if (!exchange->reply && !exchange_make_reply(exchange))
		return STEP_CLOSE;
	switch (exchange->route->kind) {
	case ROUTE_WORKER:
		return hand_to_worker(exchange);
	case ROUTE_UPLOAD:
		return finish_upload(exchange);
	case ROUTE_STREAM:
		return open_stream(exchange);
	case ROUTE_INLINE:
		break;
	}
	call_handler(exchange, NULL);
	return STEP_REPLY;
}

static enum step end_body(struct exchange *exchange)
{
	struct error err = {0};
	bool is_waiting = false;

	if (!park_is_free(&exchange->park))
		return still_parked(exchange);
	enum status status = body_end(exchange, &is_waiting, &err);
	if (status == OK)
		return is_waiting ? STEP_MORE : answer(exchange);
	abort_upload(exchange);
	exchange_fail(exchange, status, &err);
	return exchange->reply ? STEP_REPLY : STEP_CLOSE;
}

enum step exchange_end(struct exchange *exchange)
{
	if (!exchange->is_underway) {
		exchange->is_underway = true;
		server_count_underway(exchange->server, 1);
	}
	switch (exchange->phase) {
	case PHASE_BODY:
		return end_body(exchange);
	case PHASE_REFUSED:
	case PHASE_REPLY:
		if (exchange->producer) /* also for HEAD: nothing is made, and no length is told */
			return STEP_STREAM;
		return exchange->reply ? STEP_REPLY : STEP_CLOSE;
	case PHASE_WORKING:
		return park_is_detached(&exchange->park) ? STEP_CLOSE : STEP_MORE;
	case PHASE_STREAMING:
		return STEP_MORE;
	case PHASE_NEW:
	case PHASE_LINGER:
		break;
	}
	return STEP_CLOSE;
}
