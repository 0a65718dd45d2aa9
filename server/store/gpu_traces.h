/* Job: what profilers' traces say of a job's GPUs. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct gpu_trace_row {
	struct span stream, trace;
	struct span document; /* of model/jobs/gpu_trace.h */
	int64_t received_ms;
	struct span author;
};

/* By its job, stream and trace: replaces. */
enum status store_put_gpu_trace(
	struct store_tx *tx, int64_t job_id, const struct gpu_trace_row *row, struct error *err) MUST_CHECK;
enum status store_count_gpu_traces(
	struct store_reader *reader, int64_t job_id, uint64_t *count, struct error *err) MUST_CHECK;
/* In the order (stream, trace), behind `after`; NULL: from the first on. */
enum status store_read_gpu_traces(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct gpu_trace_row *after, size_t limit, struct gpu_trace_row **out, size_t *count,
	struct error *err) MUST_CHECK;
enum status store_delete_gpu_trace(struct store_tx *tx, int64_t job_id, struct span stream, struct span trace,
	size_t *deleted, struct error *err) MUST_CHECK;
