#include "app/connection_options.h"

#include "api/core/signed_urls.h"
#include "api/core/tokens.h"
#include "api/jobs/attachments.h"
#include "api/send/commands.h"
#include "api/send/events.h"

static void command_given(void *context, const struct command_row *command)
{
	api_command_given(context, command);
}

static void event_judged(void *context, enum event_verdict verdict)
{
	api_event_judged(context, verdict);
}

static void events_end(void *context)
{
	api_events_end(context);
}

enum status doors_make_aws(
	struct aws **out, const struct options *options, struct api *api, struct pipeline *pipeline, struct error *err)
{
	struct aws_options aws = {.pipeline = pipeline,
		.region = options_text(options, "aws-region"),
		.account = options_text(options, "aws-account"),
		.max_body_bytes = (size_t)options_i64(options, "max-aws-bytes"),
		.skew_ms = options_i64(options, "aws-skew"),
		.search_cpu_ms = options_i64(options, "search-cpu-ms"),
		.job_search_ms = options_i64(options, "job-search-ms"),
		.max_commands = (size_t)options_i64(options, "max-commands"),
		.max_metric_points = (size_t)options_i64(options, "max-metric-points"),
		.max_group_values = (uint64_t)options_i64(options, "max-group-values"),
		.reader_of = api_worker_reader,
		.authenticate = api_hooks(api).authenticate,
		.find_key = api_find_aws_key,
		.command_given = command_given,
		.event_judged = event_judged,
		.events_end = events_end,
		.context = api};

	return aws_new(out, &aws, err);
}

struct attachment_limits options_attachment_limits(const struct options *options)
{
	return (struct attachment_limits){.files = (uint64_t)options_i64(options, "max-attachments"),
		.bytes = (uint64_t)options_i64(options, "max-job-attachment-bytes"),
		.file_bytes = (uint64_t)options_i64(options, "max-attachment-bytes")};
}

enum status doors_make_mlflow(struct mlflow **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err)
{
	struct mlflow_options mlflow = {.pipeline = pipeline,
		.max_body_bytes = (size_t)options_i64(options, "max-mlflow-bytes"),
		.max_search_runs = (size_t)options_i64(options, "max-mlflow-runs"),
		.search_ms = options_i64(options, "job-search-ms"),
		.has_trash = options_i64(options, "trash-days") > 0,
		.artifact_root = options_text(options, "mlflow-artifacts"),
		.attachments = options_attachment_limits(options),
		.send_attachment = api_attachment_send,
		.reader_of = api_worker_reader,
		.authenticate = api_hooks(api).authenticate,
		.context = api};

	return mlflow_new(out, &mlflow, err);
}

enum status doors_make_prometheus(
	struct prometheus **out, const struct options *options, struct pipeline *pipeline, struct error *err)
{
	struct prometheus_options prometheus = {.pipeline = pipeline,
		.max_points = (size_t)options_i64(options, "max-prometheus-points"),
		.max_jobs = (size_t)options_i64(options, "max-prometheus-jobs"),
		.search_ms = options_i64(options, "job-search-ms"),
		.search_cpu_ms = options_i64(options, "search-cpu-ms"),
		.reader_of = api_worker_reader};

	return prometheus_new(out, &prometheus, err);
}

enum status doors_make_wandb(struct wandb **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err)
{
	struct wandb_options wandb = {.pipeline = pipeline,
		.max_processes = (uint64_t)options_i64(options, "max-run-processes"),
		.max_values = (size_t)options_i64(options, "max-wandb-values"),
		.max_samples = options_i64(options, "max-wandb-samples"),
		.has_trash = options_i64(options, "trash-days") > 0,
		.keeps_files = options_flag(options, "wandb-files"),
		.is_tls = options_text(options, "tls-cert") != NULL,
		.public_url = options_text(options, "public-url"),
		.attachments = options_attachment_limits(options),
		.send_attachment = api_attachment_send,
		.find_token = tokens_find_holder,
		.sign = api_sign,
		.max_body_bytes = (size_t)options_i64(options, "max-push-bytes"),
		.max_line_bytes = (size_t)options_i64(options, "max-line-bytes"),
		.max_series = (size_t)options_i64(options, "max-series"),
		.reader_of = api_worker_reader,
		.authenticate = api_hooks(api).authenticate,
		.context = api};

	return wandb_new(out, &wandb, err);
}

enum status doors_make_trackio(struct trackio **out, const struct options *options, struct api *api,
	struct pipeline *pipeline, struct error *err)
{
	struct trackio_options trackio = {.pipeline = pipeline,
		.max_body_bytes = (size_t)options_i64(options, "max-push-bytes"),
		.max_line_bytes = (size_t)options_i64(options, "max-line-bytes"),
		.max_series = (size_t)options_i64(options, "max-series"),
		.reader_of = api_worker_reader,
		.authenticate = api_hooks(api).authenticate,
		.context = api};

	return trackio_new(out, &trackio, err);
}

enum status doors_join_routes(struct http_route **out, size_t *count, const struct doors *doors, struct error *err)
{
	enum { TABLES = 6 };
	size_t counts[TABLES], at = 0, sum = 0;
	const struct http_route *tables[TABLES] = {api_routes(&counts[0]), aws_routes(doors->aws, &counts[1]),
		mlflow_routes(doors->mlflow, &counts[2]), prometheus_routes(doors->prometheus, &counts[3]),
		wandb_routes(doors->wandb, &counts[4]), trackio_routes(doors->trackio, &counts[5])};

	for (size_t i = 0; i < TABLES; i++)
		sum += counts[i];
	*out = mem_alloc(sum * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < TABLES; at += counts[i], i++)
		memcpy(*out + at, tables[i], counts[i] * sizeof **out);
	*count = at;
	return OK;
}
