/* What searches are asked by, the same everywhere: q=, and tz=, the zone of the times in it. */
#include "api/core/request.h"

#include "api/core/api_state.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/text/zone.h"
#include "model/json_form.h"
#include "model/query.h"
#include "query/query.h"

#include <stdio.h>

enum { REPLY_MAX_BYTES = 256 << 20 };

struct span api_team(const struct http_request *request)
{
	return span_from(http_request_principal(request)->team);
}

enum status api_all_teams(const struct http_request *request, const char *what, struct error *err)
{
	struct span own = api_team(request);

	return own.len ? error_set(err, ERR_FORBIDDEN, "%s of all teams; this token is of team '%.*s'", what,
				 SPAN_ARGS(own))
		       : OK;
}

enum status api_own_team(const struct http_request *request, struct span *team, struct error *err)
{
	struct span own = api_team(request);

	if (own.len && team->len && !span_equal(own, *team))
		return error_set_field(err, ERR_FORBIDDEN, "team", "this token's team is '%.*s', not '%.*s'",
			SPAN_ARGS(own), SPAN_ARGS(*team));
	if (own.len)
		*team = own;
	return OK;
}

enum status api_arena(struct arena **out, struct error *err)
{
	*out = arena_new();
	return *out ? OK : error_no_memory(err);
}

enum status api_decode_name(struct arena *arena, struct span text, struct span *out, struct error *err)
{
	char *room = arena_alloc(arena, text.len);
	size_t len = 0;

	if (!room)
		return error_no_memory(err);
	for (size_t i = 0; i < text.len; i++) {
		int high = i + 2 < text.len && text.ptr[i] == '%' ? span_hex_digit(text.ptr[i + 1]) : -1;
		int low = high >= 0 ? span_hex_digit(text.ptr[i + 2]) : -1;
		room[len++] = (char)(low >= 0 ? high << 4 | low : text.ptr[i]);
		i += low >= 0 ? 2 : 0;
	}
	*out = span_of(room, len);
	return OK;
}

enum status api_limit(
	const struct http_request *request, int64_t fallback, int64_t most, size_t *out, struct error *err)
{
	int64_t limit = fallback;

	TRY(http_query_i64(request, "limit", 1, most, &limit, err));
	*out = (size_t)limit;
	return OK;
}

enum status api_check_length(const char *field, struct span text, size_t least, size_t most, struct error *err)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 127)
			return error_set_field(
				err, ERR_SEMANTIC, field, "%s holds a control character at byte %zu", field, i);
	if (text.len >= least && text.len <= most)
		return OK;
	return error_set_field(
		err, ERR_SEMANTIC, field, "%s has %zu bytes; it takes %zu to %zu", field, text.len, least, most);
}

struct json_writer api_reply(struct http_response *response)
{
	response->body.max_bytes = REPLY_MAX_BYTES;
	return json_writer_on(&response->body);
}

enum status api_body_object(const struct http_request *request, struct json **out, struct error *err)
{
	struct span body = http_request_body(request);

	if (!span_trim(body).len)
		return error_set(err, ERR_INVALID, "the body is empty; a JSON object is expected");
	TRY(json_parse(out, body, err));
	enum status status = json_kind(*out) == JSON_OBJECT
				     ? json_check_form(*out, err)
				     : error_set(err, ERR_SEMANTIC, "the body is JSON, but no object");
	if (status != OK) {
		json_free(*out);
		*out = NULL;
	}
	return status;
}

enum status api_check_members(const struct json *body, const char *names, struct error *err)
{
	const struct json *other = json_find_other(body, names);
	char field[64];

	if (!other)
		return json_check_form(body, err);
	snprintf(field, sizeof field, "%.*s", SPAN_ARGS(span_cut(json_key_of(other), 60)));
	return error_set_field(err, ERR_SEMANTIC, field, "there is no field '%s' here; there is: %s", field, names);
}

enum status api_zone(const struct api *api, const struct http_request *request, struct zone **own,
	const struct zone **out, struct error *err)
{
	struct span name;

	*own = NULL;
	*out = api->zone;
	if (!http_request_query(request, "tz", &name) || !name.len)
		return OK;
	enum status status = zone_new(own, name, err);
	if (status == ERR_SEMANTIC && err)
		snprintf(err->field, sizeof err->field, "tz");
	*out = *own;
	return status;
}

enum status api_parse_query(const struct api *api, const struct http_request *request, struct arena *arena,
	struct query_node **out, struct error *err)
{
	AUTO(zone) own = NULL;
	const struct zone *zone;
	struct span text = SPAN("");

	TRY(api_zone(api, request, &own, &zone, err));
	http_request_query(request, "q", &text);
	text = arena_copy(arena, text); /* a reply that is produced piece by piece outlives the request */
	if (!text.ptr)
		return error_no_memory(err);
	return query_parse_in(out, text, http_request_arrival_ms(request), zone, arena, err);
}

enum status api_want_runs(const struct http_request *request, struct arena *arena, struct query_node **query,
	bool *wants_runs, struct error *err)
{
	struct query_node *nodes = arena_alloc(arena, 3 * sizeof *nodes);

	TRY(http_query_bool(request, "runs", wants_runs, err));
	if (!*wants_runs)
		return OK;
	if (!nodes)
		return error_no_memory(err);
	nodes[0] = (struct query_node){.kind = QUERY_TERM,
		.term = {.family = QUERY_PROPERTY, .key = SPAN("continued"), .compare = QUERY_EXISTS}};
	nodes[1] = (struct query_node){.kind = QUERY_NOT, .left = &nodes[0]};
	nodes[2] = (struct query_node){.kind = QUERY_AND, .left = *query, .right = &nodes[1]};
	*query = *query ? &nodes[2] : &nodes[1];
	return OK;
}

static bool is_over(const void *request)
{
	return http_request_is_over(request);
}

static void charge(const void *request, int64_t cpu_ns)
{
	http_request_charge(request, cpu_ns);
}

struct log_asker api_asker(const struct api *api, const struct http_request *request)
{
	return (struct log_asker){api->options.search_cpu_ms, is_over, charge, request};
}

bool api_is_slow(const struct http_request *request)
{
	(void)request;
	return true;
}

bool api_is_slow_query(const struct http_request *request)
{
	struct span query;

	return http_request_query(request, "q", &query) &&
	       (span_find_char(query, '~') >= 0 || span_find(query, SPAN("log")) >= 0);
}
