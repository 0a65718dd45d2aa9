/* What searches are asked by, the same everywhere: q=, and tz=, the zone of the times in it. */
#include "api/internal.h"
#include "query/query.h"

#include <stdio.h>

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
