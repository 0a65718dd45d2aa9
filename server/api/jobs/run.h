/* Job: continues and continued_by, into an object that is open. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

/* The jobs of its run up to this one, oldest first: an array. */
enum status api_write_run_jobs(struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w,
	struct error *err) MUST_CHECK;
enum status api_write_run(struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w,
	struct error *err) MUST_CHECK;
