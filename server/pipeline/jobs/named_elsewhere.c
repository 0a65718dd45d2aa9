#include "pipeline/jobs/named_elsewhere.h"

#include "base/clock.h"
#include "pipeline/jobs/life_run.h"
#include "store/faults.h"

enum { NAMED_MAX = 64 };

static enum status name_one(
	struct pipeline *pipeline, struct store_tx *tx, int64_t job_id, struct life *life, struct error *err)
{
	struct job_row row;
	bool is_later;

	TRY(store_read_job_by_id(store_tx_reader(tx), life->arena, job_id, &row, err));
	TRY(life_put_off_name(pipeline, store_tx_reader(tx), job_id, &is_later, err));
	return is_later ? OK : life_write(life, tx, &row, false, err);
}

enum status named_elsewhere_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, int64_t job_id,
	uint32_t stream_id, uint64_t line, struct named_elsewhere *out, struct error *err)
{
	int64_t *jobs;
	size_t count, had = out->count;

	TRY(store_read_failed_by(
		store_tx_reader(tx), arena, job_id, stream_id, line, FAULT_AFTER_MS, NAMED_MAX, &jobs, &count, err));
	if (!count)
		return OK;
	struct life *lives = arena_alloc(arena, (had + count) * sizeof *lives);
	if (!lives)
		return error_no_memory(err);
	for (size_t i = 0; i < had; i++)
		lives[i] = out->lives[i];
	for (size_t i = 0; i < count; i++) {
		lives[had + i] = (struct life){.pipeline = pipeline, .arena = arena, .now_ms = clock_wall_ms()};
		TRY(name_one(pipeline, tx, jobs[i], &lives[had + i], err));
	}
	*out = (struct named_elsewhere){lives, had + count};
	return OK;
}

void named_elsewhere_say(const struct named_elsewhere *named)
{
	for (size_t i = 0; i < named->count; i++)
		life_say(&named->lives[i]);
}
