#include "base/clock.h"
#include "http/server.h"

#include <ctype.h>

static struct span header(const struct exchange *exchange, const char *name)
{
	return http_request_header(&exchange->request, name);
}

static bool is_number(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isdigit((unsigned char)text.ptr[i]))
			return false;
	return text.len > 0;
}

/* RFC 9110, 5.6.2. A name with anything else in it is another one to whoever drops that: a length, maybe. */
static bool is_token(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && !memchr("!#$%&'*+-.^_`|~", name.ptr[i], 15))
			return false;
	return name.len > 0;
}

/* RFC 9110, 5.5. A CR alone ends the line for some. */
static bool has_control(struct span value)
{
	for (size_t i = 0; i < value.len; i++)
		if (((unsigned char)value.ptr[i] < ' ' && value.ptr[i] != '\t') || value.ptr[i] == 0x7f)
			return true;
	return false;
}

/* RFC 9112, 3.2.2: the authority of an absolute target is the Host, and a proxy may have routed by either. */
static enum status check_authority(const struct exchange *exchange, struct error *err)
{
	struct span authority = request_target_authority(exchange->target);

	if (!authority.ptr || span_equal_fold(authority, header(exchange, "Host")))
		return OK;
	return error_set(err, ERR_INVALID, "the request's target names '%.*s', and its Host another one",
		(int)(authority.len > 100 ? 100 : authority.len), authority.ptr);
}

/*
 * RFC 9112, 3.2, 5.1 and 6.3: what a proxy in front may have read otherwise, so that it took another end of this request
 * for the right one. The connection ends with the refusal: what follows may be a request that nobody has checked.
 */
static enum status check_framing(struct exchange *exchange, struct error *err)
{
	size_t hosts = 0, lengths = 0, encodings = 0;
	struct span encoding = header(exchange, "Transfer-Encoding");

	exchange->must_close = true;
	if (exchange->has_gap)
		return error_set(
			err, ERR_INVALID, "a NUL in the request's head, or a header that goes on in the next line");
	for (const struct request_pair *pair = exchange->request.headers.first; pair; pair = pair->next) {
		if (!is_token(pair->name))
			return error_set(err, ERR_INVALID, "the name of a header is empty, or holds what no name may");
		if (has_control(pair->value))
			return error_set(err, ERR_INVALID, "the value of a header holds a control character");
		hosts += span_equal_fold(pair->name, SPAN("Host"));
		bool is_length = span_equal_fold(pair->name, SPAN("Content-Length"));
		if (is_length && !is_number(pair->value))
			return error_set(err, ERR_INVALID, "Content-Length is no number");
		lengths += is_length;
		encodings += span_equal_fold(pair->name, SPAN("Transfer-Encoding"));
	}
	exchange->has_unknown_length = encodings > 0; /* an empty value is one, too: the transport reads to the end */
	if (hosts > 1)
		return error_set(err, ERR_INVALID, "the request has more than one Host");
	if (lengths + encodings > 1)
		return error_set(
			err, ERR_INVALID, "Content-Length and Transfer-Encoding say twice where the body ends");
	if (encodings && !span_equal_fold(encoding, SPAN("chunked")))
		return error_set(err, ERR_INVALID, "no Transfer-Encoding is known but chunked");
	exchange->must_close = false;
	return OK;
}

/* HTTP/1.0 may leave Host out (health checks do); no browser does. */
static enum status check_host(const struct exchange *exchange, struct error *err)
{
	struct span host = header(exchange, "Host");

	if (!host.len && exchange->request.is_http_10)
		return OK;
	return guard_check_host(exchange->server->guard, host, err);
}

static enum status answer_without_handler(struct exchange *exchange, unsigned allowed, struct error *err)
{
	char text[ROUTER_ALLOW_BYTES];

	if (!allowed)
		return error_set(err, ERR_NOT_FOUND, "there is nothing at '%.*s'",
			(int)(exchange->request.path.len > 200 ? 200 : exchange->request.path.len),
			exchange->request.path.ptr);
	if (!exchange_make_reply(exchange))
		return error_no_memory(err);
	router_allow_text(allowed, text);
	if (exchange->request.method == HTTP_OPTIONS) {
		exchange->reply->status = 204;
	} else {
		error_set(err, ERR_INVALID, "this path takes %s only", text);
		response_problem_as(exchange->reply, 405, err);
		atomic_fetch_add(&exchange->server->counters.errors_4xx, 1);
	}
	http_response_header(exchange->reply, "Allow", "%s", text);
	if (exchange->is_across) {
		http_response_header(exchange->reply, "Access-Control-Allow-Methods", "GET, POST");
		http_response_header(
			exchange->reply, "Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match");
		http_response_header(exchange->reply, "Access-Control-Max-Age", "600");
	}
	return OK;
}

/* Pages that --cors-origins names may read what a token in their header may, and change nothing. */
static bool may_read_across(const struct exchange *exchange)
{
	const struct http_route *route = exchange->route;
	bool is_question = exchange->request.method == HTTP_OPTIONS;
	bool is_public = route && route->scope == SCOPE_PUBLIC && exchange->request.method == HTTP_GET; /* no sign-in */
	bool is_read = is_public || (route && route->scope == SCOPE_READ && !route->audit);

	return (is_question || is_read) && guard_is_reader(exchange->server->guard, header(exchange, "Origin"));
}

/* Pages of other sites may link to what is public, and nothing else. */
static enum status check_origin(const struct exchange *exchange, struct error *err)
{
	const struct http_route *route = exchange->route;

	if (exchange->is_across || (route && route->scope == SCOPE_PUBLIC && exchange->request.method == HTTP_GET))
		return OK;
	return guard_check_origin(exchange->server->guard, header(exchange, "Host"), header(exchange, "Origin"),
		header(exchange, "Sec-Fetch-Site"), err);
}

static enum status check_scope(const struct exchange *exchange, struct error *err)
{
	return http_check_scope(&exchange->request.principal, exchange->route->scope, err);
}

/* Reads need a token alone. Of doors that tell by the request what it is, each needs one. */
static enum status check_certificate(const struct exchange *exchange, struct error *err)
{
	const struct http_route *route = exchange->route;
	const struct tls *tls = exchange->server->tls;
	bool is_read = !route->admit && (route->scope == SCOPE_PUBLIC || route->scope == SCOPE_READ) && !route->audit;

	if (is_read || !tls || !tls_client_authorities(tls) || mhd_is_certified(exchange->connection))
		return OK;
	error_fill(err, ERR_FORBIDDEN,
		"who sends or changes anything here must show a client certificate (--tls-client-ca); sm-ship has --tls-cert "
		"and --tls-key for it");
	if (err)
		err->is_of_caller = true;
	return ERR_FORBIDDEN;
}

static enum status count_refusal(const struct exchange *exchange, enum status status)
{
	if (status == ERR_UNAUTHORIZED || status == ERR_FORBIDDEN)
		atomic_fetch_add(&exchange->server->counters.refused_auth, 1);
	return status;
}

static enum status read_person(const struct exchange *exchange, struct vouched_person *out, struct error *err)
{
	const struct vouched *vouched = exchange->server->vouched;

	*out = (struct vouched_person){SPAN(""), SPAN("")};
	return vouched ? vouched_read(vouched, mhd_peer(exchange->connection), &exchange->request, out, err) : OK;
}

/* What a browser is to a proxy it is by a cookie: a page of elsewhere makes it ask with that, so that it counts no more than ours does. */
static bool is_vouched(const struct exchange *exchange, const struct vouched_person *person)
{
	return person->user.len && !exchange->is_across && exchange->server->hooks->authenticate_person;
}

static enum status authenticate(struct exchange *exchange, struct error *err)
{
	const struct http_hooks *hooks = exchange->server->hooks;
	struct principal *principal = &exchange->request.principal;
	struct vouched_person person;

	TRY(count_refusal(exchange, read_person(exchange, &person, err)));
	if (exchange->route->admit)
		return count_refusal(exchange,
			exchange->route->admit(exchange_context(exchange), &exchange->request, principal, err));
	struct span cookie = exchange->is_across ? SPAN("") : header(exchange, "Cookie");
	struct span token = guard_token(exchange->server->guard, header(exchange, "Authorization"), cookie);
	bool is_public = exchange->route->scope == SCOPE_PUBLIC;

	if (is_vouched(exchange, &person)) {
		TRY(count_refusal(exchange,
			hooks->authenticate_person(hooks->context, person.user, person.groups, principal, err)));
		return count_refusal(exchange, check_scope(exchange, err));
	}
	if (is_public && !token.len)
		return OK;
	enum status status = hooks->authenticate ? hooks->authenticate(hooks->context, token, principal, err) : OK;
	if (status && is_public) { /* an old cookie must not lock anybody out of the sign-in page */
		*principal = (struct principal){0};
		return OK;
	}
	if (!status && hooks->authenticate)
		status = check_scope(exchange, err);
	return count_refusal(exchange, status);
}

/* A signed address carries its own leave, whoever's page it stands on. */
static bool is_signed(const struct exchange *exchange)
{
	struct span signature;

	return exchange->route && exchange->route->is_signable && exchange->request.method == HTTP_GET &&
	       exchange->server->hooks->check_signature && http_request_query(&exchange->request, "sig", &signature);
}

static enum status check_signature(struct exchange *exchange, struct error *err)
{
	const struct http_hooks *hooks = exchange->server->hooks;
	struct principal *principal = &exchange->request.principal;
	enum status status = hooks->check_signature(hooks->context, &exchange->request, principal, err);

	if (status)
		atomic_fetch_add(&exchange->server->counters.refused_auth, 1);
	return status;
}

static enum status check_stop(const struct exchange *exchange, struct error *err)
{
	const struct http_server *server = exchange->server;
	bool is_late = (exchange->route->kind == ROUTE_UPLOAD && atomic_load(&server->is_quiescing)) ||
		       (exchange->route->kind == ROUTE_STREAM && atomic_load(&server->is_ending));

	return is_late ? error_set(err, ERR_UNAVAILABLE, "the server is stopping") : OK;
}

static enum status answer_before_routes(struct exchange *exchange, struct error *err)
{
	TRY(check_host(exchange, err));
	if (!exchange_make_reply(exchange))
		return error_no_memory(err);
	return exchange->server->before(NULL, NULL, &exchange->request, exchange->reply, err);
}

enum status admit(struct exchange *exchange, struct error *err)
{
	struct http_server *server = exchange->server;

	TRY(check_framing(exchange, err));
	TRY(request_parse_target(&exchange->request, exchange->target, err));
	if (!atomic_load(&server->is_serving))
		return answer_before_routes(exchange, err);
	struct router_match match = router_find(server->router, &exchange->request);
	exchange->route = match.route; /* first: it says in which form a refusal is */
	TRY(check_host(exchange, err));
	TRY(check_authority(exchange, err));
	bool has_leave = is_signed(exchange);
	exchange->is_across = may_read_across(exchange);
	if (!has_leave)
		TRY(check_origin(exchange, err));
	if (!match.route)
		return answer_without_handler(exchange, match.allowed, err);
	TRY(count_refusal(exchange, check_certificate(exchange, err)));
	TRY((has_leave ? check_signature : authenticate)(exchange, err));
	TRY(rate_admit(server->rate, &exchange->request.principal, clock_mono_ms(), err));
	TRY(router_check_query(match.route, &exchange->request, err));
	exchange->is_slow = match.route->is_slow && match.route->is_slow(&exchange->request);
	if (exchange->is_slow)
		TRY(rate_admit_slow(server->rate, &exchange->request.principal, clock_mono_ms(), err));
	return check_stop(exchange, err);
}
