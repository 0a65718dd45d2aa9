/*
 * What sm-ship's relay adds to the address of a call that it hands on, perhaps long after its client made it:
 *   relay_ms      when that was
 *   relay_job     the job that sm-ship sends the training's output to: the first run that is made with it becomes that job, and there sm-ship
 *                 alone says how the job ends, and what was printed
 *   relay_system  sm-ship measures that job's machine
 *   relay_key     the same for each try
 */
#include "ingest/ingest.h"
#include "model/jobs/job_time.h"
#include "pipeline/jobs/sessions.h"
#include "wandb/internal.h"

enum { KEY_MAX_BYTES = 256, KEYS_KEPT_MS = 24 * 60 * 60 * 1000 };

enum status wandb_read_relayed(struct wandb_call *call, struct error *err)
{
	struct relayed *relayed = &call->relayed;
	struct span value;

	*relayed = (struct relayed){.at_ms = call->now_ms, .job = SPAN(""), .key = SPAN("")};
	TRY(http_query_i64(call->request, "relay_ms", JOB_EARLIEST_MS, JOB_LATEST_MS, &relayed->at_ms, err));
	TRY(http_query_bool(call->request, "relay_system", &relayed->has_system, err));
	if (relayed->at_ms > call->now_ms)
		relayed->at_ms = call->now_ms; /* of a clock that is ahead */
	if (http_request_query(call->request, "relay_key", &value) && value.len <= KEY_MAX_BYTES)
		relayed->key = value;
	if (http_request_query(call->request, "relay_job", &value) && value.len) {
		TRY(ingest_check_name("relay_job", value, JOB_NAME_MAX_BYTES, err));
		relayed->job = value;
	}
	return OK;
}

bool wandb_is_shipped(const struct wandb_call *call, struct span job)
{
	return call->relayed.job.len && span_equal(call->relayed.job, job);
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
