/* What lines, points and sessions say of a job: that it trains, or was stopped in vain. */
#include "base/clock.h"
#include "base/iso8601.h"
#include "base/log.h"
#include "model/stream_name.h"
#include "pipeline/alert/notices.h"
#include "pipeline/life/life.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/transitions.h"

enum { UNDONE_BYTES = 256 };

/* ---- in the writer's transaction ---- */

static enum status put_training(struct store_tx *tx, int64_t job_id, int64_t at_ms, struct error *err)
{
	return store_put_told(tx, job_id,
		&(struct told_row){.status = SPAN("Training"),
			.message = SPAN("the first line arrived"),
			.reason = SPAN(""),
			.start_ms = at_ms,
			.source = SOURCE_ASSUMED},
		err);
}

static bool is_assumed(const struct told_row *row, struct span status)
{
	return row->source == SOURCE_ASSUMED && span_equal(row->status, status);
}

/* An earlier line takes the place of later ones, but for those after something that was stated in between. */
static enum status put_first(struct store_tx *tx, int64_t job_id, struct told_row *rows, size_t count,
	const struct life_sign *sign, struct error *err)
{
	int64_t first_ms = sign->first_ms;
	size_t at = 0;

	for (; at < count && rows[at].start_ms < sign->believed_ms; at++)
		if (is_assumed(&rows[at], SPAN("Training")))
			TRY(store_delete_told(tx, job_id, &rows[at], err));
	while (at < count && rows[at].start_ms <= first_ms)
		if (is_assumed(&rows[at++], SPAN("Training")))
			return OK; /* an earlier one is known */
	for (; at < count && (rows[at].source == SOURCE_ASSUMED || rows[at].source == SOURCE_SESSION); at++)
		if (is_assumed(&rows[at], SPAN("Training")))
			TRY(store_delete_told(tx, job_id, &rows[at], err));
	return put_training(tx, job_id, first_ms, err);
}

/* The history says that it was assumed, to whom was told of it: with the stop that was asked for, the last time alone. */
static enum status put_undone(
	struct store_tx *tx, int64_t job_id, int64_t stopped_ms, int64_t heard_ms, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(UNDONE_BYTES);
	char stopped[ISO8601_BYTES], heard[ISO8601_BYTES];

	iso8601_format(stopped_ms, stopped);
	iso8601_format(heard_ms, heard);
	buf_printf(&message, "it was taken for Stopped at %s: what is of %s took that back", stopped, heard);
	TRY(buf_status(&message, err));
	return store_put_told(tx, job_id,
		&(struct told_row){.status = SPAN("Stopping"),
			.message = buf_span(&message),
			.reason = SPAN(""),
			.start_ms = stopped_ms,
			.source = SOURCE_ASSUMED},
		err);
}

/* Whose lines are of after a stop has not stopped; those that were only delivered after it say nothing. */
static enum status undo_stop(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	int64_t heard_ms, struct error *err)
{
	int64_t stopped_ms = INT64_MIN;

	for (size_t i = 0; i < count; i++)
		if (is_assumed(&rows[i], SPAN("Stopped")) && rows[i].start_ms < heard_ms) {
			TRY(store_delete_told(tx, job_id, &rows[i], err));
			stopped_ms = rows[i].start_ms;
		}
	if (stopped_ms == INT64_MIN)
		return OK;
	for (size_t i = 0; i < count; i++)
		if (is_assumed(&rows[i], SPAN("Stopping")))
			TRY(store_delete_told(tx, job_id, &rows[i], err));
	return put_undone(tx, job_id, stopped_ms, heard_ms, err);
}

enum status life_put_sign(
	struct store_tx *tx, struct arena *arena, int64_t job_id, const struct life_sign *sign, struct error *err)
{
	struct told_row *rows;
	size_t count;

	TRY(store_read_told_facts(store_tx_reader(tx), arena, job_id, &rows, &count, err));
	TRY(undo_stop(tx, job_id, rows, count, sign->heard_ms, err));
	if (sign->first_ms != INT64_MAX)
		TRY(put_first(tx, job_id, rows, count, sign, err));
	return sign->after_ms != INT64_MAX ? put_training(tx, job_id, sign->after_ms, err) : OK;
}

/* ---- from extraction ---- */

struct heard {
	struct control control;
	struct stream_state *stream; /* its job is counted */
	struct life_sign sign;
	struct arena *arena;
	struct life life;
};

static void heard_free(struct heard *heard)
{
	job_unref(heard->stream->job);
	arena_free(heard->arena);
	mem_free(heard);
}

static enum status write_heard(void *context, struct store_tx *tx, struct error *err)
{
	struct heard *heard = context;
	struct job_state *job = heard->stream->job;
	struct job_row row;
	bool is_gone;

	heard->life.failed = (struct job_failed_incident){0}; /* after a commit that failed this runs again */
	TRY(is_job_gone(heard->life.pipeline, tx, job, &is_gone, err));
	if (is_gone)
		return OK;
	TRY(store_read_job_by_id(store_tx_reader(tx), heard->arena, job->job_id, &row, err));
	TRY(life_put_sign(tx, heard->arena, job->job_id, &heard->sign, err));
	TRY(life_write(&heard->life, tx, &row, false, err));
	/* A job that its first line made was made before anybody knew when that line is of. */
	return heard->life.has_changed ? OK
				       : notices_enqueue_job_state(heard->life.pipeline, tx, &row,
						 &heard->life.failed.has_state_messages, err);
}

static void heard_done(void *context, enum status status, const struct error *err)
{
	struct heard *heard = context;

	if (status != OK)
		log_line(LOG_ERROR, "sign_failed", "job=\"%s\" error=\"%s\"", heard->stream->job->name, err->text);
	pthread_mutex_lock(&heard->stream->mutex);
	/* else we are stopping: the stream is not sealed past it, the next start says it again */
	if (status != ERR_UNAVAILABLE && status != ERR_IO && status != ERR_MEMORY)
		heard->stream->pending_incidents--;
	pthread_mutex_unlock(&heard->stream->mutex);
	if (status == OK) {
		directory_mark_dirty(heard->life.pipeline->directory, heard->stream);
		life_say(&heard->life);
	}
	heard_free(heard);
}

void life_begin_slice(struct stream_state *stream)
{
	stream->seen_ms = stream->seen_after_ms = INT64_MAX;
	stream->seen_last_ms = INT64_MIN;
	stream->awaited_ms = atomic_load(&stream->job->awaited_ms);
}

static enum status hand_over(
	struct pipeline *pipeline, struct stream_state *stream, const struct life_sign *sign, struct error *err)
{
	struct heard *heard = mem_zeroed(sizeof *heard);

	if (!heard || !(heard->arena = arena_new())) {
		mem_free(heard);
		return error_no_memory(err);
	}
	heard->stream = stream;
	heard->sign = *sign;
	heard->life = (struct life){.pipeline = pipeline, .arena = heard->arena, .now_ms = clock_wall_ms()};
	heard->control = (struct control){.work = write_heard, .done = heard_done, .context = heard, .is_kept = true};
	job_ref(stream->job);
	stream->pending_incidents++;
	enum status status = control_push(pipeline, &heard->control, err);
	if (status != OK)
		heard_free(heard); /* pending for ever: as of incidents */
	return status;
}

/* What is believed of the job as a whole: a stream's own lines may turn out to begin later than they did. */
static int64_t believed_of(struct job_state *job)
{
	int64_t first_ms = INT64_MAX, ms;
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++)
		if ((ms = atomic_load(&stream->believed_ms)) && ms < first_ms)
			first_ms = ms;
	return first_ms;
}

static struct life_sign sign_of(struct stream_state *stream, int64_t arrival_ms)
{
	int64_t own_ms = stretches_first_ms(&stream->stretches), before_ms = atomic_load(&stream->believed_ms);
	int64_t heard_ms = stream->seen_last_ms < arrival_ms ? stream->seen_last_ms : arrival_ms;
	struct life_sign sign = {stream->seen_ms, INT64_MIN, stream->seen_after_ms, heard_ms};

	atomic_store(&stream->believed_ms, own_ms);
	if (sign.first_ms < own_ms)
		sign.first_ms = own_ms;
	if (sign.first_ms > arrival_ms)
		sign.first_ms = arrival_ms; /* a clock that is ahead */
	if (before_ms && own_ms > before_ms)
		sign.believed_ms = believed_of(stream->job);
	if (sign.believed_ms > sign.first_ms)
		sign.first_ms = sign.believed_ms;
	if (stream->awaited_ms == INT64_MIN)
		sign.after_ms = INT64_MAX; /* the first one is all that is waited for */
	else if (sign.after_ms != INT64_MAX && sign.after_ms > arrival_ms) /* as above */
		sign.after_ms = arrival_ms > stream->awaited_ms ? arrival_ms : stream->awaited_ms;
	return sign;
}

enum status life_end_slice(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err)
{
	struct job_state *job = stream->job;

	if (stream->said || stream_is_system(span_from(stream->name)) || stream->seen_ms == INT64_MAX)
		return OK;
	struct life_sign sign = sign_of(stream, arrival_ms);
	int64_t signed_ms = atomic_load(&job->signed_ms);
	bool is_revised = sign.believed_ms != INT64_MIN && signed_ms < sign.believed_ms;
	if (sign.first_ms >= signed_ms && !is_revised && sign.after_ms == INT64_MAX &&
		sign.heard_ms <= atomic_load(&job->presumed_ms) && stream->awaited_ms != INT64_MIN)
		return OK;
	if (sign.first_ms < signed_ms || is_revised)
		atomic_store(&job->signed_ms, sign.first_ms); /* two at once say it twice, which changes nothing */
	return hand_over(pipeline, stream, &sign, err);
}
