/* Jobs: listed by what changed of late, described one by one, and told to the pipeline as EventBridge would tell them. */
#include "base/clock.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "collect/follow.h"
#include "pipeline/jobs/job_event.h"

enum { PAGE = 100, TAGS_PAGE = 50, BODY_BYTES = 64 << 10, TAGS_BYTES = 1 << 20, OVERLAP_MS = 120000 };

static void job_free(struct followed_job *job)
{
	if (!job)
		return;
	follow_free_streams(job);
	buf_done(&job->name);
	mem_free(job);
}

/* The job by its name, made when it is not there; NULL: out of memory. */
static struct followed_job *find_job(struct follow *follow, struct span name)
{
	struct followed_job *job = map_get(follow->jobs, name);

	if (job || !(job = mem_zeroed(sizeof *job)))
		return job;
	job->name = BUF_INIT(4096);
	buf_append_span(&job->name, name);
	if (job->name.failure == OK && map_put(follow->jobs, buf_span(&job->name), job))
		return job;
	job_free(job);
	return NULL;
}

static bool is_final(struct span status)
{
	return span_equal(status, SPAN("Completed")) || span_equal(status, SPAN("Failed")) ||
	       span_equal(status, SPAN("Stopped"));
}

static enum status ask_tags(
	struct follow *follow, struct span arn, struct span token, struct json **reply, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_BYTES);
	struct json_writer w = json_writer_on(&body);

	json_object(&w);
	json_put_span(&w, "ResourceArn", arn);
	json_put_i64(&w, "MaxResults", TAGS_PAGE);
	if (token.len)
		json_put_span(&w, "NextToken", token);
	json_object_end(&w);
	TRY(buf_status(&body, err));
	return calls_ask(follow->calls, CALLS_SAGEMAKER, "ListTags", buf_span(&body), reply, err);
}

/* As an event has them: {"key": "value"}. Who may not list tags collects without them. */
static enum status read_tags(struct follow *follow, struct span arn, struct json *detail, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TAGS_BYTES), token = BUF_INIT(BODY_BYTES);
	AUTO(json) tags = NULL;
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	do {
		AUTO(json) reply = NULL;
		enum status status = ask_tags(follow, arn, buf_span(&token), &reply, err);
		if (status == ERR_FORBIDDEN)
			return OK;
		TRY(status);
		const struct json *list = json_get(reply, "Tags");
		for (const struct json *tag = list ? json_first(list) : NULL; tag; tag = json_next(tag)) {
			json_key_span(&w, json_string_of(json_get(tag, "Key")));
			json_span(&w, json_string_of(json_get(tag, "Value")));
		}
		buf_reset(&token);
		buf_append_span(&token, json_string_of(json_get(reply, "NextToken")));
		TRY(buf_status(&token, err));
	} while (token.len);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&tags, buf_span(&text), err));
	return json_set_copy(detail, "Tags", tags) ? OK : error_no_memory(err);
}

/* Who may not ask, or is to ask later, need not ask for another job. */
bool follow_is_of_one(
	struct follow *follow, const struct followed_job *job, enum status status, const struct error *err)
{
	if (status == OK || status >= ERR_BUSY || status == ERR_FORBIDDEN)
		return false;
	atomic_fetch_add(&follow->figures->failures, 1);
	log_line(LOG_WARNING, "collect_refused", "job=\"%.*s\" reason=\"%s\"", SPAN_ARGS(buf_span(&job->name)),
		err->text);
	return true;
}

static enum status tell(struct follow *follow, struct json *detail, struct error *err)
{
	struct span arn = json_string_of(json_get(detail, "TrainingJobArn"));
	enum event_result result;

	if (arn.len)
		TRY(read_tags(follow, arn, detail, err));
	TRY(pipeline_take_event(follow->options->pipeline, detail, SPAN(""), clock_wall_ms(), &result, err));
	atomic_fetch_add(&follow->figures->jobs, 1);
	return OK;
}

static enum status describe(struct follow *follow, struct followed_job *job, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_BYTES);
	AUTO(json) detail = NULL;
	struct json_writer w = json_writer_on(&body);

	json_object(&w);
	json_put_span(&w, "TrainingJobName", buf_span(&job->name));
	json_object_end(&w);
	TRY(buf_status(&body, err));
	enum status status =
		calls_ask(follow->calls, CALLS_SAGEMAKER, "DescribeTrainingJob", buf_span(&body), &detail, err);
	if (status == ERR_NOT_FOUND)
		return OK; /* deleted since it was listed */
	TRY(status);
	job->is_over = is_final(json_string_of(json_get(detail, "TrainingJobStatus")));
	job->quiet_rounds = 0;
	return tell(follow, detail, err);
}

static enum status take_summary(struct follow *follow, const struct json *summary, struct error *err)
{
	struct span name = json_string_of(json_get(summary, "TrainingJobName"));
	double modified_s = 0;
	struct followed_job *job;

	if (!name.len || !json_number_of(json_get(summary, "LastModifiedTime"), &modified_s))
		return error_set(err, ERR_INVALID, "ListTrainingJobs tells of a job without name or LastModifiedTime");
	if (!(job = find_job(follow, name)))
		return error_no_memory(err);
	if (job->modified_s == modified_s)
		return OK;
	enum status status = describe(follow, job, err);
	if (status == OK || follow_is_of_one(follow, job, status, err)) {
		job->modified_s = modified_s; /* asked again when it changes */
		return OK;
	}
	return status;
}

static enum status ask_page(struct follow *follow, struct span token, struct json **reply, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_BYTES);
	struct json_writer w = json_writer_on(&body);
	const char *name = follow->options->name_contains;

	json_object(&w);
	json_put_double(&w, "LastModifiedTimeAfter", (double)follow->since_ms / 1000);
	json_put_text(&w, "SortBy", "CreationTime");
	json_put_text(&w, "SortOrder", "Ascending");
	json_put_i64(&w, "MaxResults", PAGE);
	if (name)
		json_put_text(&w, "NameContains", name);
	if (token.len)
		json_put_span(&w, "NextToken", token);
	json_object_end(&w);
	TRY(buf_status(&body, err));
	return calls_ask(follow->calls, CALLS_SAGEMAKER, "ListTrainingJobs", buf_span(&body), reply, err);
}

enum status follow_jobs(struct follow *follow, struct error *err)
{
	AUTO_DONE(buf) token = BUF_INIT(BODY_BYTES);
	int64_t begun_ms = clock_wall_ms();

	do {
		AUTO(json) reply = NULL;
		TRY(ask_page(follow, buf_span(&token), &reply, err));
		const struct json *list = json_get(reply, "TrainingJobSummaries");
		for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at))
			TRY(take_summary(follow, at, err));
		buf_reset(&token);
		buf_append_span(&token, json_string_of(json_get(reply, "NextToken")));
		TRY(buf_status(&token, err));
	} while (token.len);
	/* Clocks differ, and lists may lag: what changed just before is asked for again, and known by its time. */
	follow->since_ms = begun_ms - OVERLAP_MS;
	return OK;
}
