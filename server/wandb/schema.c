/* Who asks, and what this server has, as clients ask before they do anything else. */
#include "wandb/internal.h"

static void write_server_info(struct json_writer *w)
{
	json_key(w, "serverInfo");
	json_object(w);
	json_key(w, "cliVersionInfo");
	json_object(w);
	json_put_text(w, "max_cli_version", WANDB_NEWEST_CLIENT);
	json_put_text(w, "min_cli_version", WANDB_OLDEST_CLIENT);
	json_object_end(w);
	json_object_end(w);
}

enum status wandb_server_info(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	(void)request;
	(void)err;
	write_server_info(&call->w);
	return OK;
}

enum status wandb_viewer(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct json_writer *w = &call->w;
	struct span team = call->team.len ? call->team : SPAN(WANDB_NO_TEAM);
	struct span name = span_from(http_request_principal(call->request)->name);

	(void)request;
	(void)err;
	json_key(w, "viewer");
	json_object(w);
	json_put_span(w, "id", team);
	json_put_span(w, "entity", team);
	json_put_span(w, "username", name.len ? name : team);
	json_put_text(w, "email", "");
	json_put_text(w, "flags", "{}");
	json_key(w, "teams");
	json_object(w);
	json_key(w, "edges");
	json_array(w);
	json_array_end(w);
	json_object_end(w);
	json_object_end(w);
	write_server_info(w);
	return OK;
}

enum status wandb_server_features(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	(void)request;
	(void)err;
	json_key(&call->w, "serverInfo");
	json_object(&call->w);
	json_key(&call->w, "features");
	json_array(&call->w);
	json_array_end(&call->w);
	json_object_end(&call->w);
	return OK;
}

struct schema_type {
	const char *name, *field; /* a field that it has, NULL: none that is asked for */
};

static void write_types(struct json_writer *w, const struct schema_type *types, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_key(w, types[i].name);
		json_object(w);
		json_key(w, "fields");
		json_array(w);
		if (types[i].field) {
			json_object(w);
			json_put_text(w, "name", types[i].field);
			json_object_end(w);
		}
		json_array_end(w);
		json_object_end(w);
	}
}

/* What `wandb sync` of older SDKs asks of the schema first; without an answer it sends nothing, and says that it is done. */
enum status wandb_probe(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	static const struct schema_type types[] = {{"QueryType", "serverInfo"}, {"MutationType", "createRunFiles"},
		{"ServerInfoType", "cliVersionInfo"}, {"ServerSettingsType", NULL}};

	(void)request;
	(void)err;
	write_types(&call->w, types, sizeof types / sizeof *types);
	return OK;
}

/* What readers ask of the schema first: whether projects and runs have numbers. */
enum status wandb_probe_types(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	static const struct schema_type types[] = {{"ProjectType", "internalId"}, {"RunType", "projectId"}};

	(void)request;
	(void)err;
	write_types(&call->w, types, sizeof types / sizeof *types);
	return OK;
}
