/*
 * Job: rows of text as an aligned table of a given width, as CSV, and safe for a terminal.
 * Ownership: init/done; cells are copied. Threads: one at a time. Pure.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

enum { TABLE_MAX_COLUMNS = 100 };

struct table_column {
	struct span name;
	bool is_number; /* aligned to the right, never cut */
};

struct table {
	struct table_column columns[TABLE_MAX_COLUMNS];
	size_t column_count;
	struct buf text; /* of all cells, one after the other */
	size_t *ends; /* of each cell in text */
	size_t cell_count, cell_cap;
};

void table_init(struct table *table);
void table_done(struct table *table);
/* Row by row; false: out of memory. */
bool table_add_cell(struct table *table, struct span text);
/* width 0: as wide as it gets. Cells that do not fit are cut with "…". */
void table_print(const struct table *table, size_t width, bool has_colours, struct buf *out);

/* Columns that a terminal needs for the text, after text_put_safe. */
size_t text_columns(struct span text);
/* Control characters, direction marks and bytes that are no UTF-8 become "?": a name must not command the terminal. */
void text_put_safe(struct buf *out, struct span text);
/* 12.5s, 11m45s, 1h03m, 3d04h; 0 and more. is_coarse: whole seconds, and none of them beside minutes. */
void text_put_duration(struct buf *out, double seconds, bool is_coarse);

AUTO_DONE_TYPE(table)
