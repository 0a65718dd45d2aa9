/*
 * Job: at the end of a sm-ship whose server did not come back: the lines that wait go from the spool into files of their own, each with a note,
 *      for sm-ship --send-rest.
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
};

struct rest_saved {
	uint64_t lines;
	uint64_t dropped_lines; /* of --system, points too */
};

/*
 * The note stands for the files that the lines came by, and makes room for those of what is saved; where no line waits it is what is left, for
 * the end. folder: where to, and then where it is.
 */
enum status rest_save(struct rest_note *note, const struct rest_saving *saving, char folder[REST_NOTE_PATH_BYTES],
	struct rest_saved *saved, struct error *err) MUST_CHECK;
