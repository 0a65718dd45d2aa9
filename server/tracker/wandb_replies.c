#include "tracker/wandb_replies.h"

/* ---- who asks, and what this server has, as clients ask before they do anything else ---- */

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

void wandb_write_viewer(struct json_writer *w, struct span team, struct span name)
{
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
}

void wandb_write_named(struct json_writer *w, const char *key, struct span name)
{
	json_key(w, key);
	json_object(w);
	json_put_span(w, "id", name);
	json_put_span(w, "name", name);
	json_object_end(w);
}

void wandb_write_fault(struct json_writer *w, const char *text, bool is_graphql)
{
	json_object(w);
	if (is_graphql) {
		json_key(w, "data");
		json_null(w);
	} else {
		json_put_text(w, "error", text);
	}
	json_key(w, "errors");
	json_array(w);
	json_object(w);
	json_put_text(w, "message", text);
	json_object_end(w);
	json_array_end(w);
	json_object_end(w);
}

static void write_features(struct json_writer *w)
{
	json_key(w, "serverInfo");
	json_object(w);
	json_key(w, "features");
	json_array(w);
	json_array_end(w);
	json_object_end(w);
}

/* ---- the schema ---- */

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
static void write_probe(struct json_writer *w)
{
	static const struct schema_type types[] = {{"QueryType", "serverInfo"}, {"MutationType", "createRunFiles"},
		{"ServerInfoType", "cliVersionInfo"}, {"ServerSettingsType", NULL}};

	write_types(w, types, sizeof types / sizeof *types);
}

/* What readers ask of the schema first: whether projects and runs have numbers. */
static void write_probe_types(struct json_writer *w)
{
	static const struct schema_type types[] = {{"ProjectType", "internalId"}, {"RunType", "projectId"}};

	write_types(w, types, sizeof types / sizeof *types);
}

/* Of which type an artifact of this name is, that there may be: older clients let a training end if they are not told. */
static void write_artifact_type(struct json_writer *w)
{
	json_key(w, "project");
	json_null(w);
}

/* What members a type of the schema has: those that every server has are not asked for, and the others are not here. */
static void write_type_info(struct json_writer *w)
{
	json_key(w, "TypeInfo");
	json_object(w);
	json_key(w, "fields");
	json_array(w);
	json_array_end(w);
	json_key(w, "inputFields");
	json_array(w);
	json_array_end(w);
	json_object_end(w);
}

bool wandb_file_is_elsewhere(struct span name)
{
	static const char *const names[] = {WANDB_CONSOLE, WANDB_SUMMARY, "config.yaml"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i])))
			return true;
	/* The console in parts, and that of one of several processes. */
	return span_starts_with(name, SPAN("logs/")) ||
	       (span_starts_with(name, SPAN("output_")) && span_ends_with(name, SPAN(".log")));
}

bool wandb_write_fixed(struct json_writer *w, struct span operation)
{
	static const struct {
		const char *name;
		void (*write)(struct json_writer *w);
	} fixed[] = {
		{"ServerInfo", write_server_info},
		{"ServerFeaturesQuery", write_features},
		{"ProbeServerSettings", write_probe},
		{"ProbeServerCapabilities", write_probe},
		{"ProbeProjectInput", write_probe_types},
		{"ProbeRunInput", write_probe_types},
		{"ArtifactType", write_artifact_type},
		{"InputFields", write_type_info},
		{"TypeFields", write_type_info},
	};

	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (span_equal(operation, span_from(fixed[i].name))) {
			fixed[i].write(w);
			return true;
		}
	return false;
}
