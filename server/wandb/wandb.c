#include "wandb/wandb.h"

#include "wandb/internal.h"

/* As much as --max-attachment-bytes may be: what is above that is told at the run, which a client that is cut off is not. */
enum { FILE_MAX_BYTES = 32 << 20 };

static const struct http_route templates[] = {
	{HTTP_POST, "/graphql", SCOPE_WRITE, .handler = wandb_graphql,
		.summary = "W&B: a call of its SDK, by the name of its operation"},
	{HTTP_POST, "/files/{entity}/{project}/{run}/file_stream", SCOPE_WRITE, .handler = wandb_file_stream,
		.summary = "W&B: history, events, console and end of a run"},
	{HTTP_PUT, "/files/{entity}/{project}/{run}/files/{path...}", SCOPE_WRITE, .handler = wandb_file_put,
		.max_body_bytes = FILE_MAX_BYTES,
		.summary = "W&B: keep a small file of a run as an attachment of its job"},
	{HTTP_GET, "/files/{entity}/{project}/{run}/files/{path...}", SCOPE_WRITE, .handler = wandb_file_get,
		.summary = "W&B: one file of a run"},
};

enum { ROUTE_COUNT = sizeof templates / sizeof *templates };

static struct http_route route_of(struct wandb *wandb, const struct http_route *template)
{
	struct http_route route = *template;

	route.kind = ROUTE_WORKER;
	route.query = "*";
	if (!route.max_body_bytes && route.methods != HTTP_GET)
		route.max_body_bytes = wandb->options.max_body_bytes;
	route.context = wandb;
	route.admit = route.methods == HTTP_PUT ? wandb_admit_file : wandb_admit;
	route.refuse = wandb_refuse;
	return route;
}

enum status wandb_new(struct wandb **out, const struct wandb_options *options, struct error *err)
{
	AUTO(wandb) wandb = mem_zeroed(sizeof *wandb);

	if (!wandb || !(wandb->routes = mem_zeroed(ROUTE_COUNT * sizeof *wandb->routes)))
		return error_no_memory(err);
	wandb->options = *options;
	for (; wandb->route_count < ROUTE_COUNT; wandb->route_count++)
		wandb->routes[wandb->route_count] = route_of(wandb, &templates[wandb->route_count]);
	*out = TAKE(wandb);
	return OK;
}

void wandb_free(struct wandb *wandb)
{
	if (!wandb)
		return;
	mem_free(wandb->routes);
	mem_free(wandb);
}

const struct http_route *wandb_routes(const struct wandb *wandb, size_t *count)
{
	*count = wandb->route_count;
	return wandb->routes;
}
