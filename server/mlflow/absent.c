/* What is not here says so in MLflow's own form, and what to do instead. */
#include "mlflow/internal.h"

enum status mlflow_say_no_artifacts(const struct mlflow_options *options, struct error *err)
{
	return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
		"this server keeps no artifacts: a run's artifact_uri is below %s, where clients put them themselves; --mlflow-artifacts says another place, as s3://bucket/prefix",
		options->artifact_root);
}

enum status mlflow_no_artifacts(struct mlflow_call *call, struct error *err)
{
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
	return mlflow_error(err, ERR_NOT_FOUND, "ENDPOINT_NOT_FOUND",
		"'%.*s' is no call that this server has: there are experiments (create, get, get-by-name, search, update), runs (create, get, update, search, delete, restore, log-metric, log-parameter, log-batch, log-inputs, set-tag, delete-tag) and metrics (get-history, get-history-bulk, get-history-bulk-interval)",
		SPAN_ARGS(span_cut(http_request_path(call->request), 120)));
}
