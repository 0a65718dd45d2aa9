/* A run is deleted by wandb.Api(): into the trash, from which its job is restored. */
#include "pipeline/jobs/deletion.h"
#include "state/audit.h"
#include "store/jobs.h"
#include "wandb/internal.h"

/* As the audit log tells of DELETE /api/v1/jobs/JOB. */
static enum status put_away(struct wandb_call *call, const struct job_row *job, struct error *err)
{
	const struct principal *principal = http_request_principal(call->request);
	const struct actor actor = {.token = span_from(principal->name),
		.team = call->team,
		.address = http_request_address(call->request),
		.verb = SPAN("delete"),
		.kind = SPAN("jobs"),
		.id = job->name,
		.body = SPAN("")};
	const struct job_deletion deletion = {.job = job->name, .team = call->team, .now_ms = call->now_ms};

	audit_act_as(call->pipeline, &actor);
	enum status status = pipeline_delete_job(call->pipeline, call->reader, &deletion, err);
	audit_act_as(call->pipeline, NULL);
	return status;
}

/* One that is deleted already stays so: a client sends again what it got no answer for. */
enum status wandb_delete_run(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct tracked_run_row row;
	struct wandb_run run;
	struct job_row job;
	struct span key;

	if (!call->options->has_trash)
		return error_set(err, ERR_UNSUPPORTED,
			"runs are not deleted here where there is no trash to restore them from (--trash-days 0): "
			"delete the job in the page, or by DELETE /api/v1/jobs/JOB");
	TRY(graphql_text(request, "id", WANDB_KEY_MAX_BYTES, &key, err));
	TRY(wandb_identify_key(call, key, &run, err));
	TRY(store_read_tracked_run(call->reader, call->arena, run.key, &row, err));
	enum status status = store_read_job_by_id(call->reader, call->arena, row.job_id, &job, err);
	if (status == OK)
		status = put_away(call, &job, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	json_key(&call->w, "deleteRun");
	json_object(&call->w);
	json_key(&call->w, "clientMutationId");
	json_null(&call->w);
	json_object_end(&call->w);
	return OK;
}
