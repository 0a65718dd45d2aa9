/* Records of whole jobs to batches of rows; those of a stream are carry_import_stream.c's. */
#include "model/incident.h"
#include "pipeline/carry/carry_import_file.h"
#include "state/jobs/secrets.h"
#include "state/streams/directory.h"
#include "store/alerts.h"
#include "store/job_facts.h"

enum {
	BATCH_BYTES = 1 << 20, /* of rows in one transaction */
	BATCH_JOBS = 4, /* each has dozens of rows in the search index, and others wait for the writer meanwhile */
	SKIPPED_NAMES_BYTES = 64 << 10,
	SKIPPED_NAMES_ROOM = 8 << 10, /* the longest name, escaped */
};

static void forget_job(struct carry_import *import)
{
	carry_import_forget_stream(import);
	carry_import_forget_files(import);
	job_unref(import->shell);
	import->shell = NULL;
	import->job = NULL;
	import->counts = (struct carry_counts){0};
	import->has_incidents = false;
}

/* Those that the batch would have ended. */
static void drop_jobs(const struct carry_import *import, const struct carry_batch *batch)
{
	for (const struct carry_op *op = batch->first; op; op = op->next)
		if (op->kind == OP_END)
			carried_drop(import->pipeline, op->job);
}

/* What is left when an import ends before its last job does: whole jobs are still written, the rest goes. */
static void drop_rest(struct carry_import *import)
{
	struct error err;

	if (import->batch && import->job)
		carry_batch_remove(import->batch, import->job);
	if (import->batch && import->has_failed)
		drop_jobs(import, import->batch);
	else if (carry_import_has_work(import) && carry_batch_push(import->batch, NULL, NULL, &err) == OK)
		import->batch = NULL;
	if (import->job)
		carried_drop(import->pipeline, import->job);
	carried_free(import->job);
	forget_job(import);
}

void carry_import_free(struct carry_import *import)
{
	if (!import)
		return;
	drop_rest(import);
	carry_batch_free(import->batch);
	arena_free(import->text);
	mem_free(import->lines);
	zstd_free(import->zstd);
	buf_done(&import->skipped);
	buf_done(&import->left_out);
	carry_import_forget_files(import);
	mem_free(import->team);
	mem_free(import);
}

enum status carry_import_new(struct carry_import **out, struct pipeline *pipeline, struct span team,
	const struct attachment_limits *limits, struct error *err)
{
	AUTO(carry_import) import = mem_zeroed(sizeof *import);

	if (!import)
		return error_no_memory(err);
	import->pipeline = pipeline;
	import->limits = *limits;
	carry_import_forget_files(import);
	import->skipped = BUF_INIT(SKIPPED_NAMES_BYTES);
	import->left_out = BUF_INIT(SKIPPED_NAMES_BYTES);
	import->team = mem_copy_bytes(team.ptr ? team.ptr : "", team.len);
	import->zstd = zstd_new();
	if (!import->team || !import->zstd)
		return error_no_memory(err);
	*out = TAKE(import);
	return OK;
}

/* ---- job ---- */

/* It is kept as it was, whatever its server made of it; secrets are none of a file's business. */
static enum status make_document(struct carried *job, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);

	TRY(json_parse(&document, job->job.row.document, err));
	TRY(secrets_mask(document, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	job->job.row.document = arena_copy(job->arena, buf_span(&text));
	return job->job.row.document.ptr ? OK : error_no_memory(err);
}

static enum status check_definitions(const struct pipeline *pipeline, const struct carry_job *job, struct error *err)
{
	AUTO(json) json = NULL;
	AUTO(definition_set) set = NULL;

	if (!job->definitions.len)
		return OK;
	TRY(json_parse(&json, job->definitions, err));
	return definition_set_new(&set, json, pipeline->presets, err);
}

/* The record was read into the job's own arena. */
static enum status take_job(
	struct carry_import *import, struct carried *job, const struct carry_record *record, struct error *err)
{
	struct carry_op *op;

	job->job = record->job;
	if (import->team[0])
		job->job.row.team = arena_copy(job->arena, span_from(import->team));
	if (!job->job.row.team.ptr)
		return error_no_memory(err);
	TRY(make_document(job, err));
	TRY(check_definitions(import->pipeline, &job->job, err));
	job->streams = map_new();
	import->shell = job_state_new(&job->job.row);
	import->job = job;
	enum status status =
		job->streams && import->shell ? carry_import_add_op(import, OP_BEGIN, &op, err) : error_no_memory(err);
	if (status != OK)
		forget_job(import); /* the caller frees it */
	return status;
}

/* ---- incidents, notes, evaluations, traces and the end ---- */

static enum status take_incident(struct carry_import *import, const struct incident_row *row, struct error *err)
{
	struct carry_op *op;

	TRY(carry_import_finish_stream(import, err));
	TRY(carry_import_add_op(import, OP_INCIDENT, &op, err));
	op->incident = *row;
	if (!carry_import_copy(import->batch->arena, &op->incident.facts) ||
		!carry_import_copy(import->batch->arena, &op->incident.metric))
		return error_no_memory(err);
	import->has_incidents = true;
	import->counts.incidents++;
	return OK;
}

static enum status take_note(struct carry_import *import, const struct note_row *row, struct error *err)
{
	struct carry_op *op;

	TRY(carry_import_finish_stream(import, err));
	TRY(carry_import_add_op(import, OP_NOTE, &op, err));
	op->note = *row;
	if (!carry_import_copy(import->batch->arena, &op->note.stream) ||
		!carry_import_copy(import->batch->arena, &op->note.text) ||
		!carry_import_copy(import->batch->arena, &op->note.author) ||
		!carry_import_copy(import->batch->arena, &op->note.key))
		return error_no_memory(err);
	import->has_incidents = true;
	import->counts.notes++;
	return OK;
}

static enum status take_evaluation(struct carry_import *import, const struct evaluation_score *score, struct error *err)
{
	struct arena *arena;
	struct carry_op *op;

	TRY(carry_import_finish_stream(import, err));
	TRY(carry_import_add_op(import, OP_EVALUATION, &op, err));
	arena = import->batch->arena;
	op->evaluation = *score;
	if (!carry_import_copy(arena, &op->evaluation.path) || !carry_import_copy(arena, &op->evaluation.task) ||
		!carry_import_copy(arena, &op->evaluation.metric) || !carry_import_copy(arena, &op->evaluation.suite) ||
		!carry_import_copy(arena, &op->evaluation.author))
		return error_no_memory(err);
	import->has_incidents = true;
	import->counts.evaluations++;
	return OK;
}

static enum status take_trace(struct carry_import *import, const struct gpu_trace_row *row, struct error *err)
{
	struct arena *arena;
	struct carry_op *op;

	TRY(carry_import_finish_stream(import, err));
	TRY(carry_import_add_op(import, OP_TRACE, &op, err));
	arena = import->batch->arena;
	op->trace = *row;
	if (!carry_import_copy(arena, &op->trace.stream) || !carry_import_copy(arena, &op->trace.trace) ||
		!carry_import_copy(arena, &op->trace.document) || !carry_import_copy(arena, &op->trace.author))
		return error_no_memory(err);
	import->has_incidents = true;
	import->counts.traces++;
	return OK;
}

static enum status number_settings(struct carried *job, struct error *err)
{
	for (size_t i = 0; i < job->job.setting_count; i++) {
		struct setting_row *row = &job->job.settings[i];
		row->stream_id = (uint32_t)(uintptr_t)map_get(job->streams, row->stream);
		if (!row->stream_id)
			return error_set_field(err, ERR_SEMANTIC, "settings",
				"setting '%.*s' is from stream '%.*s', which the job does not have",
				SPAN_ARGS(row->key), SPAN_ARGS(row->stream));
	}
	return OK;
}

static enum status check_count(const char *field, uint64_t said, uint64_t came, struct error *err)
{
	return said == came ? OK
			    : error_set_field(err, ERR_SEMANTIC, field, "'%s' is %llu, and %llu came", field,
				      (unsigned long long)said, (unsigned long long)came);
}

static enum status check_counts(const struct carry_counts *said, const struct carry_counts *came, struct error *err)
{
	TRY(check_count("streams", said->streams, came->streams, err));
	TRY(check_count("lines", said->lines, came->lines, err));
	TRY(check_count("points", said->points, came->points, err));
	TRY(check_count("incidents", said->incidents, came->incidents, err));
	TRY(check_count("notes", said->notes, came->notes, err));
	TRY(check_count("evaluations", said->evaluations, came->evaluations, err));
	TRY(check_count("traces", said->traces, came->traces, err));
	return check_count("attachments", said->attachments, came->attachments, err);
}

static enum status take_end(struct carry_import *import, const struct carry_end *end, struct error *err)
{
	struct carry_op *op;

	TRY(carry_import_finish_stream(import, err));
	TRY(carry_import_finish_file(import, err));
	if (!span_equal(end->name, import->job->job.row.name))
		return error_set_field(err, ERR_SEMANTIC, "name", "this ends job '%.*s', not '%.*s'",
			SPAN_ARGS(import->job->job.row.name), SPAN_ARGS(end->name));
	if (!import->job->left_out.len) {
		TRY(check_counts(&end->counts, &import->counts, err));
		TRY(number_settings(import->job, err));
	}
	TRY(carry_import_add_op(import, OP_END, &op, err));
	forget_job(import); /* it is the batch's now */
	return OK;
}

/* ---- records ---- */

static enum status begin_job(struct carry_import *import, struct span line, struct error *err)
{
	AUTO(carried) job = mem_zeroed(sizeof *job);
	struct carry_record record;

	if (!job || !(job->arena = arena_new()))
		return error_no_memory(err);
	TRY(carry_read(line, job->arena, &record, err));
	if (record.kind != CARRY_JOB)
		return error_set_field(err, ERR_SEMANTIC, "record",
			"a job begins with a record \"job\", not with \"%s\"", carry_kind_name(record.kind));
	TRY(take_job(import, job, &record, err));
	job = NULL;
	return OK;
}

static enum status take_record(struct carry_import *import, struct arena **arena, struct span line, struct error *err)
{
	struct carry_record record;

	TRY(carry_read(line, *arena, &record, err));
	if (import->job->left_out.len && record.kind != CARRY_JOB && record.kind != CARRY_END)
		return OK;
	switch (record.kind) {
	case CARRY_JOB:
		return error_set_field(err, ERR_SEMANTIC, "record", "job '%.*s' has no end before the next one begins",
			SPAN_ARGS(import->job->job.row.name));
	case CARRY_STREAM:
		if (import->has_incidents)
			return error_set_field(err, ERR_SEMANTIC, "record",
				"streams come before incidents, notes, evaluations, traces and attachments");
		TRY(carry_import_finish_stream(import, err));
		struct arena *owned = *arena;
		*arena = NULL;
		return carry_import_take_stream(import, owned, &record, err);
	case CARRY_LINES:
		return carry_import_take_lines(import, &record.lines, err);
	case CARRY_POINTS:
		return carry_import_take_points(import, &record.points, err);
	case CARRY_INCIDENT:
		return take_incident(import, &record.incident, err);
	case CARRY_NOTE:
		return take_note(import, &record.note, err);
	case CARRY_EVALUATION:
		return take_evaluation(import, &record.evaluation, err);
	case CARRY_TRACE:
		return take_trace(import, &record.trace, err);
	case CARRY_ATTACHMENT:
		return carry_import_take_attachment(import, &record.attachment, err);
	case CARRY_PART:
		return carry_import_take_part(import, &record.part, err);
	case CARRY_END:
		return take_end(import, &record.end, err);
	case CARRY_KIND_COUNT:
		break;
	}
	return error_set(err, ERR_INTERNAL, "a record of no kind");
}

enum status carry_import_take(struct carry_import *import, struct span line, struct error *err)
{
	AUTO(arena) arena = NULL;

	if (!import->job)
		return begin_job(import, line, err);
	if (!(arena = arena_new()))
		return error_no_memory(err);
	return take_record(import, &arena, line, err);
}

enum status carry_import_end(struct carry_import *import, struct error *err)
{
	if (!import->job)
		return OK;
	return error_set(err, ERR_INVALID,
		"the body ends in the middle of job '%.*s', which was not imported: it was cut off, here or when it was exported",
		SPAN_ARGS(import->job->job.row.name));
}

/* ---- to the writer ---- */

bool carry_import_has_work(const struct carry_import *import)
{
	return import->batch && import->batch->first;
}

bool carry_import_is_full(const struct carry_import *import)
{
	return carry_import_has_work(import) &&
	       (arena_bytes(import->batch->arena) >= BATCH_BYTES || import->batch->jobs >= BATCH_JOBS);
}

size_t carry_import_bytes(const struct carry_import *import)
{
	size_t bytes = import->batch ? arena_bytes(import->batch->arena) : 0;

	bytes += import->job ? arena_bytes(import->job->arena) : 0;
	bytes += import->stream_arena ? arena_bytes(import->stream_arena) : 0;
	bytes += import->files.content.cap;
	bytes += import->text ? arena_bytes(import->text) : 0;
	return bytes + import->line_cap * sizeof *import->lines;
}

static void note_skipped(struct carry_import *import, const struct carried *job)
{
	struct json_writer w = json_writer_on(&import->skipped);

	import->result.skipped++;
	w.needs_comma = import->skipped.len != 0;
	if (import->skipped.len + SKIPPED_NAMES_ROOM < SKIPPED_NAMES_BYTES)
		json_span(&w, job->job.row.name);
}

static void note_left_out(struct carry_import *import, const struct carried *job)
{
	struct json_writer w = json_writer_on(&import->left_out);

	w.needs_comma = import->left_out.len != 0;
	if (import->left_out.len + SKIPPED_NAMES_ROOM >= SKIPPED_NAMES_BYTES)
		return;
	json_object(&w);
	json_put_span(&w, "job", job->job.row.name);
	json_put_span(&w, "why", job->left_out);
	json_object_end(&w);
}

static void note_result(struct carry_import *import, const struct carry_batch *batch)
{
	for (const struct carry_op *op = batch->first; op; op = op->next) {
		if (op->kind != OP_END)
			continue;
		if (op->job->is_left_out)
			note_left_out(import, op->job);
		else if (op->job->is_skipped)
			note_skipped(import, op->job);
		else
			import->result.imported++;
	}
}

static void pushed(void *context, struct carry_batch *batch, enum status status, const struct error *err)
{
	struct carry_import *import = context;

	import->has_failed = import->has_failed || status != OK;
	if (status == OK)
		note_result(import, batch);
	else
		drop_jobs(import, batch);
	import->done(import->done_context, status, err); /* the last touch of the import; err is the batch's */
	carry_batch_free(batch);
}

enum status carry_import_push(struct carry_import *import,
	void (*done)(void *context, enum status status, const struct error *err), void *context, struct error *err)
{
	struct carry_batch *batch = import->batch;

	import->done = done;
	import->done_context = context;
	import->batch = NULL;
	enum status status = carry_batch_push(batch, pushed, import, err);
	if (status != OK)
		import->batch = batch;
	return status;
}

void carry_import_result(const struct carry_import *import, struct carry_result *out)
{
	*out = import->result;
	out->skipped_names = buf_span(&import->skipped);
	out->left_out_jobs = buf_span(&import->left_out);
}
