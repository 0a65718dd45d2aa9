/* Job: what GET /nodes/{host} tells of a machine's past and of what is to be expected. Internal to api/. Threads: workers. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_write.h"
#include "store/faults.h"
#include "store/nodes.h"

struct node_past {
	struct store_reader *reader;
	struct arena *arena;
	struct span host;
	const struct node_fault_row *faults; /* its own, newest first */
	size_t fault_count;
	const struct break_fault
		*told; /* of these, what other jobs' logs told near a break of a job; the host's, in any order */
	size_t told_count;
	const struct node_stream *streams; /* that it sends, or sent */
	size_t stream_count;
	int64_t now_ms;
	int64_t window_ms; /* interruptions count from then on */
	int64_t drain_ms; /* so long a fault says that it should be drained */
	uint64_t own; /* interruptions that it is charged with */
	uint64_t charged; /* those that all machines are, each its own */
};
/* fault_kinds, repeat_offender, repeats, drains, expected_interruptions: members of an object. */
enum status node_history_write(
	const struct api *api, const struct node_past *past, struct json_writer *w, struct error *err) MUST_CHECK;
