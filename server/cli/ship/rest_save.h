/*
 * Job: at the end of a sm-ship whose server did not come back: what of the lines waits is noted, for sm-ship --send-rest. Lines that stand in
 *      the files of the spool stay where they are: a disk that is full then costs none of them. Others (they wait in memory, or in files of
 *      the user) are copied into a file each stream, with a note of its own.
 * Ownership: nothing is kept. Threads: the main thread, after the sender was joined.
 */
#pragma once

#include "cli/sender/sender.h"
#include "cli/ship/rest_note.h"

struct rest_saving {
	struct spool *spool;
	const struct sender *sender;
	const char *const *streams; /* by the spool's numbers */
	unsigned count; /* those from here on, of --system, are not worth a file of their own */
	const struct spool_file *files; /* the note's texts, by its numbers */
};

struct rest_saved {
	uint64_t lines;
	uint64_t lost_lines; /* they could not be written anywhere */
	uint64_t dropped_lines; /* of --system, points too */
};

/*
 * The note stands for the files that the lines came by (its path ""; for none). It then says what of them waits; where no line waits it is what
 * is left, for the end. Where it cannot be written, the one of the beginning stands, and the ledger says what waits.
 * folder: where to copy, and then where the lines are.
 */
enum status rest_save(struct rest_note *note, const struct rest_saving *saving, char folder[REST_NOTE_PATH_BYTES],
	struct rest_saved *saved, struct error *err) MUST_CHECK;
