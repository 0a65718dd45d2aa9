/* Scores of named models: the list that came with the program, or the one that replaced it. */
#include "api/jobs/references.h"

#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/map.h"
#include "model/jobs/evaluation_reference.h"
#include "pipeline/jobs/evaluations.h"

enum { REFERENCES_BYTES = 4 << 20 };

static enum status read_list(
	struct api *api, struct store_reader *reader, struct arena *arena, struct json **out, struct error *err)
{
	struct span text;

	TRY(pipeline_read_references(reader, arena, &text, err));
	return json_parse(out, text.len ? text : api->options.references, err);
}

static void write_one(struct json_writer *w, const struct json *entry, const struct map *names)
{
	const struct json *shots = json_get(entry, "shots"), *scores = json_get(entry, "scores");
	double value;

	json_object(w);
	json_put_span(w, "model", json_string_of(json_get(entry, "model")));
	json_key(w, "shots");
	if (shots && json_number_of(shots, &value))
		json_double(w, value);
	else
		json_null(w);
	json_put_span(w, "source", json_string_of(json_get(entry, "source")));
	json_key(w, "scores");
	json_object(w);
	for (const struct json *at = json_first(scores); at; at = json_next(at))
		if ((!names || map_get(names, json_key_of(at))) && json_number_of(at, &value)) {
			json_key_span(w, json_key_of(at));
			json_double(w, value);
		}
	json_object_end(w);
	json_object_end(w);
}

static bool has_any(const struct json *entry, const struct map *names)
{
	for (const struct json *at = json_first(json_get(entry, "scores")); at; at = json_next(at))
		if (map_get(names, json_key_of(at)))
			return true;
	return false;
}

enum status api_put_references(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct map *names, struct json_writer *w, struct error *err)
{
	AUTO(json) list = NULL;

	TRY(read_list(api, reader, arena, &list, err));
	json_key(w, "references");
	json_array(w);
	for (const struct json *at = json_first(json_get(list, "references")); at; at = json_next(at))
		if (!names || has_any(at, names))
			write_one(w, at, names);
	json_array_end(w);
	return OK;
}

enum status api_references_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);

	(void)request;
	TRY(api_arena(&arena, err));
	json_object(&w);
	TRY(api_put_references(context, ((struct api_worker *)worker)->reader, arena, NULL, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_references_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO_DONE(buf) text = BUF_INIT(2 * REFERENCES_BYTES);
	AUTO(json) body = NULL;

	TRY(api_all_teams(request, "references are those", err));
	TRY(api_body_object(request, &body, err));
	TRY(evaluation_check_references(body, err));
	json_print(body, &text);
	TRY(buf_status(&text, err));
	TRY(pipeline_put_references(api->options.pipeline, buf_span(&text), err));
	return api_references_get(context, worker, request, response, err);
}
