/* What wandb.Api() is told of one run. */
#include "base/text/iso8601.h"
#include "wandb/internal.h"

enum { CONFIG_MAX_BYTES = 8 << 20 };

const char *wandb_state_of(struct span status)
{
	static const struct {
		const char *ours, *theirs;
	} words[] = {{"FINISHED", "finished"}, {"FAILED", "failed"}, {"KILLED", "killed"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal(status, span_from(words[i].ours)))
			return words[i].theirs;
	return "running";
}

void wandb_write_time(struct json_writer *w, const char *key, int64_t ms)
{
	char text[ISO8601_BYTES];

	iso8601_format(ms, text);
	json_put_text(w, key, text);
}

/* With the axes of define_metric, as a client states them: who reads the run elsewhere needs them. */
static enum status write_config(struct wandb_call *call, const struct tracked_run_row *row, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(CONFIG_MAX_BYTES);
	struct json_writer w = json_writer_on(&text);
	struct tracked_file_row config;
	struct history_axis *axes;
	size_t count;

	TRY(store_read_tracked_file(call->reader, call->arena, row->job_id, SPAN(WANDB_CONFIG_FILE), &config, err));
	TRY(wandb_read_axes(call, row->job_id, &axes, &count, err));
	if (!count) {
		json_put_span(&call->w, "config", config.content.len ? config.content : SPAN("{}"));
		return OK;
	}
	bool has_more = config.content.len > 2;
	buf_append(&text, has_more ? config.content.ptr : "{", has_more ? config.content.len - 1 : 1);
	buf_append_text(&text, has_more ? ",\"_wandb\":{\"value\":{\"m\":" : "\"_wandb\":{\"value\":{\"m\":");
	json_array(&w);
	for (size_t i = 0; i < count; i++) {
		json_object(&w);
		json_put_span(&w, span_ends_with(axes[i].metric, SPAN("*")) ? "2" : "1", axes[i].metric);
		json_put_span(&w, "4", axes[i].axis);
		json_object_end(&w);
	}
	json_array_end(&w);
	buf_append_text(&text, "}}}");
	TRY(buf_status(&text, err));
	json_put_span(&call->w, "config", buf_span(&text));
	return OK;
}

static enum status write_files(struct wandb_call *call, const struct tracked_run_row *row, struct error *err)
{
	struct tracked_file_row history, summary;
	struct json_writer *w = &call->w;

	TRY(store_read_tracked_file(call->reader, call->arena, row->job_id, SPAN(WANDB_HISTORY), &history, err));
	TRY(store_read_tracked_file(call->reader, call->arena, row->job_id, SPAN(WANDB_SUMMARY), &summary, err));
	TRY(write_config(call, row, err));
	json_put_span(w, "summaryMetrics", summary.content.len ? summary.content : SPAN("{}"));
	json_put_text(w, "systemMetrics", "{}");
	json_put_i64(w, "historyLineCount", (int64_t)history.next_line);
	return OK;
}

enum status wandb_write_members(
	struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	static const char *const unknown[] = {"sweepName", "commit", "description"};
	struct json_writer *w = &call->w;

	json_put_i64(w, "projectId", row->project_id);
	json_put_span(w, "id", run->key);
	json_put_span(w, "name", run->id);
	json_put_span(w, "displayName", row->name);
	json_put_text(w, "state", wandb_state_of(row->status));
	json_put_bool(w, "readOnly", true);
	wandb_write_time(w, "createdAt", row->start_ms);
	wandb_write_time(w, "heartbeatAt", row->end_ms ? row->end_ms : call->now_ms);
	TRY(wandb_write_tags(call, row, err));
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		json_key(w, unknown[i]);
		json_null(w);
	}
	return OK;
}

enum status wandb_write_run(
	struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	json_object(&call->w);
	TRY(wandb_write_members(call, run, row, err));
	TRY(write_files(call, row, err));
	json_key(&call->w, "historyKeys");
	TRY(wandb_write_history_keys(call, row, err));
	json_object_end(&call->w);
	return OK;
}

static enum status write_run(struct wandb_call *call, const struct graphql_request *request,
	const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	(void)request;
	return wandb_write_run(call, run, row, err);
}

static enum status write_state(struct wandb_call *call, const struct graphql_request *request,
	const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	(void)request;
	(void)run;
	(void)err;
	json_object(&call->w);
	json_put_text(&call->w, "state", wandb_state_of(row->status));
	json_object_end(&call->w);
	return OK;
}

typedef enum status write_what(struct wandb_call *call, const struct graphql_request *request,
	const struct wandb_run *run, const struct tracked_run_row *row, struct error *err);

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
		TRY(write(call, request, &run, &row, err));
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

enum status wandb_read_files(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	return answer(call, request, wandb_write_files, err);
}
