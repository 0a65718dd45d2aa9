/*
 * Job: what the files of CloudWatch Logs share: groups and streams that a call names, as they are here.
 *      logs_groups.c, logs_streams.c, logs_put.c, logs_get.c and logs_filter.c have the operations, logs_service.c their table.
 * Ownership: in the call's arena. Threads: as internal.h.
 */
#pragma once

#include "aws/protocol/internal.h"
#include "aws/logs/logs_name.h"
#include "aws/logs/logs_token.h"
#include "pipeline/jobs/log_streams.h"

aws_handler logs_create_group, logs_delete_group, logs_describe_groups, logs_put_retention, logs_delete_retention;
aws_handler logs_tag_group, logs_untag_group, logs_list_tags;
aws_handler logs_create_stream, logs_delete_stream, logs_describe_streams;
aws_handler logs_put_events, logs_get_events, logs_filter_events;

enum { LOGS_PAGE_BYTES = 1 << 20, LOGS_PAGE_EVENTS = 10000 };

/* A stream as AWS's clients see it. */
struct logs_stream {
	struct log_stream_view view;
	struct logs_name name; /* with its suffix */
	struct span full;
};

/* ---- logs_names of a call ---- */
/* logGroupName or logGroupIdentifier: one of them. */
enum status logs_group(const struct aws_call *call, struct span *group, struct error *err) MUST_CHECK;
/* The same, with logStreamName. */
enum status logs_stream_name(const struct aws_call *call, struct logs_name *out, struct error *err) MUST_CHECK;
/* An error of logs_name.h (a field and the constraint) in AWS's words. */
enum status logs_reworded(
	const struct aws_call *call, struct span value, enum status status, struct error *err) MUST_CHECK;
enum status logs_no_group(struct error *err); /* ResourceNotFoundException */
enum status logs_no_stream(struct error *err);

/* ERR_NOT_FOUND as AWS says it: of the group, or of the stream. A name with a suffix is that stream whatever its suffix is. */
enum status logs_find_stream(const struct aws_call *call, const struct logs_name *name, struct logs_stream *out,
	struct error *err) MUST_CHECK;
/* JOB/STREAM of the group of all jobs is split at the first slash, as SageMaker's names have one. Where that is no stream, and there
 * is one whose job has slashes in its name, it is meant. */
enum status logs_resolve(const struct aws_call *call, struct logs_name *name, struct error *err) MUST_CHECK;
/* All of a job that have a name by now. prefix: of the full name. */
enum status logs_streams_of(const struct aws_call *call, bool is_training, struct span job, struct span prefix,
	struct logs_stream **out, size_t *count, struct error *err) MUST_CHECK;
void logs_put_arn(struct aws_call *call, const char *key, struct span group, const char *suffix);
