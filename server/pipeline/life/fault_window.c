#include "pipeline/life/fault_window.h"

#include "read/charts/place_read.h"
#include "store/faults.h"

enum status fault_window_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct history *history, int64_t at_ms, struct fault_window *out,
	struct error *err)
{
	struct worked worked = {INT64_MIN, INT64_MIN};
	int64_t began_ms = history_began_again_ms(history);
	bool may_be;

	*out = (struct fault_window){began_ms, INT64_MIN, at_ms + FAULT_AFTER_MS};
	TRY(store_has_hit_until(reader, row->job_id, out->to_ms, &may_be, err));
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
