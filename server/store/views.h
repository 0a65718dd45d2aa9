/* Job: saved views. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct view_row {
	struct span team, owner, name; /* owner: of a token; "": the whole team's */
	struct span query, sort;
	struct span columns; /* JSON array of strings */
	int64_t modified_ms;
};
/* Replaces one of the same name. ERR_TOO_LARGE: its owner has `most` others. */
enum status store_put_view(
	struct store_tx *tx, const struct view_row *row, uint64_t most, struct error *err) MUST_CHECK;
/* The team's and the owner's, by name. */
enum status store_read_views(struct store_reader *reader, struct arena *arena, struct span team, struct span owner,
	struct view_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_delete_view(struct store_tx *tx, struct span team, struct span owner, struct span name,
	struct error *err) MUST_CHECK; /* ERR_NOT_FOUND */
