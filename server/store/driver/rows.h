/*
 * Job: rows by a table of their fields: which column or parameter goes where in a struct. One table reads and writes.
 * Ownership: rows and their texts are the arena's. Threads: as the statement's.
 */
#pragma once

#include "store/driver/statement.h"

#include <stddef.h>

enum row_field_kind {
	ROW_I32,
	ROW_I64,
	ROW_U32,
	ROW_U64,
	ROW_BOOL,
	ROW_TEXT,
	ROW_BLOB, /* is read as a text is, and bound as bytes */
	ROW_DOUBLE,
	ROW_FINITE,
	ROW_SUMMARY
};

struct row_field {
	enum row_field_kind kind;
	size_t offset;
};

#define ROW_KIND(value)                                                                                                \
	_Generic((value), int32_t                                                                                      \
		 : ROW_I32, int64_t                                                                                    \
		 : ROW_I64, uint32_t                                                                                   \
		 : ROW_U32, uint64_t                                                                                   \
		 : ROW_U64, bool                                                                                       \
		 : ROW_BOOL, double                                                                                    \
		 : ROW_DOUBLE, struct span                                                                             \
		 : ROW_TEXT, struct summary                                                                            \
		 : ROW_SUMMARY)

/* By the member's type. A double takes two columns (column_double); FIELD_FINITE one. Enums are as wide as they are stored. */
#define FIELD(type, member)                                                                                            \
	{                                                                                                              \
		ROW_KIND((type){}.member), offsetof(type, member)                                                      \
	}
#define FIELD_FINITE(type, member)                                                                                     \
	{                                                                                                              \
		ROW_FINITE, offsetof(type, member)                                                                     \
	}
#define FIELD_BLOB(type, member)                                                                                       \
	{                                                                                                              \
		ROW_BLOB, offsetof(type, member)                                                                       \
	}
/* Of rows that are one column. */
#define FIELD_ALONE(type)                                                                                              \
	{                                                                                                              \
		ROW_KIND((type){0}), 0                                                                                 \
	}

struct row_shape {
	const struct row_field *fields; /* in the order of the columns */
	size_t field_count;
	size_t bytes; /* of a row */
	const void *like; /* what all rows of a list have beside these; NULL: zeroes */
};
#define ROWS(fields, type) ((struct row_shape){fields, sizeof(fields) / sizeof *(fields), sizeof(type), NULL})
#define ROWS_LIKE(fields, row) ((struct row_shape){fields, sizeof(fields) / sizeof *(fields), sizeof(row), &(row)})

/* The rows to the end: *out, an array of rows of that shape, and *count. Its values are bound. */
#define rows_read(s, arena, shape, out, count, err) rows_read_all(s, arena, shape, (void **)(out), count, err)
enum status rows_read_all(struct statement *s, struct arena *arena, struct row_shape shape, void **out, size_t *count,
	struct error *err) MUST_CHECK;
/* The next row into *out, which stays as it is when there is none. */
enum status row_read(struct statement *s, struct arena *arena, struct row_shape shape, void *out, bool *is_there,
	struct error *err) MUST_CHECK;
/* The fields are the next parameters. */
void row_bind(struct statement *s, struct row_shape shape, const void *row);
/* Runs SQL whose parameters they are. */
enum status row_put(
	struct store_tx *tx, const char *sql, struct row_shape shape, const void *row, struct error *err) MUST_CHECK;

/* The first column of the first row of SQL with these numbers; *out, of any number's type, stays as it is where there is none. */
#define read_number(on, sql, numbers, out, err) read_number_as(on, sql, numbers, ROW_KIND(*(out)), out, err)
enum status read_number_as(struct store_reader *on, const char *sql, struct numbers numbers, enum row_field_kind kind,
	void *out, struct error *err) MUST_CHECK;
