/*
 * Job: tables whose header names the columns: a row a step, or a column a split. Internal to extract/.
 * Ownership: a value; names in the result are spans into its header, until the next line. Threads: one at a time.
 *
 *     epoch    train_loss    valid_acc       | epoch | train_loss |              Training |  Validation
 *   -------  ------------  -----------       |-------|------------|     loss   |    0.912 |       0.951
 *         1        0.6931       0.8123       |     1 |     6.1034 |
 *
 * A header of rows names a step and at least one metric; one of splits names nothing but splits. So tables of settings, of a
 * model's layers, of processes on a GPU and of files have none.
 */
#pragma once

#include "base/codec/pack.h"
#include "extract/generic/cells.h"
#include "extract/generic/series.h"

enum {
	TABLE_HEADER_MAX_BYTES = 1024,
	TABLE_LINES = 20000, /* behind its last row, or the header, it is forgotten: rows may be an epoch apart */
	TABLE_SPLIT_LINES = 64 /* the same of one of splits: it has few rows */
};

enum table_kind { TABLE_NONE, TABLE_ROWS, TABLE_SPLITS };

struct record_table {
	uint8_t kind;
	uint8_t form; /* enum cells_form: of the header */
	bool has_rows; /* there was one already */
	uint64_t line; /* its header's, or its last row's */
	uint16_t header_len;
	char header[TABLE_HEADER_MAX_BYTES];
};

/* The line is a header, and the table's from now on. *is_new: it is not the one before again. */
bool record_table_take_header(struct record_table *table, struct span text, uint64_t line, bool *is_new);
/* It would be a header, and is longer or has more columns than is read. */
bool record_table_is_too_large(struct span text);
/* The row without the bar that is behind it: "1/10  1.25  640: 100%|####| 100/100 [...". All of it when there is none that is full. */
struct span record_table_row_text(struct span text);
/* The line is a row: *out has its values, and its step when it says one. */
bool record_table_take_row(
	struct record_table *table, const struct tokens *tokens, uint64_t line, struct generic_line *out);
void record_table_copy(struct record_table *to, const struct record_table *from);
void record_table_pack(const struct record_table *table, struct buf *out);
void record_table_unpack(struct record_table *table, struct unpacker *in);
