/* Job: of the definitions of a job, folded over its streams: an array. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "state/streams/job_view.h"

enum status api_write_health(
	struct arena *arena, const struct job_view *view, struct json_writer *w, struct error *err) MUST_CHECK;
