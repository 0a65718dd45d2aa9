/* States of jobs and streams on the writer thread: from RAM, else from the store, else new. */
#include "pipeline/commit/resolve.h"

#include "base/log.h"
#include "pipeline/commit/machine_join.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "state/jobs/default_definitions.h"
#include "state/streams/directory.h"
#include "state/streams/host_lines.h"
#include "state/streams/sign_cuts.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_head.h"
#include "state/streams/stream_pack.h"
#include "state/streams/stream_rebuild.h"
#include "state/streams/work_times.h"
#include "store/stream_hosts.h"
#include "store/definitions.h"
#include "store/jobs.h"
#include "store/streams.h"
#include "store/tracked_runs.h"

#include <stdio.h>

enum status check_team(struct span owner, struct span job, struct span team, struct error *err)
{
	if (!team.len || span_equal(owner, team))
		return OK;
	/* not whose it is: names are one for all teams, and who may not read that job learns no more than that its name is taken */
	return error_set(err, ERR_FORBIDDEN, "job '%.*s' belongs to %s team; this token's team is '%.*s'",
		SPAN_ARGS(job), owner.len ? "another" : "no", SPAN_ARGS(team));
}

static enum status make_job(struct store_tx *tx, struct span name, struct span team, int64_t now_ms,
	struct job_state **out, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(8192);
	struct json_writer w = json_writer_on(&document);

	json_object(&w);
	json_put_span(&w, "TrainingJobName", name);
	json_object_end(&w);
	TRY(buf_status(&document, err));
	struct job_row row = {.name = name,
		.team = team,
		.document = buf_span(&document),
		.status = SPAN("InProgress"),
		.secondary = SPAN("Training"),
		.failure_reason = SPAN(""),
		.created_ms = now_ms,
		.announced_ms = now_ms,
		.started_ms = now_ms,
		.modified_ms = now_ms,
		.generation = 1,
		.is_implicit = true};
	TRY(pools_put_job(tx, &row, err));
	TRY(definitions_put_default(tx, row.job_id, row.generation, err));
	TRY(life_begin(tx, &row, SPAN("the first line arrived"), err));
	*out = job_state_new(&row);
	return *out ? OK : error_no_memory(err);
}

static enum status load_job(struct pipeline *pipeline, struct store_reader *reader, const struct job_row *row,
	struct job_state **out, struct error *err)
{
	AUTO(job_state) job = job_state_new(row);
	AUTO(arena) arena = arena_new();
	struct tracked_run_row run = {.job_id = 0};
	struct history history;

	if (!job || !arena)
		return error_no_memory(err);
	enum status status = store_read_run_of_job(reader, arena, row->job_id, &run, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	atomic_store(&job->is_tracked, status == OK);
	(void)job_note_log(job, &run);
	TRY(life_read_known(pipeline, reader, arena, row, &history, err));
	life_note(job, &history);
	TRY(job_settings_load(job->settings, reader, row->job_id, err));
	TRY(job_settings_state(job->settings, pipeline->devices, row->document, err));
	*out = TAKE(job);
	return OK;
}

enum status resolve_job(struct pipeline *pipeline, struct store_tx *tx, struct span name, const struct claim *claim,
	int64_t now_ms, struct job_state **out, bool *is_new, struct error *err)
{
	struct job_state *job = directory_peek(pipeline->directory, name);
	struct job_row row;

	*is_new = false;
	if (job) {
		*out = job;
		return check_team(span_from(job->team), name, claim->team, err);
	}
	AUTO(arena) arena = arena_new();
	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_job(store_tx_reader(tx), arena, name, &row, err);
	*is_new = true; /* to the directory, in either case */
	if (status == ERR_NOT_FOUND)
		return make_job(tx, name, claim->team.len ? claim->team : claim->said, now_ms, out, err);
	TRY(status);
	TRY(check_team(row.team, name, claim->team, err));
	pipeline->load_round = pipeline->round;
	return load_job(pipeline, store_tx_reader(tx), &row, out, err);
}

static void adopt_row(struct stream_state *stream, const struct stream_row *row)
{
	stream->sealed_seq = row->sealed_seq;
	stream->sealed_lines = stream->extracted_lines = stream->committed_line = stream->planned_line =
		row->sealed_lines;
	stream->sealed_bytes = stream->extracted_bytes = stream->committed_byte = stream->planned_byte =
		row->sealed_bytes;
	stream->extracted_seq = row->sealed_seq;
	stream->first_ms = row->first_ms;
	stream->last_ms = row->last_ms;
}

/* Kept by an older version: from here on it is as if they had been there all the time. */
static enum status rebuild_stretches(struct store_reader *reader, struct stream_state *stream,
	const struct stream_row *row, struct stream_view *view, struct error *err)
{
	TRY(work_times_rebuild(reader, row->job_id, view, err));
	stream->stretches = view->stretches;
	return OK;
}

/* One stream's damage is its own: it goes on with what the rest of the store tells, and says so. */
static enum status load_damaged(struct store_reader *reader, struct stream_state *stream, const struct stream_row *row,
	const struct error *why, struct arena *arena, struct stream_view *view, struct error *err)
{
	TRY(stream_rebuild_view(reader, row, why, arena, view, err));
	log_line(LOG_ERROR, "stream_damaged",
		"job=\"%s\" stream=\"%s\" error=\"%s\" do=\"PUT /api/v1/jobs/%s/definitions?backfill=true\"",
		stream->job->name, stream->name, why->text, stream->job->name);
	return stream_take_rebuilt(stream, view, err);
}

static struct stream_state *new_stream(struct job_state *job, const struct stream_row *row)
{
	struct stream_state *stream = stream_state_new(job, row->stream_id, row->name, row->host);

	if (stream)
		adopt_row(stream, row);
	return stream;
}

static enum status fill_stream(struct store_reader *reader, struct job_state *job, const struct stream_row *row,
	struct stream_state **stream, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stream_view view = {.stream_id = row->stream_id, .first_ms = row->first_ms, .last_ms = row->last_ms};
	struct error why;

	if (!arena)
		return error_no_memory(err);
	enum status status = row->state.len ? stream_unpack(*stream, row->state, &why) : OK;
	if (!row->state.len && row->sealed_seq) /* it was written with the first line that was sealed */
		status = error_set(&why, ERR_IO, "the sealed state is missing");
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK) {
		stream_state_free(*stream); /* half of it may be there */
		if (!(*stream = new_stream(job, row)))
			return error_no_memory(err);
		TRY(load_damaged(reader, *stream, row, &why, arena, &view, err));
	} else if ((*stream)->stretches.is_rough) {
		TRY(stream_unpack_view(row->state, arena, &view, err));
	}
	if ((*stream)->stretches.is_rough)
		TRY(rebuild_stretches(reader, *stream, row, &view, err));
	if (!stream_note_told(*stream))
		return error_no_memory(err);
	TRY(sign_cuts_load(reader, *stream, err));
	return host_lines_load(reader, *stream, err);
}

enum status load_stream(struct store_reader *reader, struct job_state *job, const struct stream_row *row,
	struct stream_state **out, struct error *err)
{
	struct stream_state *stream = new_stream(job, row);

	if (!stream)
		return error_no_memory(err);
	enum status status = fill_stream(reader, job, row, &stream, err);
	if (status != OK) {
		error_prefix(err, "state of stream '%.*s' of job '%s'", SPAN_ARGS(row->name), job->name);
		stream_state_free(stream);
		return status;
	}
	*out = stream;
	return OK;
}

enum status put_new_stream(
	struct pipeline *pipeline, struct store_tx *tx, struct span job, struct stream_row *row, struct error *err)
{
	/* only the store knows how many there are: one too many is taken back, or the next try would find it there */
	TRY(store_tx_savepoint(tx, err));
	enum status status = store_put_stream(tx, row, err);
	if (status == OK && row->stream_id > pipeline->options.max_streams_a_job)
		status = error_set_field(err, ERR_TOO_LARGE, "stream",
			"job '%.*s' has %zu streams already (--max-streams)", SPAN_ARGS(job),
			pipeline->options.max_streams_a_job);
	if (status != OK) {
		store_tx_undo(tx);
		return status;
	}
	return store_tx_release(tx, err);
}

static enum status make_stream(struct pipeline *pipeline, struct store_tx *tx, struct job_state *job, struct span name,
	struct span host, int64_t now_ms, struct stream_state **out, struct error *err)
{
	struct stream_row row = {
		.job_id = job->job_id, .name = name, .host = host, .created_ms = now_ms, .state = SPAN("")};

	TRY(put_new_stream(pipeline, tx, span_from(job->name), &row, err));
	*out = stream_state_new(job, row.stream_id, name, host);
	return *out ? OK : error_no_memory(err);
}

enum status resolve_stream(struct pipeline *pipeline, struct store_tx *tx, struct job_state *job, struct span name,
	struct span host, int64_t now_ms, struct stream_state **out, bool *is_new, struct error *err)
{
	struct stream_row *rows;
	size_t count;

	*is_new = false;
	if ((*out = job_find_stream(job, name)))
		return OK;
	AUTO(arena) arena = arena_new();
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_streams(store_tx_reader(tx), arena, job->job_id, name, &rows, &count, err));
	*is_new = true;
	job->birth_round = pipeline->round;
	if (count)
		return load_stream(store_tx_reader(tx), job, &rows[0], out, err);
	struct span known;
	TRY(store_find_spelling(store_tx_reader(tx), arena, host, &known, err));
	host = known.len ? known : host;
	TRY(machine_join(tx, host, span_from(job->team), err));
	return make_stream(pipeline, tx, job, name, host, now_ms, out, err);
}

static enum status load_job_by_id(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, struct job_state **out, struct error *err)
{
	struct job_row row;

	if ((*out = directory_peek_id(pipeline->directory, job_id)))
		return OK;
	TRY(store_read_job_by_id(reader, arena, job_id, &row, err));
	struct job_state *job;
	TRY(load_job(pipeline, reader, &row, &job, err));
	if (!directory_add(pipeline->directory, job)) {
		job_unref(job);
		return error_no_memory(err);
	}
	*out = job;
	return OK;
}

/* A stream whose lines are all sealed runs no definition, but its health is shown by their names. */
static enum status have_definitions(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	struct definitions *definitions;

	TRY(resolve_definitions(pipeline, reader, job, job->generation, &definitions, err));
	definitions_unref(definitions);
	return OK;
}

/* All at once: one look at the store for each of thousands of streams would read all of their rows each time. */
static enum status load_streams(
	struct store_reader *reader, struct arena *arena, struct job_state *job, struct error *err)
{
	struct stream_state *stream;
	struct stream_row *rows;
	size_t count;

	TRY(store_read_streams(reader, arena, job->job_id, SPAN(""), &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (job_find_stream_id(job, rows[i].stream_id))
			continue;
		TRY(load_stream(reader, job, &rows[i], &stream, err));
		if (!job_add_stream(job, stream)) {
			stream_state_free(stream);
			return error_no_memory(err);
		}
	}
	return OK;
}

enum status resolve_by_id(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, uint32_t stream_id,
	struct stream_state **out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_state *job;

	*out = NULL;
	if (!arena)
		return error_no_memory(err);
	enum status status = load_job_by_id(pipeline, reader, arena, job_id, &job, err);
	if (status == ERR_NOT_FOUND)
		return OK; /* deleted: its lines in the journal are nobody's */
	TRY(status);
	if (!job_stream_at(job, 0)) {
		TRY(load_streams(reader, arena, job, err));
		TRY(have_definitions(pipeline, reader, job, err));
	}
	*out = job_find_stream_id(job, stream_id);
	return OK;
}

enum status resolve_whole_job(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id,
	struct job_state **out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_state *job;

	*out = NULL;
	if (!arena)
		return error_no_memory(err);
	enum status status = load_job_by_id(pipeline, reader, arena, job_id, &job, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	TRY(load_streams(reader, arena, job, err));
	TRY(have_definitions(pipeline, reader, job, err));
	*out = job_ref(job);
	return OK;
}

/* One job's damage is its own: it is said, and its lines are kept without points, until definitions are put again. */
static enum status take_damage(struct pipeline *pipeline, const struct job_state *job, const struct error *why,
	struct definitions *made, struct error *err)
{
	log_line(LOG_ERROR, "definitions_damaged",
		"job=\"%s\" generation=%u error=\"%s\" do=\"PUT /api/v1/jobs/%s/definitions\"", job->name,
		made->generation, why->text, job->name);
	made->damage = mem_copy_string(why->text);
	return made->damage ? definition_set_new(&made->set, NULL, pipeline->presets, err) : error_no_memory(err);
}

static enum status build_definitions(struct pipeline *pipeline, struct store_reader *reader,
	const struct job_state *job, struct definitions *made, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) json = NULL;
	struct error why;
	struct span text;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_definitions(reader, arena, job->job_id, made->generation, &text, err));
	enum status status = definitions_parse(&json, text, &why);
	if (status == OK)
		status = definition_set_new(&made->set, json, pipeline->presets, &why);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	return status == OK ? OK : take_damage(pipeline, job, &why, made, err);
}

enum status make_definitions(struct pipeline *pipeline, struct store_reader *reader, const struct job_state *job,
	uint32_t generation, struct definitions **out, struct error *err)
{
	struct definitions *made = mem_zeroed(sizeof *made);

	if (!made)
		return error_no_memory(err);
	atomic_init(&made->refs, 1);
	made->generation = generation;
	enum status status = build_definitions(pipeline, reader, job, made, err);
	if (status != OK) {
		definitions_unref(made);
		error_prefix(err, "definitions of job '%s'", job->name);
		return status;
	}
	*out = made;
	return OK;
}

enum status resolve_definitions(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	uint32_t generation, struct definitions **out, struct error *err)
{
	pthread_mutex_lock(&job->mutex);
	struct definitions *present = job->definitions && job->definitions->generation == generation
					      ? definitions_ref(job->definitions)
					      : NULL;
	pthread_mutex_unlock(&job->mutex);
	if (present) {
		*out = present;
		return OK;
	}
	struct definitions *made;
	TRY(make_definitions(pipeline, reader, job, generation, &made, err));
	pthread_mutex_lock(&job->mutex);
	struct definitions *old = job->definitions;
	job->definitions = definitions_ref(made);
	pthread_mutex_unlock(&job->mutex);
	definitions_unref(old);
	*out = made;
	return OK;
}
