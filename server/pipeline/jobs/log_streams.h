/*
 * Job: log groups and streams as clients of CloudWatch Logs make, look for and delete them. A group is a job; a stream may be there
 *      before its first line, and keeps the name that it was made by.
 * Ownership: rows are in the caller's arena. Threads: workers.
 */
#pragma once

#include "store/log_streams.h"

struct pipeline;

/* ERR_CONFLICT: there is such a group, or a job of this name. */
enum status pipeline_create_log_group(
	struct pipeline *pipeline, struct span group, struct span team, struct error *err) MUST_CHECK;

struct log_stream_making {
	struct span job, stream, suffix;
	struct span team; /* of the token */
	bool makes_job; /* else ERR_NOT_FOUND when there is none */
};
/* ERR_CONFLICT: it is there, by this name. Of a stream that is there by another suffix this one is the name from now on. */
enum status pipeline_create_log_stream(
	struct pipeline *pipeline, const struct log_stream_making *making, struct error *err) MUST_CHECK;

/* Its lines so far are behind first_line from now on; text and points stay the job's. ERR_NOT_FOUND. */
enum status pipeline_delete_log_stream(
	struct pipeline *pipeline, struct span job, struct span stream, struct span team, struct error *err) MUST_CHECK;

struct log_stream_view {
	uint32_t stream_id; /* 0: it has no line yet */
	struct span stream, suffix;
	bool has_suffix_said; /* it was made by a client; else the suffix is "", and whoever shows it makes one */
	int64_t created_ms; /* 0: nobody made it as such */
	uint64_t first_line; /* lines below were deleted */
	uint64_t lines;
	int64_t first_ms, last_ms, last_arrival_ms; /* 0: not known yet */
};
/* Those that are there, by name; stream "": all. ERR_NOT_FOUND: the job. */
enum status pipeline_view_log_streams(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct log_stream_view **out, size_t *count, struct error *err) MUST_CHECK;

/* Of the rows that the store has, those that may have a line since then: what is in RAM is newer than the rows. */
size_t pipeline_keep_heard_jobs(struct pipeline *pipeline, struct log_job_row *rows, size_t count, int64_t since_ms);
