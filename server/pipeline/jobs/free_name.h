/*
 * Job: a name for a job that would have one that is taken: two are never made one.
 * Ownership: names are the arena's. Threads: the writer's.
 */
#pragma once

#include "pipeline/jobs/sessions.h"
#include "store/store.h"

/* So much of a name is left when a number is put behind it: "-1000000000". */
enum { FREE_NAME_STEM_BYTES = JOB_NAME_MAX_BYTES - 12 };

/* The name, or the first of NAME-2, NAME-3 … that no job has. ERR_CONFLICT: a milliard are taken. */
enum status free_name_find(
	struct store_tx *tx, struct arena *arena, struct span name, struct span *out, struct error *err) MUST_CHECK;
