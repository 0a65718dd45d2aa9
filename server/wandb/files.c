/* Files of runs. None is taken: what a client is given no address for it does not send, and trains on. */
#include "wandb/internal.h"

/* What the SDK sends of its own accord. Nobody who trains misses it: console, summary, config and machine are kept otherwise. */
static bool is_own(struct span name)
{
	static const char *const own[] = {"output.log", "config.yaml", "requirements.txt", "wandb-metadata.json",
		"wandb-summary.json", "diff.patch", "conda-environment.yaml"};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (span_equal(name, span_from(own[i])))
			return true;
	return span_starts_with(name, SPAN("logs/"));
}

/* "media/a.png and 3 more"; "": all were the SDK's own. */
static enum status name_files(struct wandb_call *call, const struct json *files, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct span first = SPAN("");
	size_t count = 0;

	for (const struct json *at = json_first(files); at; at = json_next(at)) {
		struct span name = json_string_of(at);
		if (!name.len || is_own(name) || !span_is_utf8(name))
			continue;
		first = first.len ? first : name;
		count++;
	}
	*out = SPAN("");
	if (!count)
		return OK;
	buf_append_span(&text, span_cut(first, 500));
	if (count > 1)
		buf_printf(&text, " and %zu more", count - 1);
	TRY(buf_status(&text, err));
	*out = arena_copy(call->arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status tell_files(
	struct wandb_call *call, struct span project, struct span id, const struct json *files, struct error *err)
{
	struct tracked_run_row row;
	struct wandb_run run;
	struct span names;

	TRY(name_files(call, files, &names, err));
	if (!names.len)
		return OK;
	TRY(wandb_identify(call, project, id, &run, err));
	TRY(wandb_find_run(call, &run, &row, err));
	return wandb_tell_loss(call, &row, names, SPAN("this server keeps no files of W&B's runs"), err);
}

enum status wandb_create_files(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	const struct json *files = request->variables ? json_get(request->variables, "files") : NULL;
	struct json_writer *w = &call->w;
	struct span project, id;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "run", WANDB_ID_MAX_BYTES, &id, err));
	if (files && json_kind(files) == JSON_ARRAY)
		TRY(tell_files(call, project, id, files, err));
	json_key(w, "createRunFiles");
	json_object(w);
	json_put_span(w, "runID", id);
	json_key(w, "uploadHeaders");
	json_array(w);
	json_array_end(w);
	json_key(w, "files");
	json_array(w);
	json_array_end(w);
	json_object_end(w);
	return OK;
}
