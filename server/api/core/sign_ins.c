/* Who is signed in by an OpenID provider, for administrators: of a team those of their own. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/person_sessions.h"
#include "api/core/request.h"
#include "base/json/json_write.h"

enum status api_sign_ins_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct person_session *rows;
	size_t count;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(person_sessions_list(api->person_sessions, api_team(request), arena, &rows, &count, err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_key(&w, "sign_ins");
	json_array(&w);
	for (size_t i = 0; i < count; i++) {
		json_object(&w);
		json_put_text(&w, "name", rows[i].person.name);
		json_put_text(&w, "scope", http_scope_name(rows[i].person.scope));
		json_put_text(&w, "team", rows[i].person.team);
		json_put_i64(&w, "began_ms", rows[i].began_ms);
		json_put_i64(&w, "until_ms", rows[i].until_ms);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_sign_ins_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct person_sessions_ending ending = {.name = SPAN(""), .team = api_team(request)};

	(void)worker;
	if (!http_request_query(request, "name", &ending.name) || !ending.name.len)
		return error_set_field(err, ERR_INVALID, "name",
			"name says whose sessions end, as the list has it: oidc/PROVIDER/NAME");
	TRY(person_sessions_end(api->person_sessions, api->options.pipeline, &ending, err));
	http_server_recheck(api->server);
	response->status = 204;
	return OK;
}
