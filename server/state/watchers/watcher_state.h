/*
 * Job: what is kept of the conditions of rules over the series of a stream; watchers.h feeds them.
 * Ownership: a series owns its watchers. Threads: under the stream's lock. Packed with the stream's state.
 */
#pragma once

#include "base/alloc.h"
#include "detect/condition.h"

struct watcher {
	int64_t rule_id;
	uint64_t since_seq; /* of the rule: another one is another rule */
	int64_t modified_ms; /* of the rule as well, for what was changed twice between two commits of lines; 0: it was packed */
	struct watch *watch; /* NULL: still packed */
	unsigned life; /* of the series, in which it was asked to say again what is open */
	char *packed;
	size_t packed_len;
};

void watcher_done(struct watcher *watcher);
void watchers_free(struct watcher *watchers, size_t count); /* the array too */
