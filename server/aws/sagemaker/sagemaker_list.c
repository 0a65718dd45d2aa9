/* ListTrainingJobs: a search of jobs by a few filters. They apply before paging: a page is short only where it is the last. */
#include "aws/sagemaker/sagemaker.h"
#include "base/text/iso8601.h"
#include "model/query.h"
#include "pipeline/life/pools.h"
#include "query/query.h"
#include "read/search_jobs.h"
#include "store/jobs.h"
#include "store/search.h"

enum { RESULTS_DEFAULT = 10 };

static void put_text(const struct aws_call *call, const char *member, const char *term, struct buf *query)
{
	struct span value = SPAN("");

	aws_string(call, member, &value);
	if (!value.len)
		return;
	buf_append_text(query, term);
	buf_append_char(query, '"');
	buf_append_span(query, value); /* its shape has no quote */
	buf_append_text(query, "\" ");
}

static void put_time(const struct aws_call *call, const char *member, const char *term, struct buf *query)
{
	char text[ISO8601_BYTES];
	int64_t ms;

	if (!aws_time(json_get(call->input, member), &ms))
		return;
	iso8601_format(ms, text);
	buf_printf(query, "%s%s ", term, text);
}

static enum status read_filters(const struct aws_call *call, struct query_node **out, struct error *err)
{
	AUTO_DONE(buf) query = BUF_INIT(QUERY_MAX_BYTES);

	put_text(call, "NameContains", "name:", &query);
	put_text(call, "StatusEquals", "status=", &query);
	put_text(call, "WarmPoolStatusEquals", "pool=", &query);
	put_text(call, "TrainingPlanArnEquals", "ResourceConfig.TrainingPlanArn=", &query);
	put_time(call, "CreationTimeAfter", "created>", &query);
	put_time(call, "CreationTimeBefore", "created<", &query);
	put_time(call, "LastModifiedTimeAfter", "modified>", &query);
	put_time(call, "LastModifiedTimeBefore", "modified<", &query);
	TRY(buf_status(&query, err));
	struct span text = arena_copy(call->arena, buf_span(&query)); /* the tree's spans lie in it */
	if (!text.ptr)
		return error_no_memory(err);
	return query_parse(out, text, call->now_ms, call->arena, err);
}

static struct span read_sort(const struct aws_call *call)
{
	static const struct {
		const char *name, *ascending, *descending;
	} sorts[] = {
		{"Name", "name", "-name"}, {"CreationTime", "created", "-created"}, {"Status", "status", "-status"}};
	struct span by = SPAN("CreationTime"), order = SPAN("Ascending");
	size_t at = 0;

	aws_string(call, "SortBy", &by);
	aws_string(call, "SortOrder", &order);
	while (!span_equal(by, span_from(sorts[at].name)))
		at++; /* its shape knows these alone */
	return span_from(span_equal(order, SPAN("Descending")) ? sorts[at].descending : sorts[at].ascending);
}

static void put_seconds(struct json_writer *w, const char *member, int64_t ms)
{
	if (!ms)
		return;
	json_key(w, member);
	json_seconds(w, ms);
}

static enum status put_pool(
	struct aws_call *call, const struct job_row *row, const struct json *document, struct error *err)
{
	const struct json *reported = json_get(document, "WarmPoolStatus");
	AUTO_DONE(buf) text = BUF_INIT(64 << 10);

	if (!reported)
		return pools_write_status(call->reader, call->arena, row->job_id, call->now_ms, &call->w, err);
	json_print(reported, &text);
	TRY(buf_status(&text, err));
	json_key(&call->w, "WarmPoolStatus");
	json_raw(&call->w, buf_span(&text));
	return OK;
}

static enum status put_summary(struct aws_call *call, const struct job_row *row, struct error *err)
{
	const struct arn_place place = sagemaker_place(call);
	AUTO(json) document = NULL;
	struct json_writer *w = &call->w;

	TRY(json_parse(&document, row->document, err));
	struct span plan = json_string_of(json_get_path(document, "ResourceConfig.TrainingPlanArn"));
	json_object(w);
	json_put_span(w, "TrainingJobName", row->name);
	TRY(job_record_write_arn(&place, document, row->name, w, err));
	put_seconds(w, "CreationTime", row->created_ms);
	put_seconds(w, "TrainingEndTime", row->ended_ms);
	put_seconds(w, "LastModifiedTime", row->modified_ms);
	json_put_span(w, "TrainingJobStatus", row->status);
	json_put_span(w, "SecondaryStatus", row->secondary);
	TRY(put_pool(call, row, document, err));
	if (plan.len)
		json_put_span(w, "TrainingPlanArn", plan);
	json_object_end(w);
	return OK;
}

static enum status put_page(struct aws_call *call, const struct job_search *search, struct error *err)
{
	struct job_search_result result;

	TRY(store_search_jobs(call->reader, call->arena, search, &result, err));
	json_key(&call->w, "TrainingJobSummaries");
	json_array(&call->w);
	for (size_t i = 0; i < result.count; i++)
		TRY(put_summary(call, &result.rows[i], err));
	json_array_end(&call->w);
	if (result.next_cursor.len)
		json_put_span(&call->w, "NextToken", result.next_cursor);
	return OK;
}

enum status sagemaker_list_training_jobs(struct aws_call *call, struct error *err)
{
	struct query_node *query = NULL;
	struct job_search search = {
		.sort = read_sort(call), .cursor = SPAN(""), .limit_ms = call->options->job_search_ms};
	int64_t most = RESULTS_DEFAULT;

	TRY(read_filters(call, &query, err));
	aws_string(call, "NextToken", &search.cursor);
	aws_integer(json_get(call->input, "MaxResults"), &most);
	search.limit = (size_t)most;
	search.query = query;
	store_reader_deadline(call->reader, search.limit_ms + SEARCH_ROWS_MS);
	TRY(store_reader_begin(call->reader, err));
	enum status status = put_page(call, &search, err);
	store_reader_end(call->reader);
	return status;
}
