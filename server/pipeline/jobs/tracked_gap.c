#include "pipeline/jobs/tracked_gap.h"

#include "pipeline/goodput/goodput.h"
#include "pipeline/life/log_end.h"
#include "pipeline/life/run_gap.h"
#include "state/pipeline_state.h"
#include "store/transitions.h"

enum status tracked_gap_find(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, int64_t at_ms, int64_t *from_ms, struct error *err)
{
	struct transition_row *rows;
	struct log_end end;
	int64_t client_ms;
	size_t count;

	*from_ms = 0;
	TRY(store_read_transitions(reader, arena, job->job_id, &rows, &count, err));
	if (!count || !span_equal(rows[count - 1].status, SPAN("Training")))
		return OK;
	TRY(goodput_find_client_word(reader, arena, job, rows, count, &client_ms, err));
	if (!client_ms)
		return OK;
	TRY(log_end_of_job(pipeline, reader, job->name, &end, err));
	int64_t last_ms = end.last_ms > client_ms ? end.last_ms : client_ms;
	if (at_ms - last_ms > pipeline->options.silent_ms)
		*from_ms = last_ms;
	return OK;
}

enum status tracked_gap_cut(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, int64_t at_ms, struct error *err)
{
	int64_t from_ms;

	TRY(tracked_gap_find(pipeline, store_tx_reader(tx), arena, job, at_ms, &from_ms, err));
	return from_ms ? run_gap_put(tx, job->job_id, from_ms, err) : OK;
}
