/* Signing in from a browser: the token in an HttpOnly cookie, because EventSource and images cannot send a header. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/core/tokens.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"

enum { COOKIE_SECONDS = 30 * 24 * 3600 };

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

enum status api_session_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(json) body = NULL;
	struct span token = SPAN("");
	struct principal principal;

	(void)worker;
	TRY(api_body_object(request, &body, err));
	TRY(json_want_string(body, "token", &token, err));
	if (!token.len)
		return error_set_field(err, ERR_SEMANTIC, "token", "the body needs a token: {\"token\":\"smf_…\"}");
	TRY(tokens_authenticate(context, token, &principal, err));
	if (!principal.id) /* no token is needed here: there is nothing to sign in to, and nothing unknown goes into a cookie */
		return error_set_field(
			err, ERR_SEMANTIC, "token", "this token is not known here; the server needs none");
	response->status = 204;
	http_response_header(response, "Set-Cookie",
		"smfleet_session=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s", SPAN_ARGS(token),
		COOKIE_SECONDS, ((struct api *)context)->options.is_tls ? "; Secure" : "");
	return OK;
}

enum status api_session_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	(void)context;
	(void)worker;
	(void)request;
	(void)err;
	response->status = 204;
	http_response_header(response, "Set-Cookie", "smfleet_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
	return OK;
}
