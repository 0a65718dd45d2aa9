/*
 * Job: the body of PutLogEvents -> lines of a batch, in one pass over its text and without a tree, and what of it AWS's limits reject.
 * Ownership: names are in the arena. Threads: pure: the clock is an argument.
 */
#pragma once

#include "ingest/json_scan.h"
#include "model/metrics/batch.h"

enum { PUT_EVENTS_MAX = 10000, PUT_BYTES_MAX = 1048576, PUT_EVENT_BYTES = 26 };

struct put_events {
	struct span body;
	struct arena *arena;
	struct span group, stream; /* put_events_open */
	bool has_group, has_stream, has_events;
	struct json_scan events; /* before the list */

	int64_t now_ms;
	int64_t kept_from_ms; /* older events are beyond the group's retention; INT64_MIN: it has none */
	size_t max_line_bytes;
	struct buf text; /* at work */
	size_t count, taken; /* events, and those that were not rejected */
	size_t bytes; /* as AWS counts them */
	int64_t last_ms, first_taken_ms;
	size_t too_old_end, expired_end; /* so many in front are too old, or expired */
	bool has_too_new;
	size_t too_new_start;
	struct span wrong; /* with an error that has a field: what stands there */
};

/*
 * Names and the place of the list. Errors: ERR_INVALID: no such JSON; ERR_SEMANTIC with field (logEvents[3].timestamp): the text is
 * the constraint that is broken, `wrong` the value; ERR_SEMANTIC without: the text is AWS's.
 */
enum status put_events_open(struct put_events *put, struct error *err) MUST_CHECK;
/* Into the part, in order; a retry of the same batch has the same hash. */
enum status put_events_read(
	struct put_events *put, struct batch *batch, struct batch_part *part, struct error *err) MUST_CHECK;
void put_events_done(struct put_events *put);

AUTO_DONE_TYPE(put_events)
