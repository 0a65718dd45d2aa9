/*
 * Job: a job as readers see it: what is sealed and what is in RAM, as one.
 * Ownership: a view lives in its arena. Threads: any.
 */
#pragma once

#include "state/streams/job_view.h"

struct job_state;
struct pipeline;

enum view_parts { VIEW_SERIES = 1, VIEW_TAILS = 2 };

/* stream "": all of them; metric "": all, else it (or the role so called, or what the log prints so) alone, without health. ERR_NOT_FOUND names the job or stream. */
enum status view_read_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct span stream, struct span metric, unsigned parts, struct job_view *out, struct error *err) MUST_CHECK;

/* The series of a view that has no tails, as it is now: with its tail. As it was, where it is not in RAM, or a back-fill took its place. */
enum status view_read_tail(struct arena *arena, struct job_state *job, uint32_t stream_id, struct series_view *series,
	struct error *err) MUST_CHECK;

/* When anything of the stream came last; 0: not since this start. */
int64_t view_stream_heard_ms(struct pipeline *pipeline, struct span job, struct span stream);
/* Log times of its lines and points, as job_view has them. False: it is not in memory, so that all of it is sealed. */
bool view_stream_times(
	struct pipeline *pipeline, struct span job, struct span stream, int64_t *first_ms, int64_t *last_ms);
/* Has a job points that are in memory, sealed or not? False also where nothing of it is in memory: then all of it is sealed. */
bool view_has_live_points(struct pipeline *pipeline, struct span job);
