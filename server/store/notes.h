/* Job: notes of people at places of a job. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

enum note_place { NOTE_AT_STEP, NOTE_AT_TIME, NOTE_AT_LINE, NOTE_AT_CHECKPOINT, NOTE_PLACE_COUNT };
enum { NOTE_UNDO_MS = 3600 * 1000 };

extern const char *const note_places[NOTE_PLACE_COUNT];

struct note_row {
	int64_t job_id, note_id;
	int32_t place; /* enum note_place */
	int64_t step;
	bool has_step; /* else nothing says which step it is */
	int64_t ts_ms; /* 0: nothing says when that is */
	struct span stream; /* of the line; "": it is at none */
	uint64_t line;
	struct span text, author;
	struct span key; /* its sender's own; "": none */
	int64_t created_ms, modified_ms;
	int64_t deleted_ms; /* 0: it is there */
};

/* note_id 0: a new one, and it is set then; ERR_TOO_LARGE when its job has `most` others. Those of the job that were deleted more than an
 * hour ago go for good. */
enum status store_put_note(
	struct store_tx *tx, struct note_row *row, uint64_t most, int64_t now_ms, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND, also when it was deleted more than an hour before now_ms. */
enum status store_read_note(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t note_id,
	int64_t now_ms, struct note_row *out, struct error *err) MUST_CHECK;
/* The one that its sender has given this key, whether or not it was deleted; note_id 0: none. */
enum status store_find_note(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span key,
	struct note_row *out, struct error *err) MUST_CHECK;
/* As it was elsewhere, under a number of its own here; no limit counts. */
enum status store_import_note(struct store_tx *tx, struct note_row *row, struct error *err) MUST_CHECK;
/* In the order of their numbers, behind `after`; deleted_after_ms: with those that were deleted since then, INT64_MAX: without any. */
enum status store_read_notes(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t after,
	int64_t deleted_after_ms, size_t limit, struct note_row **out, size_t *count, struct error *err) MUST_CHECK;
