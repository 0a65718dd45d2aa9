/*
 * Job: by_hand.checkpoints of a job's document, {"1:500": {"usable": false, "why": "the file is cut off", "by": "ada", "set_ms": …}}: what
 *      somebody knows better of checkpoints than the log tells. One is named by its attempt (0: not known) and its step.
 * Ownership: rows and their spans are the arena's. Threads: pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_read.h"

struct checkpoint_by_hand {
	uint32_t attempt;
	int64_t step;
	bool is_usable; /* false: nothing can go on from it */
	int64_t ts_ms; /* 0: as the log has it; and what the log does not have is none then */
	struct span path, why, by; /* path and by "": nobody says */
	int64_t set_ms; /* 0: it is not known */
};
/* None where the document has none. */
enum status checkpoints_by_hand_read(struct span document, struct arena *arena, struct checkpoint_by_hand **out,
	size_t *count, struct error *err) MUST_CHECK;
/* null takes one back, and so for all; a member of by_hand; its times are at most latest_ms. ERR_SEMANTIC names the place. */
enum status checkpoints_by_hand_check(const struct json *checkpoints, int64_t latest_ms, struct error *err) MUST_CHECK;
