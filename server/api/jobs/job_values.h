/* Job: fields of jobs by their names, for tables. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_write.h"
#include "model/metrics/metric.h"
#include "store/jobs.h"

enum { JOB_FIELDS_MAX = 100 };
struct job_fields {
	bool are_asked;
	size_t count;
	struct job_field {
		struct span name; /* as asked */
		int kind;
		struct span key; /* of a property, a path or a metric */
		enum role role; /* its main metric; ROLE_OTHER: the one called so */
		unsigned aggregate; /* enum query_aggregate */
	} list[JOB_FIELDS_MAX];
};
/* Names parted by commas, which stay the text's. ERR_INVALID with the field. */
enum status api_read_fields(
	struct span text, struct arena *arena, struct job_fields *out, struct error *err) MUST_CHECK;
/* An object: what is not known, or not there, has no key. */
enum status api_write_values(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err) MUST_CHECK;
