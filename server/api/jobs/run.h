/* Job: continues and continued_by, parent_job and child_jobs, into an object that is open. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

/* The jobs of its run up to this one, oldest first: an array. */
enum status api_write_run_jobs(struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w,
	struct error *err) MUST_CHECK;
/* Of nested runs. */
enum status api_write_run_family(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct json_writer *w, struct error *err) MUST_CHECK;
enum status api_write_run(struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w,
	struct error *err) MUST_CHECK;
