#include "pipeline/consume/log_status.h"

#include "base/clock.h"
#include "base/log.h"
#include "extract/line/status_line.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "pipeline/life/told_runs.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/told.h"
#include "store/transitions.h"

enum { MESSAGE_MAX_BYTES = 1024 };

struct heard {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	char *text; /* status and message lie in it */
	struct status_line line;
	struct arena *arena;
	struct life life;
};

static void heard_free(struct heard *heard)
{
	job_unref(heard->stream->job);
	arena_free(heard->arena);
	mem_free(heard->text);
	mem_free(heard);
}

/* Only behind an ending that the log itself told: a document with the seconds that were billed knows better. */
static enum status write_seconds(
	struct heard *heard, struct store_tx *tx, const struct history *history, struct job_row *row, struct error *err)
{
	const char *key = heard->line.is_billable ? "BillableTimeInSeconds" : "TrainingTimeInSeconds";
	const struct transition_row *last = history->count ? &history->rows[history->count - 1] : NULL;
	AUTO_DONE(buf) text = BUF_INIT(64), changed = BUF_INIT(4 << 20);
	AUTO(json) document = NULL;
	AUTO(json) number = NULL;

	if (!last || last->source != SOURCE_LOG || !row->ended_ms)
		return OK;
	TRY(json_parse(&document, row->document, err));
	if (json_get(document, key))
		return OK;
	buf_printf(&text, "%lld", (long long)heard->line.seconds);
	TRY(buf_status(&text, err));
	TRY(json_parse(&number, buf_span(&text), err));
	if (!json_set_copy(document, key, number))
		return error_no_memory(err);
	json_print(document, &changed);
	TRY(buf_status(&changed, err));
	row->document = buf_span(&changed);
	return pools_put_job(tx, row, err);
}

/*
 * All are read with each change of the job's life: what its streams say together is no more than one of them may. An end comes behind all
 * of that, and has as much room again.
 */
static enum status make_room(
	struct store_tx *tx, struct arena *arena, int64_t job_id, struct span status, bool *has_room, struct error *err)
{
	struct told_row *rows;
	size_t count, of_log = 0;

	TRY(store_read_told_facts(store_tx_reader(tx), arena, job_id, &rows, &count, err));
	TRY(told_fold_runs(tx, job_id, TOLD_FOLD_ENDS, rows, &count, err));
	for (size_t i = 0; i < count; i++)
		of_log += rows[i].source == SOURCE_LOG;
	*has_room = of_log < (phase_is_final(status) ? 2 * STATUSES_MAX : STATUSES_MAX);
	return OK;
}

static enum status write_transition(
	struct heard *heard, struct store_tx *tx, struct arena *arena, struct job_row *row, struct error *err)
{
	const struct status_line *line = &heard->line;
	bool has_failed = span_equal(line->status, SPAN("Failed")), has_room;

	TRY(make_room(tx, arena, row->job_id, line->status, &has_room, err));
	if (!has_room)
		return OK;
	heard->life = (struct life){.pipeline = heard->pipeline, .arena = arena, .now_ms = clock_wall_ms()};
	TRY(store_put_told(tx, row->job_id,
		&(struct told_row){.status = line->status,
			.message = line->message,
			.reason = has_failed ? line->message : SPAN(""),
			.start_ms = line->ts_ms,
			.source = SOURCE_LOG},
		err));
	TRY(life_write(&heard->life, tx, row, false, err));
	return heard->life.has_changed
		       ? store_put_status_message(tx, row->job_id,
				 &(struct status_message){line->ts_ms, line->status, line->message}, err)
		       : OK;
}

static enum status write_heard(void *context, struct store_tx *tx, struct error *err)
{
	struct heard *heard = context;
	struct arena *arena = heard->arena;
	struct history history;
	struct job_row row;
	bool is_gone;

	heard->life = (struct life){0}; /* after a commit that failed this runs again */
	TRY(control_check_job_gone(heard->pipeline, tx, heard->stream->job, &is_gone, err));
	if (is_gone)
		return OK;
	TRY(store_read_job_by_id(store_tx_reader(tx), arena, heard->stream->job->job_id, &row, err));
	if (heard->line.status.len)
		return write_transition(heard, tx, arena, &row, err);
	TRY(life_read_known(heard->pipeline, store_tx_reader(tx), arena, &row, &history, err));
	return write_seconds(heard, tx, &history, &row, err);
}

static void heard_done(void *context, enum status status, const struct error *err)
{
	struct heard *heard = context;

	if (status != OK)
		log_line(LOG_ERROR, "status_failed", "job=\"%s\" error=\"%s\"", heard->stream->job->name, err->text);
	pthread_mutex_lock(&heard->stream->mutex);
	/* else we are stopping: the stream is not sealed past it, the next start says it again */
	if (!control_may_pass(status))
		heard->stream->pending_incidents--;
	pthread_mutex_unlock(&heard->stream->mutex);
	if (status == OK) {
		atomic_store(&heard->stream->job->is_row_dirty, true);
		directory_mark(heard->pipeline->directory, STREAMS_DIRTY, heard->stream);
		if (heard->life.pipeline)
			life_say(&heard->life);
	}
	heard_free(heard);
}

static bool keep_text(struct heard *heard, const struct status_line *line)
{
	size_t message_len = line->message.len < MESSAGE_MAX_BYTES ? line->message.len : MESSAGE_MAX_BYTES;

	while (!span_is_utf8(span_of(line->message.ptr, message_len)) && message_len)
		message_len--;
	if (!(heard->text = mem_alloc(line->status.len + message_len + 1)))
		return false;
	memcpy(heard->text, line->status.ptr, line->status.len);
	memcpy(heard->text + line->status.len, line->message.ptr, message_len);
	heard->line = *line;
	heard->line.status.ptr = heard->text;
	heard->line.message = span_of(heard->text + line->status.len, message_len);
	return true;
}

enum status consume_status(struct pipeline *pipeline, struct stream_state *stream, struct span text, int64_t arrival_ms,
	bool *is_status, struct error *err)
{
	struct status_line line;

	*is_status = status_line_read(text, arrival_ms, &line);
	if (!*is_status || stream->said || stream->statuses++ >= STATUSES_MAX)
		return OK;
	struct heard *heard = mem_zeroed(sizeof *heard);
	if (!heard || !(heard->arena = arena_new())) {
		mem_free(heard);
		return error_no_memory(err);
	}
	heard->pipeline = pipeline;
	heard->stream = stream;
	job_ref(stream->job);
	if (!keep_text(heard, &line)) {
		heard_free(heard);
		return error_no_memory(err);
	}
	heard->control = (struct control){.work = write_heard, .done = heard_done, .context = heard, .is_kept = true};
	stream->pending_incidents++;
	enum status status = control_push(pipeline, &heard->control, err);
	if (status != OK)
		heard_free(heard); /* pending for ever: as of incidents */
	return status;
}
