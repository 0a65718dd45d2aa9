/* Job: advice on a job, shared by its own page and by the dry run. Internal to api/. Threads: workers. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/jobs.h"

/* "advice", "muted", "networks" and "reference" with "own" into an object that is open. row: as advice_facts_read has it. */
enum status api_write_advice(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, int64_t now_ms, struct json_writer *w,
	struct error *err) MUST_CHECK;
/* What a PATCH wants to mute. */
enum status api_check_muted(const struct api *api, const struct json *muted, struct error *err) MUST_CHECK;
