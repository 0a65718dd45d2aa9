/* What a training says by run.alert(): a line of its job, where searches and rules about the log find it, and an incident. */
#include "base/log.h"
#include "ingest/lines/lines.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/training_alert.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "store/jobs.h"
#include "wandb/internal.h"

struct alert {
	struct wandb_run run;
	struct span title, text, severity;
};

static enum status read_alert(
	struct wandb_call *call, const struct graphql_request *request, struct alert *out, struct error *err)
{
	struct span project, id;

	TRY(graphql_text(request, "projectName", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "runName", WANDB_ID_MAX_BYTES, &id, err));
	TRY(graphql_text(request, "title", WANDB_NOTES_MAX_BYTES, &out->title, err));
	TRY(graphql_text(request, "text", call->options->max_body_bytes, &out->text, err));
	TRY(graphql_text(request, "severity", WANDB_NAME_MAX_BYTES, &out->severity, err));
	return wandb_identify(call, project, id, &out->run, err);
}

static void put_words(const struct alert *alert, struct buf *out)
{
	buf_printf(out, "%.*s alert: %.*s", SPAN_ARGS(alert->severity.len ? alert->severity : SPAN("INFO")),
		SPAN_ARGS(alert->title));
	if (alert->title.len && alert->text.len)
		buf_append_text(out, ": ");
	buf_append_span(out, alert->text);
}

static enum status store_alert(struct wandb_call *call, const struct alert *alert, struct span job, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	int64_t at_ms = call->relayed.at_ms;
	AUTO_DONE(buf) words = BUF_INIT(call->options->max_body_bytes + WANDB_NOTES_MAX_BYTES + WANDB_NAME_MAX_BYTES);
	struct ingest_result result;

	put_words(alert, &words);
	TRY(buf_status(&words, err));
	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	if (ingest_count_lines(buf_span(&words)) > ingest_lines_max(words.len))
		return error_set_field(err, ERR_SEMANTIC, "text", "'text' has too many lines");
	struct batch_part *part = batch_part(batch, job, SPAN(STREAM_OF_ALERTS));
	if (!part || !ingest_add_lines(batch, part, buf_span(&words), at_ms, call->options->max_line_bytes))
		return error_no_memory(err);
	wandb_mark_part(call, part);
	return pipeline_store(call->pipeline, &batch, &result, err);
}

static enum severity severity_of(struct span level)
{
	if (span_equal(level, SPAN("ERROR")))
		return SEVERITY_CRITICAL;
	return span_equal(level, SPAN("WARN")) ? SEVERITY_WARNING : SEVERITY_INFO;
}

/* Behind its line, so that whoever is called finds that. */
static enum status raise_alert(struct wandb_call *call, const struct alert *said, struct span job, struct error *err)
{
	const struct training_alert alert = {.job = job,
		.title = said->title,
		.text = said->text,
		.severity = severity_of(said->severity),
		.at_ms = call->relayed.at_ms};
	bool is_kept;

	if (!said->title.len && !said->text.len)
		return OK;
	TRY(pipeline_raise_alert(call->pipeline, &alert, &is_kept, err));
	if (!is_kept)
		log_line(LOG_WARNING, "alert_not_kept", "job=\"%.*s\" open=%d", SPAN_ARGS(job),
			TRAINING_ALERTS_OPEN_MAX);
	return OK;
}

enum status wandb_alert(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct alert alert = {.title = SPAN("")};
	struct tracked_run_row row;
	struct job_row job;

	TRY(read_alert(call, request, &alert, err));
	TRY(wandb_find_run(call, &alert.run, &row, err));
	TRY(store_read_job_by_id(call->reader, call->arena, row.job_id, &job, err));
	TRY(store_alert(call, &alert, job.name, err));
	TRY(raise_alert(call, &alert, job.name, err));
	json_key(&call->w, "notifyScriptableRunAlert");
	json_object(&call->w);
	json_put_bool(&call->w, "success", true);
	json_object_end(&call->w);
	return OK;
}
