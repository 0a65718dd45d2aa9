#include "app/connection_options.h"

#include "api/core/tokens.h"
#include "api/send/commands.h"

static void command_given(void *context, const struct command_row *command)
{
	api_command_given(context, command);
}

enum status doors_make_aws(
	struct aws **out, const struct options *options, struct api *api, struct pipeline *pipeline, struct error *err)
{
	struct aws_options aws = {.pipeline = pipeline,
		.region = options_text(options, "aws-region"),
		.account = options_text(options, "aws-account"),
		.max_body_bytes = (size_t)options_i64(options, "max-aws-bytes"),
		.skew_ms = options_i64(options, "aws-skew"),
		.job_search_ms = options_i64(options, "job-search-ms"),
		.max_commands = (size_t)options_i64(options, "max-commands"),
		.max_metric_points = (size_t)options_i64(options, "max-metric-points"),
		.max_group_values = (uint64_t)options_i64(options, "max-group-values"),
		.reader_of = api_worker_reader,
		.authenticate = api_hooks(api).authenticate,
		.find_key = api_find_aws_key,
		.command_given = command_given,
		.context = api};

	return aws_new(out, &aws, err);
}

enum status doors_make_mlflow(struct mlflow **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err)
{
	struct mlflow_options mlflow = {.pipeline = pipeline,
		.max_body_bytes = (size_t)options_i64(options, "max-mlflow-bytes"),
		.max_search_runs = (size_t)options_i64(options, "max-mlflow-runs"),
		.search_ms = options_i64(options, "job-search-ms"),
		.artifact_root = options_text(options, "mlflow-artifacts"),
		.reader_of = api_worker_reader,
		.authenticate = api_hooks(api).authenticate,
		.context = api};

	return mlflow_new(out, &mlflow, err);
}

enum status doors_join_routes(
	struct http_route **out, size_t *count, const struct aws *aws, const struct mlflow *mlflow, struct error *err)
{
	size_t counts[3], at = 0;
	const struct http_route *tables[] = {
		api_routes(&counts[0]), aws_routes(aws, &counts[1]), mlflow_routes(mlflow, &counts[2])};

	*out = mem_alloc((counts[0] + counts[1] + counts[2]) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < 3; at += counts[i], i++)
		memcpy(*out + at, tables[i], counts[i] * sizeof **out);
	*count = at;
	return OK;
}
