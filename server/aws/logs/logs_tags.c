/* Tags of log groups, which are the job's. The group of all training jobs has none. */
#include "aws/logs/logs.h"
#include "pipeline/jobs/job_change.h"
#include "store/jobs.h"

static enum status find_group(const struct aws_call *call, struct span *group, struct error *err)
{
	struct span arn = SPAN("");

	*group = SPAN("");
	aws_string(call, "resourceArn", &arn);
	if (!arn.len)
		return logs_group(call, group, err);
	*group = logs_group_of(arn);
	return logs_reworded(call, arn, logs_check_group(*group, err), err);
}

static enum status change_tags(struct aws_call *call, struct span group, struct span tags, struct error *err)
{
	AUTO(json) changes = NULL;

	if (logs_is_training(group))
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
			"the group %.*s holds all training jobs: tag each job for itself", SPAN_ARGS(group));
	TRY(json_parse(&changes, tags, err));
	enum status status = pipeline_change_job(call->pipeline, group, call->team, changes, err);
	return status == ERR_NOT_FOUND ? logs_no_group(err) : status;
}

enum status logs_tag_group(struct aws_call *call, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct json_writer w = json_writer_on(&text);
	struct span group;

	TRY(find_group(call, &group, err));
	json_object(&w);
	json_key(&w, "tags");
	json_object(&w);
	for (const struct json *tag = json_first(json_get(call->input, "tags")); tag; tag = json_next(tag)) {
		json_key_span(&w, json_key_of(tag));
		json_span(&w, json_string_of(tag));
	}
	json_object_end(&w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	return change_tags(call, group, buf_span(&text), err);
}

/* TagLogGroup's are called tags, TagResource's tagKeys. */
enum status logs_untag_group(struct aws_call *call, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	const struct json *keys = json_get(call->input, "tagKeys");
	struct json_writer w = json_writer_on(&text);
	struct span group;

	TRY(find_group(call, &group, err));
	keys = keys ? keys : json_get(call->input, "tags");
	json_object(&w);
	json_key(&w, "tags");
	json_object(&w);
	for (const struct json *key = json_first(keys); key; key = json_next(key)) {
		json_key_span(&w, json_string_of(key));
		json_null(&w);
	}
	json_object_end(&w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	return change_tags(call, group, buf_span(&text), err);
}

enum status logs_list_tags(struct aws_call *call, struct error *err)
{
	AUTO(json) document = NULL;
	struct job_row row = {.document = SPAN("{}")};
	struct span group;

	TRY(find_group(call, &group, err));
	enum status status = logs_is_training(group) ? OK : store_read_job(call->reader, call->arena, group, &row, err);
	if (status == ERR_NOT_FOUND)
		return logs_no_group(err);
	TRY(status);
	TRY(json_parse(&document, row.document, err));
	json_key(&call->w, "tags");
	json_object(&call->w);
	for (const struct json *tag = json_first(json_get(document, "Tags")); tag; tag = json_next(tag)) {
		json_key_span(&call->w, json_string_of(json_get(tag, "Key")));
		json_span(&call->w, json_string_of(json_get(tag, "Value")));
	}
	json_object_end(&call->w);
	return OK;
}
