/*
 * Job: a job as SageMaker's TrainingJob record: its document, what was derived, and what came of it. All write fields into an
 *      object that is open.
 * Ownership: the arena's. Threads: worker threads.
 */
#pragma once

#include "pipeline/pipeline.h"

/* Where the ARNs of jobs that AWS gave none are. */
struct arn_place {
	const char *region, *account;
};

/* All of it, as Search has it. place: NULL: without an ARN, unless the document has one. */
enum status job_record_write(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct arn_place *place, const struct job_row *row, struct json_writer *w, struct error *err) MUST_CHECK;

/* What Search answers: Results, NextToken, TotalHits. No view of the database may be open. */
enum status job_record_search(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct arn_place *place, const struct job_search *search, struct json_writer *w,
	struct error *err) MUST_CHECK;

/* TrainingJobArn: the document's, else one of that place. */
enum status job_record_write_arn(const struct arn_place *place, const struct json *document, struct span name,
	struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- its parts ---- */
/* The document's own fields, but for those that are derived; with the settings. */
enum status job_record_write_document(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;
void job_record_write_transitions(const struct transition_row *rows, size_t count, struct json_writer *w);
/* The number of the last attempt. */
unsigned job_record_write_attempts(
	const struct transition_row *rows, size_t count, int64_t ended_ms, struct json_writer *w);
/* What came of it, where its document does not say it itself. */
enum status job_record_write_outcome(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;
/* HyperParameters and HyperParametersFromLog. */
enum status job_record_write_settings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;
