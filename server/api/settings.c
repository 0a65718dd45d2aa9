/* What the server was started with: each option's value, its default, and where the value comes from. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "base/options/options.h"

static const char *const kind_names[] = {[OPTION_FLAG] = "flag",
	[OPTION_TEXT] = "text",
	[OPTION_I64] = "number",
	[OPTION_BYTES] = "bytes",
	[OPTION_DURATION] = "milliseconds"};

static void write_value(struct json_writer *w, const struct options *options, const struct option_spec *spec)
{
	if (options_origin(options, spec->name) == OPTION_FROM_NOWHERE)
		return;
	json_key(w, "value");
	if (spec->kind == OPTION_FLAG)
		json_bool(w, options_flag(options, spec->name));
	else if (spec->kind != OPTION_TEXT)
		json_i64(w, options_i64(options, spec->name));
	else if (!spec->is_list)
		json_text(w, options_text(options, spec->name));
	else {
		json_array(w);
		for (size_t i = 0; i < options_count(options, spec->name); i++)
			json_text(w, options_item(options, spec->name, i));
		json_array_end(w);
	}
}

enum status api_options_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct options *options = ((struct api *)context)->options.settings;
	struct json_writer w = api_reply(response);

	(void)worker;
	(void)err;
	TRY(api_all_teams(request, "options are those", err));
	options_lock(options);
	json_object(&w);
	json_key(&w, "options");
	json_array(&w);
	for (const struct option_spec *spec = options_table(options); spec->name; spec = option_next(spec)) {
		json_object(&w);
		json_put_text(&w, "name", spec->name);
		json_put_text(&w, "kind", kind_names[spec->kind]);
		write_value(&w, options, spec);
		if (spec->fallback)
			json_put_text(&w, "default", spec->fallback);
		json_put_text(&w, "source", options_origin_text(options, spec->name));
		if (spec->is_live)
			json_put_bool(&w, "live", true);
		json_put_text(&w, "help", spec->help);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	options_unlock(options);
	return buf_status(&response->body, err);
}

enum status api_reload(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	const struct api_options *options = &((struct api *)context)->options;

	(void)worker;
	TRY(api_all_teams(request, "options are those", err));
	if (!options->reload)
		return error_set(err, ERR_UNSUPPORTED, "this server has no options to read again");
	response->content_type = "application/json";
	TRY(options->reload(options->context, &response->body, err));
	return buf_status(&response->body, err);
}
