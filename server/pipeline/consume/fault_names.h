/*
 * Job: a machine that sends nothing itself, and of which two streams of a job tell, one by its short and one by its full name, is one by the
 *      event of which both tell.
 * Ownership: names are the arena's. Threads: the writer.
 */
#pragma once

#include "store/faults.h"

/* The row is of another log that tells of the same event, of whatever machine. */
bool fault_is_told_elsewhere(const struct node_fault_row *row, const struct signature_hit_row *hit);

/*
 * The line names a machine that is not known. If lines of the same job have charged its other form with this very event, or have told of that
 * one by this name: *name is the full one, which has all that was charged to either. That the names fit alone proves nothing, nor do equal words
 * of two jobs: of several domains each may have a machine that is called so, and a log of its own. team: the job's.
 */
enum status fault_names_join(struct store_tx *tx, struct arena *arena, const struct signature_hit_row *hit,
	struct span team, struct span *name, struct error *err) MUST_CHECK;
