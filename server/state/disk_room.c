#include "state/disk_room.h"

#include "base/log.h"
#include "state/figures.h"
#include "state/pipeline_state.h"
#include "store/admin.h"

#include <inttypes.h>

enum { TIMES_WRITTEN = 2 }; /* into the log, and into the file: both are there until the log is written over */

/* 0: nothing is to be left free. */
static bool lacks(struct pipeline *pipeline, uint64_t free_bytes, uint64_t owed_bytes)
{
	uint64_t least = atomic_load(&pipeline->min_free_bytes);

	return least && free_bytes != STORE_FREE_UNKNOWN && free_bytes < least + owed_bytes;
}

enum status disk_room_look(struct pipeline *pipeline, struct error *err)
{
	struct pipeline_figures *figures = &pipeline->figures;
	uint64_t over_bytes = atomic_exchange(&pipeline->room_given_back_bytes, 0); /* before the look: it has them */
	uint64_t free_bytes, size_bytes, owed_bytes = store_owed_bytes(pipeline->options.store);
	enum status status = store_disk_room(pipeline->options.store, &free_bytes, &size_bytes, err);

	if (status != OK) {
		atomic_fetch_add(&pipeline->room_given_back_bytes, over_bytes);
		return status;
	}
	bool is_low = lacks(pipeline, free_bytes, owed_bytes);
	atomic_store(&figures->disk_free_bytes, free_bytes);
	atomic_store(&figures->disk_owed_bytes, owed_bytes);
	atomic_fetch_sub(&pipeline->room_taken_bytes, over_bytes);
	if (atomic_exchange(&figures->is_disk_low, is_low) != is_low)
		log_line(is_low ? LOG_ERROR : LOG_INFO, is_low ? "disk_low" : "disk_has_room",
			"free_bytes=%" PRIu64 " owed_bytes=%" PRIu64, free_bytes, owed_bytes);
	return OK;
}

bool disk_room_take(struct pipeline *pipeline, size_t bytes)
{
	struct pipeline_figures *figures = &pipeline->figures;
	uint64_t more_bytes = (uint64_t)TIMES_WRITTEN * bytes;
	uint64_t taken_bytes = atomic_fetch_add(&pipeline->room_taken_bytes, more_bytes) + more_bytes;

	if (!atomic_load(&figures->is_disk_low) && !lacks(pipeline, atomic_load(&figures->disk_free_bytes),
							   atomic_load(&figures->disk_owed_bytes) + taken_bytes))
		return true;
	atomic_fetch_sub(&pipeline->room_taken_bytes, more_bytes);
	return false;
}

void disk_room_give_back(struct pipeline *pipeline, size_t bytes)
{
	atomic_fetch_add(&pipeline->room_given_back_bytes, (uint64_t)TIMES_WRITTEN * bytes);
}
