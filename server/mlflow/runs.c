/* Runs: made, changed, ended. */
#include "base/crypto.h"
#include "ingest/ingest.h"
#include "mlflow/internal.h"
#include "model/jobs/job_time.h"
#include "model/metrics/batch_points.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/sessions.h"
#include "pipeline/pipeline.h"
#include "state/jobs/history.h"
#include "state/jobs/secrets.h"
#include "store/jobs.h"
#include "store/trash.h"

#include <stdio.h>

static const struct {
	const char *status; /* MLflow's */
	const char *secondary; /* of the job; "": it stays as it is */
	bool is_end;
} statuses[] = {{"RUNNING", "Training", false}, {"SCHEDULED", "", false}, {"FINISHED", "Completed", true},
	{"FAILED", "Failed", true}, {"KILLED", "Stopped", true}};

static const char run_name_tag[] = "mlflow.runName";
enum { RUN_ID_DIGITS = 32 };

/* ---- making ---- */

static struct span value_of(const struct tracked_pairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (span_equal(pairs->items[i].key, span_from(key)))
			return pairs->items[i].value;
	return SPAN("");
}

/* As the client says, in the call or by a tag; else made of its id. */
static enum status name_run(
	struct mlflow_call *call, struct tracked_run_row *row, struct tracked_pairs *tags, struct error *err)
{
	AUTO_DONE(buf) made = BUF_INIT(64);
	struct span tag = value_of(tags, run_name_tag);

	row->name = SPAN("");
	TRY(mlflow_text(call, "run_name", MLFLOW_NAME_MAX_BYTES, &row->name, err));
	if (!row->name.len)
		row->name = span_cut(tag, MLFLOW_NAME_MAX_BYTES);
	if (!row->name.len) {
		buf_printf(&made, "run-%.8s", row->run_id.ptr);
		TRY(buf_status(&made, err));
		row->name = arena_copy(call->arena, buf_span(&made));
	}
	if (!row->name.ptr || (!tag.len && !tracked_pairs_add(call->arena, tags, span_from(run_name_tag), row->name)))
		return error_no_memory(err);
	return OK;
}

static enum status make_id(struct mlflow_call *call, struct span *out, struct error *err)
{
	unsigned char bytes[16];
	char digits[2 * sizeof bytes + 1];

	crypto_random(bytes, sizeof bytes);
	crypto_hex(bytes, sizeof bytes, digits);
	*out = arena_copy(call->arena, span_from(digits));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status place_run(struct mlflow_call *call, const struct tracked_project_row *experiment,
	struct tracked_run_row *row, struct error *err)
{
	AUTO_DONE(buf) place = BUF_INIT(4096);

	row->artifacts = SPAN("");
	TRY(mlflow_text(call, "artifact_uri", MLFLOW_PLACE_MAX_BYTES, &row->artifacts, err));
	if (row->artifacts.len)
		return OK;
	buf_printf(&place, "%.*s/%.*s/artifacts", SPAN_ARGS(experiment->artifacts), SPAN_ARGS(row->run_id));
	TRY(buf_status(&place, err));
	row->artifacts = arena_copy(call->arena, buf_span(&place));
	return row->artifacts.ptr ? OK : error_no_memory(err);
}

static enum status write_run(
	struct mlflow_call *call, struct span run_id, struct json_writer *w, bool is_info, struct error *err)
{
	struct tracked_run_row row;
	struct mlflow_run run;

	TRY(store_read_tracked_run(call->reader, call->arena, run_id, &row, err));
	TRY(mlflow_view_run(call, &row, !is_info, &run, err));
	if (is_info)
		mlflow_write_run_info(&run, w);
	else
		mlflow_write_run(&run, w);
	return OK;
}

/* ---- what a relay says beside it (sm-ship's), which had to answer its client before it could ask ---- */

bool mlflow_is_run_id(struct span id)
{
	for (size_t i = 0; i < id.len; i++)
		if (!((id.ptr[i] >= '0' && id.ptr[i] <= '9') || (id.ptr[i] >= 'a' && id.ptr[i] <= 'f')))
			return false;
	return id.len == RUN_ID_DIGITS;
}

static enum status take_trashed(struct mlflow_call *call, int64_t job_id, struct job_row *job, struct error *err)
{
	struct trashed_job trashed;

	TRY(store_read_trashed(call->reader, call->arena, job_id, &trashed, err));
	*job = trashed.job;
	return OK;
}

/* *is_relayed: a relay has told its client the id. *is_there: it was made before, by a request whose answer was lost. */
static enum status take_id(
	struct mlflow_call *call, struct span *run_id, bool *is_relayed, bool *is_there, struct error *err)
{
	struct span given = SPAN("");
	struct tracked_run_row row;
	struct job_row job;

	*is_there = false;
	TRY(mlflow_text(call, "client_run_id", MLFLOW_KEY_MAX_BYTES, &given, err));
	*is_relayed = given.len != 0;
	if (!given.len)
		return make_id(call, run_id, err);
	if (!mlflow_is_run_id(given))
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"'client_run_id' must be 32 hexadecimal digits in small letters, not '%.*s'",
			SPAN_ARGS(span_cut(given, 60)));
	*run_id = given;
	enum status status = store_read_tracked_run(call->reader, call->arena, given, &row, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	status = store_read_job_by_id(call->reader, call->arena, row.job_id, &job, err);
	if (status == ERR_NOT_FOUND) /* deleted since: it is told as it is */
		status = take_trashed(call, row.job_id, &job, err);
	TRY(status);
	TRY(check_team(job.team, job.name, call->team, err));
	*is_there = true;
	return OK;
}

static enum status take_numbered(struct mlflow_call *call, struct tracked_project_row *out, struct error *err)
{
	int64_t id;

	TRY(mlflow_experiment_id(call, &id, err));
	TRY(mlflow_find_experiment(call, id, out, err));
	return mlflow_check_owner(call, out, err);
}

/*
 * By its name, which comes into being with its first run; else by its id. Of a relay's client nobody can be told any more that there is no
 * such id: its run, and all that it logs, would be lost. It goes to the experiment that is called as the id is.
 */
static enum status take_experiment(
	struct mlflow_call *call, bool is_relayed, struct tracked_project_row *out, struct error *err)
{
	struct span name = SPAN("");

	TRY(mlflow_text(call, "experiment_name", MLFLOW_NAME_MAX_BYTES, &name, err));
	if (name.len) {
		TRY(mlflow_ensure_experiment(call, name, out, err));
		return mlflow_check_owner(call, out, err);
	}
	enum status status = take_numbered(call, out, err);
	if (!is_relayed || (status != ERR_NOT_FOUND && status != ERR_SEMANTIC && status != ERR_FORBIDDEN))
		return status;
	TRY(mlflow_text(call, "experiment_id", MLFLOW_NAME_MAX_BYTES, &name, err));
	return name.len ? mlflow_ensure_experiment(call, name, out, err) : status;
}

static enum status take_job(struct mlflow_call *call, struct span *out, struct error *err)
{
	struct error cause;

	*out = SPAN("");
	TRY(mlflow_text(call, "job_name", JOB_NAME_MAX_BYTES, out, err));
	if (out->len && ingest_check_name("job_name", *out, JOB_NAME_MAX_BYTES, &cause) != OK)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "%s", cause.text);
	return OK;
}

enum status mlflow_run_create(struct mlflow_call *call, struct error *err)
{
	static const struct tracked_pairs none;
	struct tracked_project_row experiment;
	bool is_relayed, is_there;
	struct tracked_pairs tags = {0};
	struct run_making making = {.team = call->team,
		.settings = &none,
		.tags = &tags,
		.now_ms = call->now_ms,
		.row = {.user_name = SPAN(""),
			.status = SPAN("RUNNING"),
			.start_ms = call->now_ms,
			.inputs = SPAN("[]")}};

	TRY(take_id(call, &making.row.run_id, &is_relayed, &is_there, err));
	if (is_there) {
		json_key(&call->w, "run");
		return write_run(call, making.row.run_id, &call->w, false, err);
	}
	TRY(take_experiment(call, is_relayed, &experiment, err));
	making.row.project_id = experiment.project_id;
	TRY(take_job(call, &making.job, err));
	TRY(mlflow_text(call, "user_id", MLFLOW_USER_MAX_BYTES, &making.row.user_name, err));
	TRY(mlflow_integer(
		call, "start_time", JOB_EARLIEST_MS, call->now_ms + JOB_AHEAD_MS, &making.row.start_ms, err));
	TRY(mlflow_pairs(call, "tags", MLFLOW_BATCH_TAGS_MAX, MLFLOW_TAG_MAX_BYTES, &tags, err));
	TRY(name_run(call, &making.row, &tags, err));
	TRY(place_run(call, &experiment, &making.row, err));
	making.project = experiment.name;
	TRY(pipeline_make_run(call->pipeline, &making, err));
	json_key(&call->w, "run");
	return write_run(call, making.row.run_id, &call->w, false, err);
}

enum status mlflow_run_get(struct mlflow_call *call, struct error *err)
{
	struct span run_id;

	TRY(mlflow_run_id(call, &run_id, err));
	json_key(&call->w, "run");
	return write_run(call, run_id, &call->w, false, err);
}

/* ---- changes ---- */

enum status mlflow_state(const struct mlflow_call *call, struct span run_id, const struct tracked_pairs *params,
	const struct tracked_pairs *tags, struct error *err)
{
	struct run_change change = {.team = call->team,
		.run_id = run_id,
		.settings = params,
		.tags = tags,
		.name = tags ? span_cut(value_of(tags, run_name_tag), MLFLOW_NAME_MAX_BYTES) : SPAN(""),
		.status = SPAN(""),
		.secondary = SPAN(""),
		.reason = SPAN(""),
		.now_ms = call->now_ms};

	return pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err);
}

/* To be called otherwise is to have another tag. */
static enum status rename_run(struct mlflow_call *call, struct span run_id, struct error *err)
{
	struct tracked_pairs tags = {0};
	struct span name = SPAN("");

	TRY(mlflow_text(call, "run_name", MLFLOW_NAME_MAX_BYTES, &name, err));
	if (!name.len)
		return OK;
	if (!tracked_pairs_add(call->arena, &tags, span_from(run_name_tag), name))
		return error_no_memory(err);
	return mlflow_state(call, run_id, NULL, &tags, err);
}

static enum status find_status(struct span name, struct run_change *change, bool *is_end, struct error *err)
{
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_equal(name, span_from(statuses[i].status))) {
			change->status = name;
			change->secondary = span_from(statuses[i].secondary);
			*is_end = statuses[i].is_end;
			return OK;
		}
	return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
		"'status' must be RUNNING, SCHEDULED, FINISHED, FAILED or KILLED, not '%.*s'",
		SPAN_ARGS(span_cut(name, 60)));
}

/* sm-ship's relay says which job has the training's log: how that ends sm-ship says, and the run ends alone. */
static enum status is_shipped(
	const struct mlflow_call *call, struct span run_id, struct span *shipped, bool *out, struct error *err)
{
	struct job_row job;

	*out = false;
	*shipped = SPAN("");
	TRY(mlflow_text(call, "shipped_job", JOB_NAME_MAX_BYTES, shipped, err));
	if (!shipped->len)
		return OK;
	TRY(mlflow_find_job(call, run_id, &job, err));
	*out = span_equal(job.name, *shipped);
	return OK;
}

/* Who goes on with a run that had ended is another process of it, or the same one anew (extract/sent.h). */
static enum status begin_again(struct mlflow_call *call, struct span job, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	struct ingest_result result;

	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	batch->source = SPAN("");
	struct batch_part *part = batch_part(batch, job, SPAN(MLFLOW_STREAM));
	if (!part || !batch_add_begin(batch, part, call->now_ms))
		return error_no_memory(err);
	return pipeline_store(call->pipeline, &batch, &result, err);
}

static enum status has_ended(const struct mlflow_call *call, struct span run_id, bool *out, struct error *err)
{
	struct tracked_run_row run;
	struct run_change known;
	struct error unknown;
	struct job_row job;

	*out = false;
	TRY(store_read_tracked_run(call->reader, call->arena, run_id, &run, err));
	TRY(store_read_job_by_id(call->reader, call->arena, run.job_id, &job, err));
	(void)find_status(run.status, &known, out, &unknown);
	*out = *out || job.ended_ms; /* one that was killed has told of no end */
	return OK;
}

static enum status put_status(struct mlflow_call *call, struct span run_id, struct error *err)
{
	struct run_change change = {
		.team = call->team, .run_id = run_id, .name = SPAN(""), .reason = SPAN(""), .now_ms = call->now_ms};
	struct span status = SPAN("");
	bool is_end = false, is_alone, had_ended; /* an error leaves it */

	TRY(mlflow_text(call, "status", MLFLOW_KEY_MAX_BYTES, &status, err));
	if (!status.len)
		return OK;
	TRY(find_status(status, &change, &is_end, err));
	TRY(mlflow_integer(call, "end_time", JOB_EARLIEST_MS, call->now_ms + JOB_AHEAD_MS, &change.end_ms, err));
	TRY(mlflow_integer(
		call, "resumed_time", JOB_EARLIEST_MS, call->now_ms + JOB_AHEAD_MS, &change.resumed_ms, err));
	change.end_ms = is_end && !change.end_ms ? call->now_ms : change.end_ms;
	change.reason = span_equal(status, SPAN("FAILED")) ? SPAN(HISTORY_RUN_ENDED "as FAILED") : SPAN("");
	TRY(is_shipped(call, run_id, &change.relayed_by, &is_alone, err));
	if (is_alone)
		change.secondary = change.reason = SPAN("");
	change.leaves_log = is_alone && is_end;
	change.may_outlive = is_end;
	TRY(has_ended(call, run_id, &had_ended, err));
	TRY(pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err));
	if (had_ended && span_equal(status, SPAN("RUNNING")))
		TRY(begin_again(call, change.job, err));
	if (is_end && !is_alone)
		goodput_settle(call->pipeline, call->reader, change.job);
	return OK;
}

enum status mlflow_run_update(struct mlflow_call *call, struct error *err)
{
	struct span run_id;

	TRY(mlflow_run_id(call, &run_id, err));
	TRY(rename_run(call, run_id, err));
	TRY(put_status(call, run_id, err));
	json_key(&call->w, "run_info");
	return write_run(call, run_id, &call->w, true, err);
}

static enum status read_one(struct mlflow_call *call, size_t value_max_bytes, struct span *run_id,
	struct tracked_pairs *out, struct error *err)
{
	struct span key, value = SPAN("");

	TRY(mlflow_run_id(call, run_id, err));
	TRY(mlflow_want_text(call, "key", MLFLOW_KEY_MAX_BYTES, &key, err));
	TRY(mlflow_text(call, "value", value_max_bytes, &value, err));
	return tracked_pairs_add(call->arena, out, key, value) ? OK : error_no_memory(err);
}

enum status mlflow_run_log_parameter(struct mlflow_call *call, struct error *err)
{
	struct tracked_pairs params = {0};
	struct span run_id;

	TRY(read_one(call, MLFLOW_PARAM_MAX_BYTES, &run_id, &params, err));
	return mlflow_state(call, run_id, &params, NULL, err);
}

enum status mlflow_run_set_tag(struct mlflow_call *call, struct error *err)
{
	struct tracked_pairs tags = {0};
	struct span run_id;

	TRY(read_one(call, MLFLOW_TAG_MAX_BYTES, &run_id, &tags, err));
	return mlflow_state(call, run_id, NULL, &tags, err);
}

enum status mlflow_run_delete_tag(struct mlflow_call *call, struct error *err)
{
	struct tracked_pairs tags = {0};
	struct span run_id;

	TRY(read_one(call, MLFLOW_TAG_MAX_BYTES, &run_id, &tags, err));
	tags.items[0].value = (struct span){NULL, 0};
	return mlflow_state(call, run_id, NULL, &tags, err);
}

/* Where a dataset is may be an address with a password. */
static enum status read_dataset(
	const struct mlflow_call *call, const struct json *dataset, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(call->options->max_body_bytes);

	if (json_kind(dataset) != JSON_OBJECT)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "each of 'datasets' must be an object");
	TRY(secrets_mask(dataset, err));
	json_print(dataset, &text);
	TRY(buf_status(&text, err));
	*out = arena_copy(call->arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

enum status mlflow_run_log_inputs(struct mlflow_call *call, struct error *err)
{
	const struct json *datasets = json_get(call->body, "datasets");
	struct span inputs[MLFLOW_BATCH_DATASETS_MAX];
	struct run_change change = {.team = call->team,
		.name = SPAN(""),
		.status = SPAN(""),
		.secondary = SPAN(""),
		.reason = SPAN(""),
		.inputs = inputs,
		.now_ms = call->now_ms};

	TRY(mlflow_run_id(call, &change.run_id, err));
	if (datasets && json_count(datasets) > MLFLOW_BATCH_DATASETS_MAX)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"a request can hold at most %d datasets; this has %zu", MLFLOW_BATCH_DATASETS_MAX,
			json_count(datasets));
	for (const struct json *at = datasets ? json_first(datasets) : NULL; at; at = json_next(at))
		TRY(read_dataset(call, at, &inputs[change.input_count++], err));
	return pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err);
}
