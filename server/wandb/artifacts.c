/* Artifacts, which this server does not keep. Whoever logs one trains on, and is told: by its own client, at the run, and in the log. */
#include "base/log.h"
#include "store/jobs.h"
#include "wandb/internal.h"

enum { WHAT_MAX_BYTES = 100, WHY_MAX_BYTES = 1000, TAG_MAX_BYTES = 256 };

enum status wandb_put_loss(struct wandb_call *call, const struct tracked_run_row *row, struct span text,
	struct span *job, struct error *err)
{
	struct tracked_pairs tags = {0};
	struct run_change change = {.team = call->team,
		.run_id = row->run_id,
		.tags = &tags,
		.name = SPAN(""),
		.status = SPAN(""),
		.secondary = SPAN(""),
		.reason = SPAN(""),
		.now_ms = call->now_ms};

	if (!tracked_pairs_add(call->arena, &tags, SPAN(WANDB_NOT_KEPT_TAG), span_cut(text, TAG_MAX_BYTES)))
		return error_no_memory(err);
	TRY(pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err));
	*job = change.job;
	return OK;
}

enum status wandb_tell_loss(struct wandb_call *call, const struct tracked_run_row *row, struct span what,
	struct span why, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(2 * WHY_MAX_BYTES);
	struct span job = SPAN("");

	buf_append_span(&text, span_cut(what, WHAT_MAX_BYTES));
	buf_append_text(&text, ": ");
	buf_append_span(&text, span_cut(why, WHY_MAX_BYTES));
	TRY(buf_status(&text, err));
	TRY(wandb_put_loss(call, row, buf_span(&text), &job, err));
	log_line(LOG_WARNING, "wandb_not_kept", "job=\"%.*s\" what=\"%.*s\"", SPAN_ARGS(job),
		SPAN_ARGS(buf_span(&text)));
	return OK;
}

static struct span name_of(const struct json *input)
{
	struct span name = json_string_of(json_get(input, "artifactCollectionName"));

	if (!name.len) /* of older clients */
		name = json_string_of(json_first(json_get(input, "artifactCollectionNames")));
	return name.len && span_is_utf8(name) ? name : SPAN("artifact");
}

/* Refused; but the run is there, and is told what it lacks. */
enum status wandb_create_artifact(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	const struct json *input = request->variables ? json_get(request->variables, "input") : NULL;
	struct tracked_run_row row;
	struct wandb_run run;

	struct span id = json_string_of(input ? json_get(input, "runName") : NULL);
	struct span project = json_string_of(input ? json_get(input, "projectName") : NULL);
	if (id.len) {
		TRY(wandb_identify(call, project, id, &run, err));
		TRY(wandb_find_run(call, &run, &row, err));
		TRY(wandb_tell_loss(call, &row, name_of(input), SPAN(WANDB_NO_ARTIFACTS), err));
	}
	return error_set(err, ERR_UNSUPPORTED, WANDB_NO_ARTIFACTS);
}
