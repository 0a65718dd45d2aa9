#include "state/disk_room.h"

#include "base/log.h"
#include "base/queue.h"
#include "state/figures.h"
#include "state/pipeline_state.h"
#include "store/admin.h"

#include <inttypes.h>

/* 0: nothing is to be left free. */
static bool lacks(struct pipeline *pipeline, uint64_t free_bytes, uint64_t owed_bytes)
{
	uint64_t least = atomic_load(&pipeline->min_free_bytes);

	return least && free_bytes != STORE_FREE_UNKNOWN && free_bytes < least + owed_bytes;
}

enum status disk_room_look(struct pipeline *pipeline, struct error *err)
{
	struct pipeline_figures *figures = &pipeline->figures;
	uint64_t free_bytes, size_bytes, owed_bytes = store_owed_bytes(pipeline->options.store);

	TRY(store_disk_room(pipeline->options.store, &free_bytes, &size_bytes, err));
	bool is_low = lacks(pipeline, free_bytes, owed_bytes);
	atomic_store(&figures->disk_free_bytes, free_bytes);
	atomic_store(&figures->disk_owed_bytes, owed_bytes);
	if (atomic_exchange(&figures->is_disk_low, is_low) != is_low)
		log_line(is_low ? LOG_ERROR : LOG_INFO, is_low ? "disk_low" : "disk_has_room",
			"free_bytes=%" PRIu64 " owed_bytes=%" PRIu64, free_bytes, owed_bytes);
	return OK;
}

bool disk_room_lacks(struct pipeline *pipeline, size_t bytes)
{
	struct pipeline_figures *figures = &pipeline->figures;
	size_t items, waiting;

	if (atomic_load(&figures->is_disk_low))
		return true;
	queue_size(pipeline->queue, &items, &waiting);
	return lacks(pipeline, atomic_load(&figures->disk_free_bytes),
		atomic_load(&figures->disk_owed_bytes) + waiting + bytes);
}
