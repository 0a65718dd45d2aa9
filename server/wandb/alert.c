/*
 * What a training says by run.alert(): a line of its job, where searches and rules about the log find it, and an incident.
 *
 * A call has no number and no time, and `wandb sync` makes it again. So a run has a list of its alerts (their hashes), and a place in it. A
 * training tells behind the list: each of its calls counts. A sync begins at the front, and what it tells is looked for from its place on.
 */
#include "base/hash128.h"
#include "base/log.h"
#include "ingest/lines/lines.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/training_alert.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "store/jobs.h"
#include "wandb/internal.h"

#include <inttypes.h>
#include <stdio.h>

/* What is behind the list is stored each time. */
enum { HASH_DIGITS = 16, KNOWN_MAX = 1000 };

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

/* ---- those that were told before ---- */

static enum status read_told(const struct wandb_call *call, int64_t job_id, struct batch_file *out, struct error *err)
{
	struct tracked_file_row row;

	TRY(store_read_tracked_file(call->reader, call->arena, job_id, SPAN(WANDB_ALERTS_FILE), &row, err));
	*out = (struct batch_file){.name = SPAN(WANDB_ALERTS_FILE),
		.origin = row.origin,
		.next_line = row.next_line,
		.content = row.content,
		.is_unchecked = true};
	return OK;
}

bool wandb_is_sync(struct span program)
{
	return span_ends_with(program, SPAN("/wandb")) || span_equal(program, SPAN("-m wandb.__main__"));
}

enum status wandb_begin_alerts(
	struct wandb_call *call, int64_t job_id, bool is_sync, struct batch_file *out, bool *has_any, struct error *err)
{
	TRY(read_told(call, job_id, out, err));
	*has_any = out->content.len != 0;
	out->next_line = is_sync ? 0 : out->content.len / HASH_DIGITS;
	return OK;
}

/* True: it is in the list, behind which its process goes on. */
static bool find_told(struct batch_file *told, struct span digits)
{
	for (size_t i = (size_t)told->next_line; (i + 1) * HASH_DIGITS <= told->content.len; i++)
		if (!memcmp(told->content.ptr + i * HASH_DIGITS, digits.ptr, HASH_DIGITS)) {
			told->next_line = i + 1;
			return true;
		}
	return false;
}

static enum status add_told(struct arena *arena, struct batch_file *told, struct span digits, struct error *err)
{
	AUTO_DONE(buf) list = BUF_INIT((KNOWN_MAX + 1) * HASH_DIGITS);

	if (told->content.len >= KNOWN_MAX * HASH_DIGITS)
		return OK;
	buf_append_span(&list, told->content);
	buf_append_span(&list, digits);
	TRY(buf_status(&list, err));
	told->content = arena_copy(arena, buf_span(&list));
	told->next_line = told->content.len / HASH_DIGITS;
	return told->content.ptr ? OK : error_no_memory(err);
}

/* Its place in the list is stored with its line. */
static enum status see_told(struct wandb_call *call, int64_t job_id, struct span words, struct batch_file *told,
	bool *is_known, struct error *err)
{
	char digits[HASH_DIGITS + 1];
	struct hash128 hash = {0};

	hash128_add(&hash, words);
	snprintf(digits, sizeof digits, "%016" PRIx64, hash.low);
	TRY(read_told(call, job_id, told, err));
	*is_known = find_told(told, span_from(digits));
	return *is_known ? OK : add_told(call->arena, told, span_from(digits), err);
}

/* ---- telling ---- */

static enum status add_lines(
	struct wandb_call *call, struct batch *batch, struct span job, struct span words, struct error *err)
{
	if (ingest_count_lines(words) > ingest_lines_max(words.len))
		return error_set_field(err, ERR_SEMANTIC, "text", "'text' has too many lines");
	struct batch_part *part = batch_part(batch, job, SPAN(STREAM_OF_ALERTS));
	if (!part || !ingest_add_lines(batch, part, words, call->relayed.at_ms, call->options->max_line_bytes))
		return error_no_memory(err);
	wandb_mark_part(call, part);
	return OK;
}

static enum status store_alert(struct wandb_call *call, const struct alert *alert, const struct job_row *job,
	bool *is_known, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	AUTO_DONE(buf) words = BUF_INIT(call->options->max_body_bytes + WANDB_NOTES_MAX_BYTES + WANDB_NAME_MAX_BYTES);
	struct ingest_result result;
	struct batch_file told;

	put_words(alert, &words);
	TRY(buf_status(&words, err));
	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	TRY(see_told(call, job->job_id, buf_span(&words), &told, is_known, err));
	if (!*is_known)
		TRY(add_lines(call, batch, job->name, buf_span(&words), err));
	batch->files = &told;
	batch->file_count = 1;
	batch->files_job_id = job->job_id;
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
	bool is_known;

	TRY(read_alert(call, request, &alert, err));
	TRY(wandb_find_run(call, &alert.run, &row, err));
	TRY(store_read_job_by_id(call->reader, call->arena, row.job_id, &job, err));
	TRY(store_alert(call, &alert, &job, &is_known, err));
	if (!is_known)
		TRY(raise_alert(call, &alert, job.name, err));
	json_key(&call->w, "notifyScriptableRunAlert");
	json_object(&call->w);
	json_put_bool(&call->w, "success", true);
	json_object_end(&call->w);
	return OK;
}
