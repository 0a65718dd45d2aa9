/* Metric definitions of a job, and of the server: shown and changed. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/health.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "pipeline/backfill/backfill.h"
#include "pipeline/backfill/definitions.h"
#include "read/view.h"
#include "state/streams/job_view.h"

/* ---- shown ---- */

static void put_if(struct json_writer *w, const char *key, struct span text)
{
	if (text.len)
		json_put_span(w, key, text);
}

/* What is read by no expression has none to show. */
static void write_items(struct json_writer *w, const struct definitions_view *view)
{
	json_key(w, "definitions");
	json_array(w);
	for (size_t i = 0; i < view->count; i++) {
		const struct metric_definition *item = &view->items[i];
		if (!item->regex.len)
			continue;
		json_object(w);
		json_put_span(w, "Name", item->name);
		json_put_span(w, "Regex", item->regex);
		put_if(w, "Step", item->step_regex);
		put_if(w, "Group", item->group);
		if (item->role != ROLE_OTHER)
			json_put_text(w, "Role", role_name(item->role));
		put_if(w, "Unit", item->unit);
		if (item->higher)
			json_put_bool(w, "Higher", item->higher > 0);
		if (item->is_step_only)
			json_put_bool(w, "StepOnly", true);
		json_object_end(w);
	}
	json_array_end(w);
}

static const char *source_name(const struct definitions_view *view)
{
	switch (view->source) {
	case DEFINITIONS_JOB:
		return "job";
	case DEFINITIONS_SERVER:
		return "server";
	case DEFINITIONS_PRESET:
		return "preset";
	case DEFINITIONS_NONE:
		break;
	}
	return "none";
}

static void write_preset(struct json_writer *w, const struct definitions_view *view)
{
	json_put_text(w, "source", source_name(view));
	json_key(w, "preset");
	if (view->preset.len)
		json_span(w, view->preset);
	else
		json_null(w);
	json_put_span(w, "reason", view->reason);
}

static void write_formats(struct json_writer *w, const struct definitions_view *view)
{
	json_key(w, "formats");
	json_array(w);
	for (size_t i = 0; i < view->format_count; i++) {
		json_object(w);
		json_put_span(w, "preset", view->formats[i].preset);
		json_put_i64(w, "lines", (int64_t)view->formats[i].lines);
		json_put_span(w, "reason", view->formats[i].reason);
		json_object_end(w);
	}
	json_array_end(w);
}

enum status api_job_definitions_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct definitions_view definitions;
	struct job_view view;

	TRY(api_arena(&arena, err));
	TRY(view_read_job(api->options.pipeline, own->reader, arena, http_request_segment(request, 0), SPAN(""),
		SPAN(""), VIEW_SERIES, &view, err));
	TRY(pipeline_view_definitions(api->options.pipeline, own->reader, arena, &view, &definitions, err));
	json_object(&w);
	json_put_span(&w, "job", view.row.name);
	write_preset(&w, &definitions);
	write_formats(&w, &definitions);
	json_put_i64(&w, "generation", definitions.generation);
	put_if(&w, "damaged", definitions.damage);
	write_items(&w, &definitions);
	json_key(&w, "health");
	TRY(api_write_health(arena, &view, &w, err));
	json_key(&w, "backfill");
	if (definitions.backfill.job_id) {
		json_object(&w);
		pipeline_write_backfill(&definitions.backfill, &w);
		json_object_end(&w);
	} else {
		json_null(&w);
	}
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_definitions_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct definitions_view view;
	const char *name;

	(void)request;
	TRY(api_arena(&arena, err));
	TRY(pipeline_view_default_definitions(
		api->options.pipeline, ((struct api_worker *)worker)->reader, arena, &view, err));
	json_object(&w);
	write_preset(&w, &view);
	put_if(&w, "damaged", view.damage);
	write_items(&w, &view);
	json_key(&w, "presets");
	json_array(&w);
	for (size_t i = 0; (name = pipeline_preset(api->options.pipeline, arena, i, &view)); i++) {
		if (view.is_renamed)
			continue;
		json_object(&w);
		json_put_text(&w, "name", name);
		write_items(&w, &view);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- changed ---- */

static enum status preset_form(struct span name, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct json_writer w = json_writer_on(&text);

	json_array(&w);
	if (!span_equal(name, SPAN("auto"))) {
		json_object(&w);
		json_put_span(&w, "Preset", name);
		json_object_end(&w);
	}
	json_array_end(&w);
	TRY(buf_status(&text, err));
	return json_parse(out, buf_span(&text), err);
}

/* {"definitions": […]} or {"preset": "NAME" or "auto"}: the array that the pipeline takes. */
static enum status read_change(
	const struct json *body, struct json **owned, const struct json **definitions, struct error *err)
{
	static const char help[] =
		"say either {\"definitions\": [{\"Name\", \"Regex\"}, …]}, or {\"preset\": a name or \"auto\"}";
	struct span preset = SPAN("");

	TRY(json_want_string(body, "preset", &preset, err));
	*definitions = json_get(body, "definitions");
	if (json_count(body) != 1 || (!*definitions && !preset.len))
		return error_set(err, ERR_SEMANTIC, help);
	if (!*definitions) {
		TRY(preset_form(preset, owned, err));
		*definitions = *owned;
	}
	return json_kind(*definitions) == JSON_ARRAY
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "definitions", "definitions must be an array");
}

static enum status wants_backfill(const struct http_request *request, bool *out, struct error *err)
{
	struct span text;

	*out = false;
	if (!http_request_query(request, "backfill", &text))
		return OK;
	*out = span_equal(text, SPAN("true"));
	if (*out || span_equal(text, SPAN("false")))
		return OK;
	return error_set_field(
		err, ERR_INVALID, "backfill", "backfill must be true or false, not '%.*s'", SPAN_ARGS(text));
}

enum status api_job_definitions_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	AUTO(json) owned = NULL;
	const struct json *definitions;
	bool backfill;

	TRY(wants_backfill(request, &backfill, err));
	TRY(api_body_object(request, &body, err));
	TRY(read_change(body, &owned, &definitions, err));
	TRY(pipeline_change_definitions(api->options.pipeline, http_request_segment(request, 0), api_team(request),
		definitions, &backfill, err));
	if (backfill)
		response->status = 202;
	return api_job_definitions_get(context, worker, request, response, err);
}

enum status api_backfill_cancel(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;

	(void)worker;
	response->status = 204;
	return pipeline_cancel_backfill(
		api->options.pipeline, http_request_segment(request, 0), api_team(request), err);
}

enum status api_definitions_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	AUTO(json) owned = NULL;
	const struct json *definitions;

	if (api_team(request).len)
		return error_set(err, ERR_FORBIDDEN,
			"these definitions are for the jobs of all teams; this token is of team '%.*s'",
			SPAN_ARGS(api_team(request)));
	TRY(api_body_object(request, &body, err));
	TRY(read_change(body, &owned, &definitions, err));
	TRY(pipeline_change_default_definitions(api->options.pipeline, definitions, err));
	return api_definitions_get(context, worker, request, response, err);
}
