/* Jobs made by documents: worker threads check and prepare, the writer's transaction decides, RAM follows after the commit. */
#include "pipeline/jobs/job.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/job_time.h"
#include "model/json_form.h"
#include "model/jobs/training_job.h"
#include "pipeline/alert/notices.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/job_change.h"
#include "pipeline/jobs/by_hand_signed.h"
#include "pipeline/jobs/faults_by_hand.h"
#include "pipeline/jobs/hosts_by_hand.h"
#include "pipeline/jobs/restarts_by_hand.h"
#include "pipeline/jobs/job_event.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "state/jobs/default_definitions.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "state/jobs/secrets.h"
#include "store/alerts.h"
#include "store/backfills.h"
#include "store/definitions.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/run.h"

#include <ctype.h>
#include <stdio.h>

struct creation {
	struct pipeline *pipeline;
	struct job_row row;
	struct span definitions; /* JSON, "" : none */
	int64_t now_ms;
	struct arena *arena; /* of what is said after the commit */
	bool is_told; /* its start is news */
	int64_t job_id; /* what was written */
	struct span document; /* with what was set by hand before; the arena's */
	uint32_t generation;
	bool has_state_messages;
	struct life life; /* of a document that comes behind the log */
	struct hosts_set hosts;
	struct faults_cleared faults;
	struct restarts_ended ended;
};

static enum status check_name(struct span name, struct error *err)
{
	static const char field[] = "TrainingJobName";

	if (!name.len)
		return error_set_field(err, ERR_SEMANTIC, field, "a job document needs TrainingJobName");
	if (name.len > 255)
		return error_set_field(
			err, ERR_SEMANTIC, field, "TrainingJobName has %zu bytes; at most 255 are taken", name.len);
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 127)
			return error_set_field(
				err, ERR_SEMANTIC, field, "TrainingJobName holds a control character at byte %zu", i);
	return span_is_utf8(name) ? OK : error_set_field(err, ERR_SEMANTIC, field, "TrainingJobName is not UTF-8");
}

static enum status check_definitions(
	const struct pipeline *pipeline, const struct json *definitions, struct buf *out, struct error *err)
{
	AUTO(definition_set) set = NULL;

	if (!definitions || json_kind(definitions) == JSON_NULL)
		return OK;
	enum status status = definition_set_new(&set, definitions, pipeline->presets, err);
	if (status == ERR_SEMANTIC && err && err->field[0]) {
		char field[sizeof err->field];
		snprintf(field, sizeof field, "AlgorithmSpecification.%.*s",
			(int)(sizeof field - sizeof "AlgorithmSpecification."), err->field);
		memcpy(err->field, field, sizeof field);
	}
	TRY(status);
	if (json_count(definitions))
		json_print(definitions, out);
	return buf_status(out, err);
}

static enum status refuse_existing(const struct creation *creation, const struct job_row *old, struct error *err)
{
	TRY(check_team(old->team, old->name, creation->row.team, err));
	if (!old->is_implicit)
		return error_set_field(err, ERR_CONFLICT, "TrainingJobName", "job '%.*s' exists already (%.*s)",
			SPAN_ARGS(old->name), SPAN_ARGS(old->status));
	return OK;
}

/* A job that was made by its first line gets its document; its status and times stay. */
static enum status adopt_old(const struct creation *creation, const struct job_row *old, struct job_row *row,
	struct buf *document, struct error *err)
{
	TRY(refuse_existing(creation, old, err));
	TRY(job_keep_changes(old->document, creation->row.document, document, err));
	*row = *old;
	row->document = buf_span(document);
	row->is_implicit = false;
	row->modified_ms = creation->now_ms;
	return OK;
}

/* What the document says is meant for all: a back-fill by other definitions has no use any more. */
static enum status stop_backfill(
	const struct creation *creation, struct store_tx *tx, struct arena *arena, int64_t job_id, struct error *err)
{
	struct backfill_row backfill;

	TRY(store_read_backfill(store_tx_reader(tx), arena, job_id, &backfill, err));
	if (!backfill.job_id || backfill.state != BACKFILL_RUNNING)
		return OK;
	backfill.state = BACKFILL_CANCELLED;
	backfill.updated_ms = creation->now_ms;
	return store_put_backfill(tx, &backfill, err);
}

static enum status next_generation(const struct creation *creation, struct store_tx *tx, struct arena *arena,
	struct job_row *row, struct error *err)
{
	uint32_t newest;

	if (!creation->definitions.len)
		return OK;
	TRY(stop_backfill(creation, tx, arena, row->job_id, err));
	TRY(store_newest_generation(store_tx_reader(tx), row->job_id, &newest, err));
	row->generation = (newest > row->generation ? newest : row->generation) + 1;
	return OK;
}

static enum status begin_new(struct creation *creation, struct store_tx *tx, struct job_row *row, struct error *err)
{
	TRY(life_begin(tx, row, SPAN("created"), err));
	return creation->is_told
		       ? notices_enqueue_job_state(creation->pipeline, tx, row, &creation->has_state_messages, err)
		       : OK;
}

static enum status write_definitions(
	const struct creation *creation, struct store_tx *tx, const struct job_row *row, bool is_new, struct error *err)
{
	if (creation->definitions.len)
		return store_put_definitions(tx, row->job_id, row->generation, creation->definitions, err);
	return is_new ? definitions_put_default(tx, row->job_id, row->generation, err) : OK;
}

static enum status write_creation(void *context, struct store_tx *tx, struct error *err)
{
	struct creation *creation = context;
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) document = BUF_INIT(4 << 20);
	struct job_row old, row = creation->row; /* a copy: after a commit that failed this runs again */
	bool is_new;

	if (!arena)
		return error_no_memory(err);
	creation->life =
		(struct life){.pipeline = creation->pipeline, .arena = creation->arena, .now_ms = creation->now_ms};
	enum status status = store_read_job(store_tx_reader(tx), arena, row.name, &old, err);
	is_new = status == ERR_NOT_FOUND;
	if (!is_new) {
		TRY(status);
		TRY(adopt_old(creation, &old, &row, &document, err));
		TRY(next_generation(creation, tx, arena, &row, err));
	}
	creation->document = arena_copy(creation->arena, row.document);
	if (!creation->document.ptr)
		return error_no_memory(err);
	/* times that the document sets are of what is known of the job already */
	bool sets_times = !is_new && span_find(row.document, SPAN("\"by_hand\"")) >= 0;
	creation->hosts = (struct hosts_set){0};
	if (sets_times) /* why it failed names machines */
		TRY(hosts_by_hand_write(tx, creation->arena, &row, &creation->hosts, err));
	TRY(sets_times ? life_write(&creation->life, tx, &row, true, err) : pools_put_job(tx, &row, err));
	TRY(store_check_run(store_tx_reader(tx), arena, row.name, err));
	creation->faults = (struct faults_cleared){0};
	creation->ended.count = 0;
	if (sets_times) {
		TRY(faults_by_hand_write(creation->pipeline, tx, creation->arena, &row, NULL, &creation->faults, err));
		TRY(restarts_by_hand_write(creation->pipeline, tx, creation->arena, &row, &creation->ended, err));
	}
	creation->has_state_messages = false;
	if (is_new)
		TRY(begin_new(creation, tx, &row, err));
	TRY(write_definitions(creation, tx, &row, is_new, err));
	creation->job_id = row.job_id;
	creation->generation = row.generation;
	return OK;
}

static void apply_creation(void *context)
{
	struct creation *creation = context;
	struct job_state *job = directory_peek_id(creation->pipeline->directory, creation->job_id);

	life_say(&creation->life);
	hosts_by_hand_apply(creation->pipeline, creation->job_id, &creation->hosts);
	faults_by_hand_apply(creation->pipeline, creation->job_id, &creation->faults);
	restarts_by_hand_say(creation->pipeline, &creation->ended);
	if (job) {
		struct error err;
		if (job_settings_state(job->settings, creation->pipeline->devices, creation->document, &err) != OK)
			log_line(LOG_WARNING, "settings_failed", "job=\"%s\" error=\"%s\"", job->name, err.text);
		job->generation = creation->generation;
		atomic_store(&job->is_row_dirty, true);
	}
	if (creation->has_state_messages && creation->pipeline->options.deliveries_due)
		creation->pipeline->options.deliveries_due(creation->pipeline->options.context);
}

static enum status check_document(const struct pipeline *pipeline, const struct json *document, struct span *name,
	struct buf *definitions, struct error *err)
{
	if (json_kind(document) != JSON_OBJECT)
		return error_set(err, ERR_SEMANTIC, "a job document is a JSON object");
	TRY(json_want_string(document, "TrainingJobName", name, err));
	TRY(check_name(*name, err));
	TRY(json_check_form(document, err));
	TRY(training_job_check(document, err));
	TRY(by_hand_check(json_get(document, "by_hand"), clock_wall_ms() + JOB_AHEAD_MS, err));
	TRY(job_event_check_stated(document, err));
	return check_definitions(
		pipeline, json_get_path(document, "AlgorithmSpecification.MetricDefinitions"), definitions, err);
}

enum status pipeline_check_job(struct pipeline *pipeline, struct store_reader *reader, const struct json *document,
	struct span team, struct error *err)
{
	AUTO_DONE(buf) definitions = BUF_INIT(1 << 20);
	AUTO(arena) arena = arena_new();
	struct creation creation = {.pipeline = pipeline, .row = {.team = team, .name = SPAN("")}};
	struct job_row old;

	if (!arena)
		return error_no_memory(err);
	TRY(check_document(pipeline, document, &creation.row.name, &definitions, err));
	enum status status = store_read_job(reader, arena, creation.row.name, &old, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	return refuse_existing(&creation, &old, err);
}

enum status pipeline_create_job(struct pipeline *pipeline, const struct json *document, struct span team,
	int64_t now_ms, bool is_told, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);
	AUTO_DONE(buf) definitions = BUF_INIT(1 << 20);
	AUTO_DONE(buf) kept = BUF_INIT(4 << 20);
	AUTO(arena) arena = arena_new();
	AUTO(json) copy = NULL;
	struct span name = SPAN("");

	if (!arena)
		return error_no_memory(err);
	TRY(check_document(pipeline, document, &name, &definitions, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	TRY(json_parse(&copy, buf_span(&text), err));
	TRY(secrets_mask(copy, err));
	TRY(by_hand_take_signed(pipeline, copy, err));
	json_print(copy, &kept);
	TRY(buf_status(&kept, err));
	struct creation creation = {.pipeline = pipeline,
		.definitions = buf_span(&definitions),
		.now_ms = now_ms,
		.arena = arena,
		.is_told = is_told};
	creation.row = (struct job_row){.name = name,
		.team = team,
		.document = buf_span(&kept),
		.status = SPAN("InProgress"),
		.secondary = SPAN("Starting"),
		.failure_reason = SPAN(""),
		.created_ms = now_ms,
		.announced_ms = now_ms,
		.modified_ms = now_ms,
		.generation = 1};
	return writer_execute_then(pipeline, write_creation, apply_creation, &creation, err);
}
