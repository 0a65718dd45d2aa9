/*
 * Job: a stream as of one moment: its row and state as the sealer would write them, and where its points are. RAM first, then
 *      the store, as in view.c.
 * Ownership: in the caller's arena. Threads: any.
 */
#pragma once

#include "store/alerts.h"
#include "store/carry.h"
#include "store/jobs.h"
#include "store/streams.h"

struct pipeline;

struct carry_series {
	uint32_t series_id;
	struct span metric;
	uint64_t points; /* all */
	uint64_t sealed_points; /* those before the tail are in chunks */
	struct point *tail;
};

struct carry_snapshot {
	struct stream_row row; /* stream_id 0: there is no further stream */
	struct carry_series *series;
	size_t series_count;
	struct incident_row *unsaid; /* of points that wait here and are some in the copy; without a number */
	size_t unsaid_count;
};

/* Of the stream with the smallest number above `after`. Waits a moment for what is committed to be extracted. */
enum status carry_snapshot_after(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, uint32_t after, struct carry_snapshot *out, struct error *err) MUST_CHECK;
