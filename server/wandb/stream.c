/* A post of file_stream: its points and lines are durable before it is answered, and then how the run ended. */
#include "base/log.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/pipeline.h"
#include "state/jobs/history.h"
#include "store/jobs.h"
#include "wandb/internal.h"

#include <stdio.h>

enum {
	LIVE_MS =
		60000, /* an end so long after the last that was told is of a run that was sent later than it was trained */
	INTERRUPTED_CODE = 255, /* what W&B makes of Ctrl-C */
	REASON_BYTES = 64
};

struct posting {
	struct wandb_run run;
	struct tracked_run_row row;
	struct job_row job;
	struct stream_start start;
	struct stream_post post;
	struct history_axis axes[HISTORY_AXES_MAX];
	struct ingest_result result;
};

/* ---- what is known of the run ---- */

static enum status read_axes(struct wandb_call *call, const struct json *note, struct posting *p, struct error *err)
{
	const struct json *axes = json_get(note, "axes");

	for (const struct json *at = axes ? json_first(axes) : NULL; at && p->start.axis_count < HISTORY_AXES_MAX;
		at = json_next(at)) {
		const struct json *metric = json_first(at), *axis = metric ? json_next(metric) : NULL;
		struct history_axis *out = &p->axes[p->start.axis_count];
		if (!axis)
			continue;
		*out = (struct history_axis){
			arena_copy(call->arena, json_string_of(metric)), arena_copy(call->arena, json_string_of(axis))};
		if (!out->metric.ptr || !out->axis.ptr)
			return error_no_memory(err);
		p->start.axis_count++;
	}
	p->start.axes = p->axes;
	return OK;
}

static enum status name_machine(struct wandb_call *call, const struct json *note, struct posting *p, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(512);
	struct span host = json_string_of(json_get(note, "host"));

	buf_printf(&name, "system/%.*s", SPAN_ARGS(host.len ? host : SPAN("host")));
	TRY(buf_status(&name, err));
	p->start.system_stream = arena_copy(call->arena, buf_span(&name));
	return p->start.system_stream.ptr ? OK : error_no_memory(err);
}

static enum status read_note(struct wandb_call *call, struct posting *p, struct error *err)
{
	struct tracked_file_row row;
	AUTO(json) note = NULL;

	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, SPAN(WANDB_RUN_FILE), &row, err));
	TRY(json_parse(&note, row.content.len ? row.content : SPAN("{}"), err));
	TRY(read_axes(call, note, p, err));
	return name_machine(call, note, p, err);
}

static enum status read_place(
	struct wandb_call *call, const struct posting *p, const char *name, struct stream_file *out, struct error *err)
{
	struct tracked_file_row row;

	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, span_from(name), &row, err));
	*out = (struct stream_file){row.origin, row.next_line, row.content};
	return OK;
}

static enum status begin(struct wandb_call *call, struct posting *p, struct error *err)
{
	struct stream_start *start = &p->start;

	TRY(wandb_identify(
		call, http_request_segment(call->request, 1), http_request_segment(call->request, 2), &p->run, err));
	TRY(wandb_find_run(call, &p->run, &p->row, err));
	TRY(store_read_job_by_id(call->reader, call->arena, p->row.job_id, &p->job, err));
	*start = (struct stream_start){.job = p->job.name,
		.metrics_stream = SPAN(WANDB_STREAM),
		.console_stream = SPAN(WANDB_CONSOLE_STREAM),
		.max_line_bytes = call->options->max_line_bytes,
		.max_series = call->options->max_series,
		.now_ms = call->now_ms};
	TRY(read_place(call, p, WANDB_HISTORY, &start->history, err));
	TRY(read_place(call, p, WANDB_EVENTS, &start->events, err));
	TRY(read_place(call, p, WANDB_CONSOLE, &start->console, err));
	return read_note(call, p, err);
}

/* ---- what the post brings ---- */

static enum status store(struct wandb_call *call, struct posting *p, struct span body, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);

	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	TRY(file_stream_read(body, &p->start, batch, &p->post, err));
	if (p->post.left_out)
		log_line(LOG_WARNING, "wandb_left_out", "job=\"%.*s\" values=%zu first=\"%s\"", SPAN_ARGS(p->job.name),
			p->post.left_out, p->post.bad_line.status ? p->post.bad_line.text : "no numbers");
	if (!batch->file_count)
		return OK;
	batch->files_job_id = p->row.job_id;
	return pipeline_store(call->pipeline, &batch, &p->result, err);
}

/* ---- what it says of the run ---- */

static bool is_final(struct span status)
{
	return span_equal(status, SPAN("FINISHED")) || span_equal(status, SPAN("FAILED")) ||
	       span_equal(status, SPAN("KILLED"));
}

static enum status put_status(struct wandb_call *call, struct posting *p, const char *status, const char *secondary,
	const char *reason, struct error *err)
{
	struct run_change change = {.team = call->team,
		.run_id = p->run.key,
		.name = SPAN(""),
		.status = span_from(status),
		.secondary = span_from(secondary),
		.reason = span_from(reason),
		.now_ms = call->now_ms};
	bool is_end = is_final(change.status);

	if (span_equal(p->row.status, change.status))
		return OK; /* a request that came again, or the same file of a run that was sent again */
	if (is_end)
		change.end_ms =
			p->post.last_ms && p->post.last_ms < call->now_ms - LIVE_MS ? p->post.last_ms : call->now_ms;
	TRY(pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err));
	p->row.status = change.status;
	if (is_end)
		goodput_settle(call->pipeline, call->reader, change.job);
	return OK;
}

static enum status end_run(struct wandb_call *call, struct posting *p, struct error *err)
{
	char reason[REASON_BYTES] = "";

	if (p->post.has_exit_code && p->post.exit_code == INTERRUPTED_CODE)
		return put_status(call, p, "KILLED", "Stopped", "", err);
	if (!p->post.exit_code)
		return put_status(call, p, "FINISHED", "Completed", "", err);
	snprintf(reason, sizeof reason, HISTORY_RUN_ENDED "with exit code %lld", (long long)p->post.exit_code);
	return put_status(call, p, "FAILED", "Failed", reason, err);
}

enum status wandb_take_stream(struct wandb_call *call, struct span body, struct error *err)
{
	struct posting *p = arena_alloc(call->arena, sizeof *p);

	if (!p)
		return error_no_memory(err);
	*p = (struct posting){.result = {.accepted = 0}};
	TRY(begin(call, p, err));
	TRY(store(call, p, body, err));
	if (p->result.accepted && is_final(p->row.status))
		TRY(put_status(call, p, "RUNNING", "Training", "", err));
	if (p->post.is_complete)
		TRY(end_run(call, p, err));
	json_key(&call->w, "exitcode");
	json_null(&call->w);
	json_key(&call->w, "limits");
	json_object(&call->w);
	json_object_end(&call->w);
	json_put_i64(&call->w, "refused", (int64_t)(p->result.refused + p->post.left_out));
	return OK;
}
