#include "api/core/sign_in.h"

#include "api/core/handlers.h"
#include "api/core/person_sessions.h"
#include "api/core/refusals.h"
#include "api/core/request.h"
#include "api/core/session_cookies.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text/markup.h"
#include "http/workers.h"
#include "people/provider.h"
#include "people/sign_ins.h"

#include <stdio.h>

enum {
	WAITING_MAX = 64,
	ADDRESS_BYTES = 8192,
	CODE_BYTES = 4096,
	TOLD_BYTES = 300,
	ADDRESS_TEXT_BYTES = 64,
	AGAIN_S = 2 /* when who found no place may try again */
};

/* Of one provider: whoever signs in by it waits here. */
struct desk {
	const struct provider_settings *settings;
	struct provider *provider; /* of the thread */
	struct http_hooks hooks;
	struct refusals refusals; /* of the thread, too */
	struct workers *workers;
	pthread_mutex_t mutex;
	struct call *first; /* of those that are there */
};

struct sign_in_desks {
	struct sign_ins *begun;
	size_t count;
	struct desk all[];
};

/* One request, while its provider is asked. */
struct call {
	struct work work; /* first */
	struct api *api;
	struct desk *desk;
	struct http_deferred *handle;
	struct http_response *response;
	struct sign_in sign_in;
	bool is_return; /* the browser has come back */
	bool is_there; /* has a place at its desk */
	char address[ADDRESS_TEXT_BYTES];
	char network[ADDRESS_TEXT_BYTES]; /* "": its places are not counted */
	struct call *next, *previous; /* of its desk */
	struct buf code, issuer;
	bool has_issuer;
};

/* ---- places at a desk ---- */

static size_t count_of(const struct desk *desk, const char *network)
{
	size_t count = 0;

	for (const struct call *at = desk->first; at; at = at->next)
		count += strcmp(at->network, network) == 0;
	return count;
}

/* A provider may take its time, and whoever has no account can have it asked, too: of the places an address has its share. */
static enum status enter(struct call *call, struct error *err)
{
	struct desk *desk = call->desk;
	size_t most = call->api->options.max_waiting_sign_ins;

	pthread_mutex_lock(&desk->mutex);
	bool has_room = !most || !call->network[0] || count_of(desk, call->network) < most;
	if (has_room) {
		call->next = desk->first;
		if (desk->first)
			desk->first->previous = call;
		desk->first = call;
		call->is_there = true;
	}
	pthread_mutex_unlock(&desk->mutex);
	return has_room
		       ? OK
		       : error_set(err, ERR_BUSY,
				 "%zu sign-ins of %s wait for %s already (--max-waiting-sign-ins): try again in a moment",
				 most, call->network, desk->settings->label);
}

static void leave(struct call *call)
{
	struct desk *desk = call->desk;

	if (!call->is_there)
		return;
	pthread_mutex_lock(&desk->mutex);
	if (call->next)
		call->next->previous = call->previous;
	if (call->previous)
		call->previous->next = call->next;
	else
		desk->first = call->next;
	pthread_mutex_unlock(&desk->mutex);
}

static void call_free(struct call *call)
{
	if (!call)
		return;
	leave(call);
	buf_done(&call->code);
	buf_done(&call->issuer);
	mem_free(call);
}
AUTO_TYPE(call)

/* ---- threads ---- */

static enum status make_provider(void *context, void **out, struct error *err)
{
	struct desk *desk = context;

	TRY(provider_new(&desk->provider, desk->settings, err));
	*out = desk->provider;
	return OK;
}

static void free_provider(void *worker)
{
	provider_free(worker);
}

static size_t count_providers(const struct people *people)
{
	size_t count = 0;

	while (people_provider(people, count))
		count++;
	return count;
}

enum status sign_in_desks_start(struct sign_in_desks **out, struct api *api, struct error *err)
{
	size_t count = count_providers(api->options.people);

	if (!count)
		return OK;
	struct sign_in_desks *desks = *out = mem_zeroed(sizeof *desks + count * sizeof *desks->all);
	if (!desks)
		return error_no_memory(err);
	TRY(sign_ins_new(&desks->begun, err));
	for (; desks->count < count; desks->count++) {
		struct desk *desk = &desks->all[desks->count];
		desk->settings = people_provider(api->options.people, desks->count);
		desk->hooks =
			(struct http_hooks){.context = desk, .worker_new = make_provider, .worker_free = free_provider};
		pthread_mutex_init(&desk->mutex, NULL);
		TRY(workers_new(&desk->workers, 1, WAITING_MAX, &desk->hooks, err));
	}
	return OK;
}

void sign_in_desks_stop(struct sign_in_desks *desks)
{
	for (size_t i = 0; desks && i < desks->count; i++)
		provider_cancel(desks->all[i].provider);
	for (size_t i = 0; desks && i < desks->count; i++)
		workers_stop(desks->all[i].workers);
}

void sign_in_desks_free(struct sign_in_desks *desks)
{
	if (!desks)
		return;
	for (size_t i = 0; i < desks->count; i++) {
		workers_free(desks->all[i].workers);
		pthread_mutex_destroy(&desks->all[i].mutex);
	}
	sign_ins_free(desks->begun);
	mem_free(desks);
}

/* ---- what the browser shows when it did not work ---- */

static int code_of(enum status status)
{
	return status == ERR_IO ? 502 : http_status_of(status);
}

/* told: what the provider said beside; "": nothing. */
static void write_page(
	struct http_response *response, enum status status, const char *text, struct span told, const char *return_path)
{
	struct buf *out = &response->body;

	response->status = code_of(status);
	response->content_type = "text/html; charset=utf-8";
	http_response_header(response, "Content-Security-Policy",
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	if (response->status == 429 || response->status == 503)
		http_response_header(response, "Retry-After", "%d", AGAIN_S);
	buf_append_text(out, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
			     "<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" "
			     "content=\"light dark\"><title>Sign in</title><h1>Nobody was signed in</h1><p>");
	markup_put_text(out, span_from(text));
	if (told.len) {
		buf_append_text(out, "</p><p>The provider says: ");
		markup_put_text(out, span_cut(told, TOLD_BYTES));
	}
	buf_append_text(out, "</p><p><a href=\"");
	markup_put_text(out, span_from(return_path));
	buf_append_text(out, "\">Back</a></p></html>\n");
}

static enum status answer_page(struct http_response *response, enum status status, const struct error *err)
{
	write_page(response, status, err->text, SPAN(""), "/");
	return OK;
}

/* ---- on the provider's thread ---- */

static struct span callback_address(const struct call *call, struct buf *out)
{
	buf_printf(
		out, "%.*s/sign-in/%s/callback", SPAN_ARGS(call->api->options.public_url), call->desk->settings->name);
	return buf_span(out);
}

/* A browser that begins another one before it comes back is in the newer one: it has one cookie. */
static enum status lead_there(struct call *call, struct provider *provider, struct error *err)
{
	AUTO_DONE(buf) address = BUF_INIT(ADDRESS_BYTES), callback = BUF_INIT(ADDRESS_BYTES);
	AUTO_DONE(buf) state = BUF_INIT(SIGN_IN_STATE_BYTES);
	char browser[SIGN_IN_TEXT_BYTES + 1], challenge[SIGN_IN_TEXT_BYTES + 1];
	struct sign_in *one = &call->sign_in;

	sign_in_random(one->nonce);
	sign_in_random(one->verifier);
	sign_in_random(browser);
	sign_in_challenge(one->verifier, challenge);
	crypto_sha256(span_from(browser), one->browser);
	one->endings = person_sessions_endings(call->api->person_sessions);
	one->until_mono_ms = clock_mono_ms() + SIGN_IN_SECONDS * 1000;
	TRY(sign_ins_write_state(call->api->desks->begun, one, &state, err));
	struct provider_question question = {.redirect_uri = callback_address(call, &callback),
		.state = buf_span(&state),
		.nonce = span_from(one->nonce),
		.challenge = span_from(challenge)};
	TRY(buf_status(&callback, err));
	TRY(provider_write_address(provider, &question, &address, err));
	sign_in_cookie_set(call->api, call->response, span_from(browser));
	http_response_redirect(call->response, buf_span(&address));
	return OK;
}

/* Bytes that an address may not hold as they are. What has a % is encoded already. */
static void put_path(struct buf *out, const char *path)
{
	for (; *path; path++)
		if (*path <= ' ' || *path >= 0x7f || strchr("\"<>", *path))
			buf_append_percent_encoded(out, span_of(path, 1));
		else
			buf_append_char(out, *path);
}

static enum status begin_session(struct call *call, struct provider *provider, struct provider_person *person,
	struct buf *cookie, struct error *err)
{
	AUTO_DONE(buf) callback = BUF_INIT(ADDRESS_BYTES);
	struct provider_answer answer = {.code = buf_span(&call->code),
		.redirect_uri = callback_address(call, &callback),
		.nonce = span_from(call->sign_in.nonce),
		.verifier = span_from(call->sign_in.verifier),
		.has_issuer = call->has_issuer,
		.issuer = buf_span(&call->issuer)};

	TRY(buf_status(&callback, err));
	TRY(provider_find_person(provider, &answer, person, err));
	struct person_sessions_beginning beginning = {.provider = call->desk->settings,
		.person = buf_span(&person->name),
		.groups = buf_span(&person->groups),
		.address = span_from(call->address),
		.endings = call->sign_in.endings};
	return person_sessions_begin(call->api->person_sessions, call->api->options.pipeline, &beginning, cookie, err);
}

static enum status let_in(struct call *call, struct provider *provider, struct error *err)
{
	AUTO_DONE(buf) address = BUF_INIT(ADDRESS_BYTES), cookie = BUF_INIT(256);
	AUTO_DONE(provider_person) person = {BUF_INIT(ADDRESS_BYTES), BUF_INIT(1 << 20)};

	enum status status = begin_session(call, provider, &person, &cookie, err);
	if (status == ERR_FORBIDDEN)
		refusals_tell(&call->desk->refusals, call->api->options.pipeline,
			&(struct refusal){call->desk->settings->name, buf_span(&person.name), span_from(call->address),
				span_from(err->text)});
	TRY(status);
	log_line(LOG_INFO, "signed_in", "provider=%s person=\"%.*s\"", call->desk->settings->name,
		SPAN_ARGS(buf_span(&person.name)));
	http_server_recheck(call->api->server); /* the oldest may have ended for it */
	buf_append_span(&address, call->api->options.public_url);
	put_path(&address, call->sign_in.return_path);
	TRY(buf_status(&address, err));
	session_cookie_set_person(call->api, call->response, buf_span(&cookie));
	sign_in_cookie_clear(call->api, call->response);
	http_response_redirect(call->response, buf_span(&address));
	return OK;
}

static void log_failure(const struct provider_settings *provider, const char *text)
{
	log_line(LOG_WARNING, "sign_in_failed", "provider=%s error=\"%s\"", provider->name, text);
}

static void end_call(struct call *call, enum status status, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ERROR_TEXT_BYTES + 256);

	if (status != OK) {
		log_failure(call->desk->settings, err->text);
		buf_printf(&text, "%s: %s", call->desk->settings->label, err->text);
		write_page(call->response, status, text.failure ? err->text : text.ptr, SPAN(""),
			call->sign_in.return_path);
	}
	struct http_deferred *handle = call->handle;
	call_free(call); /* first: who has the answer has the place back */
	http_deferred_end(handle, OK, err);
}

static void run(struct work *work, void *worker, bool is_dropped)
{
	struct call *call = (struct call *)work;
	struct error err = {0};
	enum status status;

	if (is_dropped)
		status = error_set(&err, ERR_UNAVAILABLE, "the server is stopping");
	else
		status = (call->is_return ? let_in : lead_there)(call, worker, &err);
	end_call(call, status, &err);
}

/* Takes the call over. */
static enum status hand_over(struct call *call, const struct http_request *request, struct http_response *response)
{
	struct desk *desk = call->desk;
	struct error err = {0};

	call->work.run = run;
	call->response = response;
	call->handle = http_defer(request);
	enum status status = workers_push(desk->workers, &call->work, &err);
	if (status == OK)
		return OK;
	http_deferred_cancel(call->handle);
	call_free(call);
	if (status == ERR_BUSY)
		status = error_set(&err, ERR_UNAVAILABLE,
			"%d people are signing in already, or %s is slow: try again in a moment", WAITING_MAX,
			desk->settings->label);
	return answer_page(response, status, &err);
}

/* ---- handlers ---- */

static enum status find_desk(struct api *api, struct span name, size_t *out, struct error *err)
{
	for (size_t i = 0; api->desks && i < api->desks->count; i++)
		if (span_equal(span_from(api->desks->all[i].settings->name), name)) {
			*out = i;
			return OK;
		}
	return error_set(err, ERR_NOT_FOUND, "there is no provider '%.*s' in --sign-in", SPAN_ARGS(span_cut(name, 40)));
}

/* ERR_BUSY: its address has as many places as it may. */
static enum status call_new(
	struct call **out, struct api *api, const struct http_request *request, size_t provider, struct error *err)
{
	AUTO(call) call = mem_zeroed(sizeof *call);

	if (!call)
		return error_no_memory(err);
	call->api = api;
	call->desk = &api->desks->all[provider];
	call->sign_in.provider = provider;
	call->code = call->issuer = BUF_INIT(CODE_BYTES);
	snprintf(call->address, sizeof call->address, "%.*s", SPAN_ARGS(http_request_address(request)));
	snprintf(call->network, sizeof call->network, "%.*s", SPAN_ARGS(http_request_network(request)));
	TRY(enter(call, err));
	*out = TAKE(call);
	return OK;
}

enum status api_sign_in(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	struct span path = SPAN("/");
	enum status status;
	struct call *call;
	size_t provider;

	(void)worker;
	TRY(find_desk(api, http_request_segment(request, 0), &provider, err));
	(void)http_request_query(request, "return", &path);
	if (!sign_in_is_return_path(path))
		return error_set_field(err, ERR_INVALID, "return",
			"return is the path of a page of this server, which begins with one /, of at most %d bytes",
			SIGN_IN_RETURN_BYTES);
	if ((status = call_new(&call, api, request, provider, err)) != OK)
		return answer_page(response, status, err);
	snprintf(call->sign_in.return_path, sizeof call->sign_in.return_path, "%.*s", SPAN_ARGS(path));
	return hand_over(call, request, response);
}

/* Of this provider, and in this browser. */
static bool find_begun(struct api *api, const struct http_request *request, size_t provider, struct sign_in *out)
{
	struct span state = SPAN(""), cookie = sign_in_cookie_of(api, request);
	unsigned char browser[SHA256_BYTES];

	(void)http_request_query(request, "state", &state);
	if (!sign_ins_take(api->desks->begun, state, out) || out->provider != provider)
		return false;
	crypto_sha256(cookie, browser);
	return crypto_equal(browser, out->browser, sizeof browser);
}

static bool is_error_name(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || name.ptr[i] == '_'))
			return false;
	return name.len > 0 && name.len < 60;
}

static enum status answer_refusal(struct api *api, const struct http_request *request, const struct sign_in *begun,
	struct span name, struct http_response *response)
{
	AUTO_DONE(buf) text = BUF_INIT(256);
	struct span told = SPAN("");

	(void)http_request_query(request, "error_description", &told);
	const struct provider_settings *settings = api->desks->all[begun->provider].settings;
	buf_printf(&text, "%s has not signed anybody in: %.*s", settings->label,
		SPAN_ARGS(is_error_name(name) ? name : SPAN("its error has no name")));
	log_failure(settings, text.failure ? "" : text.ptr);
	write_page(response, ERR_FORBIDDEN, text.failure ? "" : text.ptr, told, begun->return_path);
	return OK;
}

/* What was begun in another browser would sign this one in as somebody else, maybe of an attacker's choice. */
enum status api_sign_in_return(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct span code = SPAN(""), refusal, issuer;
	AUTO(call) call = NULL;
	struct sign_in begun;
	enum status status;
	size_t provider;

	(void)worker;
	TRY(find_desk(api, http_request_segment(request, 0), &provider, err));
	/* before its state is taken, which is good once: who finds no place comes back with it */
	if ((status = call_new(&call, api, request, provider, err)) != OK)
		return answer_page(response, status, err);
	if (!find_begun(api, request, provider, &begun)) {
		error_set(err, ERR_INVALID,
			"this sign-in was not begun in this browser at %.*s, or more than ten minutes ago, or it was ended already: begin it again",
			SPAN_ARGS(api->options.public_url));
		return answer_page(response, ERR_INVALID, err);
	}
	if (http_request_query(request, "error", &refusal))
		return answer_refusal(api, request, &begun, refusal, response);
	if (!http_request_query(request, "code", &code) || !code.len) {
		error_set(err, ERR_INVALID, "the provider has sent neither a code nor an error");
		return answer_page(response, ERR_INVALID, err);
	}
	call->is_return = true;
	call->sign_in = begun;
	call->has_issuer = http_request_query(request, "iss", &issuer);
	buf_append_span(&call->code, code);
	if (call->has_issuer)
		buf_append_span(&call->issuer, issuer);
	if (call->code.failure || call->issuer.failure) {
		error_set(err, ERR_INVALID, "the code that came back is longer than %d bytes", CODE_BYTES);
		return answer_page(response, ERR_INVALID, err);
	}
	return hand_over(TAKE(call), request, response);
}
