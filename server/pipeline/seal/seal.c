/*
 * The sealer: moves whole streams from the journal into blocks and chunks, together with the state of their consumers, in
 * one transaction each time. A stream's row then says up to where; a restart replays what is above. Of a stream that is far
 * behind, text goes ahead of the rest in transactions of its own: where its last block ends says how far. Readers take lines
 * from blocks up to the stream's row, and from the journal above, so they see each line once all the while.
 */
#include "pipeline/seal/seal.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/consume/consume.h"
#include "pipeline/seal/pyramids.h"
#include "pipeline/jobs/settle.h"
#include "state/control.h"
#include "state/disk_room.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_pack.h"
#include "store/job_facts.h"
#include "store/streams.h"

#include <stdlib.h>

enum {
	RUN_TEXT_BYTES = 16 << 20, /* of text taken in one run: bounds memory and the length of the transaction */
	RUN_POINT_BYTES = 16 << 20, /* of points: a thousand streams have many beside little text */
	STREAM_DUE_BYTES = BLOCK_MAX_BYTES,
	STREAM_NEAR_BYTES =
		STREAM_DUE_BYTES / 2, /* goes along with one that is due: their lines are in the same journal rows */
	STREAM_DUE_POINTS = 16 * CHUNK_MAX_POINTS,
	IDLE_DECIDES_MS = 60 * 1000, /* a provisional attempt of a stream that is silent so long is final */
	IDLE_FORGETS_MS = 60 * IDLE_DECIDES_MS, /* the same where points wait for it that no detector has seen */
};

/* ---- choosing and snapshots: under the stream's lock ---- */

/* Looked at anew only when something was extracted since. */
static bool has_long_tail(struct stream_state *stream)
{
	if (stream->undue_lines == stream->extracted_lines && stream->undue_points == stream->extracted_points)
		return false;
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i]->tail_count >= STREAM_DUE_POINTS)
			return true;
	stream->undue_lines = stream->extracted_lines;
	stream->undue_points = stream->extracted_points;
	return false;
}

/* Only while there is room: one such stream keeps the whole journal behind its oldest line. */
static bool is_to_be_decided(const struct seal *seal, const struct stream_state *stream)
{
	int64_t silent_ms = clock_mono_ms() - stream->heard_mono_ms;

	return extractor_is_undecided(stream->extractor) && !seal->is_journal_long &&
	       silent_ms <= (stream->has_waiting ? IDLE_FORGETS_MS : IDLE_DECIDES_MS);
}

static bool is_due(const struct seal *seal, struct stream_state *stream)
{
	bool has_news =
		stream->extracted_lines > stream->sealed_lines || stream->extracted_points > stream->sealed_sent_points;
	if (stream->pending_incidents || stream->has_hole || stream->held_count)
		return false;
	if (!stream->range_count && !has_news && stream->is_resummed)
		return true; /* its state alone: a job that leaves RAM is read by it */
	if (!stream->range_count || !has_news)
		return false;
	if (atomic_load(&stream->job->is_end_due) && !seal->is_journal_long)
		return false;
	if (atomic_load(&stream->job->settling) != SETTLE_NOT)
		return true;
	if (is_to_be_decided(seal, stream))
		return false;
	if (stream->is_decided || stream->ranges[0].seq <= seal->due_seq || stream->unsealed_bytes >= seal->due_bytes)
		return true;
	return has_long_tail(stream);
}

static enum status snapshot_rest(struct seal *seal, struct unit *unit, struct error *err)
{
	struct stream_state *stream = unit->stream;

	consume_forget_waiting(stream);
	stream->is_decided = false; /* if this fails, it is sealed as others are */
	unit->upto_seq = stream->extracted_seq;
	unit->sealed_lines = stream->extracted_lines;
	unit->sent_bytes = stream->extracted_bytes;
	unit->sent_points = stream->extracted_points;
	unit->first_ms = stream->first_ms;
	unit->last_ms = stream->last_ms;
	if (!seal_copy_series(seal, unit))
		return error_no_memory(err);
	stream_pack(stream, &unit->state);
	return buf_status(&unit->state, err);
}

static enum status snapshot(struct seal *seal, struct stream_state *stream, struct error *err)
{
	struct unit *unit = &seal->units[seal->count];

	*unit = (struct unit){.stream = stream, .first_line = stream->sealed_lines};
	unit->state = BUF_INIT(SIZE_MAX / 2);
	job_ref(stream->job);
	seal->count++;
	if (!seal_copy_ranges(seal, unit))
		return error_no_memory(err);
	return unit->is_whole ? snapshot_rest(seal, unit, err) : OK;
}

static bool has_room(const struct seal *seal)
{
	return seal->count < UNITS_MAX && seal->text_bytes < RUN_TEXT_BYTES && seal->point_bytes < RUN_POINT_BYTES;
}

static enum status choose_job(struct seal *seal, struct job_state *job, bool *has_more, struct error *err)
{
	enum status status = OK;

	struct stream_state *stream;
	for (size_t i = 0; status == OK && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		if (is_due(seal, stream)) {
			if (!has_room(seal))
				*has_more = true;
			else
				status = snapshot(seal, stream, err);
			*has_more = *has_more || (status == OK && !seal->units[seal->count - 1].is_whole);
		}
		pthread_mutex_unlock(&stream->mutex);
	}
	return status;
}

static bool has_due_stream(const struct seal *seal, struct job_state *job)
{
	struct stream_state *stream;
	bool is_found = false;

	for (size_t i = 0; !is_found && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		is_found = is_due(seal, stream);
		pthread_mutex_unlock(&stream->mutex);
	}
	return is_found;
}

static enum status choose(struct seal *seal, bool *has_more, struct error *err)
{
	AUTO_MEM struct job_state **jobs = NULL;
	enum status status;
	size_t count;

	TRY(directory_list(seal->pipeline->directory, &jobs, &count, err));
	status = OK;
	seal->due_bytes = STREAM_DUE_BYTES;
	for (size_t i = 0; i < count && seal->due_bytes == STREAM_DUE_BYTES; i++)
		if (!atomic_load(&jobs[i]->is_deleted) && has_due_stream(seal, jobs[i]))
			seal->due_bytes = STREAM_NEAR_BYTES;
	for (size_t i = 0; i < count; i++) {
		bool may_take = has_room(seal);
		*has_more = *has_more || !may_take;
		if (status == OK && may_take && !atomic_load(&jobs[i]->is_deleted))
			status = choose_job(seal, jobs[i], has_more, err);
		job_unref(jobs[i]);
	}
	return status;
}

void seal_note_damage(
	struct seal *seal, const struct stream_state *stream, const char *what, uint64_t at, const struct error *err)
{
	atomic_fetch_add(&seal->pipeline->figures.damaged_rows, 1);
	log_line(LOG_ERROR, "row_damaged", "what=%s job=\"%s\" stream=\"%s\" at=%llu error=\"%s\"", what,
		stream->job->name, stream->name, (unsigned long long)at, err ? err->text : "");
}

/* ---- the transaction ---- */

static enum status write_stream_row(const struct unit *unit, struct store_tx *tx, struct error *err)
{
	const struct stream_row row = {.job_id = unit->stream->job->job_id,
		.stream_id = unit->stream->stream_id,
		.sealed_seq = unit->upto_seq,
		.sealed_lines = unit->sealed_lines,
		.sealed_bytes = unit->sent_bytes,
		.first_ms = unit->first_ms,
		.last_ms = unit->last_ms,
		.state = buf_span(&unit->state)};

	return store_seal_stream(tx, &row, err);
}

/* A line that is sealed is not read again: what it said of the settings is then in the store, too. */
static enum status write_settings(struct job_state *job, struct store_tx *tx, struct arena *arena, struct error *err)
{
	struct setting_row *rows;
	size_t count, end;

	TRY(job_settings_unwritten(job->settings, arena, &rows, &count, &end, err));
	return store_add_settings(tx, job->job_id, rows, count, err);
}

static enum status write_unit(
	struct pipeline *pipeline, struct unit *unit, struct store_tx *tx, struct arena *arena, struct error *err)
{
	bool is_gone;

	TRY(control_check_job_gone(pipeline, tx, unit->stream->job, &is_gone, err));
	if (is_gone)
		return OK;
	TRY(seal_write_blocks(unit, tx, err));
	TRY(write_settings(unit->stream->job, tx, arena, err));
	if (!unit->is_whole)
		return OK;
	TRY(seal_write_chunks(unit, tx, err));
	return write_stream_row(unit, tx, err);
}

/* Units that are written together: of a thousand streams at once the chunks alone would be a hundred megabytes. */
struct unit_group {
	struct seal *seal;
	size_t from, end;
	/* why pyramids of a group were not made, of the first such one: what is behind it is sealed all the same */
	enum status lacks;
	struct error cause;
};

static enum status write_group(void *context, struct store_tx *tx, struct error *err)
{
	const struct unit_group *group = context;
	struct seal *seal = group->seal;

	for (size_t i = group->from; i < group->end; i++)
		TRY(write_unit(seal->pipeline, &seal->units[i], tx, seal->group_arena, err));
	return OK;
}

static void settle_rest(struct pipeline *pipeline, struct unit *unit)
{
	struct stream_state *stream = unit->stream;

	seal_drop_ranges(unit);
	stream->is_resummed = false;
	stream->sealed_seq = unit->upto_seq;
	stream->sealed_lines = unit->sealed_lines;
	stream->sealed_bytes = unit->sent_bytes;
	stream->sealed_sent_points = unit->sent_points;
	seal_drop_points(unit);
	for (size_t i = 0; i < unit->series_count; i++)
		atomic_fetch_add(&pipeline->figures.sealed_points, unit->series[i].count);
	atomic_fetch_add(&pipeline->figures.sealed_lines, unit->sealed_lines - unit->first_line);
}

/* After the commit: RAM forgets what the store now holds. */
static void settle(struct pipeline *pipeline, struct unit *unit)
{
	pthread_mutex_lock(&unit->stream->mutex);
	unit->stream->text_lines = unit->text_end;
	if (unit->is_whole)
		settle_rest(pipeline, unit);
	pthread_mutex_unlock(&unit->stream->mutex);
}

static enum status plan_pyramids(
	const struct unit_group *group, struct pyramid_plan *plan, bool is_asking, struct error *err)
{
	struct seal *seal = group->seal;

	for (size_t i = group->from; i < group->end; i++)
		for (size_t j = 0; j < seal->units[i].series_count; j++) {
			const struct series_row *row = &seal->units[i].series[j].row;
			enum status status = pyramid_plan_series(
				plan, seal->reader, seal->zstd, row->job_id, row->series_id, row->sealed_points, err);
			if (status != OK && !is_asking)
				return status;
		}
	return OK;
}

/* What the plan will read: which pyramids there are, their chunks, and the rows that these change; each of one round trip. */
static enum status ask_pyramids(const struct unit_group *group, struct error *err)
{
	struct store_reader *reader = group->seal->reader;

	for (int round = 0; round < PYRAMID_ROUNDS && store_reader_ahead_begin(reader, AHEAD_STOP); round++) {
		AUTO(arena) arena = arena_new();
		struct pyramid_plan *plan = arena ? pyramid_plan_new(arena) : NULL;
		if (!plan)
			return error_no_memory(err);
		pyramid_plan_ask(plan);
		TRY(plan_pyramids(group, plan, true, err));
		TRY(store_reader_ahead_end(reader, err));
	}
	return OK;
}

/* In a transaction of their own: they read the chunks that are now there. */
static enum status make_pyramids(const struct unit_group *group, struct error *err)
{
	struct seal *seal = group->seal;
	struct pyramid_plan *plan = pyramid_plan_new(seal->group_arena);

	if (!plan)
		return error_no_memory(err);
	TRY(ask_pyramids(group, err));
	TRY(plan_pyramids(group, plan, false, err));
	store_reader_ahead_drop(seal->reader);
	return pyramid_plan_run(seal->pipeline, plan, err);
}

/* A chunk may be damaged. */
static void add_pyramids(struct unit_group *group)
{
	struct error cause;
	enum status status = make_pyramids(group, &cause);

	if (status == OK || group->lacks != OK)
		return;
	group->lacks = status;
	group->cause = cause;
}

static void free_unit(struct unit *unit)
{
	buf_done(&unit->state);
	seal_free_text(unit);
}

static size_t group_bytes(const struct unit_group *group)
{
	size_t bytes = 0;

	for (size_t i = group->from; i < group->end; i++) {
		const struct unit *unit = &group->seal->units[i];
		bytes += unit->state.len;
		for (size_t j = 0; j < unit->block_count; j++)
			bytes += unit->blocks[j].data.len + unit->blocks[j].filter.len;
		for (size_t j = 0; j < unit->chunk_count; j++)
			bytes += unit->chunks[j].data.len;
	}
	return bytes;
}

/* A job that is deleted is sealed before, also into the room that is to stay free. */
static enum status commit_group(struct unit_group *group, struct error *err)
{
	struct pipeline *pipeline = group->seal->pipeline;
	size_t bytes = group_bytes(group);
	bool is_promised = disk_room_take(pipeline, bytes);

	if (!is_promised && !settle_is_asked(pipeline))
		return error_set(err, ERR_UNAVAILABLE,
			"%zu bytes to be sealed would leave less than --min-free-bytes free", bytes);
	enum status status = writer_execute(pipeline, write_group, group, err);
	if (is_promised)
		disk_room_give_back(pipeline, bytes);
	return status;
}

static enum status seal_group(struct unit_group *group, struct error *err)
{
	struct seal *seal = group->seal;
	AUTO(arena) arena = seal->group_arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	TRY(seal_make_chunks(seal, group->from, group->end, err));
	TRY(commit_group(group, err));
	for (size_t i = group->from; i < group->end; i++) {
		settle(seal->pipeline, &seal->units[i]);
		free_unit(&seal->units[i]);
	}
	add_pyramids(group);
	return OK;
}

static enum status seal_units(struct seal *seal, struct error *err)
{
	struct unit_group group = {.seal = seal};

	if (!seal->count)
		return OK;
	TRY(seal_make_blocks(seal, err));
	for (; group.from < seal->count; group.from = group.end) {
		group.end = seal_end_group(seal, group.from);
		TRY(seal_group(&group, err));
	}
	if (group.lacks != OK)
		*err = group.cause;
	return group.lacks;
}

enum status seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, uint64_t due_seq,
	bool *has_more, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct seal *seal = mem_zeroed(sizeof *seal);

	*has_more = false;
	if (!arena || !seal)
		return error_no_memory(err);
	*seal = (struct seal){.pipeline = pipeline, .reader = reader, .zstd = zstd, .arena = arena, .due_seq = due_seq};
	seal->is_journal_long = control_is_journal_long(pipeline);
	enum status status = choose(seal, has_more, err);
	if (status == OK)
		status = seal_units(seal, err);
	store_reader_ahead_drop(reader);
	seal_free_rows(seal);
	for (size_t i = 0; i < seal->count; i++) {
		free_unit(&seal->units[i]);
		job_unref(seal->units[i].stream->job);
	}
	return status;
}
