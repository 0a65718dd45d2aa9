/* Requests of GraphQL and the configs in them: an operation has a name, and an error a text. */
#include "wandb/internal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_config(struct span config)
{
	AUTO(arena) arena = arena_new();
	struct wandb_settings settings = {.start_ms = 0};
	struct error err = {0};

	if (!arena)
		return;
	if (settings_read(arena, config, &(struct wandb_noting){.host = SPAN("h")}, &settings, &err) != OK &&
		!err.text[0])
		abort();
	wandb_settings_done(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body = span_of((const char *)data, size), config;
	AUTO(json) json = NULL;
	struct graphql_request request;
	struct error err = {0};

	read_config(body);
	if (json_parse(&json, body, &err) != OK)
		return 0;
	err = (struct error){0};
	if (graphql_read(json, &request, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (!request.operation.len)
		abort();
	if (graphql_text(&request, "config", 1 << 20, &config, &err) == OK)
		read_config(config);
	return 0;
}
