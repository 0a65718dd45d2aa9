/* Log streams: made, deleted and listed. A list is put together job by job, as far as a page needs it. */
#include "aws/logs/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAMS_MAX = 50, JOBS_A_READ = 50, NEWEST_JOBS = 100 };

enum status logs_create_stream(struct aws_call *call, struct error *err)
{
	struct logs_name name;

	TRY(logs_stream_name(call, &name, err));
	struct log_stream_making making = {.job = name.job,
		.stream = name.stream,
		.suffix = name.suffix,
		.team = call->team,
		.makes_job = name.is_training};
	enum status status = pipeline_create_log_stream(call->pipeline, &making, err);
	if (status == ERR_NOT_FOUND)
		return logs_no_group(err);
	if (status == ERR_CONFLICT)
		return aws_error(
			err, ERR_CONFLICT, "ResourceAlreadyExistsException", "The specified log stream already exists");
	return status;
}

enum status logs_delete_stream(struct aws_call *call, struct error *err)
{
	struct logs_stream stream;
	struct logs_name name;

	TRY(logs_stream_name(call, &name, err));
	TRY(logs_find_stream(call, &name, &stream, err));
	return pipeline_delete_log_stream(call->pipeline, name.job, stream.view.stream, call->team, err);
}

/* ---- describing ---- */

struct list {
	bool is_training, by_time, is_down;
	struct span group, prefix;
	bool has_after; /* behind this one */
	struct span after, after_job;
	int64_t after_ms;
	size_t limit;
	struct logs_stream *streams;
	size_t count, cap;
};

static int compare_names(const void *a, const void *b)
{
	const struct logs_stream *left = a, *right = b;
	int order = span_compare(left->name.job, right->name.job);

	return order ? order : span_compare(left->full, right->full);
}

static int compare_times(const void *a, const void *b)
{
	int64_t left = ((const struct logs_stream *)a)->view.last_ms,
		right = ((const struct logs_stream *)b)->view.last_ms;

	return left != right ? (left > right) - (left < right) : compare_names(a, b);
}

static int names_down(const void *a, const void *b)
{
	return compare_names(b, a);
}

static int times_down(const void *a, const void *b)
{
	return compare_times(b, a);
}

static int compare(const struct list *list, const struct logs_stream *a, const struct logs_stream *b)
{
	int order = list->by_time ? compare_times(a, b) : compare_names(a, b);

	return list->is_down ? -order : order;
}

static bool is_behind(const struct list *list, const struct logs_stream *stream)
{
	struct logs_stream after = {.full = list->after, .name.job = stream->name.job, .view.last_ms = list->after_ms};

	if (!list->has_after)
		return true;
	if (list->is_training)
		after.name.job = list->after_job;
	return compare(list, stream, &after) > 0;
}

static enum status add_job(struct aws_call *call, struct list *list, struct span job, struct error *err)
{
	struct logs_stream *streams;
	size_t count;

	TRY(logs_streams_of(call, list->is_training, job, list->prefix, &streams, &count, err));
	if (list->count + count > list->cap) {
		size_t cap = 2 * (list->count + count);
		struct logs_stream *more = arena_alloc(call->arena, cap * sizeof *more);
		if (!more)
			return error_no_memory(err);
		if (list->count)
			memcpy(more, list->streams, list->count * sizeof *more);
		list->streams = more;
		list->cap = cap;
	}
	for (size_t i = 0; i < count; i++)
		if (is_behind(list, &streams[i]))
			list->streams[list->count++] = streams[i];
	return OK;
}

/* Deleted between two reads: it has no streams. */
static enum status add_job_if_there(struct aws_call *call, struct list *list, struct span job, struct error *err)
{
	enum status status = add_job(call, list, job, err);

	return status == ERR_NOT_FOUND ? OK : status;
}

/* Jobs that a prefix with slashes names whole: SageMaker's have none in their names, those of other doors may. */
static enum status add_jobs_of_prefix(struct aws_call *call, struct list *list, struct error *err)
{
	for (size_t at = 1; at < list->prefix.len; at++)
		if (list->prefix.ptr[at] == '/')
			TRY(add_job_if_there(call, list, span_of(list->prefix.ptr, at), err));
	return OK;
}

static enum status add_jobs_by_name(struct aws_call *call, struct list *list, struct error *err)
{
	struct log_job_query query = {.order = list->is_down ? LOG_JOBS_BY_NAME_DOWN : LOG_JOBS_BY_NAME,
		.prefix = list->prefix,
		.after = list->has_after ? list->after_job : SPAN(""),
		.limit = JOBS_A_READ};
	struct log_job_row *rows;
	size_t count;

	if (list->has_after && span_starts_with(query.after, list->prefix))
		TRY(add_job_if_there(call, list, query.after, err));
	do {
		TRY(store_read_log_jobs(call->reader, call->arena, &query, &rows, &count, err));
		for (size_t i = 0; i < count && list->count <= list->limit; i++)
			TRY(add_job_if_there(call, list, rows[i].name, err));
		query.after = count ? rows[count - 1].name : query.after;
	} while (count == JOBS_A_READ && list->count <= list->limit);
	return OK;
}

static enum status add_newest_jobs(struct aws_call *call, struct list *list, struct error *err)
{
	static const enum log_job_order orders[] = {LOG_JOBS_RUNNING, LOG_JOBS_ENDED};
	struct log_job_query query = {.prefix = SPAN(""), .after = SPAN(""), .limit = NEWEST_JOBS};
	struct log_job_row *rows;
	size_t count;

	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		query.order = orders[i];
		TRY(store_read_log_jobs(call->reader, call->arena, &query, &rows, &count, err));
		for (size_t at = 0; at < count; at++)
			TRY(add_job_if_there(call, list, rows[at].name, err));
	}
	return OK;
}

/* In the list's order, so that it is cut where it is full. */
static enum status add_named_jobs(struct aws_call *call, struct list *list, struct error *err)
{
	if (!list->is_down)
		TRY(add_jobs_of_prefix(call, list, err));
	TRY(add_jobs_by_name(call, list, err));
	return list->is_down ? add_jobs_of_prefix(call, list, err) : OK;
}

static enum status gather(struct aws_call *call, struct list *list, struct error *err)
{
	enum status status = OK;

	if (!list->is_training)
		status = add_job(call, list, list->group, err);
	else if (list->by_time)
		return add_newest_jobs(call, list, err);
	else
		return add_named_jobs(call, list, err);
	return status == ERR_NOT_FOUND ? logs_no_group(err) : status;
}

static void write_stream(struct aws_call *call, const struct list *list, const struct logs_stream *stream)
{
	const struct log_stream_view *view = &stream->view;
	bool has_lines = view->lines > view->first_line && view->first_ms;
	char text[640];

	json_object(&call->w);
	json_put_span(&call->w, "logStreamName", stream->full);
	json_put_i64(&call->w, "creationTime", view->created_ms ? view->created_ms : view->first_ms);
	if (has_lines) {
		json_put_i64(&call->w, "firstEventTimestamp", view->first_ms);
		json_put_i64(&call->w, "lastEventTimestamp", view->last_ms);
		json_put_i64(
			&call->w, "lastIngestionTime", view->last_arrival_ms ? view->last_arrival_ms : view->last_ms);
	}
	snprintf(text, sizeof text, "%056" PRIu64, view->lines);
	json_put_text(&call->w, "uploadSequenceToken", text);
	snprintf(text, sizeof text, ":log-stream:%.*s", SPAN_ARGS(stream->full));
	logs_put_arn(call, "arn", list->group, text);
	json_put_i64(&call->w, "storedBytes", 0);
	json_object_end(&call->w);
}

static enum status write_page(struct aws_call *call, struct list *list, struct error *err)
{
	size_t shown = list->count < list->limit ? list->count : list->limit;
	AUTO_DONE(buf) token = BUF_INIT(2048);

	if (list->count)
		qsort(list->streams, list->count, sizeof *list->streams,
			list->by_time   ? list->is_down ? times_down : compare_times
			: list->is_down ? names_down
					: compare_names);
	json_key(&call->w, "logStreams");
	json_array(&call->w);
	for (size_t i = 0; i < shown; i++)
		write_stream(call, list, &list->streams[i]);
	json_array_end(&call->w);
	if (list->count > shown) {
		const struct logs_stream *last = &list->streams[shown - 1];
		buf_printf(&token, "%" PRId64 ":%zu:%.*s", last->view.last_ms,
			list->is_training ? last->name.job.len : 0, SPAN_ARGS(last->full));
		TRY(buf_status(&token, err));
		json_put_span(&call->w, "nextToken", buf_span(&token));
	}
	return OK;
}

/* "TIME:LENGTH:NAME" of the last one, LENGTH of its job's name. */
static enum status read_token(const struct aws_call *call, struct list *list, struct error *err)
{
	struct span token = SPAN(""), ms, len;
	uint64_t job_len;

	aws_string(call, "nextToken", &token);
	if (!token.len)
		return OK;
	list->after = token;
	list->has_after = span_next(&list->after, ':', &ms) && span_next(&list->after, ':', &len) && list->after.len &&
			  span_parse_i64(ms, &list->after_ms) && span_parse_u64(len, &job_len) &&
			  job_len <= list->after.len;
	if (!list->has_after)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException", "The specified nextToken is invalid.");
	list->after_job = span_of(list->after.ptr, (size_t)job_len);
	return OK;
}

enum status logs_describe_streams(struct aws_call *call, struct error *err)
{
	struct list list = {.prefix = SPAN(""), .limit = STREAMS_MAX};
	struct span order = SPAN("");
	int64_t limit = STREAMS_MAX;

	TRY(logs_group(call, &list.group, err));
	aws_string(call, "logStreamNamePrefix", &list.prefix);
	aws_string(call, "orderBy", &order);
	aws_integer(json_get(call->input, "limit"), &limit);
	list.is_training = logs_is_training(list.group);
	list.by_time = span_equal(order, SPAN("LastEventTime"));
	list.is_down = json_is_true(json_get(call->input, "descending"));
	list.limit = (size_t)limit;
	if (list.by_time && list.prefix.len)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
			"Cannot order by LastEventTime with a logStreamNamePrefix.");
	TRY(read_token(call, &list, err));
	TRY(gather(call, &list, err));
	return write_page(call, &list, err);
}
