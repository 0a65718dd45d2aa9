/* Job: the doors of the server, REST, AWS and MLflow, as one table of routes. Threads: main. */
#pragma once

#include "api/api.h"
#include "aws/protocol/aws.h"
#include "base/options/options.h"
#include "mlflow/mlflow.h"

enum status doors_make_aws(struct aws **out, const struct options *options, struct api *api, struct pipeline *pipeline,
	struct error *err) MUST_CHECK;

enum status doors_make_mlflow(struct mlflow **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err) MUST_CHECK;

/* *out: freed by mem_free. */
enum status doors_join_routes(struct http_route **out, size_t *count, const struct aws *aws,
	const struct mlflow *mlflow, struct error *err) MUST_CHECK;
