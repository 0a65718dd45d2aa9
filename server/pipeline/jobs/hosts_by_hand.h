/*
 * Job: by_hand.hosts of a job's document, {"algo-1": "gpu007"}, becomes whose its streams are.
 * Ownership: what was set is in the caller's arena. Threads: the writer.
 */
#pragma once

#include "base/error.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

struct host_setting;
struct hosts_set {
	struct host_setting *rows;
	size_t count;
};
/* What stands in the document and is not so yet is set; what was set and stands there no more is taken back. */
enum status hosts_by_hand_write(struct store_tx *tx, struct arena *arena, const struct job_row *job,
	struct hosts_set *out, struct error *err) MUST_CHECK;
/* After the commit. */
void hosts_by_hand_apply(struct pipeline *pipeline, int64_t job_id, const struct hosts_set *set);
/* Of a change of by_hand: its streams must be there. */
enum status hosts_by_hand_check(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct json *changes, struct error *err) MUST_CHECK;
