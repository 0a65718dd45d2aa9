/*
 * Job: a line of a table in its cells: between bars, or between blanks. Internal to extract/.
 * Ownership: spans into the line. Threads: any.
 *
 *   | loss | 2.5 |      │ loss │ 2.5 │      ┃ epoch ┃ loss ┃        bars, in front and behind or only between
 *   epoch    train loss    dur                                     gaps: two blanks or more, or a tab; a name may have one blank
 *       1        0.6931   0.1s                                     blanks
 */
#pragma once

#include "base/span.h"

enum { CELLS_MAX = 64 };

enum cells_form { CELLS_BARS, CELLS_GAPS, CELLS_BLANKS };

struct cells {
	struct span items[CELLS_MAX]; /* trimmed; may be empty between bars */
	size_t count;
};

/* False: more than CELLS_MAX, and it is no table's. */
bool cells_split(struct span text, enum cells_form form, struct cells *cells);
/* Begins with a bar. */
bool cells_has_frame(struct span text);
/* A bar is somewhere in it. */
bool cells_has_bar(struct span text);
/* "-----  ----", "+----+", "╭────╮", "|---|:--:|": nothing but what draws lines, and at least three of it. */
bool cells_is_rule(struct span text);
/* What is left of "=== Step 3 ===", "─── Step 3 ───", "│  Step 3  │" or "***** Step 3 *****". */
struct span cells_undecorated(struct span text);
