/* Job: fields= of a page of jobs: its rows have these, and not what only a job's own page shows. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "api/jobs/job_values.h"
#include "base/json/json_write.h"
#include "store/jobs.h"

enum status api_parse_fields(
	const struct http_request *request, struct arena *arena, struct job_fields *out, struct error *err) MUST_CHECK;
enum status api_write_fields_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err) MUST_CHECK;
/* The same into an object that is open. */
enum status api_put_fields_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err) MUST_CHECK;
