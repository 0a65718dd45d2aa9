/*
 * What sm-ship's relay adds to the address of a call that it hands on, perhaps long after its client made it:
 *   relay_ms      when that was
 *   relay_job     the job that sm-ship sends the training's output to: the first run that is made with it becomes that job, and there sm-ship
 *                 alone says how the job ends, and what was printed
 *   relay_log     the same job once sm-ship was killed: how it ends its client says, and what was printed still comes by sm-ship (--send-rest)
 *   relay_system  sm-ship measures that job's machine
 *   relay_key     the same for each try
 */
#include "ingest/ingest.h"
#include "model/jobs/job_time.h"
#include "pipeline/jobs/sessions.h"
#include "wandb/internal.h"

enum { KEY_MAX_BYTES = 256, KEYS_KEPT_MS = 24 * 60 * 60 * 1000 };

static enum status read_job(const struct wandb_call *call, const char *name, struct span *out, struct error *err)
{
	struct span value;

	*out = SPAN("");
	if (!http_request_query(call->request, name, &value) || !value.len)
		return OK;
	*out = value;
	return ingest_check_name(name, value, JOB_NAME_MAX_BYTES, err);
}

enum status wandb_read_relayed(struct wandb_call *call, struct error *err)
{
	struct relayed *relayed = &call->relayed;
	struct span value;

	*relayed = (struct relayed){.at_ms = call->now_ms, .key = SPAN("")};
	TRY(http_query_i64(call->request, "relay_ms", JOB_EARLIEST_MS, JOB_LATEST_MS, &relayed->at_ms, err));
	TRY(http_query_bool(call->request, "relay_system", &relayed->has_system, err));
	if (relayed->at_ms > call->now_ms)
		relayed->at_ms = call->now_ms; /* of a clock that is ahead */
	if (http_request_query(call->request, "relay_key", &value) && value.len <= KEY_MAX_BYTES)
		relayed->key = value;
	TRY(read_job(call, "relay_job", &relayed->job, err));
	return read_job(call, "relay_log", &relayed->log, err);
}

bool wandb_is_shipped(const struct wandb_call *call, struct span job)
{
	return call->relayed.job.len && span_equal(call->relayed.job, job);
}

bool wandb_has_log(const struct wandb_call *call, struct span job)
{
	return wandb_is_shipped(call, job) || (call->relayed.log.len && span_equal(call->relayed.log, job));
}

void wandb_mark_part(const struct wandb_call *call, struct batch_part *part)
{
	if (!call->relayed.key.len)
		return;
	part->is_push = true;
	part->push_hash = (struct hash128){0};
	hash128_add(&part->push_hash, SPAN("relay_key"));
	hash128_add(&part->push_hash, call->relayed.key);
	part->push_kept_ms = KEYS_KEPT_MS;
}
