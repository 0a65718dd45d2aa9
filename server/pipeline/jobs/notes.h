/* Job: notes of a job are written, changed, deleted and taken back. Ownership: the caller's. Threads: workers; they wait for the writer. */
#pragma once

#include "store/notes.h"

struct pipeline;

struct note_change {
	struct span job, team; /* team: of the token; "": any */
	int64_t note_id; /* 0: a new one */
	struct note_row row; /* a new one, whole; of a change the text; its number and job are set */
	bool is_known; /* set: a new one whose key came before; the row is that one */
	bool has_text;
	bool has_deleted, is_deleted;
	uint64_t most; /* notes of a job */
	int64_t now_ms;
};

/* The row is what is stored now: its texts are the change's, or the arena's. ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_TOO_LARGE. */
enum status pipeline_put_note(
	struct pipeline *pipeline, struct arena *arena, struct note_change *change, struct error *err) MUST_CHECK;
