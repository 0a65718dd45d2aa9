#include "aws/logs/logs_name.h"

#include "model/metrics/stream_name.h"

#include <ctype.h>
#include <stdio.h>

enum { GROUP_MAX = 512 };

bool logs_is_training(struct span group)
{
	return span_equal(group, SPAN(LOGS_TRAINING_GROUP));
}

struct span logs_group_of(struct span identifier)
{
	static const char mark[] = ":log-group:";
	ptrdiff_t at = span_starts_with(identifier, SPAN("arn:")) ? span_find(identifier, span_from(mark)) : -1;

	if (at < 0)
		return identifier;
	struct span name = span_skip(identifier, (size_t)at + sizeof mark - 1);
	if (span_ends_with(name, SPAN(":*")))
		name.len -= 2;
	return name;
}

static enum status violated(const char *field, const char *constraint, struct error *err)
{
	return error_set_field(err, ERR_SEMANTIC, field, "%s", constraint);
}

enum status logs_check_group(struct span group, struct error *err)
{
	static const char field[] = "logGroupName";

	if (!group.len)
		return violated(field, "Member must have length greater than or equal to 1", err);
	if (group.len > GROUP_MAX)
		return violated(field, "Member must have length less than or equal to 512", err);
	for (size_t i = 0; i < group.len; i++)
		if (!isalnum((unsigned char)group.ptr[i]) && !strchr("._-/#", group.ptr[i]))
			return violated(
				field, "Member must satisfy regular expression pattern: [\\.\\-_/#A-Za-z0-9]+", err);
	if (group.len > LOGS_NAME_MAX_BYTES)
		return violated(field, "a log group is a job here, whose name has at most 255 characters", err);
	return OK;
}

static enum status check_stream(struct span stream, struct error *err)
{
	static const char field[] = "logStreamName";

	if (!stream.len)
		return violated(field, "Member must have length greater than or equal to 1", err);
	if (stream.len > GROUP_MAX)
		return violated(field, "Member must have length less than or equal to 512", err);
	for (size_t i = 0; i < stream.len; i++) {
		unsigned char c = (unsigned char)stream.ptr[i];
		if (c == ':' || c == '*' || c < ' ' || c == 127)
			return violated(field, "Member must satisfy regular expression pattern: [^:*]*", err);
	}
	return OK;
}

enum status logs_split(struct span group, struct span stream, struct logs_name *out, struct error *err)
{
	*out = (struct logs_name){.job = group, .stream = stream, .suffix = SPAN("")};
	TRY(logs_check_group(group, err));
	TRY(check_stream(stream, err));
	if (logs_is_training(group)) {
		ptrdiff_t slash = span_find_char(stream, '/');
		if (slash <= 0 || (size_t)slash + 1 == stream.len)
			return violated("logStreamName",
				"a stream of this group is named JOB/STREAM, as SageMaker names them", err);
		out->is_training = true;
		out->job = span_of(stream.ptr, (size_t)slash);
		out->stream = span_skip(stream, (size_t)slash + 1);
		out->suffix = stream_cut_suffix(&out->stream);
	}
	if (out->job.len > LOGS_NAME_MAX_BYTES || out->stream.len > LOGS_NAME_MAX_BYTES)
		return violated("logStreamName", "the names of jobs and streams have at most 255 bytes here", err);
	return OK;
}

struct span logs_join(struct arena *arena, const struct logs_name *name)
{
	size_t job_len = name->is_training ? name->job.len + 1 : 0;
	size_t len = job_len + name->stream.len + name->suffix.len;
	char *text = arena_alloc(arena, len + 1);

	if (!text)
		return span_of(NULL, 0);
	if (job_len) {
		memcpy(text, name->job.ptr, name->job.len);
		text[name->job.len] = '/';
	}
	memcpy(text + job_len, name->stream.ptr, name->stream.len);
	if (name->suffix.len)
		memcpy(text + job_len + name->stream.len, name->suffix.ptr, name->suffix.len);
	text[len] = 0;
	return span_of(text, len);
}

struct span logs_suffix(struct arena *arena, int64_t first_ms)
{
	char text[32];
	int len = snprintf(text, sizeof text, "-%013lld", (long long)(first_ms > 0 ? first_ms : 0));

	return arena_copy(arena, span_of(text, (size_t)len));
}
