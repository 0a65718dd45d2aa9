/* Job: the doors of the server, REST, AWS, MLflow, Prometheus, W&B and Trackio, as one table of routes. Threads: main. */
#pragma once

#include "api/api.h"
#include "aws/protocol/aws.h"
#include "base/options/options.h"
#include "mlflow/mlflow.h"
#include "prometheus/prometheus.h"
#include "trackio/trackio.h"
#include "wandb/wandb.h"

enum status doors_make_aws(struct aws **out, const struct options *options, struct api *api, struct pipeline *pipeline,
	struct error *err) MUST_CHECK;

struct attachment_limits options_attachment_limits(const struct options *options);

enum status doors_make_mlflow(struct mlflow **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err) MUST_CHECK;

enum status doors_make_prometheus(struct prometheus **out, const struct options *options, struct pipeline *pipeline,
	struct error *err) MUST_CHECK;

enum status doors_make_wandb(struct wandb **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err) MUST_CHECK;

enum status doors_make_trackio(struct trackio **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err) MUST_CHECK;

/* Beside REST's. */
struct doors {
	struct aws *aws;
	struct mlflow *mlflow;
	struct prometheus *prometheus;
	struct wandb *wandb;
	struct trackio *trackio;
};
/* *out: freed by mem_free. */
enum status doors_join_routes(
	struct http_route **out, size_t *count, const struct doors *doors, struct error *err) MUST_CHECK;
