/* A post of file_stream: its points and lines are durable before it is answered, and then how the run ended. */
#include "base/log.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/tracked_part.h"
#include "pipeline/pipeline.h"
#include "state/jobs/history.h"
#include "store/jobs.h"
#include "wandb/internal.h"

#include <stdio.h>

enum {
	LEFT_OUT_BYTES = 200,
	ROUNDED_MS =
		2000, /* how long a run was its summary says in whole seconds: an end that is said is the better word within so much */
	INTERRUPTED_CODE = 255, /* what W&B makes of Ctrl-C */
	REASON_BYTES = 64
};

struct posting {
	struct wandb_run run;
	struct tracked_run_row row;
	struct job_row job;
	struct stream_start start;
	struct stream_post post;
	struct history_axis *axes;
	struct ingest_result result;
	int64_t last_ms; /* that it ever told of */
	bool is_sync; /* by `wandb sync` */
	struct sent_times history_times, event_times;
	struct sent_consoles consoles;
	int64_t begun_ms; /* when its process began, as its config says; 0: it does not */
	int64_t past_ms; /* of a run that was sent later than it was trained: the last that it tells of; 0: it is none */
};

/* ---- what is known of the run ---- */

static enum status name_machine(struct wandb_call *call, const struct json *note, struct posting *p, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(512);
	struct span host = json_string_of(json_get(note, "host"));

	buf_printf(&name, "system/%.*s", SPAN_ARGS(host.len ? host : SPAN("host")));
	TRY(buf_status(&name, err));
	p->start.system_stream = arena_copy(call->arena, buf_span(&name));
	return p->start.system_stream.ptr ? OK : error_no_memory(err);
}

/* Of a run that processes share (mode="shared"). That one of them ends it ends no other, whose lines say nothing of the run then. */
static bool is_one_of_several(const struct wandb_call *call)
{
	return http_request_header(call->request, WANDB_WRITER_HEADER).len != 0;
}

/* Processes that share a run send of the same times. */
static enum status read_times(struct wandb_call *call, const struct json *note, struct posting *p, struct error *err)
{
	struct tracked_file_row row;
	AUTO(json) times = NULL;
	double session = 0, begun = 0;

	if (is_one_of_several(call) || !json_number_of(json_get(note, "session"), &session))
		return OK;
	if (json_number_of(json_get(note, "start"), &begun))
		p->begun_ms = (int64_t)begun;
	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, SPAN(WANDB_TIMES_FILE), &row, err));
	TRY(json_parse(&times, row.content.len ? row.content : SPAN("{}"), err));
	sent_times_read(&p->history_times, json_get(times, "history"), (int64_t)session);
	sent_times_read(&p->event_times, json_get(times, "events"), (int64_t)session);
	sent_consoles_read(&p->consoles, json_get(times, "console"), p->begun_ms, (int64_t)session);
	p->consoles.is_sync = p->is_sync;
	p->start.consoles = &p->consoles;
	p->start.history_times = &p->history_times;
	p->start.event_times = &p->event_times;
	return OK;
}

static enum status read_note(struct wandb_call *call, struct posting *p, struct error *err)
{
	struct tracked_file_row row;
	AUTO(json) note = NULL;

	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, SPAN(WANDB_RUN_FILE), &row, err));
	TRY(json_parse(&note, row.content.len ? row.content : SPAN("{}"), err));
	TRY(wandb_note_axes(call->arena, note, &p->axes, &p->start.axis_count, err));
	p->start.axes = p->axes;
	p->is_sync = p->start.is_sync = json_is_true(json_get(note, "sync"));
	TRY(read_times(call, note, p, err));
	return name_machine(call, note, p, err);
}

/* They count their lines each for itself, and say who they are. */
static enum status name_place(struct wandb_call *call, const char *file, struct span *out, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(WANDB_ID_MAX_BYTES + 64);
	struct span writer = http_request_header(call->request, WANDB_WRITER_HEADER);

	*out = span_from(file);
	if (!writer.len)
		return OK;
	for (size_t i = 0; i < writer.len; i++)
		if ((unsigned char)writer.ptr[i] <= ' ' || (unsigned char)writer.ptr[i] >= 0x7f)
			return error_set(
				err, ERR_INVALID, WANDB_WRITER_HEADER " holds byte %zu that is no ASCII letter", i + 1);
	if (writer.len > WANDB_ID_MAX_BYTES)
		return error_set(err, ERR_INVALID, WANDB_WRITER_HEADER " has %zu bytes; at most %d are taken",
			writer.len, WANDB_ID_MAX_BYTES);
	buf_printf(&name, "%s %.*s", file, SPAN_ARGS(writer));
	TRY(buf_status(&name, err));
	*out = arena_copy(call->arena, buf_span(&name));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status read_place(
	struct wandb_call *call, const struct posting *p, const char *file, struct stream_file *out, struct error *err)
{
	struct tracked_file_row row;
	struct span name;

	TRY(name_place(call, file, &name, err));
	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, name, &row, err));
	*out = (struct stream_file){row.origin, row.next_line, row.content, name};
	return OK;
}

/* One of several processes is known by its label, if it has one that can be a stream's name: it is told of by its first measures. */
static enum status find_label(struct wandb_call *call, struct posting *p, struct span body, struct error *err)
{
	AUTO_DONE(buf) system = BUF_INIT(STREAM_LABEL_MAX_BYTES + 16);
	struct stream_start *start = &p->start;
	struct tracked_file_row row;
	struct span place;

	start->label = start->label_file = SPAN("");
	if (!is_one_of_several(call))
		return OK;
	TRY(name_place(call, WANDB_LABEL_FILE, &place, err));
	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, place, &row, err));
	start->label = row.content.len ? row.content : stream_find_label(body);
	if (!start->label.len)
		return OK;
	if (!row.content.len)
		start->label_file = place;
	buf_append_text(&system, "system/");
	buf_append_span(&system, start->label);
	TRY(buf_status(&system, err));
	start->console_stream = start->label;
	start->system_stream = arena_copy(call->arena, buf_span(&system));
	return start->system_stream.ptr ? OK : error_no_memory(err);
}

static enum status begin(struct wandb_call *call, struct posting *p, struct span body, struct error *err)
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
		.has_console = wandb_has_log(call, p->job.name),
		.has_system = wandb_is_shipped(call, p->job.name) && call->relayed.has_system,
		.now_ms = call->relayed.at_ms};
	TRY(read_place(call, p, WANDB_HISTORY, &start->history, err));
	TRY(read_place(call, p, WANDB_EVENTS, &start->events, err));
	TRY(read_place(call, p, WANDB_CONSOLE, &start->console, err));
	TRY(read_note(call, p, err));
	return find_label(call, p, body, err);
}

/* ---- a run of the past ---- */

static enum status read_time(struct span line, int64_t *last_ms, struct error *err)
{
	AUTO(json) tail = NULL;
	double s = 0;

	TRY(json_parse(&tail, line.len ? line : SPAN("{}"), err));
	if (json_number_of(json_get(tail, "_timestamp"), &s) && s > 0 && s < 1e10 && (int64_t)(s * 1000) > *last_ms)
		*last_ms = (int64_t)(s * 1000);
	return OK;
}

/* Of the process whose run is sent now; 0: nothing. */
static int64_t last_sent(const struct posting *p)
{
	const struct sent_time *history = sent_times_own(&p->history_times), *events = sent_times_own(&p->event_times);
	double last_s = history ? history->last_s : 0;

	return (int64_t)((events && events->last_s > last_s ? events->last_s : last_s) * 1000);
}

static int64_t first_sent(const struct posting *p)
{
	const struct sent_time *history = sent_times_own(&p->history_times), *events = sent_times_own(&p->event_times);
	double first_s = history ? history->first_s : 0;

	return (int64_t)((events && (!history || events->first_s < first_s) ? events->first_s : first_s) * 1000);
}

/* It is sent by `wandb sync`, by which its console has other times: the client says so, or all that it ever told was before anybody had heard of it. */
static enum status find_past(struct posting *p, const struct batch *batch, struct error *err)
{
	int64_t last_ms = p->post.last_ms;

	int64_t sent_ms = p->is_sync ? last_sent(p) : 0;

	if (sent_ms) {
		last_ms = sent_ms;
	} else {
		TRY(read_time(p->start.history.content, &last_ms, err));
		TRY(read_time(p->start.events.content, &last_ms, err));
	}
	p->last_ms = last_ms;
	bool is_told_later = p->is_sync && last_ms < p->start.now_ms;
	p->past_ms = is_told_later || last_ms < p->job.announced_ms ? last_ms : 0;
	struct batch_part *console = batch_find_part(batch, p->start.job, p->start.console_stream);
	for (size_t i = 0; p->past_ms && console && i < console->count; i++)
		if (console->lines[i].ts_ms > p->past_ms)
			console->lines[i].ts_ms = p->past_ms;
	return OK;
}

/*
 * Of one that is told of as it goes on: its process ends it, which may have been at work long since its last log (an evaluation, a checkpoint), and
 * waits for the answer, also of a server that was away. An import of ours and a relay say when it ended.
 */
static int64_t end_of_new(const struct wandb_call *call, const struct posting *p)
{
	int64_t ended_ms = p->post.ended_ms;

	if (ended_ms && ended_ms < call->now_ms && p->last_ms < call->now_ms)
		return ended_ms > p->last_ms ? ended_ms : p->last_ms;
	return call->now_ms;
}

/* By its summary, which says in seconds how long it was; *end_ms as it is where that says nothing later. */
static enum status find_summed_end(struct wandb_call *call, const struct posting *p, int64_t *end_ms, struct error *err)
{
	AUTO(json) summary = NULL;
	struct tracked_file_row row;
	double runtime_s;

	TRY(store_read_tracked_file(call->reader, call->arena, p->row.job_id, SPAN(WANDB_SUMMARY), &row, err));
	if (!row.content.len || json_parse(&summary, row.content, err) != OK)
		return row.content.len && err->status == ERR_MEMORY ? ERR_MEMORY : OK; /* a client's own words */
	if (!json_number_of(json_get_path(summary, "_wandb.runtime"), &runtime_s) || !(runtime_s > 0) ||
		runtime_s > 1e9)
		return OK;
	int64_t said_ms = p->row.start_ms + (int64_t)(runtime_s * 1000);
	int64_t most_ms = p->past_ms < p->job.announced_ms ? p->job.announced_ms : call->now_ms;
	if (said_ms > *end_ms)
		*end_ms = said_ms < most_ms ? said_ms : most_ms;
	return OK;
}

static enum status find_end(struct wandb_call *call, const struct posting *p, int64_t *end_ms, struct error *err)
{
	int64_t ended_ms = p->post.ended_ms;

	*end_ms = p->past_ms ? p->past_ms : end_of_new(call, p);
	if (!p->past_ms)
		return OK;
	TRY(find_summed_end(call, p, end_ms, err));
	if (ended_ms > *end_ms && ended_ms - *end_ms < ROUNDED_MS && ended_ms < call->now_ms)
		*end_ms = ended_ms;
	return OK;
}

/* ---- what the post brings ---- */

/* A process that is new to the run leaves rows of its own, for as long as the run is there. */
static enum status check_processes(
	struct wandb_call *call, const struct posting *p, const struct batch *batch, struct error *err)
{
	uint64_t count;

	for (size_t i = 0; i < batch->file_count; i++) {
		const struct batch_file *file = &batch->files[i];
		ptrdiff_t blank = span_find_char(file->name, ' ');
		if (blank < 0 || file->known_line || file->known_origin)
			continue;
		struct span name = span_cut(file->name, (size_t)blank);
		TRY(store_count_tracked_files(call->reader, p->row.job_id, name, &count, err));
		if (count >= call->options->max_processes)
			return error_set(err, ERR_SEMANTIC,
				WANDB_WRITER_HEADER " names one process more than the %llu that may share a run "
						    "(--max-run-processes)",
				(unsigned long long)call->options->max_processes);
	}
	return OK;
}

/* Before the batch goes: of whose times its lines are, and a summary is the run's that is not of an earlier part. */
static enum status put_times(const struct posting *p, struct batch *batch, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(2 * SENT_TIMES_MAX * 80 + SENT_CONSOLES_MAX * 96 + 64);
	struct json_writer w = json_writer_on(&text);
	size_t kept = 0;

	if (!last_sent(p) && !p->consoles.has_changed)
		return OK;
	struct batch_file *files = arena_alloc(batch->arena, (batch->file_count + 1) * sizeof *files);
	if (!files)
		return error_no_memory(err);
	for (size_t i = 0; i < batch->file_count; i++)
		if (!p->is_sync || !sent_times_is_older(&p->history_times) ||
			!span_equal(batch->files[i].name, SPAN(WANDB_SUMMARY)))
			files[kept++] = batch->files[i];
	json_object(&w);
	sent_times_write(&p->history_times, "history", &w);
	sent_times_write(&p->event_times, "events", &w);
	sent_consoles_write(&p->consoles, "console", &w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	struct span content = arena_copy(batch->arena, buf_span(&text));
	files[kept++] = (struct batch_file){.name = SPAN(WANDB_TIMES_FILE), .content = content, .is_unchecked = true};
	batch->files = files;
	batch->file_count = kept;
	return content.ptr ? OK : error_no_memory(err);
}

static void log_left_out(const struct posting *p)
{
	if (p->result.refused)
		log_line(LOG_WARNING, "wandb_left_out", "job=\"%.*s\" values=%zu first=\"%s\"", SPAN_ARGS(p->job.name),
			p->result.refused, "of more metrics than --max-series");
	if (p->post.left_out)
		log_line(LOG_WARNING, "wandb_left_out", "job=\"%.*s\" values=%zu first=\"%s\"", SPAN_ARGS(p->job.name),
			p->post.left_out, p->post.bad_line.status ? p->post.bad_line.text : "no numbers");
}

static enum status store(struct wandb_call *call, struct posting *p, struct span body, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);

	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	TRY(file_stream_read(body, &p->start, batch, &p->post, err));
	if (!p->post.ended_ms && call->relayed.at_ms < call->now_ms)
		p->post.ended_ms = call->relayed.at_ms;
	TRY(find_past(p, batch, err));
	if (!batch->file_count)
		return OK;
	TRY(check_processes(call, p, batch, err));
	TRY(put_times(p, batch, err));
	batch->files_job_id = p->row.job_id;
	return pipeline_store(call->pipeline, &batch, &p->result, err);
}

/* The SDK looks at no reply: who trains sees it at the run. */
static enum status tell_left_out(struct wandb_call *call, const struct posting *p, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LEFT_OUT_BYTES);
	struct span job;

	log_left_out(p);
	if (!p->result.refused)
		return OK;
	buf_printf(&text, "metrics: values of more than %zu in a stream are not stored (--max-series)",
		call->options->max_series);
	TRY(buf_status(&text, err));
	return wandb_put_loss(call, &p->row, buf_span(&text), &job, err);
}

/* ---- what it says of the run ---- */

/* What is sent of a run that has ended may be of a process before its last one. */
static enum status put_part(
	struct wandb_call *call, const struct posting *p, const struct run_change *change, struct error *err)
{
	struct tracked_part part = {.run_id = change->run_id,
		.team = change->team,
		.begun_ms = p->begun_ms,
		.first_ms = first_sent(p),
		.last_ms = last_sent(p),
		.secondary = change->secondary,
		.reason = change->reason,
		.now_ms = change->now_ms};

	if (!part.last_ms)
		return OK;
	TRY(pipeline_put_part(call->pipeline, call->arena, &part, err));
	if (part.is_new)
		goodput_settle(call->pipeline, call->reader, part.job);
	return OK;
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
		.relayed_by = call->relayed.job,
		.now_ms = call->now_ms};
	bool is_end = wandb_is_over(change.status);
	bool is_shipped = wandb_is_shipped(call, p->job.name);

	if (is_end && p->is_sync && wandb_is_over(p->row.status))
		return is_shipped ? OK : put_part(call, p, &change, err);
	if (span_equal(p->row.status, change.status))
		return OK; /* a request that came again, or the same file of a run that was sent again */
	if (is_end)
		TRY(find_end(call, p, &change.end_ms, err));
	if (is_shipped)
		change.secondary = change.reason = SPAN("");
	change.leaves_log = is_shipped && is_end && !is_one_of_several(call);
	if (!is_end && p->post.first_ms > p->row.end_ms && p->post.first_ms < call->now_ms)
		change.resumed_ms = p->post.first_ms;
	TRY(pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err));
	p->row.status = change.status;
	if (is_end && !is_shipped)
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
	if (p->post.has_unknown_code)
		return put_status(call, p, "FAILED", "Failed", HISTORY_RUN_ENDED "as failed", err);
	snprintf(reason, sizeof reason, HISTORY_RUN_ENDED "with exit code %lld", (long long)p->post.exit_code);
	return put_status(call, p, "FAILED", "Failed", reason, err);
}

enum status wandb_take_stream(struct wandb_call *call, struct span body, struct error *err)
{
	struct posting *p = arena_alloc(call->arena, sizeof *p);

	if (!p)
		return error_no_memory(err);
	*p = (struct posting){.result = {.accepted = 0}};
	TRY(begin(call, p, body, err));
	TRY(store(call, p, body, err));
	TRY(tell_left_out(call, p, err));
	bool goes_on = !p->is_sync || p->post.last_ms > p->row.end_ms;
	if (p->result.accepted && goes_on && wandb_is_over(p->row.status) && !is_one_of_several(call))
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
