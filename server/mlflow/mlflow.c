#include "mlflow/mlflow.h"

#include "mlflow/internal.h"

/* ---- handlers of routes ---- */

#define CALL(name, use)                                                                                                \
	static enum status route_##name(void *context, void *worker, const struct http_request *request,               \
		struct http_response *response, struct error *err)                                                     \
	{                                                                                                              \
		return mlflow_run_call(context, worker, request, response, use, mlflow_##name, err);                   \
	}

CALL(experiment_create, MLFLOW_WRITES)
CALL(experiment_get, MLFLOW_BY_SENDERS)
CALL(experiment_get_by_name, MLFLOW_BY_SENDERS)
CALL(experiment_search, MLFLOW_READS)
CALL(experiment_update, MLFLOW_WRITES)
CALL(experiment_set_tag, MLFLOW_WRITES)
CALL(run_create, MLFLOW_WRITES)
CALL(run_get, MLFLOW_BY_SENDERS)
CALL(run_update, MLFLOW_WRITES)
CALL(run_search, MLFLOW_READS)
CALL(run_log_parameter, MLFLOW_WRITES)
CALL(run_set_tag, MLFLOW_WRITES)
CALL(run_delete_tag, MLFLOW_WRITES)
CALL(run_log_inputs, MLFLOW_WRITES)
CALL(log_metric, MLFLOW_WRITES)
CALL(log_batch, MLFLOW_WRITES)
CALL(get_history, MLFLOW_BY_SENDERS)
CALL(get_history_bulk, MLFLOW_BY_SENDERS)
CALL(get_history_bulk_interval, MLFLOW_BY_SENDERS)
CALL(run_delete, MLFLOW_WRITES)
CALL(run_restore, MLFLOW_WRITES)
CALL(no_deletion, MLFLOW_ABSENT)
CALL(no_artifacts, MLFLOW_ABSENT)
CALL(no_parts, MLFLOW_ABSENT)
CALL(file_put, MLFLOW_FILE)
CALL(file_get, MLFLOW_BY_SENDERS)
CALL(file_delete, MLFLOW_WRITES)
CALL(files_list, MLFLOW_BY_SENDERS)
CALL(run_files_list, MLFLOW_BY_SENDERS)
CALL(model_create, MLFLOW_WRITES)
CALL(model_get, MLFLOW_BY_SENDERS)
CALL(model_change, MLFLOW_WRITES)
CALL(run_outputs, MLFLOW_WRITES)
CALL(no_traces, MLFLOW_ABSENT)
CALL(unknown, MLFLOW_ABSENT)

enum { ANY_METHOD = HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_PATCH | HTTP_DELETE };

static const struct http_route templates[] = {
	{HTTP_POST, "/api/2.0/mlflow/experiments/create", SCOPE_WRITE, .handler = route_experiment_create,
		.summary = "MLflow: make an experiment"},
	{HTTP_GET, "/api/2.0/mlflow/experiments/get", SCOPE_READ, .handler = route_experiment_get,
		.summary = "MLflow: one experiment, by its id; also with a token to write"},
	{HTTP_GET, "/api/2.0/mlflow/experiments/get-by-name", SCOPE_READ, .handler = route_experiment_get_by_name,
		.summary = "MLflow: one experiment of the token's team, by its name; also with a token to write"},
	{HTTP_GET | HTTP_POST, "/api/2.0/mlflow/experiments/search", SCOPE_READ, .handler = route_experiment_search,
		.summary = "MLflow: the experiments of the token's team, newest first"},
	{HTTP_POST, "/api/2.0/mlflow/experiments/update", SCOPE_WRITE, .handler = route_experiment_update,
		.summary = "MLflow: give an experiment another name"},
	{HTTP_POST, "/api/2.0/mlflow/experiments/set-experiment-tag", SCOPE_WRITE, .handler = route_experiment_set_tag,
		.summary = "MLflow: set a tag of an experiment"},
	{HTTP_POST, "/api/2.0/mlflow/experiments/delete", SCOPE_WRITE, .handler = route_no_deletion,
		.summary = "MLflow: not implemented; it says what to do instead"},
	{HTTP_POST, "/api/2.0/mlflow/experiments/restore", SCOPE_WRITE, .handler = route_no_deletion,
		.summary = "MLflow: not implemented; it says what to do instead"},
	{HTTP_POST, "/api/2.0/mlflow/runs/create", SCOPE_WRITE, .handler = route_run_create,
		.summary = "MLflow: begin a run, which is a new job EXPERIMENT/RUN"},
	{HTTP_GET, "/api/2.0/mlflow/runs/get", SCOPE_READ, .handler = route_run_get,
		.summary = "MLflow: one run with its params, tags and last metrics; also with a token to write"},
	{HTTP_POST, "/api/2.0/mlflow/runs/update", SCOPE_WRITE, .handler = route_run_update,
		.summary = "MLflow: the status of a run and when it ended, or what it is called"},
	{HTTP_POST, "/api/2.0/mlflow/runs/search", SCOPE_READ, .handler = route_run_search,
		.summary = "MLflow: runs of some experiments, by a filter and an order"},
	{HTTP_POST, "/api/2.0/mlflow/runs/delete", SCOPE_WRITE, .handler = route_run_delete,
		.summary = "MLflow: move a run that has ended to the trash"},
	{HTTP_POST, "/api/2.0/mlflow/runs/restore", SCOPE_WRITE, .handler = route_run_restore,
		.summary = "MLflow: take a run out of the trash"},
	{HTTP_POST, "/api/2.0/mlflow/runs/log-metric", SCOPE_WRITE, .handler = route_log_metric,
		.summary = "MLflow: log a point of a metric"},
	{HTTP_POST, "/api/2.0/mlflow/runs/log-batch", SCOPE_WRITE, .handler = route_log_batch,
		.summary = "MLflow: log up to 1000 points, 100 params and 100 tags"},
	{HTTP_POST, "/api/2.0/mlflow/runs/log-parameter", SCOPE_WRITE, .handler = route_run_log_parameter,
		.summary = "MLflow: set a param, which is a hyperparameter of the job"},
	{HTTP_POST, "/api/2.0/mlflow/runs/set-tag", SCOPE_WRITE, .handler = route_run_set_tag,
		.summary = "MLflow: set a tag of a run"},
	{HTTP_POST, "/api/2.0/mlflow/runs/delete-tag", SCOPE_WRITE, .handler = route_run_delete_tag,
		.summary = "MLflow: take a tag of a run away"},
	{HTTP_POST, "/api/2.0/mlflow/runs/log-inputs", SCOPE_WRITE, .handler = route_run_log_inputs,
		.summary = "MLflow: note the datasets of a run"},
	{HTTP_GET, "/api/2.0/mlflow/metrics/get-history", SCOPE_READ, .handler = route_get_history,
		.summary = "MLflow: all points of a metric, in order of arrival; also with a token to write"},
	{HTTP_GET, "/api/2.0/mlflow/metrics/get-history-bulk", SCOPE_READ, .handler = route_get_history_bulk,
		.summary = "MLflow: the points of a metric of several runs; also with a token to write"},
	{HTTP_GET, "/api/2.0/mlflow/metrics/get-history-bulk-interval", SCOPE_READ,
		.handler = route_get_history_bulk_interval,
		.summary =
			"MLflow: some points of a metric of several runs, evenly spaced; also with a token to write"},
	{HTTP_POST, "/api/2.0/mlflow/runs/outputs", SCOPE_WRITE, .handler = route_run_outputs,
		.summary = "MLflow: models that a run made; their ids say so already"},
	{HTTP_POST, "/api/2.0/mlflow/logged-models", SCOPE_WRITE, .handler = route_model_create,
		.summary = "MLflow: note a model and where its client puts its files"},
	{HTTP_GET, "/api/2.0/mlflow/logged-models/{rest...}", SCOPE_READ, .handler = route_model_get,
		.summary = "MLflow: what was noted of a model; also with a token to write"},
	{HTTP_POST | HTTP_PATCH | HTTP_DELETE, "/api/2.0/mlflow/logged-models/{rest...}", SCOPE_WRITE,
		.handler = route_model_change, .summary = "MLflow: the status of a model"},
	{ANY_METHOD, "/api/2.0/mlflow/traces", SCOPE_READ, .handler = route_no_traces},
	{ANY_METHOD, "/api/2.0/mlflow/traces/{rest...}", SCOPE_READ, .handler = route_no_traces},
	{ANY_METHOD, "/api/3.0/mlflow/traces", SCOPE_READ, .handler = route_no_traces},
	{ANY_METHOD, "/api/3.0/mlflow/traces/{rest...}", SCOPE_READ, .handler = route_no_traces},
	{HTTP_GET, "/api/2.0/mlflow/artifacts/list", SCOPE_READ, .handler = route_run_files_list,
		.summary = "MLflow: files of a run; also with a token to write"},
	{HTTP_GET, "/api/2.0/mlflow-artifacts/artifacts", SCOPE_READ, .handler = route_files_list,
		.summary = "MLflow: files of a run, by the address of a folder; also with a token to write"},
	{HTTP_GET, "/api/2.0/mlflow-artifacts/artifacts/{rest...}", SCOPE_READ, .handler = route_file_get,
		.summary = "MLflow: one file of a run; also with a token to write"},
	{HTTP_PUT, "/api/2.0/mlflow-artifacts/artifacts/{rest...}", SCOPE_WRITE, .handler = route_file_put,
		.max_body_bytes = MLFLOW_FILE_MAX_BYTES,
		.summary = "MLflow: keep a small file of a run as an attachment of its job"},
	{HTTP_DELETE, "/api/2.0/mlflow-artifacts/artifacts/{rest...}", SCOPE_WRITE, .handler = route_file_delete,
		.summary = "MLflow: delete a file of a run, or all that are in a folder of it"},
	{ANY_METHOD, "/api/2.0/mlflow-artifacts/mpu/{rest...}", SCOPE_READ, .handler = route_no_parts},
	{ANY_METHOD, "/api/2.0/mlflow-artifacts/{rest...}", SCOPE_READ, .handler = route_no_artifacts},
	{ANY_METHOD, "/api/2.0/mlflow/{rest...}", SCOPE_READ, .handler = route_unknown},
};

enum { ROUTE_COUNT = sizeof templates / sizeof *templates };

static struct http_route route_of(struct mlflow *mlflow, const struct http_route *template)
{
	struct http_route route = *template;

	route.kind = ROUTE_WORKER;
	route.query = "*";
	if (!route.max_body_bytes)
		route.max_body_bytes = mlflow->options.max_body_bytes;
	route.context = mlflow;
	route.admit = mlflow_admit;
	route.refuse = mlflow_refuse;
	return route;
}

enum status mlflow_new(struct mlflow **out, const struct mlflow_options *options, struct error *err)
{
	AUTO(mlflow) mlflow = mem_zeroed(sizeof *mlflow);

	if (!mlflow || !(mlflow->routes = mem_zeroed(ROUTE_COUNT * sizeof *mlflow->routes)))
		return error_no_memory(err);
	mlflow->options = *options;
	for (; mlflow->route_count < ROUTE_COUNT; mlflow->route_count++)
		mlflow->routes[mlflow->route_count] = route_of(mlflow, &templates[mlflow->route_count]);
	*out = TAKE(mlflow);
	return OK;
}

void mlflow_free(struct mlflow *mlflow)
{
	if (!mlflow)
		return;
	mem_free(mlflow->routes);
	mem_free(mlflow);
}

const struct http_route *mlflow_routes(const struct mlflow *mlflow, size_t *count)
{
	*count = mlflow->route_count;
	return mlflow->routes;
}
