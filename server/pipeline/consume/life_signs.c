#include "pipeline/consume/life_signs.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/notices.h"
#include "pipeline/life/life.h"
#include "pipeline/life/life_sign.h"
#include "state/control.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

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
	TRY(control_check_job_gone(heard->life.pipeline, tx, job, &is_gone, err));
	if (is_gone)
		return OK;
	TRY(store_read_job_by_id(store_tx_reader(tx), heard->arena, job->job_id, &row, err));
	TRY(life_put_sign(heard->life.pipeline, tx, heard->arena, &row, &heard->sign, err));
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
	if (!control_may_pass(status))
		heard->stream->pending_incidents--;
	pthread_mutex_unlock(&heard->stream->mutex);
	if (status == OK) {
		directory_mark(heard->life.pipeline->directory, STREAMS_DIRTY, heard->stream);
		life_say(&heard->life);
	}
	heard_free(heard);
}

void life_signs_begin_slice(struct stream_state *stream)
{
	stream->seen_ms = INT64_MAX;
	stream->seen_last_ms = INT64_MIN;
	stream->awaited_ms = atomic_load(&stream->job->awaited_ms);
	stream->seen_after_ms = stream->awaited_to_ms = atomic_load(&stream->job->awaited_to_ms);
	stream->seen_gap_ms = INT64_MAX;
	stream->seen_gap_last_ms = 0;
	stream->gap_from_ms = atomic_load(&stream->job->gap_from_ms);
	stream->gap_to_ms = atomic_load(&stream->job->gap_to_ms);
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
	struct life_sign sign = {.first_ms = stream->seen_ms,
		.believed_ms = INT64_MIN,
		.after_ms = stream->seen_after_ms < stream->awaited_to_ms ? stream->seen_after_ms : INT64_MAX,
		.heard_ms = heard_ms,
		.gap_first_ms = stream->seen_gap_ms,
		.gap_last_ms = stream->seen_gap_last_ms};

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

enum status life_signs_end_slice(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err)
{
	struct job_state *job = stream->job;

	if (stream->said || stream_is_system(span_from(stream->name)) || stream->seen_ms == INT64_MAX)
		return OK;
	if (stream->seen_ms <= atomic_load(&job->halts_to_ms)) {
		atomic_store(&job->is_halt_due, true);
		atomic_store(&job->is_summary_dirty, true);
	}
	struct life_sign sign = sign_of(stream, arrival_ms);
	int64_t signed_ms = atomic_load(&job->signed_ms);
	bool is_revised = sign.believed_ms != INT64_MIN && signed_ms < sign.believed_ms;
	if (sign.first_ms >= signed_ms && !is_revised && !sign.gap_last_ms && sign.after_ms == INT64_MAX &&
		sign.heard_ms <= atomic_load(&job->presumed_ms) && stream->awaited_ms != INT64_MIN)
		return OK;
	if (sign.first_ms < signed_ms || is_revised)
		atomic_store(&job->signed_ms, sign.first_ms); /* two at once say it twice, which changes nothing */
	return hand_over(pipeline, stream, &sign, err);
}
