/* Signing in from a browser: a session in an HttpOnly cookie, because EventSource and images cannot send a header. */
#include "api/core/api_state.h"
#include "api/core/audit.h"
#include "api/core/handlers.h"
#include "api/core/page_sessions.h"
#include "api/core/person_sessions.h"
#include "api/core/request.h"
#include "api/core/session_cookies.h"
#include "api/core/tokens.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "people/people.h"
#include "state/execute.h"

/* By which one can sign in at /sign-in/NAME. */
static void write_providers(const struct people *people, struct json_writer *w)
{
	const struct provider_settings *provider;

	json_key(w, "providers");
	json_array(w);
	for (size_t i = 0; (provider = people_provider(people, i)); i++) {
		json_object(w);
		json_put_text(w, "name", provider->name);
		json_put_text(w, "label", provider->label);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_session(struct api *api, const struct principal *principal, struct http_response *response)
{
	struct json_writer w = api_reply(response);
	bool is_needed = api_needs_tokens(api), is_known = principal->scope != SCOPE_PUBLIC;

	json_object(&w);
	json_put_bool(&w, "required", is_needed);
	json_put_bool(&w, "authenticated", is_known && is_needed);
	json_key(&w, "scope");
	if (is_known)
		json_text(&w, http_scope_name(principal->scope));
	else
		json_null(&w);
	json_key(&w, "team");
	if (principal->team[0])
		json_text(&w, principal->team);
	else
		json_null(&w);
	if (is_known && is_needed)
		json_put_text(&w, "name", principal->name); /* whose token this is, when somebody has found one */
	json_put_bool(&w, "is_person", principal->is_person);
	write_providers(api->options.people, &w);
	json_object_end(&w);
}

enum status api_session_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	(void)worker;
	(void)err;
	write_session(context, http_request_principal(request), response);
	return OK;
}

/* What a token may do it may do without a session, too: on a full disk people see the page all the same, and the server's own log tells it. */
static void tell_beginning(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct principal *principal)
{
	struct error err;

	audit_enter_deed(api, worker, request,
		&(struct audit_deed){.verb = "sign in",
			.kind = "sign-ins",
			.id = span_from(principal->name),
			.who = principal,
			.body = "{\"by\":\"token\"}"});
	if (writer_execute(api->options.pipeline, writer_write_nothing, NULL, &err) != OK)
		log_line(LOG_WARNING, "sign_in_not_audited", "token=\"%s\" error=\"%s\"", principal->name, err.text);
	audit_leave(api);
}

enum status api_session_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(json) body = NULL;
	struct span token = SPAN("");
	struct principal principal;
	AUTO_DONE(buf) cookie = BUF_INIT(512);

	TRY(api_body_object(request, &body, err));
	TRY(json_want_string(body, "token", &token, err));
	if (!token.len)
		return error_set_field(err, ERR_SEMANTIC, "token", "the body needs a token: {\"token\":\"smf-…\"}");
	TRY(tokens_authenticate(context, token, &principal, err));
	if (!principal.id) /* no token is needed here: there is nothing to sign in to, and nothing unknown goes into a cookie */
		return error_set_field(
			err, ERR_SEMANTIC, "token", "this token is not known here; the server needs none");
	if (principal.session) /* else whoever has a copy of one would have another one when it is ended */
		return error_set_field(
			err, ERR_SEMANTIC, "token", "this is a session, not a token: sign in with the token itself");
	TRY(tokens_begin_session(context, principal.id, &cookie, err));
	tell_beginning(context, worker, request, &principal);
	response->status = 204;
	session_cookie_set_token(context, response, buf_span(&cookie));
	return OK;
}

static enum status write_end(void *context, struct store_tx *tx, struct error *err)
{
	return page_sessions_write(tx, context, err);
}

static void enter_end(struct api *api, struct api_worker *worker, const struct http_request *request, const char *body)
{
	audit_enter_deed(api, worker, request,
		&(struct audit_deed){.verb = "sign out",
			.kind = "sign-ins",
			.id = span_from(http_request_principal(request)->name),
			.body = body});
}

static enum status end_of_token(struct api *api, struct api_worker *worker, const struct http_request *request,
	bool is_everywhere, struct error *err)
{
	const struct principal *principal = http_request_principal(request);
	struct page_session_ending ending = {END_ONE, principal->session, clock_wall_ms()};

	if (is_everywhere)
		ending = (struct page_session_ending){END_ALL_OF_TOKEN, principal->id, ending.now_ms};
	enter_end(
		api, worker, request, is_everywhere ? "{\"by\":\"token\",\"everywhere\":true}" : "{\"by\":\"token\"}");
	enum status status = writer_execute(api->options.pipeline, write_end, &ending, err);
	audit_leave(api);
	TRY(status);
	page_sessions_note(api->ended_sessions, &ending);
	return OK;
}

static enum status end_of_person(struct api *api, struct api_worker *worker, const struct http_request *request,
	bool is_everywhere, struct error *err)
{
	const struct principal *principal = http_request_principal(request);
	struct person_sessions_ending ending = {.session = principal->session,
		.name = is_everywhere ? span_from(principal->name) : SPAN(""),
		.team = SPAN("")};

	enter_end(api, worker, request, NULL);
	enum status status = person_sessions_end(api->person_sessions, api->options.pipeline, &ending, err);
	audit_leave(api);
	return status == ERR_NOT_FOUND ? OK : status; /* it has ended meanwhile */
}

/* Wherever a copy of the cookie is: what goes on for it ends, too. everywhere=true: of all sessions that the token, or the person, has. */
enum status api_session_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	const struct principal *principal = http_request_principal(request);
	bool is_everywhere = false;

	TRY(http_query_bool(request, "everywhere", &is_everywhere, err));
	if (principal->session) {
		TRY(principal->is_person ? end_of_person(api, worker, request, is_everywhere, err)
					 : end_of_token(api, worker, request, is_everywhere, err));
		http_server_recheck(api->server);
	}
	response->status = 204;
	session_cookies_clear(api, response);
	return OK;
}
