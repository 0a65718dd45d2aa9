/*
 * Job: the REST protocol of MLflow's tracking, so that its clients run unchanged: a run is a job, its params are hyperparameters, its
 *      metrics series of points (docs/mlflow.md). What a call does, the pipeline and the store do.
 * Ownership: new/free; outlives the HTTP server. Threads: admission on I/O threads, calls on workers.
 */
#pragma once

#include "mlflow/mlflow_options.h"

struct mlflow;

enum status mlflow_new(struct mlflow **out, const struct mlflow_options *options, struct error *err) MUST_CHECK;
void mlflow_free(struct mlflow *mlflow);
const struct http_route *mlflow_routes(const struct mlflow *mlflow, size_t *count);

AUTO_TYPE(mlflow)
