/*
 * Job: a job as SageMaker's TrainingJob record: its document, what was derived, and what came of it. All write fields into an
 *      object that is open.
 * Ownership: the arena's. Threads: worker threads.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/store.h"
#include "store/transitions.h"

struct pipeline;

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
/* start_from, end_from: "stated" by somebody, or "assumed" from lines, points and processes that ended. */
void job_record_write_sources(
	const struct job_row *row, const struct transition_row *rows, size_t count, struct json_writer *w);
/* attempts.c: one try of the job at its training. */
struct attempt {
	int64_t start_ms;
	int64_t end_ms; /* 0: the present one */
	struct span reason, message; /* of a further one: the status that began it, or "log" */
};
/* Those that statuses tell of, and those that its log shows (logged: the highest of a stream); by their start. */
enum status attempts_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, uint32_t logged, const struct transition_row *rows, size_t row_count,
	struct attempt **out, size_t *count, struct error *err) MUST_CHECK;
/* An end that was set by hand: what began behind it is no attempt; INT64_MAX: there is none. */
int64_t attempts_until_ms(const struct transition_row *rows, size_t count);
/* How many statuses alone tell of; 1 at least. */
unsigned attempts_told(const struct transition_row *rows, size_t count);
void job_record_write_attempts(const struct attempt *rows, size_t count, struct json_writer *w);
/* What came of it, where its document does not say it itself. */
enum status job_record_write_outcome(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;
/* HyperParameters and HyperParametersFromLog. */
enum status job_record_write_settings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;
