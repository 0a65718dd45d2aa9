#include "state/patience.h"

#include "state/pipeline_state.h"

enum {
	LONG_MS = 10 * 1000, /* so far behind is who has no memory, or hundreds of megabytes to read */
	SHORT_MS = 200,
};

int64_t patience_begin(struct pipeline *pipeline)
{
	return atomic_fetch_add(&pipeline->waiting_requests, 1) < pipeline->options.waiting_requests ? LONG_MS
												     : SHORT_MS;
}

void patience_end(struct pipeline *pipeline)
{
	atomic_fetch_sub(&pipeline->waiting_requests, 1);
}
