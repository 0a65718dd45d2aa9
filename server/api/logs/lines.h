/* Job: the stream asked for, else the job's first; "": it has none. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"

enum status api_choose_stream(struct api_worker *worker, struct arena *arena, const struct http_request *request,
	struct span *stream, struct error *err) MUST_CHECK;
