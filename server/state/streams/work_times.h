/*
 * Job: when a job was at work (model/jobs/stretches.h), of its streams together. What the machine says of itself is no work.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "state/streams/job_view.h"

/* As far as the view tells: a stream of a time before stretches were kept counts from its first line to its last. */
void work_times_of(const struct job_view *view, struct stretches *out);
/* The job's earliest believed line or point; 0: there is none yet. */
int64_t job_believed_first_ms(const struct job_view *view);

/* The same, and of such older streams by what their blocks say. view: with its series. */
enum status work_times_read(
	struct store_reader *reader, struct job_view *view, struct stretches *out, struct error *err) MUST_CHECK;
/* Of one such stream; *stream is its view, with its series, and has its stretches afterwards. */
enum status work_times_rebuild(
	struct store_reader *reader, int64_t job_id, struct stream_view *stream, struct error *err) MUST_CHECK;
