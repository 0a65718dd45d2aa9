/* An EventBridge event becomes a job's document and history: read on a worker's thread, merged in the writer's transaction. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text/iso8601.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/job.h"
#include "pipeline/jobs/job_event.h"
#include "pipeline/life/goes_on.h"
#include "pipeline/life/halts.h"
#include "pipeline/life/life.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "state/jobs/secrets.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/transitions.h"

struct taking {
	struct pipeline *pipeline;
	const struct job_event *event;
	struct span team;
	int64_t now_ms;
	struct buf *document; /* as it is kept */
	struct arena *arena; /* of what is said after the commit */
	struct life life;
	int64_t job_id;
	bool has_changed;
	bool has_new_document;
	bool is_halt_due; /* its log is to be asked whether it trained since */
};

/* What is newer than all before it says how the document is. */
static enum status merge_document(struct taking *taking, struct store_tx *tx, struct job_row *row, struct error *err)
{
	AUTO(json) old = NULL;
	AUTO(json) merged = NULL;
	int64_t newest_ms;

	TRY(store_read_newest_event(store_tx_reader(tx), row->job_id, &newest_ms, err));
	if (taking->event->newest_ms < newest_ms)
		return OK;
	TRY(json_parse(&old, row->document, err));
	TRY(job_event_document(taking->event, old, &merged, err));
	TRY(secrets_mask(merged, err));
	taking->document->len = 0;
	json_print(merged, taking->document);
	TRY(buf_status(taking->document, err));
	if (!span_equal(buf_span(taking->document), row->document)) {
		row->document = buf_span(taking->document);
		taking->has_changed = taking->has_new_document = true;
	}
	return taking->event->newest_ms > newest_ms
		       ? store_put_newest_event(tx, row->job_id, taking->event->newest_ms, err)
		       : OK;
}

/*
 * An event says what its newest status is about at that moment: its message began then, or with the status. Of an event that came late, too:
 * the status may have been about something else before what is known by now.
 */
static enum status keep_message(struct taking *taking, struct store_tx *tx, struct error *err)
{
	const struct job_event *event = taking->event;
	const struct told_row *last = NULL;
	bool is_new;

	for (size_t i = 0; i < event->told_count; i++)
		if (!last || event->told[i].start_ms >= last->start_ms)
			last = &event->told[i];
	if (!last || !last->message.len)
		return OK;
	int64_t at_ms = event->newest_ms > last->start_ms ? event->newest_ms : last->start_ms;
	TRY(store_keep_status_message(
		tx, taking->job_id, &(struct status_message){at_ms, last->status, last->message}, &is_new, err));
	taking->has_changed |= is_new;
	return OK;
}

static enum status put_told(
	const struct taking *taking, struct store_tx *tx, const struct job_row *row, struct error *err)
{
	const struct job_event *event = taking->event;
	const struct event_times times = {true, event->started_ms, event->ended_ms};

	for (size_t i = 0; i < event->told_count; i++) {
		struct told_row told = event->told[i];
		TRY(life_settle_end(&taking->life, tx, row, &told, err));
		TRY(store_put_told(tx, row->job_id, &told, err));
	}
	return store_put_event_times(tx, row->job_id, &times, err);
}

static enum status write_event(void *context, struct store_tx *tx, struct error *err)
{
	struct taking *taking = context;
	const struct job_event *event = taking->event;
	struct job_row row;

	taking->has_changed = taking->has_new_document = false; /* after a commit that failed this runs again */
	taking->life = (struct life){.pipeline = taking->pipeline, .arena = taking->arena, .now_ms = taking->now_ms};
	TRY(store_read_job(store_tx_reader(tx), taking->arena, event->job, &row, err));
	TRY(check_team(row.team, row.name, taking->team, err));
	taking->job_id = row.job_id;
	TRY(merge_document(taking, tx, &row, err));
	if (event->created_ms && event->created_ms != row.announced_ms) { /* said outright */
		row.announced_ms = event->created_ms;
		taking->has_changed = true;
	}
	TRY(put_told(taking, tx, &row, err));
	TRY(life_write(&taking->life, tx, &row, taking->has_changed, err));
	TRY(halts_are_due(taking->pipeline, store_tx_reader(tx), taking->arena, &row, &taking->is_halt_due, err));
	taking->has_changed |= taking->life.has_changed;
	return keep_message(taking, tx, err);
}

static void apply_event(void *context)
{
	struct taking *taking = context;
	struct job_state *job = directory_peek_id(taking->pipeline->directory, taking->job_id);
	struct error err;

	life_say(&taking->life); /* also of a job that is not in memory */
	if (!job || !taking->has_changed)
		return;
	if (taking->has_new_document &&
		job_settings_state(job->settings, taking->pipeline->devices, buf_span(taking->document), &err) != OK)
		log_line(LOG_WARNING, "settings_failed", "job=\"%s\" error=\"%s\"", job->name, err.text);
	atomic_store(&job->is_row_dirty, true);
}

/* SageMaker took definitions that we may not be able to compile: then the job goes without them. */
static enum status create(struct pipeline *pipeline, const struct job_event *event, struct span team, int64_t now_ms,
	bool *is_new, struct error *err)
{
	AUTO(json) document = NULL;

	TRY(job_event_document(event, NULL, &document, err));
	enum status status = pipeline_create_job(pipeline, document, team, now_ms, false, err);
	struct json *algorithm = (struct json *)json_get(/* of a document that is ours */
		document, "AlgorithmSpecification");
	if (status == ERR_SEMANTIC && algorithm && json_kind(algorithm) == JSON_OBJECT &&
		json_get(algorithm, "MetricDefinitions")) {
		log_line(LOG_WARNING, "definitions_refused", "job=\"%.*s\" error=\"%s\"", SPAN_ARGS(event->job),
			err->text);
		json_remove(algorithm, "MetricDefinitions");
		status = pipeline_create_job(pipeline, document, team, now_ms, false, err);
	}
	*is_new = status == OK;
	return status == ERR_CONFLICT ? OK : status;
}

enum status pipeline_take_event(struct pipeline *pipeline, const struct json *detail, struct span team, int64_t sent_ms,
	enum event_result *result, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(4 << 20);
	AUTO(arena) arena = arena_new();
	struct job_event event;
	struct taking taking = {.pipeline = pipeline,
		.event = &event,
		.team = team,
		.now_ms = clock_wall_ms(),
		.document = &document,
		.arena = arena};
	bool is_new;

	if (!arena)
		return error_no_memory(err);
	TRY(job_event_read(arena, detail, sent_ms, &event, err));
	TRY(create(pipeline, &event, team, taking.now_ms, &is_new, err));
	TRY(writer_execute_then(pipeline, write_event, apply_event, &taking, err));
	if (taking.is_halt_due)
		halts_settle_stated(pipeline, event.job, taking.job_id);
	*result = is_new || taking.has_changed ? EVENT_ACCEPTED : EVENT_DUPLICATE;
	return OK;
}

static const int64_t day_ms = 24LL * 60 * 60 * 1000;

static enum status check_sent(
	const struct sent_event *event, int64_t arrival_ms, int64_t *sent_ms, bool *is_ignored, struct error *err)
{
	int64_t ms;

	if (!event->type.len)
		return error_set_field(err, ERR_SEMANTIC, "detail-type",
			"an event needs detail-type, \"SageMaker Training Job State Change\"");
	*is_ignored = !span_equal(event->type, SPAN("SageMaker Training Job State Change"));
	if (*is_ignored)
		return error_set_field(err, ERR_SEMANTIC, "detail-type",
			"'%.*s' says nothing of a training job; \"SageMaker Training Job State Change\" is taken",
			SPAN_ARGS(event->type));
	if (!event->detail || json_kind(event->detail) != JSON_OBJECT)
		return error_set_field(
			err, ERR_SEMANTIC, "detail", "an event needs detail, the document of the training job");
	*sent_ms = arrival_ms;
	if (!event->time.len || !iso8601_parse(event->time, &ms))
		return OK;
	if (ms < 0 || ms > arrival_ms + day_ms) /* it would be newer than whatever comes */
		return error_set_field(err, ERR_SEMANTIC, "time",
			"time '%.*s' is before 1970, or more than a day from now", SPAN_ARGS(event->time));
	*sent_ms = ms;
	return OK;
}

enum status pipeline_judge_event(struct pipeline *pipeline, const struct sent_event *event, struct span team,
	int64_t arrival_ms, enum event_verdict *out, struct error *why, struct error *err)
{
	enum event_result result;
	bool is_ignored = false;
	int64_t sent_ms;

	*out = VERDICT_REJECTED;
	if (check_sent(event, arrival_ms, &sent_ms, &is_ignored, why) != OK) {
		*out = is_ignored ? VERDICT_IGNORED : VERDICT_REJECTED;
		return OK;
	}
	enum status status = pipeline_take_event(pipeline, event->detail, team, sent_ms, &result, why);
	if (status == OK)
		*out = result == EVENT_DUPLICATE ? VERDICT_DUPLICATE : VERDICT_ACCEPTED;
	if (status < ERR_BUSY)
		return OK;
	*err = *why;
	return status;
}
