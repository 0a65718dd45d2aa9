/*
 * Job: keeps what jobs are ranked by (pipeline/jobs/ranking.h) near what their summaries say. Threads: the maintenance thread.
 */
#pragma once

#include "state/streams/directory.h"
#include "store/job_facts.h"

struct pipeline;

/* Of a job's, in the order of their metrics, as they are read; NULL: none. */
const struct ranking_row *ranking_row_find(const struct ranking_row *rows, size_t count, struct span metric);

/* rows: the job's summaries as they were just written. A metric that has grown little since waits; past until_ms
 * (monotonic) the job is looked at again with its next flush. */
enum status rank_job(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	const struct summary_row *rows, size_t count, bool has_ended, int64_t until_ms, struct error *err) MUST_CHECK;
