/*
 * Job: lists of rows by a table of their fields: which column goes where in the struct that a row becomes.
 * Ownership: rows and their texts are the arena's. Threads: as the statement's.
 */
#pragma once

#include "store/driver/statement.h"

#include <stddef.h>

enum row_field_kind { ROW_I32, ROW_I64, ROW_U32, ROW_U64, ROW_BOOL, ROW_SPAN, ROW_DOUBLE, ROW_FINITE };

struct row_field {
	enum row_field_kind kind;
	size_t offset;
};

/* By the member's type. A double takes two columns (column_double); FIELD_FINITE one. Enums are as wide as they are stored. */
#define FIELD(type, member)                                                                                            \
	{                                                                                                              \
		_Generic((type){}.member, int32_t                                                                      \
			 : ROW_I32, int64_t                                                                            \
			 : ROW_I64, uint32_t                                                                           \
			 : ROW_U32, uint64_t                                                                           \
			 : ROW_U64, bool                                                                               \
			 : ROW_BOOL, double                                                                            \
			 : ROW_DOUBLE, struct span                                                                     \
			 : ROW_SPAN),                                                                                  \
			offsetof(type, member)                                                                         \
	}
#define FIELD_FINITE(type, member)                                                                                     \
	{                                                                                                              \
		ROW_FINITE, offsetof(type, member)                                                                     \
	}

struct row_shape {
	const struct row_field *fields; /* in the order of the columns */
	size_t field_count;
	size_t bytes; /* of a row */
	const void *like; /* what all rows have beside these; NULL: zeroes */
};
#define ROWS(fields, type) ((struct row_shape){fields, sizeof(fields) / sizeof *(fields), sizeof(type), NULL})
#define ROWS_LIKE(fields, row) ((struct row_shape){fields, sizeof(fields) / sizeof *(fields), sizeof(row), &(row)})

/* The rows to the end: *out, an array of rows of that shape, and *count. Its values are bound. */
#define rows_read(s, arena, shape, out, count, err) rows_read_all(s, arena, shape, (void **)(out), count, err)
enum status rows_read_all(struct statement *s, struct arena *arena, struct row_shape shape, void **out, size_t *count,
	struct error *err) MUST_CHECK;
