#include "pipeline/jobs/gpu_traces.h"

#include "pipeline/commit/resolve.h"
#include "state/execute.h"
#include "store/jobs.h"

struct changing {
	struct gpu_trace_change *change;
	struct arena *arena;
};

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct changing *c = context;
	struct gpu_trace_change *change = c->change;
	struct job_row job;
	uint64_t count;

	TRY(store_read_job(store_tx_reader(tx), c->arena, change->job, &job, err));
	TRY(check_team(job.team, job.name, change->team, err));
	if (change->is_deletion)
		return store_delete_gpu_trace(
			tx, job.job_id, change->row.stream, change->row.trace, &change->deleted, err);
	TRY(store_put_gpu_trace(tx, job.job_id, &change->row, err));
	TRY(store_count_gpu_traces(store_tx_reader(tx), job.job_id, &count, err));
	if (count <= change->most)
		return OK;
	return error_set(err, ERR_TOO_LARGE,
		"with this one the job has %llu traces, more than %llu (--max-traces); delete one that nobody needs",
		(unsigned long long)count, (unsigned long long)change->most);
}

enum status pipeline_change_gpu_trace(
	struct pipeline *pipeline, struct arena *arena, struct gpu_trace_change *change, struct error *err)
{
	struct changing c = {.change = change, .arena = arena};

	return writer_execute(pipeline, write_change, &c, err);
}
