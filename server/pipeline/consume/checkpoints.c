/* Checkpoints that a log tells of: rows of the job. */
#include "base/log.h"
#include "pipeline/consume/signs.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

struct taking {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	struct checkpoint_row row;
};

static enum status write_taken(void *context, struct store_tx *tx, struct error *err)
{
	struct taking *taking = context;
	bool is_gone;

	TRY(control_check_job_gone(taking->pipeline, tx, taking->stream->job, &is_gone, err));
	return is_gone ? OK : store_put_checkpoint(tx, &taking->row, err);
}

static void taken(void *context, enum status status, const struct error *err)
{
	struct taking *taking = context;
	struct stream_state *stream = taking->stream;

	if (status != OK)
		log_line(LOG_ERROR, "checkpoint_row_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err->text);
	pthread_mutex_lock(&stream->mutex);
	if (!control_may_pass(status)) /* as of incidents */
		stream->pending_incidents--;
	pthread_mutex_unlock(&stream->mutex);
	job_unref(stream->job);
	mem_free(taking);
}

enum status checkpoint_take(
	struct pipeline *pipeline, struct stream_state *stream, const struct checkpoint_row *row, struct error *err)
{
	struct taking *taking = mem_zeroed(sizeof *taking);

	if (!taking)
		return error_no_memory(err);
	taking->pipeline = pipeline;
	taking->stream = stream;
	taking->row = *row;
	taking->control = (struct control){.work = write_taken, .done = taken, .context = taking, .is_kept = true};
	job_ref(stream->job);
	stream->pending_incidents++;
	enum status status = control_push(pipeline, &taking->control, err);
	if (status != OK) { /* pending for ever: as of incidents */
		job_unref(stream->job);
		mem_free(taking);
	}
	return status;
}
