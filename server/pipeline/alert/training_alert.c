#include "pipeline/alert/training_alert.h"

#include "base/hash128.h"
#include "base/json/json_write.h"
#include "pipeline/alert/incidents.h"
#include "state/control.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

/* The facts are title and text; a byte may be six of JSON. */
enum { WORDS_MAX_BYTES = 2000, FACTS_BYTES = 2 * 6 * WORDS_MAX_BYTES + 100 };

struct raising {
	struct pipeline *pipeline;
	struct job_state *job;
	const struct training_alert *alert;
	struct incident_row row;
	struct incident_effects told;
	struct buf facts, detail;
	bool is_kept;
	bool is_closed; /* it is kept in one that the job's end has closed */
};

static struct span title_of(const struct training_alert *alert)
{
	return span_cut(alert->title.len ? alert->title : alert->text, WORDS_MAX_BYTES);
}

static enum status write_words(struct raising *raising, struct error *err)
{
	const struct training_alert *alert = raising->alert;
	struct span title = title_of(alert);
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);
	struct json_writer w = json_writer_on(&facts);

	json_object(&w);
	json_put_span(&w, "title", title);
	json_put_span(&w, "text", span_cut(alert->text, WORDS_MAX_BYTES));
	json_object_end(&w);
	TRY(buf_status(&facts, err));
	buf_append(&raising->facts, facts.ptr + 1, facts.len - 2); /* its members alone */
	buf_append_span(&raising->detail, title);
	if (alert->title.len && alert->text.len) {
		buf_append_text(&raising->detail, ": ");
		buf_append_span(&raising->detail, span_cut(alert->text, WORDS_MAX_BYTES));
	}
	TRY(buf_status(&raising->facts, err));
	return buf_status(&raising->detail, err);
}

static bool has_title(const struct incident_row *row, struct span title)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES + 2);
	AUTO(json) evidence = NULL;
	struct error err;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	return !text.failure && json_parse(&evidence, buf_span(&text), &err) == OK &&
	       span_equal(json_string_of(json_get(evidence, "title")), title);
}

static enum status read_said(const struct raising *raising, struct store_tx *tx, struct arena *arena,
	enum incident_state state, struct incident_row **rows, size_t *count, struct error *err)
{
	const struct incident_filter filter = {.has_all = true,
		.job_id = raising->job->job_id,
		.state = (int)state,
		.kind = INCIDENT_TRAINING_ALERT,
		.cursor = SPAN(""),
		.limit = TRAINING_ALERTS_OPEN_MAX};
	struct span cursor;

	return store_read_incidents(store_tx_reader(tx), arena, &filter, rows, count, &cursor, err);
}

/* sm-ship tells the job's end, and its relay behind that what was said before it: it belongs to what that end has closed. One that is
 * worse is another, so that those who want to know of it hear of it. */
static enum status find_closed(struct raising *raising, struct store_tx *tx, struct arena *arena, struct error *err)
{
	const struct training_alert *alert = raising->alert;
	struct incident_row *rows;
	struct job_row job;
	size_t count;

	TRY(store_read_job_by_id(store_tx_reader(tx), arena, raising->job->job_id, &job, err));
	TRY(read_said(raising, tx, arena, INCIDENT_RECOVERED, &rows, &count, err));
	for (size_t i = 0; i < count && !raising->is_closed; i++) {
		const struct incident *incident = &rows[i].incident;
		bool is_of_then = alert->at_ms >= incident->opened_ms && alert->at_ms <= incident->closed_ms;
		bool is_of_end = job.ended_ms && incident->closed_ms >= job.ended_ms;
		raising->is_closed = incident->closed_why == INCIDENT_CLOSED_WITH_JOB && (is_of_then || is_of_end) &&
				     incident->severity >= alert->severity && has_title(&rows[i], title_of(alert));
	}
	return OK;
}

/* The open one of this title; else room for a new one. */
static enum status find_place(struct raising *raising, struct store_tx *tx, struct arena *arena, struct error *err)
{
	const struct training_alert *alert = raising->alert;
	struct span title = title_of(alert);
	struct hash128 hash = {0};
	struct incident_row *rows;
	size_t count;

	hash128_add(&hash, title);
	raising->row.incident.opened_ordinal =
		((hash.low << INCIDENT_TIME_BITS) | (uint64_t)alert->at_ms) & (uint64_t)INT64_MAX;
	TRY(read_said(raising, tx, arena, INCIDENT_OPEN, &rows, &count, err));
	raising->is_kept = count < TRAINING_ALERTS_OPEN_MAX;
	for (size_t i = 0; i < count; i++)
		if (has_title(&rows[i], title)) {
			raising->row.incident.opened_ordinal = rows[i].incident.opened_ordinal;
			raising->is_kept = true;
			return OK;
		}
	return find_closed(raising, tx, arena, err);
}

static enum status write_alert(void *context, struct store_tx *tx, struct error *err)
{
	struct raising *raising = context;
	AUTO(arena) arena = arena_new();
	bool is_gone;

	raising->told = (struct incident_effects){0};
	raising->is_kept = raising->is_closed = false;
	if (!arena)
		return error_no_memory(err);
	TRY(control_check_job_gone(raising->pipeline, tx, raising->job, &is_gone, err));
	if (is_gone)
		return error_set(err, ERR_NOT_FOUND, "the job '%s' was deleted", raising->job->name);
	TRY(find_place(raising, tx, arena, err));
	if (!raising->is_kept || raising->is_closed)
		return OK;
	return incidents_write(
		raising->pipeline, tx, &raising->row, span_from(raising->job->team), &raising->told, err);
}

static enum status raise(struct raising *raising, struct error *err)
{
	const struct training_alert *alert = raising->alert;

	TRY(write_words(raising, err));
	raising->row = (struct incident_row){.job_id = raising->job->job_id,
		.job = span_from(raising->job->name),
		.metric = SPAN(""),
		.stream = SPAN(""),
		.detail = buf_span(&raising->detail),
		.facts = buf_span(&raising->facts),
		.incident = {.kind = INCIDENT_TRAINING_ALERT,
			.severity = alert->severity,
			.state = INCIDENT_OPEN,
			.opened_ms = alert->at_ms,
			.first_step = alert->step,
			.last_step = alert->step,
			.opened_step = alert->step,
			.line = NO_LINE}};
	TRY(writer_execute(raising->pipeline, write_alert, raising, err));
	atomic_store(&raising->job->is_row_dirty, true);
	incidents_publish(raising->pipeline, &raising->row, &raising->told);
	return OK;
}

enum status pipeline_raise_alert(
	struct pipeline *pipeline, const struct training_alert *alert, bool *is_kept, struct error *err)
{
	AUTO(job_state) job = directory_find(pipeline->directory, alert->job);
	struct raising raising = {.pipeline = pipeline,
		.job = job,
		.alert = alert,
		.facts = BUF_INIT(FACTS_BYTES),
		.detail = BUF_INIT(FACTS_BYTES)};

	*is_kept = false;
	if (!job)
		return error_set(err, ERR_NOT_FOUND, "there is no job '%.*s'", SPAN_ARGS(alert->job));
	enum status status = raise(&raising, err);
	*is_kept = raising.is_kept;
	buf_done(&raising.facts);
	buf_done(&raising.detail);
	return status;
}
