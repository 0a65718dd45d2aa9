/* Runs as Trackio's client names them: by project, its own id, and the name that people see. */
#include "base/hash128.h"
#include "base/text/iso8601.h"
#include "model/jobs/job_time.h"
#include "model/metrics/batch.h"
#include "pipeline/life/log_end.h"
#include "read/view.h"
#include "state/streams/directory.h"
#include "store/jobs.h"
#include "trackio/internal.h"
#include "wandb/flat.h"

enum {
	VALUE_MAX_BYTES = 8000, /* of one setting: what is longer is cut */
	ALL_MAX_BYTES = 1 << 20, /* of all: what is beyond is left out, since no config ends a training */
	PAGE = 1000,
	KEY_MAX_BYTES = 1024,
};

/* ---- which one ---- */

/* Clients before run ids had names only. The parts hold no slash, but for the team's. */
enum status trackio_key(const struct trackio_call *call, struct span project, struct span run, struct span run_id,
	struct span *out, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(KEY_MAX_BYTES);

	buf_printf(&key, "trackio:%.*s/%.*s/", SPAN_ARGS(call->team), SPAN_ARGS(project));
	if (run_id.len) {
		buf_append_span(&key, run_id);
	} else {
		struct hash128 hash = {0};
		hash128_add(&hash, run);
		buf_printf(&key, "name-%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
	}
	TRY(buf_status(&key, err));
	*out = arena_copy(call->arena, buf_span(&key));
	return out->ptr ? OK : error_no_memory(err);
}

/* ---- its config ---- */

struct config {
	struct arena *arena;
	struct tracked_pairs settings, tags;
	struct span user;
	int64_t created_ms; /* 0: not said */
	size_t bytes;
};

static enum status take_own(struct config *config, struct span name, struct span value, struct error *err)
{
	if (span_equal(name, SPAN("_Username")))
		config->user = span_cut(value, TRACKIO_NAME_MAX_BYTES);
	if (span_equal(name, SPAN("_Created")) && !iso8601_parse(value, &config->created_ms))
		config->created_ms = 0;
	if (!span_equal(name, SPAN("_Group")) || !value.len)
		return OK;
	return tracked_pairs_add(config->arena, &config->tags, SPAN("trackio.group"), value) ? OK
											     : error_no_memory(err);
}

static enum status take_setting(void *context, const struct flat_leaf *leaf, struct error *err)
{
	struct config *config = context;
	struct span text = leaf->kind == FLAT_TEXT ? leaf->text : leaf->raw;

	if (!leaf->path.len || config->bytes + leaf->path.len + leaf->raw.len > ALL_MAX_BYTES ||
		!span_is_utf8(leaf->path) || !span_is_utf8(text) || memchr(text.ptr, 0, text.len))
		return OK;
	config->bytes += leaf->path.len + leaf->raw.len;
	struct span name = arena_copy(config->arena, leaf->path);
	struct span value = arena_copy(config->arena, span_cut(text, VALUE_MAX_BYTES));
	if (!name.ptr || !value.ptr)
		return error_no_memory(err);
	if (name.ptr[0] == '_')
		return leaf->kind == FLAT_TEXT ? take_own(config, name, value, err) : OK;
	return tracked_pairs_add(config->arena, &config->settings, name, value) ? OK : error_no_memory(err);
}

static enum status read_config(struct trackio_call *call, struct span text, struct config *out, struct error *err)
{
	size_t left_out = 0;

	*out = (struct config){.arena = call->arena, .user = SPAN("")};
	return text.len ? flat_read(text, take_setting, out, &left_out, err) : OK;
}

/* ---- made and changed ---- */

static int64_t start_of(const struct trackio_call *call, const struct trackio_entry *entry, const struct config *config)
{
	int64_t start_ms = entry->ts_ms == NO_TIME ? call->now_ms : entry->ts_ms;

	if (config->created_ms >= JOB_EARLIEST_MS && config->created_ms < start_ms)
		start_ms = config->created_ms;
	return start_ms < call->now_ms ? start_ms : call->now_ms;
}

/* ERR_CONFLICT: another request has just made it. */
static enum status make_run(struct trackio_call *call, const struct trackio_entry *entry, struct span key,
	const struct config *config, struct error *err)
{
	struct tracked_project_row project = {.team = call->team,
		.name = entry->project,
		.tags = SPAN("{}"),
		.artifacts = SPAN(""),
		.created_ms = call->now_ms,
		.modified_ms = call->now_ms};
	struct run_making making = {.team = call->team,
		.project = entry->project,
		.settings = &config->settings,
		.tags = &config->tags,
		.now_ms = call->now_ms,
		.row = {.run_id = key,
			.name = entry->run,
			.user_name = config->user,
			.status = SPAN("RUNNING"),
			.start_ms = start_of(call, entry, config),
			.artifacts = SPAN(""),
			.inputs = SPAN("[]")}};

	TRY(pipeline_have_project(call->pipeline, call->reader, call->arena, &project, err));
	making.row.project_id = project.project_id;
	return pipeline_make_run(call->pipeline, &making, err);
}

static enum status state_config(
	struct trackio_call *call, struct span key, const struct config *config, struct error *err)
{
	struct run_change change = {.team = call->team,
		.run_id = key,
		.settings = &config->settings,
		.tags = &config->tags,
		.name = SPAN(""),
		.status = SPAN(""),
		.secondary = SPAN(""),
		.reason = SPAN(""),
		.now_ms = call->now_ms};

	if (!config->settings.count && !config->tags.count)
		return OK;
	return pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err);
}

/*
 * A process states its config with the first thing that it logs, and in it when it began. One that began while something still came is
 * another rank of the same training. What the client had put aside bears a time, and comes with the config, too: it is no first thing.
 */
static enum status find_begin(struct trackio_call *call, const struct trackio_entry *entry, struct span job,
	const struct config *config, bool *begins, struct error *err)
{
	struct job_view view;

	*begins = false;
	if (!config->created_ms || entry->ts_ms != NO_TIME)
		return OK;
	enum status status = view_read_job(
		call->pipeline, call->reader, call->arena, job, SPAN(TRACKIO_STREAM), SPAN(""), 0, &view, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	*begins = view.stream_count && view.streams[0].last_arrival_ms < config->created_ms;
	return OK;
}

enum status trackio_have_run(
	struct trackio_call *call, const struct trackio_entry *entry, struct trackio_run *out, struct error *err)
{
	struct tracked_run_row row;
	struct config config;
	struct job_row job;

	out->has_config = entry->config.len != 0;
	out->begins = false;
	TRY(read_config(call, entry->config, &config, err));
	TRY(trackio_key(call, entry->project, entry->run, entry->run_id, &out->key, err));
	enum status status = store_read_tracked_run(call->reader, call->arena, out->key, &row, err);
	bool is_new = status == ERR_NOT_FOUND;
	if (is_new)
		status = make_run(call, entry, out->key, &config, err);
	if (!is_new || status == ERR_CONFLICT)
		status = status == OK || status == ERR_CONFLICT ? state_config(call, out->key, &config, err) : status;
	TRY(status);
	TRY(store_read_tracked_run(call->reader, call->arena, out->key, &row, err));
	TRY(store_read_job_by_id(call->reader, call->arena, row.job_id, &job, err));
	out->job = job.name;
	return is_new ? OK : find_begin(call, entry, job.name, &config, &out->begins, err);
}

/* ---- as they are shown ---- */

static void write_run(struct json_writer *w, const struct tracked_run_row *row, struct span id)
{
	char created[ISO8601_BYTES];

	iso8601_format(row->start_ms, created);
	json_object(w);
	json_put_span(w, "id", id);
	json_put_span(w, "name", row->name);
	json_put_text(w, "created_at", created);
	json_object_end(w);
}

/* Other trackers' runs in a project of that name are none that its client could go on with. */
static enum status write_runs(struct trackio_call *call, int64_t project_id, struct span prefix, struct error *err)
{
	struct tracked_run_place place = {INT64_MAX, INT64_MAX};
	size_t count = PAGE;

	while (count == PAGE) {
		AUTO(arena) arena = arena_new();
		struct tracked_run_row *rows;
		if (!arena)
			return error_no_memory(err);
		TRY(store_read_tracked_runs(
			call->reader, arena, project_id, TRACKED_ACTIVE, &place, PAGE, &rows, &count, err));
		for (size_t i = 0; i < count; i++) {
			struct span id = rows[i].run_id;
			if (span_take(&id, prefix))
				write_run(&call->w, &rows[i], id);
		}
		if (count)
			place = (struct tracked_run_place){rows[count - 1].start_ms, rows[count - 1].job_id};
		TRY(buf_status(call->w.out, err));
	}
	return OK;
}

static enum status read_project(struct trackio_call *call, struct span *out, struct error *err)
{
	TRY(trackio_text(call->body, "project", call->arena, TRACKIO_NAME_MAX_BYTES, out, err));
	return out->len ? OK : error_set_field(err, ERR_SEMANTIC, "project", "'kwargs.project' must be there");
}

enum status trackio_get_runs(struct trackio_call *call, struct error *err)
{
	AUTO_DONE(buf) prefix = BUF_INIT(KEY_MAX_BYTES);
	struct tracked_project_row row;
	struct span project;

	TRY(read_project(call, &project, err));
	buf_printf(&prefix, "trackio:%.*s/%.*s/", SPAN_ARGS(call->team), SPAN_ARGS(project));
	TRY(buf_status(&prefix, err));
	json_array(&call->w);
	enum status status = store_find_tracked_project(call->reader, call->arena, call->team, project, &row, err);
	if (status == OK)
		status = write_runs(call, row.project_id, buf_span(&prefix), err);
	json_array_end(&call->w);
	return status == ERR_NOT_FOUND ? OK : status;
}

/* ---- how far one has come ---- */

/* With all that was acknowledged, as far as it does not take too long. */
static enum status view_run(struct trackio_call *call, int64_t job_id, struct job_view *out, struct error *err)
{
	struct job_row job;

	TRY(store_read_job_by_id(call->reader, call->arena, job_id, &job, err));
	enum status status = log_end_await(call->pipeline, job.name, err);
	if (status != OK && status != ERR_BUSY)
		return status;
	return view_read_job(
		call->pipeline, call->reader, call->arena, job.name, SPAN(""), SPAN(""), VIEW_SERIES, out, err);
}

static void write_metrics(struct json_writer *w, const struct job_view *view)
{
	int64_t last_step = INT64_MIN;

	json_key(w, "metrics");
	json_array(w);
	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		for (size_t j = 0; span_equal(stream->name, SPAN(TRACKIO_STREAM)) && j < stream->series_count; j++) {
			const struct series_view *series = &stream->series[j];
			if (series_is_derived(series->series_id) || !series->summary.count)
				continue;
			json_span(w, series->metric);
			last_step = series->max_step > last_step ? series->max_step : last_step;
		}
	}
	json_array_end(w);
	json_key(w, "last_step");
	if (last_step == INT64_MIN)
		json_null(w);
	else
		json_i64(w, last_step);
}

enum status trackio_get_run_summary(struct trackio_call *call, struct error *err)
{
	struct job_view view = {.stream_count = 0};
	struct tracked_run_row row;
	struct span project, run, run_id, key;

	TRY(read_project(call, &project, err));
	TRY(trackio_text(call->body, "run", call->arena, TRACKIO_NAME_MAX_BYTES, &run, err));
	TRY(trackio_text(call->body, "run_id", call->arena, TRACKIO_ID_MAX_BYTES, &run_id, err));
	if (!run.len && !run_id.len)
		return error_set_field(err, ERR_SEMANTIC, "run_id", "'kwargs.run_id' or 'kwargs.run' must be there");
	TRY(trackio_key(call, project, run, run_id, &key, err));
	enum status status = store_read_tracked_run(call->reader, call->arena, key, &row, err);
	if (status == OK)
		status = view_run(call, row.job_id, &view, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	json_object(&call->w);
	json_put_span(&call->w, "project", project);
	json_put_span(&call->w, "run", status == OK ? row.name : run);
	json_put_span(&call->w, "run_id", run_id);
	write_metrics(&call->w, &view);
	json_object_end(&call->w);
	return OK;
}
