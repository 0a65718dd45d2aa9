/*
 * Job: what is asked of many jobs at once: by which of their properties they are grouped, and what each group comes to. Query/
 *      parses it, store/ answers it.
 * Ownership: spans live in the arena they were parsed into. Threads: immutable once built.
 */
#pragma once

#include "model/query.h"

enum fold {
	FOLD_COUNT,
	FOLD_SUM,
	FOLD_MEAN,
	FOLD_MIN,
	FOLD_MAX,
	FOLD_MEDIAN,
	FOLD_P50,
	FOLD_P90,
	FOLD_P95,
	FOLD_P99,
	FOLD_NUMBER /* of them */
};

/* A property, as a term names it: family, key, is_role, aggregate and column; no comparison. */
struct aggregate_name {
	struct query_term term;
	struct span text; /* as written: "tag.team" */
};

struct aggregate_figure {
	enum fold fold;
	bool counts_jobs; /* "count" alone: there is no quantity */
	struct aggregate_name quantity;
	struct span text; /* as written: "sum:node_hours" */
};
