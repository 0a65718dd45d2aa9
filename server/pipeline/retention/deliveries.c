/* The log of webhook deliveries is kept for a while only: what was done or given up leaves it by age. */
#include "base/clock.h"
#include "pipeline/retention/retention.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"

enum { SLICE_ROWS = 64 };

struct settled {
	int64_t before_ms;
};

static enum status write_settled(void *context, struct store_tx *tx, struct error *err)
{
	const struct settled *settled = context;

	TRY(store_delete_notices(tx, settled->before_ms, SLICE_ROWS, err));
	return store_delete_settled(tx, settled->before_ms, SLICE_ROWS, err);
}

enum status deliveries_trim(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	struct settled settled = {clock_wall_ms() - pipeline->options.delivery_age_ms};
	int64_t oldest_ms;

	if (!pipeline->options.delivery_age_ms)
		return OK;
	TRY(store_oldest_settled_ms(reader, &oldest_ms, err));
	if (oldest_ms >= settled.before_ms)
		return OK;
	*has_more = true;
	return writer_execute(pipeline, write_settled, &settled, err);
}
