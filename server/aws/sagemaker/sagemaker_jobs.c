/* One training job: made, described, stopped, changed, deleted. */
#include "aws/sagemaker/sagemaker.h"
#include "model/jobs/training_job.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/deletion.h"
#include "pipeline/jobs/job.h"
#include "pipeline/jobs/job_change.h"
#include "pipeline/jobs/sessions.h"
#include "pipeline/life/pools.h"
#include "store/jobs.h"

#include <stdio.h>

enum status sagemaker_read_job(struct aws_call *call, struct span name, struct job_row *row, struct error *err)
{
	enum status status = store_read_job(call->reader, call->arena, name, row, err);

	return status == ERR_NOT_FOUND
		       ? aws_error(err, ERR_SEMANTIC, "ValidationException", "Requested resource not found.")
		       : status;
}

struct arn_place sagemaker_place(const struct aws_call *call)
{
	return (struct arn_place){call->options->region, call->options->account};
}

static struct span name_of(const struct aws_call *call)
{
	return json_string_of(json_get(call->input, "TrainingJobName"));
}

static enum status put_arn(struct aws_call *call, const struct json *document, struct error *err)
{
	const struct arn_place place = sagemaker_place(call);

	return job_record_write_arn(&place, document, name_of(call), &call->w, err);
}

/* A job of the serverless kind has none of these; others do. */
static enum status check_needed(const struct aws_call *call, struct error *err)
{
	static const struct shape_rule rules[] = {{"AlgorithmSpecification", SHAPE_NEEDED, 0, 0, NULL},
		{"ResourceConfig", SHAPE_NEEDED, 0, 0, NULL},
		{"ResourceConfig.VolumeSizeInGB", SHAPE_NEEDED, 0, 0, NULL},
		{"StoppingCondition", SHAPE_NEEDED, 0, 0, NULL}, {NULL, SHAPE_OBJECT, 0, 0, NULL}};

	return json_get(call->input, "ServerlessJobConfig") ? OK : aws_check(call, rules, call->input, err);
}

/* Kept in the document, so that Search finds the job by it, and it stays what it was whatever the options say later. */
static enum status give_arn(struct aws_call *call, struct error *err)
{
	AUTO_DONE(buf) arn = BUF_INIT(1024);

	buf_printf(&arn, "arn:aws:sagemaker:%s:%s:training-job/%.*s", call->options->region, call->options->account,
		SPAN_ARGS(name_of(call)));
	TRY(buf_status(&arn, err));
	/* the tree is the call's own */
	return json_set_string((struct json *)call->input, "TrainingJobArn", buf_span(&arn)) ? OK
											     : error_no_memory(err);
}

enum status sagemaker_create_training_job(struct aws_call *call, struct error *err)
{
	TRY(check_needed(call, err));
	TRY(aws_check(call, training_job_rules, call->input, err));
	TRY(give_arn(call, err));
	enum status status = pipeline_create_job(call->pipeline, call->input, call->team, call->now_ms, true, err);
	if (status == ERR_CONFLICT)
		return aws_error(err, ERR_CONFLICT, "ResourceInUse",
			"Training job names must be unique within an AWS account and region, and a training job with this name "
			"already exists (arn:aws:sagemaker:%s:%s:training-job/%.*s)",
			call->options->region, call->options->account, SPAN_ARGS(span_cut(name_of(call), 63)));
	TRY(status);
	return put_arn(call, call->input, err);
}

/* What SageMaker says of a job though nobody stated it; its Python SDK reads some of it unasked. */
static bool put_defaults(struct json *document, const struct json *defaults)
{
	for (const struct json *at = json_first(defaults); at; at = json_next(at)) {
		char key[64];
		snprintf(key, sizeof key, "%.*s", SPAN_ARGS(json_key_of(at)));
		const struct json *stated = json_get(document, key);
		bool is_part = json_kind(at) == JSON_OBJECT;
		if (is_part && stated && json_kind(stated) == JSON_OBJECT) {
			if (!put_defaults((struct json *)stated, at)) /* the document is ours to change */
				return false;
		} else if (!is_part && !stated && !json_set_copy(document, key, at)) {
			return false;
		}
	}
	return true;
}

static enum status complete(struct aws_call *call, struct job_row *row, struct error *err)
{
	static const char defaults_text[] = "{\"OutputDataConfig\":{\"KmsKeyId\":\"\",\"CompressionType\":\"GZIP\"},"
					    "\"EnableNetworkIsolation\":false,"
					    "\"EnableInterContainerTrafficEncryption\":false,"
					    "\"EnableManagedSpotTraining\":false}";
	AUTO(json) defaults = NULL;
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(16 << 20);

	TRY(json_parse(&defaults, span_from(defaults_text), err));
	TRY(json_parse(&document, row->document, err));
	if (!put_defaults(document, defaults))
		return error_no_memory(err);
	json_print(document, &text);
	TRY(buf_status(&text, err));
	row->document = arena_copy(call->arena, buf_span(&text));
	return row->document.ptr ? OK : error_no_memory(err);
}

enum status sagemaker_describe_training_job(struct aws_call *call, struct error *err)
{
	const struct arn_place place = sagemaker_place(call);
	struct job_row row;

	TRY(sagemaker_read_job(call, name_of(call), &row, err));
	TRY(complete(call, &row, err));
	return job_record_write(call->pipeline, call->reader, call->arena, &place, &row, &call->w, err);
}

/* smfleet runs nothing: the job is marked, and a connected sm-ship is told, which sends its process the signal. */
enum status sagemaker_stop_training_job(struct aws_call *call, struct error *err)
{
	struct command_row command = {.command = SPAN("stop"), .stream = SPAN(""), .created_ms = call->now_ms};
	struct job_row row;

	TRY(sagemaker_read_job(call, name_of(call), &row, err));
	TRY(check_team(row.team, row.name, call->team, err));
	if (row.ended_ms)
		return aws_error(err, ERR_SEMANTIC, "ValidationException",
			"The request was rejected because the training job is in status %.*s.", SPAN_ARGS(row.status));
	if (span_equal(row.status, SPAN("Stopping")))
		return OK;
	TRY(pipeline_stop_job(call->pipeline, row.name, call->team, call->options->max_commands, &command, err));
	call->options->command_given(call->options->context, &command);
	return OK;
}

static enum status copy_members(const struct aws_call *call, struct json **out, struct error *err)
{
	static const char *const members[] = {
		"ResourceConfig", "RemoteDebugConfig", "ProfilerConfig", "ProfilerRuleConfigurations"};

	TRY(json_parse(out, SPAN("{}"), err));
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		const struct json *value = json_get(call->input, members[i]);
		if (value && json_kind(value) != JSON_NULL && !json_set_copy(*out, members[i], value))
			return error_no_memory(err);
	}
	return OK;
}

enum status sagemaker_update_training_job(struct aws_call *call, struct error *err)
{
	AUTO(json) changes = NULL;
	AUTO(json) document = NULL;
	struct job_row row;

	TRY(sagemaker_read_job(call, name_of(call), &row, err));
	TRY(copy_members(call, &changes, err));
	if (json_count(changes))
		TRY(pipeline_change_job(call->pipeline, row.name, call->team, changes, err));
	TRY(json_parse(&document, row.document, err));
	return put_arn(call, document, err);
}

/* By what Describe says of it. */
static enum status keeps_pool(struct aws_call *call, const struct job_row *row, bool *does, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	AUTO(json) tree = NULL;
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	TRY(pools_write_status(call->reader, call->arena, row->job_id, call->now_ms, &w, err));
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&tree, buf_span(&text), err));
	*does = span_equal(json_string_of(json_get_path(tree, "WarmPoolStatus.Status")), SPAN("Available"));
	return OK;
}

enum status sagemaker_delete_training_job(struct aws_call *call, struct error *err)
{
	struct job_row row;
	bool has_pool;

	enum status status = store_read_job(call->reader, call->arena, name_of(call), &row, err);
	if (status == ERR_NOT_FOUND)
		return aws_error(err, ERR_NOT_FOUND, "ResourceNotFound", "Requested resource not found.");
	TRY(status);
	if (!row.ended_ms)
		return aws_error(err, ERR_CONFLICT, "ResourceInUse",
			"A training job can be deleted in the status Completed, Failed or Stopped; this one is %.*s.",
			SPAN_ARGS(row.status));
	TRY(keeps_pool(call, &row, &has_pool, err));
	if (has_pool)
		return aws_error(err, ERR_CONFLICT, "ResourceInUse",
			"The training job keeps a warm pool that is Available: end it by KeepAlivePeriodInSeconds 0 first.");
	const struct job_deletion deletion = {.job = row.name, .team = call->team, .now_ms = call->now_ms};
	return pipeline_delete_job(call->pipeline, call->reader, &deletion, err);
}
