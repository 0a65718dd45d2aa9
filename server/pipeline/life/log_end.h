/*
 * Job: where a job's log ends, as of everything that was acknowledged: what an end means that nobody dated. Summaries lag behind, so
 *      it is read of RAM and the store as a reader would.
 * Ownership: values. Threads: said at each.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#include <stdint.h>

struct pipeline;
struct store_reader;

struct log_end {
	int64_t last_ms; /* the last line or point of its work; 0: there is none */
	int64_t heard_ms; /* when its newest one came; 0: none did */
};

/* All of it was over when it came. */
bool log_end_is_past(const struct log_end *end);

/* Worker threads: until what was committed of the job is extracted, but for streams that are held up. ERR_BUSY: it takes too long (patience.h). */
enum status log_end_await(struct pipeline *pipeline, struct span job, struct error *err) MUST_CHECK;

/* Any thread, the writer with its transaction's reader. Of all its streams but the machines'. */
enum status log_end_of_job(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct log_end *out,
	struct error *err) MUST_CHECK;
/* Of one stream; where that has no line or point, of the job. */
enum status log_end_of_stream(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	uint32_t stream_id, struct log_end *out, struct error *err) MUST_CHECK;
