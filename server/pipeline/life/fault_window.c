#include "pipeline/life/fault_window.h"

#include "read/charts/place_read.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_ends.h"
#include "store/faults.h"

/* Of its own log, or of another's about one of its machines. */
static enum status has_any(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct fault_window *window, bool *out, struct error *err)
{
	const struct stream_ends ends = stream_ends_of(pipeline->directory, FAULT_BROKE_OFF_MS);
	struct said_hit *told;
	size_t count;

	TRY(store_has_hit_until(reader, job_id, window->to_ms, out, err));
	if (*out)
		return OK;
	TRY(store_read_told_elsewhere(
		reader, arena, &ends, job_id, SPAN(""), window->from_ms, window->to_ms, 1, &told, &count, err));
	*out = count > 0;
	return OK;
}

enum status fault_window_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct history *history, int64_t at_ms, struct fault_window *out,
	struct error *err)
{
	struct worked worked = {INT64_MIN, INT64_MIN};
	int64_t began_ms = history_began_again_ms(history);
	bool may_be;

	*out = (struct fault_window){began_ms, INT64_MIN, at_ms + FAULT_AFTER_MS};
	TRY(has_any(pipeline, reader, arena, row->job_id, out, &may_be, err));
	if (!may_be)
		return OK;
	enum status status = worked_read(pipeline, reader, arena, row->name, history, at_ms, &worked, err);
	if (status != OK && status != ERR_IO && status != ERR_CONFLICT)
		return status; /* that points cannot be read keeps no job from ending */
	if (status == OK) {
		out->last_step_ms = worked.last_step_ms;
		out->from_ms = worked.went_on_ms > began_ms ? worked.went_on_ms : began_ms;
	}
	return OK;
}
