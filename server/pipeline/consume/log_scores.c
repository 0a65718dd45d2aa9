#include "pipeline/consume/log_scores.h"

#include "base/log.h"
#include "extract/evaluation_table.h"
#include "state/control.h"
#include "state/pipeline_state.h"
#include "state/watchers/score_state.h"
#include "store/evaluations.h"

struct scoring {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	struct score_list found;
	uint64_t known; /* scores that the job has */
	size_t left_out;
};

enum { WRITTEN_AT_ONCE = 1000 }; /* in one transaction */

static void scoring_free(struct scoring *scoring)
{
	job_unref(scoring->stream->job);
	score_list_done(&scoring->found);
	mem_free(scoring);
}

/* One that is known is replaced, whatever the limit. */
static enum status write_score(
	struct scoring *scoring, struct store_tx *tx, const struct evaluation_score *score, struct error *err)
{
	int64_t job_id = scoring->stream->job->job_id;
	bool is_known;

	TRY(store_has_evaluation(store_tx_reader(tx), job_id, score, &is_known, err));
	if (!is_known && scoring->known >= scoring->pipeline->options.max_evaluations) {
		scoring->left_out++;
		return OK;
	}
	scoring->known += !is_known;
	return store_put_logged_evaluation(tx, job_id, score, err);
}

static enum status write_scores(void *context, struct store_tx *tx, struct error *err)
{
	struct scoring *scoring = context;
	int64_t job_id = scoring->stream->job->job_id;
	bool is_gone;

	scoring->left_out = 0;
	TRY(control_check_job_gone(scoring->pipeline, tx, scoring->stream->job, &is_gone, err));
	if (is_gone)
		return OK;
	TRY(store_count_evaluations(store_tx_reader(tx), job_id, &scoring->known, err));
	for (size_t i = 0; i < scoring->found.count; i++)
		TRY(write_score(scoring, tx, &scoring->found.items[i], err));
	return store_mark_evaluations(tx, job_id, err);
}

static void written(void *context, enum status status, const struct error *err)
{
	struct scoring *scoring = context;
	struct stream_state *stream = scoring->stream;

	if (status != OK)
		log_line(LOG_ERROR, "scores_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err->text);
	else if (scoring->left_out)
		log_line(LOG_WARNING, "scores_left_out", "job=\"%s\" scores=%zu known=%llu", stream->job->name,
			scoring->left_out, (unsigned long long)scoring->known);
	pthread_mutex_lock(&stream->mutex);
	if (!control_may_pass(status)) /* as of incidents */
		stream->pending_incidents--;
	pthread_mutex_unlock(&stream->mutex);
	scoring_free(scoring);
}

/* The path's digits, else where the log was. */
static bool find_step(const struct stream_state *stream, struct evaluation_score *score)
{
	int64_t step = -1;

	score->step_from = EVALUATION_STEP_PATH;
	if (!evaluation_step_of_path(score->path, &step)) {
		step = extractor_last_step(stream->extractor);
		score->step_from = step < 0 ? EVALUATION_STEP_UNKNOWN : EVALUATION_STEP_LOG;
	}
	score->has_step = step >= 0;
	score->step = score->has_step ? step : 0;
	return score->has_step || score->path.len;
}

enum status log_scores_feed(struct pipeline *pipeline, struct stream_state *stream, const struct extract_line *line,
	int64_t ts_ms, int64_t arrival_ms, struct error *err)
{
	struct evaluation_score score;

	if (!stream->scores && !evaluation_table_may_begin(line->text))
		return OK;
	if (!stream->scores && !(stream->scores = mem_zeroed(sizeof *stream->scores)))
		return error_no_memory(err);
	if (!evaluation_table_see(&stream->scores->table, line->text, line->number, &score) ||
		!find_step(stream, &score))
		return OK;
	score.suite = SPAN(EVALUATION_SUITE_LOG);
	score.author = SPAN("");
	score.evaluated_ms = ts_ms > 0 ? ts_ms : 0;
	score.received_ms = arrival_ms;
	TRY(score_list_add(&stream->scores->found, &score, err));
	return stream->scores->found.count < WRITTEN_AT_ONCE ? OK : log_scores_hand_over(pipeline, stream, err);
}

enum status log_scores_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct error *err)
{
	if (!stream->scores || !stream->scores->found.count)
		return OK;
	struct scoring *scoring = mem_zeroed(sizeof *scoring);
	if (!scoring)
		return error_no_memory(err);
	scoring->pipeline = pipeline;
	scoring->stream = stream;
	scoring->found = stream->scores->found;
	stream->scores->found = (struct score_list){0};
	scoring->control = (struct control){.work = write_scores, .done = written, .context = scoring, .is_kept = true};
	job_ref(stream->job);
	stream->pending_incidents++;
	enum status status = control_push(pipeline, &scoring->control, err);
	if (status != OK) /* pending for ever: as of incidents */
		scoring_free(scoring);
	return status;
}
