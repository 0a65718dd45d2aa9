/* Runs as W&B's SDK makes and finds them. */
#include "base/log.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/jobs/tracked_gap.h"
#include "pipeline/pipeline.h"
#include "store/jobs.h"
#include "wandb/internal.h"

enum status wandb_viewer(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	(void)request;
	(void)err;
	wandb_write_viewer(&call->w, call->team.len ? call->team : SPAN(WANDB_NO_TEAM),
		span_from(http_request_principal(call->request)->name));
	return OK;
}

/* ---- making and changing ---- */

struct upsert {
	struct wandb_run run;
	struct span name, notes, group, job_type, host, program;
	struct wandb_settings settings;
	struct tracked_pairs tags;
	struct span summary; /* JSON; "": as it is */
	bool has_config;
	bool is_of_key; /* it changes a run that there is */
	bool is_of_process; /* the first request of a process, which says where it runs */
	bool is_sync; /* that process sends what another one has trained */
};

static enum status add_tag(
	struct wandb_call *call, struct upsert *up, const char *key, struct span value, struct error *err)
{
	if (!value.len)
		return OK;
	return tracked_pairs_add(call->arena, &up->tags, span_from(key), value) ? OK : error_no_memory(err);
}

/* A list of words: one tag, so that one that is taken away goes. */
static enum status read_tags(
	struct wandb_call *call, const struct graphql_request *request, struct upsert *up, struct error *err)
{
	const struct json *list = request->variables ? json_get(request->variables, "tags") : NULL;
	AUTO_DONE(buf) text = BUF_INIT(WANDB_NOTES_MAX_BYTES);

	if (!list || json_kind(list) == JSON_NULL)
		return OK;
	if (json_kind(list) != JSON_ARRAY || json_count(list) > WANDB_TAGS_MAX)
		return error_set_field(
			err, ERR_SEMANTIC, "tags", "'tags' must be a list of at most %d texts", WANDB_TAGS_MAX);
	for (const struct json *at = json_first(list); at; at = json_next(at)) {
		if (text.len)
			buf_append_char(&text, ',');
		buf_append_span(&text, json_string_of(at));
	}
	if (text.failure == ERR_TOO_LARGE)
		return error_set_field(
			err, ERR_SEMANTIC, "tags", "'tags' have more than %d bytes", WANDB_NOTES_MAX_BYTES);
	TRY(buf_status(&text, err));
	struct span tags = arena_copy(call->arena, buf_span(&text));
	return tags.ptr ? add_tag(call, up, "wandb.tags", tags, err) : error_no_memory(err);
}

static enum status read_file(
	struct wandb_call *call, int64_t job_id, const char *name, struct tracked_file_row *out, struct error *err)
{
	return store_read_tracked_file(call->reader, call->arena, job_id, span_from(name), out, err);
}

/* `wandb sync` of before 0.24 says no program, where a training says its own. */
static bool is_of_sync(const struct wandb_call *call, const struct upsert *up)
{
	struct span agent = http_request_header(call->request, "User-Agent");

	return wandb_is_sync(up->program) || (!up->program.len && span_starts_with(agent, SPAN("W&B Internal Client")));
}

/* What is noted of a run that is there. Only the first of a process's requests says on which machine it is. */
static enum status read_noted(struct wandb_call *call, struct upsert *up, struct json **note, struct error *err)
{
	struct tracked_run_row run;
	struct tracked_file_row file;
	enum status status = up->has_config ? wandb_find_run(call, &up->run, &run, err) : ERR_NOT_FOUND;

	if (status != OK)
		return status == ERR_NOT_FOUND ? OK : status;
	TRY(read_file(call, run.job_id, WANDB_RUN_FILE, &file, err));
	TRY(json_parse(note, file.content.len ? file.content : SPAN("{}"), err));
	if (!up->host.len)
		up->host = arena_copy(call->arena, json_string_of(json_get(*note, "host")));
	return up->host.ptr ? OK : error_no_memory(err);
}

/* The run goes on with another one: its job with that one's (docs/times.md). */
static enum status read_origin(struct wandb_call *call, struct upsert *up, struct error *err)
{
	const struct wandb_settings *settings = &up->settings;
	AUTO_DONE(buf) text = BUF_INIT(2 * WANDB_ID_MAX_BYTES);
	struct tracked_run_row row;
	struct wandb_run origin;
	struct job_row job;

	if (!settings->origin.len || span_equal(settings->origin, up->run.id)) /* one that goes back in itself */
		return OK;
	TRY(wandb_identify(call, up->run.project, settings->origin, &origin, err));
	enum status status = wandb_find_run(call, &origin, &row, err);
	if (status == ERR_NOT_FOUND && call->relayed.key.len)
		return OK; /* its client can be told no more: all that it logs would be lost */
	if (status == ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
			"the token's team has no run with the id '%.*s' in the project '%.*s' to be forked: "
			"see to id and project, or leave 'fork_from' out, which begins a run",
			SPAN_ARGS(origin.id), SPAN_ARGS(origin.project));
	TRY(status);
	TRY(store_read_job_by_id(call->reader, call->arena, row.job_id, &job, err));
	TRY(add_tag(call, up, "continues", job.name, err));
	buf_printf(&text, "%.*s?_step=%.15g", SPAN_ARGS(origin.id), settings->origin_step);
	TRY(buf_status(&text, err));
	struct span said = arena_copy(call->arena, buf_span(&text));
	return said.ptr ? add_tag(call, up, "wandb.fork_from", said, err) : error_no_memory(err);
}

/* A process names the run; wandb.Api() may have its key alone. */
static enum status identify(
	struct wandb_call *call, const struct graphql_request *request, struct upsert *up, struct error *err)
{
	struct span project, id, key;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "name", WANDB_ID_MAX_BYTES, &id, err));
	TRY(graphql_text(request, "id", WANDB_KEY_MAX_BYTES, &key, err));
	up->is_of_key = !id.len && key.len;
	if (up->is_of_key)
		return wandb_identify_key(call, key, &up->run, err);
	if (!id.len)
		TRY(wandb_make_id(call, &id, err));
	return wandb_identify(call, project, id, &up->run, err);
}

static enum status read_summary(
	struct wandb_call *call, const struct graphql_request *request, struct span *out, struct error *err)
{
	AUTO(json) summary = NULL;

	TRY(graphql_text(request, "summaryMetrics", call->options->max_body_bytes, out, err));
	if (!out->len)
		return OK;
	enum status status = json_parse(&summary, *out, err);
	if (status == ERR_MEMORY)
		return status;
	return status == OK && json_kind(summary) == JSON_OBJECT
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "summaryMetrics", "'summaryMetrics' is no JSON object");
}

static enum status read_texts(const struct wandb_call *call, const struct graphql_request *request, struct upsert *up,
	struct span *config, struct error *err)
{
	TRY(graphql_text(request, "displayName", WANDB_NAME_MAX_BYTES, &up->name, err));
	if (!up->name.len) /* wandb.Api()'s */
		TRY(graphql_text(request, "display_name", WANDB_NAME_MAX_BYTES, &up->name, err));
	TRY(graphql_text(request, "notes", WANDB_NOTES_MAX_BYTES, &up->notes, err));
	TRY(graphql_text(request, "groupName", WANDB_NAME_MAX_BYTES, &up->group, err));
	TRY(graphql_text(request, "jobType", WANDB_NAME_MAX_BYTES, &up->job_type, err));
	TRY(graphql_text(request, "host", WANDB_HOST_MAX_BYTES, &up->host, err));
	TRY(graphql_text(request, "program", WANDB_NOTES_MAX_BYTES, &up->program, err));
	TRY(graphql_text(request, "config", call->options->max_body_bytes, config, err));
	up->has_config = config->len != 0;
	up->is_of_process = up->host.len != 0;
	return OK;
}

static enum status add_texts(struct wandb_call *call, struct upsert *up, struct error *err)
{
	TRY(add_tag(call, up, "wandb.name", up->name, err));
	TRY(add_tag(call, up, "wandb.notes", up->notes, err));
	TRY(add_tag(call, up, "wandb.group", up->group, err));
	TRY(add_tag(call, up, "wandb.job_type", up->job_type, err));
	return wandb_is_sync(up->program) ? OK : add_tag(call, up, "wandb.program", up->program, err);
}

static enum status read_upsert(
	struct wandb_call *call, const struct graphql_request *request, struct upsert *up, struct error *err)
{
	AUTO(json) noted = NULL;
	struct span config;

	TRY(read_texts(call, request, up, &config, err));
	TRY(read_summary(call, request, &up->summary, err));
	TRY(identify(call, request, up, err));
	TRY(read_noted(call, up, &noted, err));
	up->is_sync = up->is_of_process ? is_of_sync(call, up) : noted && json_is_true(json_get(noted, "sync"));
	double session;
	bool is_known = !up->is_of_process && noted && json_number_of(json_get(noted, "session"), &session);
	const struct wandb_noting noting = {up->host, up->is_sync, is_known ? (int64_t)session : call->now_ms, noted};
	TRY(settings_read(call->arena, config, &noting, &up->settings, err));
	TRY(read_origin(call, up, err));
	TRY(add_texts(call, up, err));
	return read_tags(call, request, up, err);
}

/* When a run of the past began its config says; of one of the present, too, and to the moment. */
static int64_t start_of(const struct wandb_call *call, const struct upsert *up)
{
	int64_t said = up->settings.start_ms;

	return said && said < call->relayed.at_ms ? said : call->relayed.at_ms;
}

/* ERR_CONFLICT: the same request came twice at once, and the other one has made it. */
static enum status make_run(struct wandb_call *call, const struct upsert *up, struct error *err)
{
	struct tracked_project_row project = {.team = call->team,
		.name = up->run.project,
		.tags = SPAN("{}"),
		.artifacts = SPAN(""),
		.created_ms = call->now_ms,
		.modified_ms = call->now_ms};
	struct run_making making = {.team = call->team,
		.project = up->run.project,
		.job = call->relayed.job,
		.settings = &up->settings.pairs,
		.tags = &up->tags,
		.now_ms = call->now_ms,
		.row = {.run_id = up->run.key,
			.name = up->name.len ? up->name : up->run.id,
			.user_name = SPAN(""),
			.status = SPAN("RUNNING"),
			.start_ms = start_of(call, up),
			.artifacts = SPAN(""),
			.inputs = SPAN("[]")}};

	TRY(pipeline_have_project(call->pipeline, call->reader, call->arena, &project, err));
	making.row.project_id = project.project_id;
	return pipeline_make_run(call->pipeline, &making, err);
}

static enum status change_run(struct wandb_call *call, const struct upsert *up, struct error *err)
{
	struct run_change change = {.team = call->team,
		.run_id = up->run.key,
		.settings = &up->settings.pairs,
		.tags = &up->tags,
		.name = up->name,
		.status = SPAN(""),
		.secondary = SPAN(""),
		.reason = SPAN(""),
		.start_ms = up->settings.start_ms,
		.is_part = up->is_sync,
		.now_ms = call->now_ms};

	return pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err);
}

/*
 * When its process began. Clients of 0.31 say that seconds behind their first request: under sm-ship it is of the time of that, which is asked
 * before the log's next line is read. Of processes that share a run any may have ended it.
 */
static int64_t begun_of(const struct wandb_call *call, const struct upsert *up)
{
	bool is_first = up->is_of_process && call->relayed.job.len &&
			!http_request_header(call->request, WANDB_WRITER_HEADER).len;

	return up->settings.start_ms || !is_first ? up->settings.start_ms : call->relayed.at_ms;
}

/*
 * A process that began behind the end goes on. A run that was killed has told of none: its job may have one all the same, by sm-ship, by its
 * log, or by hand. Who ended the job of processes that share a run has not ended each of them.
 */
static bool is_behind_end(
	const struct wandb_call *call, int64_t start_ms, const struct tracked_run_row *row, const struct job_row *job)
{
	if (start_ms > call->now_ms)
		return false;
	if (wandb_is_over(row->status))
		return start_ms > row->end_ms;
	return job->ended_ms && start_ms > job->ended_ms &&
	       !http_request_header(call->request, WANDB_WRITER_HEADER).len;
}

/* One that was killed has told of no end: by its silence before the process that goes on. Those that share a run are not told from each other. */
static enum status is_behind_gap(const struct wandb_call *call, const struct upsert *up,
	const struct tracked_run_row *row, const struct job_row *job, bool *out, struct error *err)
{
	int64_t start_ms = up->settings.start_ms, from_ms = 0;
	bool is_asked = !wandb_is_over(row->status) && !job->ended_ms && start_ms > row->start_ms &&
			start_ms <= call->now_ms && !wandb_is_shipped(call, job->name) &&
			!http_request_header(call->request, WANDB_WRITER_HEADER).len;

	if (is_asked)
		TRY(tracked_gap_find(call->pipeline, call->reader, call->arena, job, start_ms, &from_ms, err));
	*out = from_ms != 0;
	return OK;
}

/* From when it began, whenever its first line comes. */
static enum status resume_run(
	struct wandb_call *call, const struct upsert *up, const struct tracked_run_row *row, struct error *err)
{
	struct run_change change = {.team = call->team,
		.run_id = up->run.key,
		.name = SPAN(""),
		.status = SPAN("RUNNING"),
		.secondary = SPAN("Training"),
		.reason = SPAN(""),
		.relayed_by = call->relayed.job,
		.now_ms = call->now_ms};
	struct job_row job;
	bool is_behind;

	TRY(store_read_job_by_id(call->reader, call->arena, row->job_id, &job, err));
	TRY(is_behind_gap(call, up, row, &job, &is_behind, err));
	change.resumed_ms = begun_of(call, up);
	if (!is_behind && !is_behind_end(call, change.resumed_ms, row, &job))
		return OK;
	if (wandb_is_shipped(call, job.name))
		change.secondary = SPAN("");
	return pipeline_change_run(call->pipeline, call->reader, call->arena, &change, err);
}

/*
 * One that began later than the run goes on with it; clients of 0.31 do not say when they began in their first request. Those that share a run
 * join one that is open, and what waits to be told of the others waits on.
 */
static bool is_next_process(const struct upsert *up, const struct tracked_run_row *row, bool is_new)
{
	bool is_later = up->settings.start_ms ? up->settings.start_ms > row->start_ms : !is_new;

	bool joins = up->settings.is_shared && !wandb_is_over(row->status);

	return up->is_of_process && is_later && !joins;
}

/* What the stream of the run is read by, and what a client that goes on is given: at most one file of each kind. */
static enum status put_files(struct wandb_call *call, const struct upsert *up, const struct tracked_run_row *row,
	bool is_new, struct batch_file *files, size_t *count, struct error *err)
{
	bool has_alerts = false;

	*count = 0;
	if (is_new || up->settings.has_own)
		files[(*count)++] = (struct batch_file){
			.name = SPAN(WANDB_RUN_FILE), .content = buf_span(&up->settings.note), .is_unchecked = true};
	if (is_new || up->has_config)
		files[(*count)++] = (struct batch_file){.name = SPAN(WANDB_CONFIG_FILE),
			.content = buf_span(&up->settings.config),
			.is_unchecked = true};
	if (up->summary.len)
		files[(*count)++] =
			(struct batch_file){.name = SPAN(WANDB_SUMMARY), .content = up->summary, .is_unchecked = true};
	if (up->is_of_process)
		TRY(wandb_begin_alerts(call, row->job_id, up->is_sync, &files[*count], &has_alerts, err));
	*count += has_alerts;
	return OK;
}

static enum status put_notes(struct wandb_call *call, const struct upsert *up, const struct tracked_run_row *row,
	bool is_new, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	struct batch_file files[4];
	struct ingest_result result;

	if (!batch)
		return error_no_memory(err);
	TRY(put_files(call, up, row, is_new, files, &batch->file_count, err));
	if (is_next_process(up, row, is_new))
		TRY(wandb_begin_attempt(call, batch, row->job_id, err));
	if (!batch->file_count)
		return OK;
	batch->files = files;
	batch->files_job_id = row->job_id;
	batch->team = call->team;
	return pipeline_store(call->pipeline, &batch, &result, err);
}

void wandb_write_bucket(struct wandb_call *call, const char *key, const struct wandb_run *run,
	const struct tracked_run_row *row, const struct wandb_bucket *bucket)
{
	struct json_writer *w = &call->w;

	json_key(w, key);
	json_object(w);
	json_put_span(w, "id", run->key);
	json_put_span(w, "name", run->id);
	json_put_span(w, "displayName", row->name);
	json_put_text(w, "description", "");
	json_put_span(w, "config", bucket->config.len ? bucket->config : SPAN("{}"));
	json_key(w, "sweepName");
	json_null(w);
	json_key(w, "project");
	json_object(w);
	json_put_span(w, "id", run->project);
	json_put_span(w, "name", run->project);
	wandb_write_named(w, "entity", run->entity);
	json_object_end(w);
	json_put_i64(w, "historyLineCount", (int64_t)bucket->history_lines);
	json_object_end(w);
}

static enum status put_run(struct wandb_call *call, const struct upsert *up, bool *is_new, struct error *err)
{
	struct tracked_run_row row;
	enum status status = wandb_find_run(call, &up->run, &row, err);

	if (status == ERR_NOT_FOUND && up->is_of_key)
		return status;
	*is_new = status == ERR_NOT_FOUND;
	if (*is_new)
		status = make_run(call, up, err);
	else if (status == OK)
		status = change_run(call, up, err);
	if (status == ERR_CONFLICT && *is_new) {
		*is_new = false;
		status = change_run(call, up, err);
	}
	if (status == ERR_NOT_FOUND && !*is_new)
		return error_set(err, ERR_NOT_FOUND,
			"the run '%.*s' of the project '%.*s' was deleted: restore its job, or begin a run with another id",
			SPAN_ARGS(up->run.id), SPAN_ARGS(up->run.project));
	return status;
}

static enum status upsert(
	struct wandb_call *call, const struct graphql_request *request, struct upsert *up, struct error *err)
{
	struct tracked_run_row row;
	struct span sweep;
	bool is_new;

	TRY(graphql_text(request, "sweep", WANDB_ID_MAX_BYTES, &sweep, err));
	if (sweep.len)
		return error_set_field(err, ERR_UNSUPPORTED, "sweep", WANDB_NO_SWEEPS);
	TRY(read_upsert(call, request, up, err));
	TRY(put_run(call, up, &is_new, err));
	TRY(wandb_find_run(call, &up->run, &row, err));
	TRY(resume_run(call, up, &row, err));
	TRY(put_notes(call, up, &row, is_new, err));
	json_key(&call->w, "upsertBucket");
	json_object(&call->w);
	/* No lines: else a file that is sent again would count as what comes behind it. */
	wandb_write_bucket(call, "bucket", &up->run, &row, &(struct wandb_bucket){.history_lines = 0});
	json_put_bool(&call->w, "inserted", is_new);
	json_object_end(&call->w);
	return OK;
}

enum status wandb_upsert_run(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct upsert up = {.has_config = false};
	enum status status = upsert(call, request, &up, err);

	wandb_settings_done(&up.settings);
	return status;
}

/* ---- a run that goes on ---- */

/* Its last lines, as a list of texts in a text. */
static enum status write_tail(
	struct wandb_call *call, const char *key, const struct tracked_file_row *file, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(64 << 10);
	struct json_writer w = json_writer_on(&text);

	json_array(&w);
	if (file->content.len)
		json_span(&w, file->content);
	json_array_end(&w);
	TRY(buf_status(&text, err));
	json_put_span(&call->w, key, buf_span(&text));
	return OK;
}

enum status wandb_write_tags(struct wandb_call *call, const struct tracked_run_row *row, struct error *err)
{
	struct tracked_pairs settings = {0}, tags = {0};
	AUTO(json) document = NULL;
	struct job_row job;
	struct span notes = SPAN(""), group = SPAN(""), job_type = SPAN("");

	TRY(store_read_job_by_id(call->reader, call->arena, row->job_id, &job, err));
	TRY(json_parse(&document, job.document, err));
	TRY(tracked_document_read(call->arena, document, &settings, &tags, err));
	json_key(&call->w, "tags");
	json_array(&call->w);
	for (size_t i = 0; i < tags.count; i++) {
		struct span rest = tags.items[i].value, tag;
		if (span_equal(tags.items[i].key, SPAN("wandb.notes")))
			notes = rest;
		else if (span_equal(tags.items[i].key, SPAN("wandb.group")))
			group = rest;
		else if (span_equal(tags.items[i].key, SPAN("wandb.job_type")))
			job_type = rest;
		while (span_equal(tags.items[i].key, SPAN("wandb.tags")) && span_next(&rest, ',', &tag))
			json_span(&call->w, tag);
	}
	json_array_end(&call->w);
	json_put_span(&call->w, "notes", notes);
	json_put_span(&call->w, "group", group);
	json_put_span(&call->w, "jobType", job_type);
	return OK;
}

static enum status write_resume(
	struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	struct tracked_file_row history, events, console, summary, config;
	struct json_writer *w = &call->w;

	TRY(read_file(call, row->job_id, WANDB_HISTORY, &history, err));
	TRY(read_file(call, row->job_id, WANDB_EVENTS, &events, err));
	TRY(read_file(call, row->job_id, WANDB_CONSOLE, &console, err));
	TRY(read_file(call, row->job_id, WANDB_SUMMARY, &summary, err));
	TRY(read_file(call, row->job_id, WANDB_CONFIG_FILE, &config, err));
	json_object(w);
	json_put_span(w, "id", run->key);
	json_put_span(w, "name", run->id);
	json_put_span(w, "summaryMetrics", summary.content.len ? summary.content : SPAN("{}"));
	json_put_span(w, "displayName", row->name);
	json_put_i64(w, "logLineCount", (int64_t)console.next_line);
	json_put_i64(w, "historyLineCount", (int64_t)history.next_line);
	json_put_i64(w, "eventsLineCount", (int64_t)events.next_line);
	TRY(write_tail(call, "historyTail", &history, err));
	TRY(write_tail(call, "eventsTail", &events, err));
	json_put_span(w, "config", config.content.len ? config.content : SPAN("{}"));
	TRY(wandb_write_tags(call, row, err));
	json_put_text(w, "wandbConfig", "{\"t\":{}}"); /* by which a client tells a run that has begun */
	json_object_end(w);
	return OK;
}

enum status wandb_resume_status(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct json_writer *w = &call->w;
	struct tracked_run_row row;
	struct wandb_run run;
	struct span project, id;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "name", WANDB_ID_MAX_BYTES, &id, err));
	TRY(wandb_identify(call, project, id, &run, err));
	json_key(w, "model");
	json_object(w);
	json_put_span(w, "id", run.project);
	json_put_span(w, "name", run.project);
	wandb_write_named(w, "entity", run.entity);
	json_key(w, "bucket");
	enum status status = wandb_find_run(call, &run, &row, err);
	if (status == ERR_NOT_FOUND)
		json_null(w);
	else if (status == OK)
		status = write_resume(call, &run, &row, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	json_object_end(w);
	return OK;
}
