/*
 * Job: all that one database holds into another, which may be of another kind, row by row; and that it is the same there.
 * Ownership: both stores are the caller's, who has their locks. Threads: one, that of both writers.
 */
#pragma once

#include "store/store.h"

struct store_move {
	struct span from; /* how the source is named, also to whoever goes on with a move that was broken off */
	/* The target may be written: before anything is. An error is the move's. */
	enum status (*begins)(void *context, struct error *err);
	/* After each batch of rows, and of a table that has come to its end; rows of the table so far. False ends the move. */
	bool (*progress)(void *context, const char *what, struct span table, uint64_t rows);
	void *context;
};

struct store_move_done {
	uint64_t tables, rows, bytes; /* that were compared */
};

/*
 * Copies what is not there yet, reads both once more and compares each value, then lets servers have the target. `to` was opened with
 * store_options.moves. Broken off it is gone on with by the same call. ERR_CONFLICT: the target has other data, or what another source
 * began, or a row is not the same there; ERR_NOT_FOUND: the source has nothing.
 */
enum status store_move(struct store *from, struct store *to, const struct store_move *move,
	struct store_move_done *done, struct error *err) MUST_CHECK;

/* ERR_CONFLICT: a move into it was begun and is not done. */
enum status store_check_moved(struct store *store, struct error *err) MUST_CHECK;
