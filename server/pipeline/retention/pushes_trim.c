/* Hashes of bodies that nobody sends again any more. */
#include "base/clock.h"
#include "pipeline/commit/plan.h"
#include "pipeline/retention/retention.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/pushes.h"

enum { KEPT_ROWS = 1000000, SLICE_ROWS = 4096, LOOK_MS = 10000 };

static enum status delete_pushes(void *context, struct store_tx *tx, struct error *err)
{
	const int64_t *until_ms = context;

	return store_delete_pushes(tx, *until_ms, SLICE_ROWS, err);
}

enum status pushes_trim(struct pipeline *pipeline, struct retention_state *state, struct store_reader *reader,
	bool *has_more, struct error *err)
{
	int64_t now_ms = clock_mono_ms(), until_ms = clock_wall_ms() - PUSH_KEPT_MS, oldest_ms, surplus_ms;

	if (state->pushes_ms && now_ms - state->pushes_ms < LOOK_MS)
		return OK;
	TRY(store_oldest_push(reader, KEPT_ROWS, &oldest_ms, &surplus_ms, err));
	until_ms = surplus_ms > until_ms ? surplus_ms : until_ms;
	state->pushes_ms = now_ms;
	if (oldest_ms > until_ms)
		return OK;
	state->pushes_ms = 0; /* there may be more of them */
	*has_more = true;
	return writer_execute(pipeline, delete_pushes, &until_ms, err);
}
