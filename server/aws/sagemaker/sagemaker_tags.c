/* Tags of a training job, by its ARN. */
#include "aws/sagemaker/sagemaker.h"
#include "pipeline/jobs/job_change.h"
#include "store/jobs.h"

/* arn:PARTITION:sagemaker:REGION:ACCOUNT:training-job/NAME: whose region and account, a single server does not care. */
static enum status name_of_arn(struct span arn, struct span *name, struct error *err)
{
	struct span rest = arn, part;

	for (int i = 0; i < 5; i++)
		if (!span_next(&rest, ':', &part))
			break;
	if (!rest.ptr || !span_starts_with(rest, SPAN("training-job/")) || rest.len == 13)
		return aws_error(err, ERR_NOT_FOUND, "ResourceNotFound", "'%.*s' is the ARN of no training job",
			SPAN_ARGS(span_cut(arn, 200)));
	*name = span_skip(rest, 13);
	return OK;
}

static enum status read_job(struct aws_call *call, struct job_row *row, struct error *err)
{
	struct span arn = json_string_of(json_get(call->input, "ResourceArn")), name = SPAN("");

	TRY(name_of_arn(arn, &name, err));
	enum status status = store_read_job(call->reader, call->arena, name, row, err);
	return status == ERR_NOT_FOUND ? aws_error(err, ERR_NOT_FOUND, "ResourceNotFound", "'%.*s' does not exist",
						 SPAN_ARGS(span_cut(arn, 300)))
				       : status;
}

static enum status put_tags(struct aws_call *call, struct span job, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(json) document = NULL;
	struct job_row row;

	TRY(store_read_job(call->reader, call->arena, job, &row, err));
	TRY(json_parse(&document, row.document, err));
	const struct json *tags = json_get(document, "Tags");
	if (tags && json_kind(tags) == JSON_ARRAY)
		json_print(tags, &text);
	else
		buf_append_text(&text, "[]");
	TRY(buf_status(&text, err));
	json_key(&call->w, "Tags");
	json_raw(&call->w, buf_span(&text));
	return OK;
}

/* {"tags": {KEY: VALUE}}, or of each key null: what pipeline_change_job merges. */
static enum status change(
	struct aws_call *call, struct span job, const char *member, bool is_removal, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(json) changes = NULL;
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	json_key(&w, "tags");
	json_object(&w);
	for (const struct json *at = json_first(json_get(call->input, member)); at; at = json_next(at)) {
		struct span key = is_removal ? json_string_of(at) : json_string_of(json_get(at, "Key"));
		if (!is_removal && span_starts_with(key, SPAN("aws:")))
			return aws_violation(call, "Tags.Key", key, "aws: prefixed tag key names are not allowed", err);
		json_key_span(&w, key);
		if (is_removal)
			json_null(&w);
		else
			json_span(&w, json_string_of(json_get(at, "Value")));
	}
	json_object_end(&w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&changes, buf_span(&text), err));
	return pipeline_change_job(call->pipeline, job, call->team, changes, err);
}

enum status sagemaker_add_tags(struct aws_call *call, struct error *err)
{
	struct job_row row;

	TRY(read_job(call, &row, err));
	TRY(change(call, row.name, "Tags", false, err));
	return put_tags(call, row.name, err);
}

enum status sagemaker_list_tags(struct aws_call *call, struct error *err)
{
	struct job_row row;

	TRY(read_job(call, &row, err));
	return put_tags(call, row.name, err);
}

enum status sagemaker_delete_tags(struct aws_call *call, struct error *err)
{
	struct job_row row;

	TRY(read_job(call, &row, err));
	return change(call, row.name, "TagKeys", true, err);
}
