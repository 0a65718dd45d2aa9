/* Who changed what: what a request does is told under its token's name, and GET /api/v1/audit reads it. */
#include "api/core/audit.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "state/audit.h"
#include "store/audit.h"

#include <stdio.h>

/*
 * "/api/v1/jobs/{job}/pin": what stands behind the first parameter, "pin"; "" where nothing does. Without a path at its end: the entry
 * tells the path itself.
 */
static struct span tail_of(const char *pattern)
{
	const char *parameter = strchr(pattern, '}');
	struct span tail = parameter && parameter[1] == '/' ? span_from(parameter + 2) : SPAN("");
	ptrdiff_t path = span_find(tail, SPAN("/{path...}"));

	return path < 0 ? tail : span_cut(tail, (size_t)path);
}

static void name_verb(struct api_worker *worker, const struct http_request *request, const struct http_route *route)
{
	struct span tail = tail_of(route->pattern), last = tail;
	enum http_method method = http_request_method(request);

	for (size_t i = 0; i < tail.len; i++)
		if (tail.ptr[i] == '/')
			last = span_skip(tail, i + 1);
	const char *verb = method == HTTP_POST ? "create" : method == HTTP_DELETE ? "delete" : "change";
	if (method == HTTP_POST && last.len)
		snprintf(worker->verb, sizeof worker->verb, "%.*s", SPAN_ARGS(last));
	else
		snprintf(worker->verb, sizeof worker->verb, "%s%s%.*s", verb, tail.len ? " " : "", SPAN_ARGS(tail));
	worker->actor.verb = span_from(worker->verb);
}

/* A path names it; what is made by a name has it in its body. */
static void name_thing(struct api_worker *worker, const struct http_request *request, const struct http_route *route)
{
	static const struct {
		const char *kind, *key;
	} named[] = {{"jobs", "TrainingJobName"}, {"tokens", "name"}, {"views", "name"}};
	struct span name = SPAN("");
	AUTO(json) body = NULL;

	worker->actor.kind = span_from(route->audit);
	if (strchr(route->pattern, '{'))
		name = http_request_segment(request, 0);
	else if (!http_request_query(request, "name", &name))
		for (size_t i = 0; i < sizeof named / sizeof *named; i++)
			if (strcmp(route->audit, named[i].kind) == 0 &&
				json_parse(&body, http_request_body(request), NULL) == OK)
				name = json_string_of(json_get(body, named[i].key));
	snprintf(worker->thing, sizeof worker->thing, "%.*s", SPAN_ARGS(name));
	worker->actor.id = span_from(worker->thing);
}

/* Of jobs and incidents. */
static void keep_body(struct api_worker *worker, const struct http_request *request, const struct http_route *route)
{
	AUTO(json) body = NULL;

	buf_reset(&worker->body);
	if ((strcmp(route->audit, "jobs") == 0 || strcmp(route->audit, "incidents") == 0) &&
		json_parse(&body, http_request_body(request), NULL) == OK && json_kind(body) == JSON_OBJECT)
		json_print(body, &worker->body);
	worker->actor.body = worker->body.failure ? SPAN("") : buf_span(&worker->body);
}

static struct actor actor_of(const struct http_request *request, const struct principal *principal)
{
	return (struct actor){.token = span_from(principal->name),
		.team = span_from(principal->team),
		.address = http_request_address(request),
		.body = SPAN("")};
}

void audit_enter_deed(
	struct api *api, struct api_worker *worker, const struct http_request *request, const struct audit_deed *deed)
{
	worker->actor = actor_of(request, deed->who ? deed->who : http_request_principal(request));
	worker->actor.verb = span_from(deed->verb);
	worker->actor.kind = span_from(deed->kind);
	snprintf(worker->thing, sizeof worker->thing, "%.*s", SPAN_ARGS(deed->id));
	worker->actor.id = span_from(worker->thing);
	worker->actor.body = span_from(deed->body ? deed->body : "");
	audit_act_as(api->options.pipeline, &worker->actor);
}

void audit_enter(void *context, void *own, const struct http_request *request, const struct http_route *route)
{
	struct api *api = context;
	struct api_worker *worker = own;

	worker->actor = actor_of(request, http_request_principal(request));
	name_verb(worker, request, route);
	name_thing(worker, request, route);
	keep_body(worker, request, route);
	audit_act_as(api->options.pipeline, &worker->actor);
}

void audit_leave(void *context)
{
	audit_act_as(((struct api *)context)->options.pipeline, NULL);
}

static void write_side(struct json_writer *w, const char *key, struct span side)
{
	json_key(w, key);
	if (side.len)
		json_raw(w, side);
	else
		json_null(w);
}

enum status api_audit(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	AUTO(arena) arena = NULL;
	struct audit_row *rows;
	int64_t limit = 50, after = 0;
	size_t count;
	char cursor[24];

	(void)context;
	TRY(http_query_i64(request, "limit", 1, 1000, &limit, err));
	TRY(http_query_i64(request, "after", 1, INT64_MAX, &after, err));
	TRY(api_arena(&arena, err));
	TRY(store_read_audit(((struct api_worker *)worker)->reader, arena, api_team(request), after, (size_t)limit + 1,
		&rows, &count, err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_key(&w, "entries");
	json_array(&w);
	for (size_t i = 0; i < count && i < (size_t)limit; i++) {
		json_object(&w);
		json_put_i64(&w, "time_ms", rows[i].time_ms);
		json_put_span(&w, "token", rows[i].token);
		json_put_span(&w, "address", rows[i].address);
		json_put_span(&w, "verb", rows[i].verb);
		json_put_span(&w, "object", rows[i].object);
		write_side(&w, "before", rows[i].before);
		write_side(&w, "after", rows[i].after);
		json_object_end(&w);
	}
	json_array_end(&w);
	if (count > (size_t)limit) {
		snprintf(cursor, sizeof cursor, "%lld", (long long)rows[limit - 1].entry_id);
		json_put_text(&w, "next_cursor", cursor);
	}
	json_object_end(&w);
	return buf_status(&response->body, err);
}
