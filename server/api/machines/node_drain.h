/* Job: which of some machines should not be given to the next job, and why. Internal to api/. Threads: workers. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_write.h"

/* [{"host","why":[…]}] of those that are to be drained, in their order; an array. */
enum status node_write_drain(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct span *hosts, size_t count, int64_t now_ms, struct json_writer *w, struct error *err) MUST_CHECK;
