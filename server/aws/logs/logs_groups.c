/* Log groups: the one of all training jobs, which is always there, and jobs that clients made as groups. */
#include "aws/logs/logs.h"
#include "base/clock.h"
#include "pipeline/jobs/deletion.h"
#include "pipeline/jobs/job_transition.h"
#include "pipeline/retention/retention_limits.h"
#include "store/jobs.h"
#include "store/retention.h"

static const int64_t day_ms = 24 * 60 * 60 * 1000;

enum { GROUPS_MAX = 50, GROUPS_READ = 200 };

/* ---- making and deleting ---- */

static enum status exists(struct error *err)
{
	return aws_error(err, ERR_CONFLICT, "ResourceAlreadyExistsException", "The specified log group already exists");
}

enum status logs_create_group(struct aws_call *call, struct error *err)
{
	struct span group;

	TRY(logs_group(call, &group, err));
	if (logs_is_training(group))
		return exists(err);
	enum status status = pipeline_create_log_group(call->pipeline, group, call->team, err);
	if (status == ERR_CONFLICT)
		return exists(err);
	TRY(status);
	return json_count(json_get(call->input, "tags")) ? logs_tag_group(call, err) : OK;
}

static enum status read_job(struct aws_call *call, struct span *group, struct job_row *row, struct error *err)
{
	TRY(logs_group(call, group, err));
	*row = (struct job_row){.job_id = 0};
	if (logs_is_training(*group))
		return OK;
	enum status status = store_read_job(call->reader, call->arena, *group, row, err);
	return status == ERR_NOT_FOUND ? logs_no_group(err) : status;
}

static enum status of_one_job(struct span group, const char *what, struct error *err)
{
	if (!logs_is_training(group))
		return OK;
	return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
		"the group %.*s holds all training jobs: %s of each job for itself", SPAN_ARGS(group), what);
}

/* AWS deletes a group whatever it does; a job that runs is stopped before. */
enum status logs_delete_group(struct aws_call *call, struct error *err)
{
	struct job_transition transition = {.secondary = SPAN("Stopped"),
		.message = SPAN("its log group was deleted"),
		.failure_reason = SPAN(""),
		.time_ms = clock_wall_ms()};
	struct span group;
	struct job_row row;

	TRY(read_job(call, &group, &row, err));
	TRY(of_one_job(group, "delete the log", err));
	if (!row.ended_ms)
		TRY(pipeline_add_transition(call->pipeline, group, call->team, &transition, NULL, err));
	const struct job_deletion deletion = {.job = group, .team = call->team, .now_ms = clock_wall_ms()};
	return pipeline_delete_job(call->pipeline, call->reader, &deletion, err);
}

/* ---- retention: the job's own limit of age, which keeps its pin and its limit of size ---- */

static enum status put_days(struct aws_call *call, int64_t days, struct error *err)
{
	struct retention retention;
	struct span group;
	struct job_row row;

	TRY(read_job(call, &group, &row, err));
	TRY(of_one_job(group, "set the retention", err));
	TRY(store_read_job_retention(call->reader, row.job_id, &retention, err));
	retention.max_age_ms = days * day_ms;
	return pipeline_limit_job(call->pipeline, group, call->team, &retention, err);
}

enum status logs_put_retention(struct aws_call *call, struct error *err)
{
	static const int64_t allowed[] = {1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827,
		2192, 2557, 2922, 3288, 3653};
	AUTO_DONE(buf) shown = BUF_INIT(32);
	int64_t days = 0;

	aws_integer(json_get(call->input, "retentionInDays"), &days);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		if (allowed[i] == days)
			return put_days(call, days, err);
	buf_printf(&shown, "%lld", (long long)days);
	return aws_violation(call, "retentionInDays", buf_span(&shown),
		"Member must satisfy enum value set: [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, "
		"1827, 2192, 2557, 2922, 3288, 3653]",
		err);
}

enum status logs_delete_retention(struct aws_call *call, struct error *err)
{
	return put_days(call, 0, err);
}

/* ---- describing ---- */

struct group_list {
	struct span prefix, pattern, after;
	const struct json *identifiers;
	size_t limit;
	struct log_group_row *rows; /* room for limit + 1 */
	size_t count;
};

static bool is_identified(const struct json *identifiers, struct span name)
{
	for (const struct json *item = json_first(identifiers); item; item = json_next(item))
		if (span_equal(logs_group_of(json_string_of(item)), name))
			return true;
	return false;
}

static bool is_wanted(const struct group_list *list, struct span name)
{
	if (span_compare(name, list->after) <= 0 || !span_starts_with(name, list->prefix))
		return false;
	if (list->identifiers && !is_identified(list->identifiers, name))
		return false;
	return !list->pattern.len || span_find(name, list->pattern) >= 0;
}

/* In its place by name; one too many falls off the end. */
static void offer(struct group_list *list, const struct log_group_row *row)
{
	size_t at = list->count;

	if (!is_wanted(list, row->name))
		return;
	for (size_t i = 0; i < list->count; i++)
		if (span_equal(list->rows[i].name, row->name))
			return;
	if (at > list->limit && span_compare(row->name, list->rows[at - 1].name) > 0)
		return;
	at -= at > list->limit;
	list->count = at + 1;
	for (; at && span_compare(row->name, list->rows[at - 1].name) < 0; at--)
		list->rows[at] = list->rows[at - 1];
	list->rows[at] = *row;
}

/* A job whose name is asked for whole can be written to and read as a group, too. */
static enum status offer_job(const struct aws_call *call, struct group_list *list, struct span name, struct error *err)
{
	struct job_row job;

	if (!name.len)
		return OK;
	enum status status = store_read_job(call->reader, call->arena, name, &job, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	offer(list, &(struct log_group_row){job.job_id, job.name, job.created_ms});
	return OK;
}

static enum status find_groups(const struct aws_call *call, struct group_list *list, struct error *err)
{
	struct span after = list->after;
	struct log_group_row *rows;
	size_t count;

	do {
		TRY(store_read_log_groups(call->reader, call->arena, after, GROUPS_READ, &rows, &count, err));
		for (size_t i = 0; i < count; i++)
			offer(list, &rows[i]);
		after = count ? rows[count - 1].name : after;
	} while (count == GROUPS_READ && list->count <= list->limit);
	offer(list, &(struct log_group_row){0, SPAN(LOGS_TRAINING_GROUP), 0});
	TRY(offer_job(call, list, list->prefix, err));
	for (const struct json *item = json_first(list->identifiers); item; item = json_next(item))
		TRY(offer_job(call, list, logs_group_of(json_string_of(item)), err));
	return OK;
}

static enum status write_group(struct aws_call *call, const struct log_group_row *row, struct error *err)
{
	struct retention retention = {.max_age_ms = 0};

	if (row->job_id)
		TRY(store_read_job_retention(call->reader, row->job_id, &retention, err));
	json_object(&call->w);
	json_put_span(&call->w, "logGroupName", row->name);
	json_put_i64(&call->w, "creationTime", row->created_ms);
	if (retention.max_age_ms >= day_ms)
		json_put_i64(&call->w, "retentionInDays", retention.max_age_ms / day_ms);
	json_put_i64(&call->w, "metricFilterCount", 0);
	logs_put_arn(call, "arn", row->name, ":*");
	logs_put_arn(call, "logGroupArn", row->name, "");
	json_put_i64(&call->w, "storedBytes", 0);
	json_put_text(&call->w, "logGroupClass", "STANDARD");
	json_object_end(&call->w);
	return OK;
}

enum status logs_describe_groups(struct aws_call *call, struct error *err)
{
	struct group_list list = {.prefix = SPAN(""), .pattern = SPAN(""), .after = SPAN("")};
	int64_t limit = GROUPS_MAX;

	aws_string(call, "logGroupNamePrefix", &list.prefix);
	aws_string(call, "logGroupNamePattern", &list.pattern);
	aws_string(call, "nextToken", &list.after);
	aws_integer(json_get(call->input, "limit"), &limit);
	const struct json *identifiers = json_get(call->input, "logGroupIdentifiers");
	list.identifiers = identifiers && json_kind(identifiers) == JSON_ARRAY ? identifiers : NULL; /* or null */
	if (list.prefix.len && list.pattern.len)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
			"logGroupNamePrefix and logGroupNamePattern are mutually exclusive parameters.");
	list.limit = (size_t)limit;
	list.rows = arena_alloc(call->arena, (list.limit + 2) * sizeof *list.rows);
	if (!list.rows)
		return error_no_memory(err);
	TRY(find_groups(call, &list, err));
	json_key(&call->w, "logGroups");
	json_array(&call->w);
	for (size_t i = 0; i < list.count && i < list.limit; i++)
		TRY(write_group(call, &list.rows[i], err));
	json_array_end(&call->w);
	if (list.count > list.limit)
		json_put_span(&call->w, "nextToken", list.rows[list.limit - 1].name);
	return OK;
}
