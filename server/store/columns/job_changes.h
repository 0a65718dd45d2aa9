/*
 * Job: which jobs changed lately, for the columns that searches keep of them (store/sql/search/search_cache.h).
 * Ownership: a store has one. Threads: any; the writer notes, and waits for nobody who reads long.
 */
#pragma once

#include "base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum search_change {
	SEARCH_CHANGED_JOB = 1, /* its row */
	SEARCH_CHANGED_DOCUMENT = 2,
	SEARCH_CHANGED_METRICS = 4,
};

enum { JOB_CHANGES_MAX = 65536 }; /* what is older is forgotten: columns that did not see it are read anew */

struct job_changes;

struct job_changes *job_changes_new(void) __attribute__((warn_unused_result)); /* NULL: out of memory */
void job_changes_free(struct job_changes *changes);
AUTO_TYPE(job_changes)

/* Before the transaction commits. A version is larger than those of transactions that committed before. */
void job_changes_note(struct job_changes *changes, int64_t version, int64_t job_id, unsigned what);
/* Jobs of which something of `what` changed behind `version`, by number, each once: *jobs is the caller's, also after a failure.
 * *is_known false: nobody knows any more. False: out of memory. */
bool job_changes_since(struct job_changes *changes, int64_t version, unsigned what, int64_t **jobs, size_t *count,
	bool *is_known) __attribute__((warn_unused_result));
