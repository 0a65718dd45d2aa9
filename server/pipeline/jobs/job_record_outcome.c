/* What came of a job, where its document does not say it itself: final metrics, attempts, where the model is. */
#include "pipeline/jobs/job_record.h"
#include "store/job_facts.h"
#include "store/jobs.h"

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

/* 0: it answers for a role; 1: it has one; 2: it has none. */
static int rank_of(const struct summary_row *row)
{
	return row->main_role != ROLE_OTHER ? 0 : row->role != ROLE_OTHER ? 1 : 2;
}

/* In this order: there may be hundreds, and SageMaker's list has forty places. */
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
	for (int rank = 0; rank <= 2; rank++)
		for (size_t i = 0; i < count && written < FINAL_METRICS_MAX; i++)
			if (rank_of(&rows[i]) == rank && rows[i].summary.count) {
				write_metric(&rows[i], w);
				written++;
			}
	json_array_end(w);
	return OK;
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
