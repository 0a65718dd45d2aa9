/* A job's change of state as EventBridge tells it: "SageMaker Training Job State Change". */
#include "alert/rule.h"
#include "base/text/iso8601.h"
#include "store/jobs.h"
#include "store/transitions.h"

enum { DETAIL_MAX_BYTES = 128 * 1024, ARN_MAX_BYTES = 8192 };

static bool is_ours(struct span key)
{
	static const char *const keys[] = {"TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "SecondaryStatus",
		"FailureReason", "CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime",
		"SecondaryStatusTransitions", "Tags"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (span_equal(key, span_from(keys[i])))
			return true;
	return false;
}

/* A list in a document, an object in an event. */
static void put_tags(struct json_writer *w, const struct json *tags)
{
	json_key(w, "Tags");
	json_object(w);
	for (const struct json *at = json_first(tags); at; at = json_next(at)) {
		struct span key = json_string_of(json_get(at, "Key"));
		if (!key.len)
			continue;
		json_key_span(w, key);
		json_span(w, json_string_of(json_get(at, "Value")));
	}
	json_object_end(w);
}

static void put_transitions(struct json_writer *w, const struct transition_row *rows, size_t count)
{
	json_key(w, "SecondaryStatusTransitions");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_span(w, "Status", rows[i].status);
		json_put_i64(w, "StartTime", rows[i].start_ms);
		if (rows[i].end_ms)
			json_put_i64(w, "EndTime", rows[i].end_ms);
		json_put_span(w, "StatusMessage", rows[i].message);
		json_object_end(w);
	}
	json_array_end(w);
}

/* The document's, else one of that place: then *place is that of the ARN. */
static enum status make_arn(
	struct buf *out, struct rule_place *place, const struct json *document, struct span job, struct error *err)
{
	struct span arn = json_string_of(json_get(document, "TrainingJobArn")), rest = arn, part;

	if (!arn.len)
		buf_printf(out, "arn:aws:sagemaker:%.*s:%.*s:training-job/%.*s", SPAN_ARGS(place->region),
			SPAN_ARGS(place->account), SPAN_ARGS(job));
	buf_append_span(out, arn);
	for (int i = 0; i <= 4 && rest.len && span_next(&rest, ':', &part);
		i++) { /* arn:aws:sagemaker:REGION:ACCOUNT:… */
		place->region = i == 3 ? part : place->region;
		place->account = i == 4 ? part : place->account;
	}
	return buf_status(out, err);
}

static void put_state(struct json_writer *w, const struct job_row *job, struct span arn)
{
	json_put_span(w, "TrainingJobName", job->name);
	json_put_span(w, "TrainingJobArn", arn);
	json_put_span(w, "TrainingJobStatus", job->status);
	json_put_span(w, "SecondaryStatus", job->secondary);
	if (job->failure_reason.len)
		json_put_span(w, "FailureReason", job->failure_reason);
	json_put_i64(w, "CreationTime", job->created_ms);
	if (job->started_ms)
		json_put_i64(w, "TrainingStartTime", job->started_ms);
	if (job->ended_ms)
		json_put_i64(w, "TrainingEndTime", job->ended_ms);
	json_put_i64(w, "LastModifiedTime", job->modified_ms);
}

/* A document that is too large for a message is left out. */
static void put_detail(struct json_writer *w, const struct job_row *job, struct span arn, const struct json *document,
	const struct transition_row *rows, size_t count)
{
	json_key(w, "detail");
	json_object(w);
	put_state(w, job, arn);
	if (job->document.len <= DETAIL_MAX_BYTES)
		for (const struct json *at = json_first(document); at; at = json_next(at)) {
			AUTO_DONE(buf) value = BUF_INIT(2 * DETAIL_MAX_BYTES);
			if (is_ours(json_key_of(at)))
				continue;
			json_print(at, &value);
			json_key_span(w, json_key_of(at));
			json_raw(w, buf_span(&value));
		}
	put_tags(w, json_get(document, "Tags"));
	put_transitions(w, rows, count);
	json_object_end(w);
}

enum status rule_write_state_change(const struct job_row *job, const struct transition_row *rows, size_t count,
	const struct rule_place *place, const char *id, int64_t now_ms, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) arn = BUF_INIT(ARN_MAX_BYTES);
	struct rule_place of_job = *place;
	struct json_writer w = json_writer_on(out);
	AUTO(json) document = NULL;
	char now[ISO8601_BYTES];

	TRY(json_parse(&document, job->document.len ? job->document : SPAN("{}"), err));
	TRY(make_arn(&arn, &of_job, document, job->name, err));
	iso8601_format(now_ms, now);
	json_object(&w);
	json_put_text(&w, "version", "0");
	json_put_text(&w, "id", id);
	json_put_text(&w, "detail-type", "SageMaker Training Job State Change");
	json_put_text(&w, "source", "aws.sagemaker");
	json_put_span(&w, "account", of_job.account);
	json_put_text(&w, "time", now);
	json_put_span(&w, "region", of_job.region);
	json_key(&w, "resources");
	json_array(&w);
	json_span(&w, buf_span(&arn));
	json_array_end(&w);
	put_detail(&w, job, buf_span(&arn), document, rows, count);
	json_object_end(&w);
	return buf_status(out, err);
}
