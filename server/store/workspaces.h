/* Job: workspaces of the page, a team's. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct workspace_row {
	struct span team, name;
	struct span title;
	int64_t panels;
	int64_t revision; /* another one with each save */
	struct span author; /* a token's name; "": without tokens */
	int64_t modified_ms;
	struct span document; /* JSON; "" in a list */
};
/* What a change is made from: a revision, or none. */
enum workspace_from { WORKSPACE_FROM_ANY, WORKSPACE_FROM_REVISION, WORKSPACE_FROM_NONE };

/* *row gets its revision. ERR_PRECONDITION: it is not (no more) what the change is made from. ERR_TOO_LARGE: its team has `most`
 * others. */
enum status store_put_workspace(struct store_tx *tx, struct workspace_row *row, enum workspace_from from,
	int64_t revision, uint64_t most, struct error *err) MUST_CHECK;
/* By name. */
enum status store_read_workspaces(struct store_reader *reader, struct arena *arena, struct span team,
	struct workspace_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_read_workspace(struct store_reader *reader, struct arena *arena, struct span team, struct span name,
	struct workspace_row *out, struct error *err) MUST_CHECK; /* ERR_NOT_FOUND */
enum status store_delete_workspace(struct store_tx *tx, struct span team, struct span name, enum workspace_from from,
	int64_t revision, struct error *err) MUST_CHECK; /* ERR_NOT_FOUND, ERR_PRECONDITION */
