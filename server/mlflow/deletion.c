/* Runs deleted and restored, as MLflow has it: into the trash, and back. */
#include "mlflow/internal.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/deletion.h"
#include "pipeline/jobs/trash.h"
#include "state/audit.h"
#include "store/trash.h"

/* As the audit log tells of DELETE /api/v1/jobs/JOB. */
static struct actor actor_of(const struct mlflow_call *call, struct span verb, struct span job)
{
	const struct principal *principal = http_request_principal(call->request);

	return (struct actor){.token = span_from(principal->name),
		.team = span_from(principal->team),
		.address = http_request_address(call->request),
		.verb = verb,
		.kind = SPAN("jobs"),
		.id = job,
		.body = SPAN("")};
}

static enum status put_away(struct mlflow_call *call, const struct job_row *job, struct error *err)
{
	const struct actor actor = actor_of(call, SPAN("delete"), job->name);
	const struct job_deletion deletion = {.job = job->name, .team = call->team, .now_ms = call->now_ms};

	audit_act_as(call->pipeline, &actor);
	enum status status = pipeline_delete_job(call->pipeline, call->reader, &deletion, err);
	audit_act_as(call->pipeline, NULL);
	if (status != ERR_CONFLICT)
		return status;
	err->code = "INVALID_STATE";
	return status;
}

/* A run that is deleted, or is not, stays so: clients send again what they got no answer for. */
enum status mlflow_run_delete(struct mlflow_call *call, struct error *err)
{
	struct tracked_run_row run;
	struct trashed_job trashed;
	struct job_row job;
	struct span run_id;

	if (!call->options->has_trash)
		return mlflow_no_deletion(call, err);
	TRY(mlflow_run_id(call, &run_id, err));
	TRY(store_read_tracked_run(call->reader, call->arena, run_id, &run, err));
	enum status status = store_read_job_by_id(call->reader, call->arena, run.job_id, &job, err);
	if (status == ERR_NOT_FOUND) {
		TRY(store_read_trashed(call->reader, call->arena, run.job_id, &trashed, err));
		return check_team(trashed.job.team, trashed.job.name, call->team, err);
	}
	TRY(status);
	return put_away(call, &job, err);
}

enum status mlflow_run_restore(struct mlflow_call *call, struct error *err)
{
	struct tracked_run_row run;
	struct trashed_job trashed;
	struct job_row job;
	struct span run_id, name;

	TRY(mlflow_run_id(call, &run_id, err));
	TRY(store_read_tracked_run(call->reader, call->arena, run_id, &run, err));
	if (store_read_trashed(call->reader, call->arena, run.job_id, &trashed, err) != OK) {
		TRY(store_read_job_by_id(call->reader, call->arena, run.job_id, &job, err));
		return check_team(job.team, job.name, call->team, err);
	}
	const struct trash_choice choice = {.job = trashed.job.name, .team = call->team, .job_id = run.job_id};
	const struct actor actor = actor_of(call, SPAN("restore"), trashed.job.name);
	audit_act_as(call->pipeline, &actor);
	enum status status = pipeline_restore_job(call->pipeline, call->arena, &choice, &name, err);
	audit_act_as(call->pipeline, NULL);
	return status;
}

enum status mlflow_explain_deletion(
	const struct mlflow_call *call, const struct tracked_run_row *run, struct error *err)
{
	struct trashed_job trashed;
	struct error none;

	if (store_read_trashed(call->reader, call->arena, run->job_id, &trashed, &none) != OK)
		return ERR_NOT_FOUND;
	return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
		"The run %.*s must be in the 'active' state. Current state is deleted.", SPAN_ARGS(run->run_id));
}

enum status mlflow_explain_absence(const struct mlflow_call *call, struct error *err)
{
	struct tracked_run_row run;
	struct error none;
	struct span run_id;

	if (mlflow_run_id(call, &run_id, &none) != OK ||
		store_read_tracked_run(call->reader, call->arena, run_id, &run, &none) != OK)
		return ERR_NOT_FOUND;
	return mlflow_explain_deletion(call, &run, err);
}
