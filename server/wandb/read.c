/* What wandb.Api() is told of one run. */
#include "base/text/iso8601.h"
#include "wandb/internal.h"

static const char *state_of(struct span status)
{
	static const struct {
		const char *ours, *theirs;
	} words[] = {{"FINISHED", "finished"}, {"FAILED", "failed"}, {"KILLED", "killed"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal(status, span_from(words[i].ours)))
			return words[i].theirs;
	return "running";
}

static void write_time(struct json_writer *w, const char *key, int64_t ms)
{
	char text[ISO8601_BYTES];

	iso8601_format(ms, text);
	json_put_text(w, key, text);
}

static enum status write_files(struct wandb_call *call, const struct tracked_run_row *row, struct error *err)
{
	struct tracked_file_row history, summary, config;
	struct json_writer *w = &call->w;

	TRY(store_read_tracked_file(call->reader, call->arena, row->job_id, SPAN(WANDB_HISTORY), &history, err));
	TRY(store_read_tracked_file(call->reader, call->arena, row->job_id, SPAN(WANDB_SUMMARY), &summary, err));
	TRY(store_read_tracked_file(call->reader, call->arena, row->job_id, SPAN(WANDB_CONFIG_FILE), &config, err));
	json_put_span(w, "config", config.content.len ? config.content : SPAN("{}"));
	json_put_span(w, "summaryMetrics", summary.content.len ? summary.content : SPAN("{}"));
	json_put_text(w, "systemMetrics", "{}");
	json_put_i64(w, "historyLineCount", (int64_t)history.next_line);
	return OK;
}

static enum status write_run(
	struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	static const char *const unknown[] = {"sweepName", "commit", "historyKeys", "description"};
	struct json_writer *w = &call->w;

	json_object(w);
	json_put_i64(w, "projectId", row->project_id);
	json_put_span(w, "id", run->key);
	json_put_span(w, "name", run->id);
	json_put_span(w, "displayName", row->name);
	json_put_text(w, "state", state_of(row->status));
	json_put_bool(w, "readOnly", true);
	write_time(w, "createdAt", row->start_ms);
	write_time(w, "heartbeatAt", row->end_ms ? row->end_ms : call->now_ms);
	TRY(write_files(call, row, err));
	TRY(wandb_write_tags(call, row, err));
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		json_key(w, unknown[i]);
		json_null(w);
	}
	json_object_end(w);
	return OK;
}

static enum status write_state(
	struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	(void)run;
	(void)err;
	json_object(&call->w);
	json_put_text(&call->w, "state", state_of(row->status));
	json_object_end(&call->w);
	return OK;
}

typedef enum status write_what(
	struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row, struct error *err);

/* One that is not there is null: the client has words for that. */
static enum status answer(
	struct wandb_call *call, const struct graphql_request *request, write_what *write, struct error *err)
{
	struct tracked_run_row row;
	struct wandb_run run;
	struct span project, id;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "name", WANDB_ID_MAX_BYTES, &id, err));
	TRY(wandb_identify(call, project, id, &run, err));
	enum status status = wandb_find_run(call, &run, &row, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	json_key(&call->w, "project");
	json_object(&call->w);
	json_key(&call->w, "run");
	if (status == ERR_NOT_FOUND)
		json_null(&call->w);
	else
		TRY(write(call, &run, &row, err));
	json_object_end(&call->w);
	return OK;
}

enum status wandb_read_run(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	return answer(call, request, write_run, err);
}

enum status wandb_read_state(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	return answer(call, request, write_state, err);
}
