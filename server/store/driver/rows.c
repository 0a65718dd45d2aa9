#include "store/driver/rows.h"

static void read_field(struct statement *s, struct arena *arena, enum row_field_kind kind, void *to)
{
	switch (kind) {
	case ROW_I32:
		*(int32_t *)to = (int32_t)column_i64(s);
		break;
	case ROW_I64:
		*(int64_t *)to = column_i64(s);
		break;
	case ROW_U32:
		*(uint32_t *)to = column_u32(s);
		break;
	case ROW_U64:
		*(uint64_t *)to = column_u64(s);
		break;
	case ROW_BOOL:
		*(bool *)to = column_bool(s);
		break;
	case ROW_SPAN:
		*(struct span *)to = column_span(s, arena);
		break;
	case ROW_DOUBLE:
		*(double *)to = column_double(s);
		break;
	case ROW_FINITE:
		*(double *)to = column_finite(s);
		break;
	}
}

enum status rows_read_all(
	struct statement *s, struct arena *arena, struct row_shape shape, void **out, size_t *count, struct error *err)
{
	size_t used = 0, cap = 0;
	char *rows = NULL;
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, shape.bytes);
		if (!rows)
			return error_no_memory(err);
		char *row = rows + used * shape.bytes;
		if (shape.like)
			memcpy(row, shape.like, shape.bytes);
		else
			memset(row, 0, shape.bytes);
		for (size_t i = 0; i < shape.field_count; i++)
			read_field(s, arena, shape.fields[i].kind, row + shape.fields[i].offset);
		TRY(statement_check(s, err));
		TRY(statement_step(s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}
