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
		.search_cpu_ms = options_i64(options, "search-cpu-ms"),
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

enum status doors_join_routes(struct http_route **out, size_t *count, const struct aws *aws, struct error *err)
{
	size_t api_count, aws_count;
	const struct http_route *of_api = api_routes(&api_count), *of_aws = aws_routes(aws, &aws_count);

	*out = mem_alloc((api_count + aws_count) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	memcpy(*out, of_api, api_count * sizeof **out);
	memcpy(*out + api_count, of_aws, aws_count * sizeof **out);
	*count = api_count + aws_count;
	return OK;
}
