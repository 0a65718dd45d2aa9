/*
 * Job: `communication_exposed`: by the newest trace of a stream more of a GPU's time is communication with nothing beside than by those before.
 *      Looked at when a trace has come: what it says of older ones it says again, so a crash in between loses nothing.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "store/store.h"

struct pipeline;

enum { COMMUNICATION_TRACES_LEAST = 3, COMMUNICATION_TRACES_MOST = 8 }; /* before the newest */

/* ERR_NOT_FOUND: there is no such job. */
enum status communication_watch_look(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct error *err) MUST_CHECK;
