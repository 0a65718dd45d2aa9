/*
 * Job: by which source the server counts what a start of sm-ship sends. What another machine that goes on with the job sends into the stream must
 *      not count as ours: what of ours is not there yet would be taken for known (docs/decisions/0012).
 * Ownership: the text is the caller's. Threads: any.
 */
#pragma once

#include "cli/ship/rest_note.h"

/* One that nobody else has. */
void start_source_random(char out[REST_NOTE_SOURCE_BYTES]);
/*
 * That of the starts before it, of this machine, spool, address, job and stream, where they have left nothing: then all that it counts is there,
 * and a job that is started again and again needs no more than one. Else out stays. The caller holds the lock by which one start at a time has the
 * stream here, and the note has its name. seed: of ship_seed_sessions.
 */
void start_source_share(const struct rest_note *note, const char *seed, char out[REST_NOTE_SOURCE_BYTES]);
