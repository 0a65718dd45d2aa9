#include "state/heard.h"

#include "base/clock.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

int64_t heard_silent_before(const struct pipeline *pipeline, int64_t now_ms)
{
	int64_t before_ms = now_ms - pipeline->options.silent_ms;

	return before_ms > pipeline->started_ms ? before_ms : 0;
}

int64_t heard_silent_since(const struct pipeline *pipeline, const struct job_row *row, int64_t heard_ms)
{
	int64_t known_ms = heard_ms > pipeline->started_ms ? heard_ms : pipeline->started_ms;
	bool is_silent = heard_ms && !row->ended_ms && clock_wall_ms() - known_ms > pipeline->options.silent_ms;

	return is_silent ? heard_ms : 0;
}
