/* What came of a job, where its document does not say it itself: final metrics, attempts, where the model is. */
#include "pipeline/job_record.h"

enum { FINAL_METRICS_MAX = 40 };

static void write_metric(const struct summary_row *row, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "MetricName", row->metric);
	json_put_double(w, "Value", row->summary.last);
	json_key(w, "Timestamp");
	json_seconds(w, row->summary.last_ts_ms);
	json_object_end(w);
}

/* Of those that have a role first: there may be hundreds of others, and SageMaker's list has forty places. */
static enum status write_final_metrics(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	struct json_writer *w, struct error *err)
{
	struct job_counts counts;
	struct summary_row *rows;
	size_t count, written = 0;

	TRY(store_read_summaries(reader, arena, row->job_id, &counts, &rows, &count, err));
	if (!count)
		return OK;
	json_key(w, "FinalMetricDataList");
	json_array(w);
	for (int has_role = 1; has_role >= 0; has_role--)
		for (size_t i = 0; i < count && written < FINAL_METRICS_MAX; i++)
			if ((rows[i].role != ROLE_OTHER) == (has_role == 1) && rows[i].summary.count) {
				write_metric(&rows[i], w);
				written++;
			}
	json_array_end(w);
	return OK;
}

static bool is_one_of(struct span status, const char *const *names)
{
	for (; *names; names++)
		if (span_equal(status, span_from(*names)))
			return true;
	return false;
}

/* After it has trained, each of these begins a new attempt: cluster repair, spot interruption, RetryStrategy. */
static bool begins_attempt(const struct transition_row *row)
{
	static const char *const names[] = {"Restarting", "Interrupted", "Starting", "Pending", NULL};

	return is_one_of(row->status, names);
}

static void write_attempt(
	unsigned number, const struct transition_row *from, int64_t end_ms, bool is_again, struct json_writer *w)
{
	json_object(w);
	json_put_i64(w, "attempt", number);
	json_put_i64(w, "start_ms", from->start_ms);
	if (end_ms)
		json_put_i64(w, "end_ms", end_ms);
	if (is_again) {
		json_put_span(w, "reason", from->status);
		json_put_span(w, "message", from->message);
	}
	json_object_end(w);
}

unsigned job_record_write_attempts(
	const struct transition_row *rows, size_t count, int64_t ended_ms, struct json_writer *w)
{
	const struct transition_row *from = rows;
	bool has_trained = false;
	unsigned number = 1;

	json_key(w, "attempt_list");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		if (has_trained && begins_attempt(&rows[i])) {
			write_attempt(number, from, rows[i].start_ms, number > 1, w);
			number++;
			from = &rows[i];
			has_trained = false;
		}
		has_trained |= span_equal(rows[i].status, SPAN("Training"));
	}
	if (count)
		write_attempt(number, from, ended_ms, number > 1, w);
	json_array_end(w);
	return number;
}

/* Where SageMaker puts it: https://docs.aws.amazon.com/sagemaker/latest/dg/cdf-training.html */
static enum status write_artifacts(
	const struct json *document, const struct job_row *row, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) uri = BUF_INIT(8192);
	struct span path = json_string_of(json_get_path(document, "OutputDataConfig.S3OutputPath"));
	struct span compression = json_string_of(json_get_path(document, "OutputDataConfig.CompressionType"));

	if (!path.len || !span_equal(row->status, SPAN("Completed")))
		return OK;
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	buf_append_span(&uri, path);
	buf_append_char(&uri, '/');
	buf_append_span(&uri, row->name);
	buf_append_text(&uri, span_equal(compression, SPAN("NONE")) ? "/output/model/" : "/output/model.tar.gz");
	TRY(buf_status(&uri, err));
	json_key(w, "ModelArtifacts");
	json_object(w);
	json_put_span(w, "S3ModelArtifacts", buf_span(&uri));
	json_object_end(w);
	return OK;
}

enum status job_record_write_outcome(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct json *document, struct json_writer *w, struct error *err)
{
	if (row->ended_ms && !json_get(document, "FinalMetricDataList"))
		TRY(write_final_metrics(reader, arena, row, w, err));
	return json_get(document, "ModelArtifacts") ? OK : write_artifacts(document, row, w, err);
}
