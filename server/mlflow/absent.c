/* What is not here says so in MLflow's own form, and what to do instead. */
#include "mlflow/internal.h"

enum status mlflow_say_no_artifacts(const struct mlflow_options *options, struct error *err)
{
	return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
		"this server keeps no artifacts: a run's artifact_uri is below %s, where clients put them themselves; --mlflow-artifacts says another place, as s3://bucket/prefix",
		options->artifact_root);
}

enum status mlflow_say_too_large(const struct mlflow_options *options, struct error *err)
{
	if (!mlflow_keeps_files(span_from(options->artifact_root)))
		return mlflow_say_no_artifacts(options, err); /* not for its size */
	return error_set(err, ERR_TOO_LARGE,
		"no file of more than %d MiB is kept, whatever --max-attachment-bytes says; put it where checkpoints are",
		MLFLOW_FILE_MAX_BYTES >> 20);
}

/* What follows the colon is read by people; clients go on with PUT because of what is before it. */
enum status mlflow_no_parts(struct mlflow_call *call, struct error *err)
{
	(void)call;
	return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
		"Multipart upload is not supported for the current artifact repository: files come by PUT, and stay small");
}

enum status mlflow_no_artifacts(struct mlflow_call *call, struct error *err)
{
	if (mlflow_keeps_files(span_from(call->options->artifact_root)))
		return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
			"files of runs are put, read, listed and deleted here, one at a time");
	return mlflow_say_no_artifacts(call->options, err);
}

enum status mlflow_no_models(struct mlflow_call *call, struct error *err)
{
	(void)call;
	return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
		"this server has no models: save them beside the checkpoints (mlflow.pytorch.save_model, save_pretrained), and log where by mlflow.set_tag");
}

enum status mlflow_no_traces(struct mlflow_call *call, struct error *err)
{
	(void)call;
	return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
		"this server keeps no traces: mlflow.tracing.disable() turns them off, and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT sends them elsewhere");
}

enum status mlflow_no_deletion(struct mlflow_call *call, struct error *err)
{
	(void)call;
	return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
		"experiments are not deleted here, nor are runs where there is no trash to restore them from (--trash-days 0): delete the job in the page, or by DELETE /api/v1/jobs/JOB");
}

enum status mlflow_unknown(struct mlflow_call *call, struct error *err)
{
	static const struct span registry[] = {
		{"/api/2.0/mlflow/registered-models/", 34}, {"/api/2.0/mlflow/model-versions/", 31}};

	for (size_t i = 0; i < sizeof registry / sizeof *registry; i++)
		if (span_starts_with(http_request_path(call->request), registry[i]))
			return mlflow_error(err, ERR_NOT_FOUND, "ENDPOINT_NOT_FOUND",
				"this server has no registry of models: leave registered_model_name out, or say by MLFLOW_REGISTRY_URI where the registry is");
	return mlflow_error(err, ERR_NOT_FOUND, "ENDPOINT_NOT_FOUND",
		"'%.*s' is no call that this server has: there are experiments (create, get, get-by-name, search, update), runs (create, get, update, search, delete, restore, log-metric, log-parameter, log-batch, log-inputs, set-tag, delete-tag), metrics (get-history, get-history-bulk, get-history-bulk-interval), logged-models and artifacts (list)",
		SPAN_ARGS(span_cut(http_request_path(call->request), 120)));
}
