/* Job: log groups and log streams that were made as such, before or without a line. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct log_stream_row {
	int64_t job_id;
	struct span stream; /* as lines name it */
	struct span suffix; /* what was behind that in the name which the stream was made by: "-1700000000000"; "" */
	int64_t created_ms; /* 0: it was deleted since */
	uint64_t first_line; /* lines below were deleted with it */
};
enum status store_put_log_stream(struct store_tx *tx, const struct log_stream_row *row, struct error *err) MUST_CHECK;
/* stream "": all of the job, by name. */
enum status store_read_log_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span stream,
	struct log_stream_row **out, size_t *count, struct error *err) MUST_CHECK;

struct log_group_row {
	int64_t job_id;
	struct span name; /* read only: the job's */
	int64_t created_ms;
};
enum status store_put_log_group(struct store_tx *tx, const struct log_group_row *row, struct error *err) MUST_CHECK;
/* By name, behind `after`. */
enum status store_read_log_groups(struct store_reader *reader, struct arena *arena, struct span after, size_t limit,
	struct log_group_row **out, size_t *count, struct error *err) MUST_CHECK;
/* row->created_ms 0: the job is no group of its own. */
enum status store_read_log_group(
	struct store_reader *reader, int64_t job_id, int64_t *created_ms, struct error *err) MUST_CHECK;

/* Jobs whose streams are in the group of all training jobs. */
enum log_job_order {
	LOG_JOBS_BY_ID,
	LOG_JOBS_BY_NAME,
	LOG_JOBS_BY_NAME_DOWN,
	LOG_JOBS_RUNNING, /* the newest first */
	LOG_JOBS_ENDED, /* that ended last first */
};
struct log_job_query {
	enum log_job_order order;
	struct span prefix; /* of their names */
	int64_t after_id; /* of LOG_JOBS_BY_ID */
	int64_t since_ms; /* of LOG_JOBS_BY_ID: those that ended before are left out; 0: none */
	struct span
		after; /* of those by name: behind it; "": from the start. LOG_JOBS_BY_LAST_LINE has the newest first */
	size_t limit;
};
struct log_job_row {
	int64_t job_id;
	struct span name;
	int64_t last_line_ms; /* as it was flushed last; 0: not yet */
};
enum status store_read_log_jobs(struct store_reader *reader, struct arena *arena, const struct log_job_query *query,
	struct log_job_row **out, size_t *count, struct error *err) MUST_CHECK;
