#include "pipeline/alert/each_job.h"

#include "base/clock.h"
#include "base/log.h"
#include "state/pipeline_state.h"

#include <stdatomic.h>

enum { FIRST_LOOK_MS = 5000, LAST_LOOK_MS = 10 * 60 * 1000 };

void each_job_look(struct pipeline *pipeline, struct store_reader *reader, const char *event,
	enum status (*look)(
		struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err))
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count;

	if (directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		enum status status = atomic_load(&jobs[i]->is_deleted) ? OK : look(pipeline, reader, jobs[i], &err);
		if (status != OK && status != ERR_UNAVAILABLE && status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, event, "job=\"%s\" error=\"%s\"", jobs[i]->name, err.text);
		job_unref(jobs[i]);
	}
}

bool each_job_is_due(struct job_state *job, struct job_look *look)
{
	int64_t now_ms = clock_mono_ms();

	if (atomic_load(&job->is_over))
		return false;
	if (!look->wait_ms)
		*look = (struct job_look){.at_ms = now_ms + FIRST_LOOK_MS, .wait_ms = FIRST_LOOK_MS};
	if (now_ms < look->at_ms)
		return false;
	look->wait_ms = look->wait_ms < LAST_LOOK_MS / 2 ? 2 * look->wait_ms : LAST_LOOK_MS;
	look->at_ms = now_ms + look->wait_ms; /* also of a look that fails */
	return true;
}
