/* CloudWatch Logs: its operations, and how a call names groups and streams. */
#include "aws/logs/logs.h"

#include <stdio.h>

#define LOG_GROUP_PATTERN "[\\.\\-_/#A-Za-z0-9]+"

static const struct shape_rule logs_group_shape[] = {
	{"logGroupName", SHAPE_NEEDED, 0, 0, NULL},
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"kmsKeyId", SHAPE_STRING, 0, 256, NULL},
	{"tags", SHAPE_MAP, 0, 50, NULL},
	{"tags{}", SHAPE_STRING, 0, 256, NULL},
	{"logGroupClass", SHAPE_ENUM, 0, 0, "STANDARD|INFREQUENT_ACCESS|DELIVERY"},
	{0},
};

static const struct shape_rule logs_group_name_shape[] = {
	{"logGroupName", SHAPE_NEEDED, 0, 0, NULL},
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{0},
};

static const struct shape_rule logs_stream_shape[] = {
	{"logGroupName", SHAPE_NEEDED, 0, 0, NULL},
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"logStreamName", SHAPE_NEEDED, 0, 0, NULL},
	{"logStreamName", SHAPE_STRING, 1, 512, "[^:*]*"},
	{0},
};

static const struct shape_rule logs_retention_shape[] = {
	{"logGroupName", SHAPE_NEEDED, 0, 0, NULL},
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"retentionInDays", SHAPE_NEEDED, 0, 0, NULL},
	{"retentionInDays", SHAPE_INTEGER, INT32_MIN, INT32_MAX, NULL},
	{0},
};

static const struct shape_rule logs_describe_groups_shape[] = {
	{"logGroupNamePrefix", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"logGroupNamePattern", SHAPE_STRING, 0, 512, NULL},
	{"logGroupIdentifiers", SHAPE_ARRAY, 1, 50, NULL},
	{"logGroupIdentifiers[]", SHAPE_STRING, 1, 2048, NULL},
	{"limit", SHAPE_INTEGER, 1, 50, NULL},
	{"nextToken", SHAPE_STRING, 1, 8192, NULL},
	{0},
};

static const struct shape_rule logs_describe_streams_shape[] = {
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"logGroupIdentifier", SHAPE_STRING, 1, 2048, NULL},
	{"logStreamNamePrefix", SHAPE_STRING, 1, 512, "[^:*]*"},
	{"orderBy", SHAPE_ENUM, 0, 0, "LogStreamName|LastEventTime"},
	{"descending", SHAPE_BOOLEAN, 0, 0, NULL},
	{"limit", SHAPE_INTEGER, 1, 50, NULL},
	{"nextToken", SHAPE_STRING, 1, 8192, NULL},
	{0},
};

static const struct shape_rule logs_get_shape[] = {
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"logGroupIdentifier", SHAPE_STRING, 1, 2048, NULL},
	{"logStreamName", SHAPE_NEEDED, 0, 0, NULL},
	{"logStreamName", SHAPE_STRING, 1, 512, "[^:*]*"},
	{"startTime", SHAPE_INTEGER, 0, INT64_MAX, NULL},
	{"endTime", SHAPE_INTEGER, 0, INT64_MAX, NULL},
	{"nextToken", SHAPE_STRING, 1, 8192, NULL},
	{"limit", SHAPE_INTEGER, 1, LOGS_PAGE_EVENTS, NULL},
	{"startFromHead", SHAPE_BOOLEAN, 0, 0, NULL},
	{0},
};

static const struct shape_rule logs_filter_shape[] = {
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"logGroupIdentifier", SHAPE_STRING, 1, 2048, NULL},
	{"logStreamNames", SHAPE_ARRAY, 1, 100, NULL},
	{"logStreamNames[]", SHAPE_STRING, 1, 512, "[^:*]*"},
	{"logStreamNamePrefix", SHAPE_STRING, 1, 512, "[^:*]*"},
	{"startTime", SHAPE_INTEGER, 0, INT64_MAX, NULL},
	{"endTime", SHAPE_INTEGER, 0, INT64_MAX, NULL},
	{"filterPattern", SHAPE_STRING, 0, 1024, NULL},
	{"nextToken", SHAPE_STRING, 1, 8192, NULL},
	{"limit", SHAPE_INTEGER, 1, LOGS_PAGE_EVENTS, NULL},
	{"interleaved", SHAPE_BOOLEAN, 0, 0, NULL},
	{0},
};

#define TAGS_RULES                                                                                                     \
	{"tags", SHAPE_NEEDED, 0, 0, NULL}, {"tags", SHAPE_MAP, 1, 50, NULL},                                          \
		{"tags{key}", SHAPE_STRING, 1, 128, NULL},                                                             \
	{                                                                                                              \
		"tags{}", SHAPE_STRING, 0, 256, NULL                                                                   \
	}

static const struct shape_rule logs_tag_group_shape[] = {
	{"logGroupName", SHAPE_NEEDED, 0, 0, NULL},
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	TAGS_RULES,
	{0},
};

static const struct shape_rule logs_tag_shape[] = {
	{"resourceArn", SHAPE_NEEDED, 0, 0, NULL},
	{"resourceArn", SHAPE_STRING, 1, 1011, NULL},
	TAGS_RULES,
	{0},
};

static const struct shape_rule logs_untag_group_shape[] = {
	{"logGroupName", SHAPE_NEEDED, 0, 0, NULL},
	{"logGroupName", SHAPE_STRING, 1, 512, LOG_GROUP_PATTERN},
	{"tags", SHAPE_NEEDED, 0, 0, NULL},
	{"tags", SHAPE_ARRAY, 1, 50, NULL},
	{"tags[]", SHAPE_STRING, 1, 128, NULL},
	{0},
};

static const struct shape_rule logs_untag_shape[] = {
	{"resourceArn", SHAPE_NEEDED, 0, 0, NULL},
	{"resourceArn", SHAPE_STRING, 1, 1011, NULL},
	{"tagKeys", SHAPE_NEEDED, 0, 0, NULL},
	{"tagKeys", SHAPE_ARRAY, 0, 50, NULL},
	{"tagKeys[]", SHAPE_STRING, 1, 128, NULL},
	{0},
};

static const struct shape_rule logs_list_tags_shape[] = {
	{"resourceArn", SHAPE_NEEDED, 0, 0, NULL},
	{"resourceArn", SHAPE_STRING, 1, 1011, NULL},
	{0},
};

static const struct aws_operation operations[] = {
	{"CreateLogGroup", SCOPE_WRITE, logs_create_group, logs_group_shape, true, false},
	{"DeleteLogGroup", SCOPE_ADMIN, logs_delete_group, logs_group_name_shape, true, false},
	/* who ships logs looks for groups and streams first, with a token that may only write */
	{"DescribeLogGroups", SCOPE_PUBLIC, logs_describe_groups, logs_describe_groups_shape, false, false},
	{"DescribeLogStreams", SCOPE_PUBLIC, logs_describe_streams, logs_describe_streams_shape, false, false},
	{"PutRetentionPolicy", SCOPE_ADMIN, logs_put_retention, logs_retention_shape, true, false},
	{"DeleteRetentionPolicy", SCOPE_ADMIN, logs_delete_retention, logs_group_name_shape, true, false},
	{"CreateLogStream", SCOPE_WRITE, logs_create_stream, logs_stream_shape, true, false},
	{"DeleteLogStream", SCOPE_ADMIN, logs_delete_stream, logs_stream_shape, true, false},
	{"PutLogEvents", SCOPE_WRITE, logs_put_events, NULL, false, true},
	{"GetLogEvents", SCOPE_READ, logs_get_events, logs_get_shape, false, false},
	{"FilterLogEvents", SCOPE_READ, logs_filter_events, logs_filter_shape, false, false},
	{"TagLogGroup", SCOPE_WRITE, logs_tag_group, logs_tag_group_shape, true, false},
	{"TagResource", SCOPE_WRITE, logs_tag_group, logs_tag_shape, true, false},
	{"UntagLogGroup", SCOPE_WRITE, logs_untag_group, logs_untag_group_shape, true, false},
	{"UntagResource", SCOPE_WRITE, logs_untag_group, logs_untag_shape, true, false},
	{"ListTagsLogGroup", SCOPE_READ, logs_list_tags, logs_group_name_shape, false, false},
	{"ListTagsForResource", SCOPE_READ, logs_list_tags, logs_list_tags_shape, false, false},
	{0},
};

const struct aws_service logs_service = {
	.target = "Logs_20140328",
	.operations = operations,
	.codes = {"InvalidParameterException", "InvalidParameterException", "ResourceNotFoundException",
		"ResourceAlreadyExistsException", "ThrottlingException", "ServiceUnavailableException"},
};

/* ---- names ---- */

enum status logs_no_group(struct error *err)
{
	return aws_error(err, ERR_NOT_FOUND, "ResourceNotFoundException", "The specified log group does not exist.");
}

enum status logs_no_stream(struct error *err)
{
	return aws_error(err, ERR_NOT_FOUND, "ResourceNotFoundException", "The specified log stream does not exist.");
}

enum status logs_reworded(const struct aws_call *call, struct span value, enum status status, struct error *err)
{
	char constraint[ERROR_TEXT_BYTES], field[sizeof err->field];

	if (status != ERR_SEMANTIC || !err || !err->field[0])
		return status;
	memcpy(constraint, err->text, sizeof constraint);
	memcpy(field, err->field, sizeof field);
	return aws_violation(call, field, value, constraint, err);
}

enum status logs_group(const struct aws_call *call, struct span *group, struct error *err)
{
	struct span identifier = SPAN("");

	*group = SPAN("");
	aws_string(call, "logGroupName", group);
	aws_string(call, "logGroupIdentifier", &identifier);
	if (group->len && identifier.len)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
			"logGroupName and logGroupIdentifier exclude each other: give one of them");
	if (!group->len)
		*group = logs_group_of(identifier);
	if (!group->len)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
			"1 validation error detected: Value null at 'logGroupName' failed to satisfy constraint: "
			"Member must not be null");
	return logs_reworded(call, *group, logs_check_group(*group, err), err);
}

enum status logs_stream_name(const struct aws_call *call, struct logs_name *out, struct error *err)
{
	struct span group, stream = SPAN("");

	TRY(logs_group(call, &group, err));
	aws_string(call, "logStreamName", &stream);
	TRY(logs_reworded(call, stream, logs_split(group, stream, out, err), err));
	return logs_resolve(call, out, err);
}

/* ---- streams ---- */

static bool name_stream(const struct aws_call *call, bool is_training, struct span job, struct logs_stream *stream)
{
	stream->name = (struct logs_name){
		.is_training = is_training, .job = job, .stream = stream->view.stream, .suffix = stream->view.suffix};
	if (is_training && !stream->view.has_suffix_said)
		stream->name.suffix = logs_suffix(call->arena, stream->view.first_ms);
	if (!is_training)
		stream->name.suffix = SPAN("");
	stream->full = logs_join(call->arena, &stream->name);
	return stream->name.suffix.ptr && stream->full.ptr;
}

enum status logs_streams_of(const struct aws_call *call, bool is_training, struct span job, struct span prefix,
	struct logs_stream **out, size_t *count, struct error *err)
{
	struct log_stream_view *views;
	size_t view_count;

	*count = 0;
	TRY(pipeline_view_log_streams(
		call->pipeline, call->reader, call->arena, job, SPAN(""), &views, &view_count, err));
	*out = arena_alloc(call->arena, (view_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < view_count; i++) {
		struct logs_stream *stream = &(*out)[*count];
		*stream = (struct logs_stream){.view = views[i]};
		if (!stream->view.created_ms && !stream->view.first_ms)
			continue; /* its first line is on its way: it has no name yet */
		if (!name_stream(call, is_training, job, stream))
			return error_no_memory(err);
		*count += span_starts_with(stream->full, prefix);
	}
	return OK;
}

static enum status look_for(const struct aws_call *call, const struct logs_name *name, struct span stream,
	struct logs_stream *out, bool *is_found, struct error *err)
{
	struct log_stream_view *views;
	size_t count;

	*is_found = false;
	enum status status = pipeline_view_log_streams(
		call->pipeline, call->reader, call->arena, name->job, stream, &views, &count, err);
	if (status == ERR_NOT_FOUND)
		return name->is_training ? OK : logs_no_group(err);
	TRY(status);
	if (!count)
		return OK;
	*out = (struct logs_stream){.view = views[0]};
	*is_found = true;
	return name_stream(call, name->is_training, name->job, out) ? OK : error_no_memory(err);
}

enum status logs_find_stream(
	const struct aws_call *call, const struct logs_name *name, struct logs_stream *out, struct error *err)
{
	bool is_found;

	TRY(look_for(call, name, name->stream, out, &is_found, err));
	if (!is_found && name->suffix.len) { /* our own doors take any name, also one that ends so */
		struct span whole = span_of(name->stream.ptr, name->stream.len + name->suffix.len);
		TRY(look_for(call, name, whole, out, &is_found, err));
	}
	return is_found ? OK : logs_no_stream(err);
}

enum status logs_resolve(const struct aws_call *call, struct logs_name *name, struct error *err)
{
	struct logs_name other = *name;
	ptrdiff_t slash = span_find_char(other.stream, '/');
	struct logs_stream stream;
	struct error ignored;

	if (!name->is_training || slash < 0)
		return OK;
	for (; slash > 0 && (size_t)slash + 1 < other.stream.len; slash = span_find_char(other.stream, '/')) {
		enum status status = logs_find_stream(call, &other, &stream, &ignored);
		if (status != ERR_NOT_FOUND)
			break;
		other.job.len += (size_t)slash + 1; /* they lie behind each other */
		other.stream = span_skip(other.stream, (size_t)slash + 1);
		if (other.job.len > LOGS_NAME_MAX_BYTES)
			return OK;
	}
	enum status status = logs_find_stream(call, &other, &stream, err);
	if (status == OK)
		*name = other;
	return status == ERR_NOT_FOUND ? OK : status;
}

void logs_put_arn(struct aws_call *call, const char *key, struct span group, const char *suffix)
{
	char text[1400];

	snprintf(text, sizeof text, "arn:aws:logs:%s:%s:log-group:%.*s%s", call->options->region,
		call->options->account, SPAN_ARGS(group), suffix);
	json_put_text(&call->w, key, text);
}
