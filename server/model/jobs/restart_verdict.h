/*
 * Job: by_hand.restarts of a job's document, {"2:81": {"verdict": "continued", "why": "…", "by": "ada"}}: what somebody knows better of a
 *      restart than its prints tell. A restart is named by the attempt that it began and the first step that it printed.
 * Ownership: spans are the document's. Threads: pure.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_read.h"

struct restart_verdict {
	struct span verdict; /* a name of fleet/continuity.h; "": nobody says anything */
	struct span why, by; /* by "": it is not known */
};
void restart_verdict_find(
	const struct json *document, uint32_t attempt, int64_t first_step, struct restart_verdict *out);
/* Does somebody say of a restart that began this attempt that it did not differ? */
bool restart_verdicts_end(const struct json *document, uint64_t attempt);
/* null takes one back, and so for all; a member of by_hand. ERR_SEMANTIC names the place. */
enum status restart_verdicts_check(const struct json *restarts, struct error *err) MUST_CHECK;
