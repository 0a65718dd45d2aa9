#include "pipeline/jobs/faults_by_hand.h"

#include "base/log.h"
#include "model/jobs/by_hand.h"
#include "state/streams/directory.h"
#include "state/streams/sign_cuts.h"
#include "store/faults.h"
#include "store/streams.h"

#include <stdio.h>

static enum status refuse(struct span place, struct error *err)
{
	char field[128];
	int len = place.len < 80 ? (int)place.len : 80;

	snprintf(field, sizeof field, "by_hand.faults.%.*s", len, place.ptr);
	return error_set_field(err, ERR_SEMANTIC, field,
		"no machine is charged with a fault of the job at '%.*s': fault_list of GET /api/v1/nodes/HOST has stream and first line of each",
		len, place.ptr);
}

static enum status clear_one(struct store_tx *tx, struct arena *arena, int64_t job_id, const struct json *fault,
	struct faults_cleared *out, bool *was_there, struct error *err)
{
	struct stream_row *rows;
	struct span stream;
	uint64_t line;
	size_t count;

	*was_there = false;
	if (!by_hand_read_place(json_key_of(fault), &stream, &line))
		return OK;
	TRY(store_read_streams(store_tx_reader(tx), arena, job_id, stream, &rows, &count, err));
	if (!count)
		return OK;
	out->rows[out->count++] = (struct fault_line){rows[0].stream_id, line};
	return store_clear_node_fault(tx, job_id, rows[0].stream_id, line, json_string_of(fault), was_there, err);
}

static bool is_among(const struct fault_line *rows, size_t count, const struct fault_line *row)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].stream_id == row->stream_id && rows[i].line == row->line)
			return true;
	return false;
}

static enum status name_by(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, int64_t job_id,
	const struct fault_line *row, struct faults_cleared *out, struct error *err)
{
	return named_elsewhere_write(pipeline, tx, arena, job_id, row->stream_id, row->line, &out->named, err);
}

/* Failures of other jobs are named by what is cleared now, or counts again. */
static enum status name_others(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, int64_t job_id,
	const struct fault_line *before, size_t count, struct faults_cleared *out, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!is_among(out->rows, out->count, &before[i]))
			TRY(name_by(pipeline, tx, arena, job_id, &before[i], out, err));
	for (size_t i = 0; i < out->count; i++)
		if (!is_among(before, count, &out->rows[i]))
			TRY(name_by(pipeline, tx, arena, job_id, &out->rows[i], out, err));
	return OK;
}

enum status faults_by_hand_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, const struct json *changes, struct faults_cleared *out, struct error *err)
{
	AUTO(json) document = NULL;
	const struct json *asked = json_get(changes, "faults");
	struct fault_line *before;
	size_t count;
	bool was_there;

	*out = (struct faults_cleared){0}; /* after a commit that failed this runs again */
	TRY(json_parse(&document, job->document.len ? job->document : SPAN("{}"), err));
	const struct json *faults = json_get_path(document, "by_hand.faults");
	if (!faults && !asked && changes && json_kind(changes) != JSON_NULL)
		return OK; /* a change of something else */
	out->is_said = true;
	out->rows = arena_alloc(arena, ((faults ? json_count(faults) : 0) + 1) * sizeof *out->rows);
	if (!out->rows)
		return error_no_memory(err);
	TRY(store_read_cleared_lines(store_tx_reader(tx), arena, job->job_id, &before, &count, err));
	TRY(store_count_node_faults(tx, job->job_id, err));
	for (const struct json *at = faults ? json_first(faults) : NULL; at; at = json_next(at)) {
		TRY(clear_one(tx, arena, job->job_id, at, out, &was_there, err));
		if (!was_there && by_hand_has_key(asked, json_key_of(at)))
			return refuse(json_key_of(at), err);
	}
	return name_others(pipeline, tx, arena, job->job_id, before, count, out, err);
}

static void cut(struct stream_state *stream, const struct faults_cleared *cleared)
{
	bool has_room = true;

	pthread_mutex_lock(&stream->mutex);
	sign_cuts_reset(stream);
	for (size_t i = 0; i < cleared->count && has_room; i++)
		if (cleared->rows[i].stream_id == stream->stream_id)
			has_room = sign_cuts_add(stream, cleared->rows[i].line);
	pthread_mutex_unlock(&stream->mutex);
	if (!has_room) /* it is so on disk, and after a start */
		log_line(LOG_WARNING, "fault_not_cut", "job=\"%s\" stream=\"%s\" error=\"out of memory\"",
			stream->job->name, stream->name);
}

void faults_by_hand_apply(struct pipeline *pipeline, int64_t job_id, const struct faults_cleared *cleared)
{
	struct job_state *job = cleared->is_said ? directory_peek_id(pipeline->directory, job_id) : NULL;
	struct stream_state *stream;

	for (size_t i = 0; job && (stream = job_stream_at(job, i)); i++)
		cut(stream, cleared);
	named_elsewhere_say(&cleared->named);
}
