/*
 * Derived metrics: points of series of their own. What a stream derives depends on its own points and on its job's settings
 * as they are known then; a replay knows all that were found before, of other streams too, and so may derive a few more
 * points at the beginning, never others. Their series have numbers of their own for that reason.
 */
#include "pipeline/consume/consume.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

enum status consume_derived(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err)
{
	struct derived_point made[DERIVED_POINTS_MAX];
	struct series_state *series;

	size_t count = derive_line(stream->derive, job_settings_inputs(stream->job->settings), arrival_ms, made);
	for (size_t i = 0; i < count; i++) {
		TRY(consume_find_derived(stream, made[i].derived, &series, err));
		TRY(consume_point(pipeline, stream, series, &made[i].point, arrival_ms, err));
	}
	if (!stream->said)
		atomic_fetch_add(&pipeline->figures.points, count);
	return OK;
}
