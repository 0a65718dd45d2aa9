#include "pipeline/carry/carry_snapshot.h"

#include "base/clock.h"
#include "pipeline/consume/consume.h"
#include "state/control.h"
#include "state/watchers/backfill_incidents.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_head.h"
#include "state/streams/stream_pack.h"
#include "store/jobs.h"

enum { EXTRACTION_WAIT_MS = 2000, WAIT_STEP_MS = 2 };

static bool is_sealed(const struct stream_state *stream)
{
	bool is = stream->extracted_lines == stream->sealed_lines &&
		  stream->extracted_points == stream->sealed_sent_points;

	for (size_t i = 0; i < stream->series_count && is; i++)
		is = stream->series[i]->tail_count == 0;
	return is;
}

static bool copy_tail(const struct series_state *series, struct arena *arena, struct carry_series *out)
{
	out->tail = arena_alloc(arena, series->tail_count * sizeof *out->tail);
	if (out->tail && series->tail_count)
		memcpy(out->tail, series->tail, series->tail_count * sizeof *out->tail);
	out->sealed_points = series->sealed_points;
	out->points = series->sealed_points + series->tail_count;
	out->series_id = series->series_id;
	out->metric = arena_copy(arena, span_from(series->metric));
	return out->tail && out->metric.ptr;
}

/* Under the stream's lock: what the sealer would write now. */
static enum status copy_live(
	const struct stream_state *stream, struct arena *arena, struct carry_snapshot *out, struct error *err)
{
	AUTO_DONE(buf) state = BUF_INIT(SIZE_MAX / 2);

	stream_pack(stream, &state);
	TRY(buf_status(&state, err));
	out->row.state = arena_copy(arena, buf_span(&state));
	out->row.sealed_lines = stream->extracted_lines;
	out->row.sealed_bytes = stream->extracted_bytes;
	out->row.first_ms = stream->first_ms;
	out->row.last_ms = stream->last_ms;
	out->series_count = stream->series_count;
	out->series = arena_alloc(arena, stream->series_count * sizeof *out->series);
	if (!out->row.state.ptr || !out->series)
		return error_no_memory(err);
	for (size_t i = 0; i < stream->series_count; i++)
		if (!copy_tail(stream->series[i], arena, &out->series[i]))
			return error_no_memory(err);
	return OK;
}

static const struct carry_series *find_series(const struct carry_snapshot *snapshot, uint32_t series_id)
{
	size_t at = 0;

	while (at + 1 < snapshot->series_count && snapshot->series[at].series_id != series_id)
		at++;
	return &snapshot->series[at];
}

static enum status copy_unsaid(const struct stream_state *stream, const struct held_shown *shown, struct arena *arena,
	struct carry_snapshot *out, struct error *err)
{
	size_t count = shown->said ? shown->said->count : 0;

	if (!count)
		return OK;
	if (!(out->unsaid = arena_alloc(arena, count * sizeof *out->unsaid)))
		return error_no_memory(err);
	for (; out->unsaid_count < count; out->unsaid_count++) {
		const struct said_incident *said = &shown->said->items[out->unsaid_count];
		out->unsaid[out->unsaid_count] = (struct incident_row){.series_id = said->series_id,
			.stream_id = stream->stream_id,
			.metric = find_series(out, said->series_id)->metric,
			.attempt = extractor_attempt(stream->extractor),
			.facts = SPAN(""),
			.incident = said->incident};
	}
	return OK;
}

/* What waits for a tracker is points in the copy, with what is wrong in them: its tracker tells it nothing. */
static enum status copy_all(
	struct stream_state *stream, struct arena *arena, struct carry_snapshot *out, struct error *err)
{
	struct held_shown shown;

	enum status status = held_show(stream, &shown, err);
	if (status == OK)
		status = copy_live(stream, arena, out, err);
	if (status == OK)
		status = copy_unsaid(stream, &shown, arena, out, err);
	held_hide(stream, &shown);
	return status;
}

/* What is sealed is in the state's own list of series. */
static enum status copy_sealed(struct arena *arena, struct carry_snapshot *out, struct error *err)
{
	struct stream_view view = {0};

	TRY(stream_unpack_view(out->row.state, arena, &view, err));
	out->series_count = view.series_count;
	out->series = arena_alloc(arena, view.series_count * sizeof *out->series);
	if (!out->series)
		return error_no_memory(err);
	for (size_t i = 0; i < view.series_count; i++)
		out->series[i] = (struct carry_series){.series_id = view.series[i].series_id,
			.metric = view.series[i].metric,
			.points = view.series[i].sealed_points,
			.sealed_points = view.series[i].sealed_points};
	return OK;
}

/* Lines that were acknowledged are in an export that begins afterwards, with what follows from them. */
static void wait_for_extraction(struct pipeline *pipeline, struct stream_state *stream)
{
	int64_t until_ms = clock_mono_ms() + EXTRACTION_WAIT_MS;
	bool is_behind = true;

	pthread_mutex_lock(&stream->mutex);
	uint64_t lines = stream->committed_line, points = stream->committed_point;
	pthread_mutex_unlock(&stream->mutex);
	while (is_behind) {
		pthread_mutex_lock(&stream->mutex);
		is_behind = stream->extracted_lines < lines || stream->extracted_points < points ||
			    stream->pending_incidents || atomic_load(&stream->job->is_end_due);
		pthread_mutex_unlock(&stream->mutex);
		if (is_behind && (clock_mono_ms() > until_ms || control_wait_tick(pipeline, WAIT_STEP_MS)))
			return;
	}
}

/* *is_live: it was in RAM with more than is sealed, and out has it. */
static enum status look_at_live(struct pipeline *pipeline, struct arena *arena, const struct job_row *row,
	struct carry_snapshot *out, bool *is_live, struct error *err)
{
	struct job_state *job = directory_find(pipeline->directory, row->name);
	struct stream_state *stream =
		job && job->job_id == row->job_id ? job_find_stream_id(job, out->row.stream_id) : NULL;
	enum status status = OK;

	*is_live = false;
	if (stream) {
		wait_for_extraction(pipeline, stream);
		pthread_mutex_lock(&stream->mutex);
		*is_live = !is_sealed(stream);
		if (*is_live)
			status = copy_all(stream, arena, out, err);
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return status;
}

enum status carry_snapshot_after(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, uint32_t after, struct carry_snapshot *out, struct error *err)
{
	bool is_live;

	*out = (struct carry_snapshot){0};
	TRY(store_read_stream_after(reader, arena, job->job_id, after, &out->row, err));
	if (!out->row.stream_id)
		return OK;
	TRY(look_at_live(pipeline, arena, job, out, &is_live, err));
	if (is_live)
		return OK;
	TRY(store_read_stream_after(reader, arena, job->job_id, after, &out->row, err)); /* it may be newer by now */
	return copy_sealed(arena, out, err);
}
