#include "pipeline/jobs/job_record.h"

#include "base/clock.h"
#include "model/jobs/by_hand.h"
#include "pipeline/jobs/job_json.h"
#include "pipeline/life/pools.h"
#include "read/search_jobs.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/transitions.h"

static bool is_derived(struct span key)
{
	static const char *const names[] = {"TrainingJobName", "TrainingJobStatus", "SecondaryStatus", "FailureReason",
		"FailureClass", "attempt_list", "CreationTime", "TrainingStartTime", "TrainingEndTime",
		"LastModifiedTime", "SecondaryStatusTransitions", "TrainingTimeInSeconds", "BillableTimeInSeconds",
		"team", "streams", "lines", "last_line_ms", "last_heard_ms", "silent_since_ms", "continues",
		"continued_by", "parent_job", "child_jobs", "has_more_child_jobs", "open_incidents", "metrics",
		"attempts", "HyperParametersFromLog", "total_steps", "total_steps_from", "eta_ms", "goodput", "cost",
		"currency", "odd_times", "paused_seconds", "worked_until_ms", "nodes", "nodes_from",
		"instance_type_from", "price_from", "cost_estimated", "unpriced_types", "start_from", "end_from",
		"definitions_damaged"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, span_from(names[i])))
			return true;
	return false;
}

/* The document's own fields, but for those that are derived here. */
enum status job_record_write_document(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct json *document, struct json_writer *w, struct error *err)
{
	TRY(job_record_write_settings(reader, arena, row->job_id, document, w, err));
	if (!json_get(document, "WarmPoolStatus")) /* what is reported is not worked out */
		TRY(pools_write_status(reader, arena, row->job_id, clock_wall_ms(), w, err));
	for (const struct json *field = json_first(document); field; field = json_next(field)) {
		AUTO_DONE(buf) text = BUF_INIT(4 << 20);
		if (is_derived(json_key_of(field)) || span_equal(json_key_of(field), SPAN("HyperParameters")))
			continue;
		json_print(field, &text);
		TRY(buf_status(&text, err));
		json_key_span(w, json_key_of(field));
		json_raw(w, buf_span(&text));
	}
	return OK;
}

void job_record_write_transitions(const struct transition_row *rows, size_t count, struct json_writer *w)
{
	json_key(w, "SecondaryStatusTransitions");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_span(w, "Status", rows[i].status);
		json_key(w, "StartTime");
		json_seconds(w, rows[i].start_ms);
		if (rows[i].end_ms) {
			json_key(w, "EndTime");
			json_seconds(w, rows[i].end_ms);
		}
		json_put_span(w, "StatusMessage", rows[i].message); /* SageMaker's SDK wants it, be it empty */
		json_object_end(w);
	}
	json_array_end(w);
}

static void put_source(const char *key, const struct transition_row *row, struct json_writer *w)
{
	json_put_text(w, key,
		row->source == SOURCE_BY_HAND || row->source == SOURCE_ASSUMED_BY_HAND ? "by_hand"
		: row->source == SOURCE_STATED                                         ? "stated"
										       : "assumed");
}

void job_record_write_sources(
	const struct job_row *row, const struct transition_row *rows, size_t count, struct json_writer *w)
{
	size_t training = 0;

	while (training < count && !span_equal(rows[training].status, SPAN("Training")))
		training++;
	if (row->started_ms && training < count)
		put_source("start_from", &rows[training], w);
	if (row->ended_ms && count)
		put_source("end_from", &rows[count - 1], w);
}

enum status job_record_write_arn(const struct arn_place *place, const struct json *document, struct span name,
	struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) arn = BUF_INIT(1024);
	struct span stated = json_string_of(json_get(document, "TrainingJobArn"));

	if (!stated.len) {
		buf_printf(&arn, "arn:aws:sagemaker:%s:%s:training-job/", place->region, place->account);
		buf_append_span(&arn, name);
		TRY(buf_status(&arn, err));
		stated = buf_span(&arn);
	}
	json_put_span(w, "TrainingJobArn", stated);
	return OK;
}

enum status job_record_write(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct arn_place *place, const struct job_row *row, struct json_writer *w, struct error *err)
{
	AUTO(json) document = NULL;
	struct transition_row *rows;
	size_t count;

	TRY(json_parse(&document, row->document, err));
	TRY(by_hand_settle_settings(document, err));
	if (place && !json_get(document, "TrainingJobArn"))
		TRY(job_record_write_arn(place, document, row->name, w, err));
	TRY(store_read_transitions(reader, arena, row->job_id, &rows, &count, err));
	TRY(pipeline_write_derived(pipeline, reader, arena, row, document, w, err));
	job_record_write_transitions(rows, count, w);
	TRY(job_record_write_outcome(reader, arena, row, document, w, err));
	return job_record_write_document(reader, arena, row, document, w, err);
}

static enum status write_results(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct arn_place *place, const struct job_search *search, struct json_writer *w, struct error *err)
{
	struct job_search_result result;

	TRY(store_search_jobs(reader, arena, search, &result, err));
	json_key(w, "Results");
	json_array(w);
	for (size_t i = 0; i < result.count; i++) {
		json_object(w);
		json_key(w, "TrainingJob");
		json_object(w);
		TRY(job_record_write(pipeline, reader, arena, place, &result.rows[i], w, err));
		json_object_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	if (result.next_cursor.len)
		json_put_span(w, "NextToken", result.next_cursor);
	json_key(w, "TotalHits");
	json_object(w);
	json_put_i64(w, "Value", (int64_t)result.total);
	json_put_text(w, "Relation", result.is_partial ? "GreaterThanOrEqualTo" : "EqualTo");
	json_object_end(w);
	if (result.is_partial)
		json_put_bool(w, "partial", true);
	return OK;
}

enum status job_record_search(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct arn_place *place, const struct job_search *search, struct json_writer *w, struct error *err)
{
	store_reader_deadline(reader, search->limit_ms + SEARCH_ROWS_MS);
	TRY(store_reader_begin(reader, err));
	enum status status = write_results(pipeline, reader, arena, place, search, w, err);
	store_reader_end(reader);
	return status;
}
