#include "pipeline/alert/each_job.h"

#include "base/log.h"
#include "state/pipeline_state.h"

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
