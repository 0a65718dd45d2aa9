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
	case ROW_TEXT:
	case ROW_BLOB:
		*(struct span *)to = column_span(s, arena);
		break;
	case ROW_DOUBLE:
		*(double *)to = column_double(s);
		break;
	case ROW_FINITE:
		*(double *)to = column_finite(s);
		break;
	case ROW_SUMMARY:
		column_summary(s, to);
		break;
	}
}

static enum status read_fields(
	struct statement *s, struct arena *arena, struct row_shape shape, char *row, struct error *err)
{
	for (size_t i = 0; i < shape.field_count; i++)
		read_field(s, arena, shape.fields[i].kind, row + shape.fields[i].offset);
	return statement_check(s, err);
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
		TRY(read_fields(s, arena, shape, row, err));
		TRY(statement_step(s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status row_read(
	struct statement *s, struct arena *arena, struct row_shape shape, void *out, bool *is_there, struct error *err)
{
	TRY(statement_step(s, is_there, err));
	return *is_there ? read_fields(s, arena, shape, out, err) : OK;
}

static void bind_field(struct statement *s, enum row_field_kind kind, const void *from)
{
	switch (kind) {
	case ROW_I32:
		bind_i64(s, *(const int32_t *)from);
		break;
	case ROW_I64:
		bind_i64(s, *(const int64_t *)from);
		break;
	case ROW_U32:
		bind_i64(s, *(const uint32_t *)from);
		break;
	case ROW_U64:
		bind_u64(s, *(const uint64_t *)from);
		break;
	case ROW_BOOL:
		bind_i64(s, *(const bool *)from);
		break;
	case ROW_TEXT:
		bind_text(s, *(const struct span *)from);
		break;
	case ROW_BLOB:
		bind_blob(s, *(const struct span *)from);
		break;
	case ROW_DOUBLE:
		bind_double(s, *(const double *)from);
		break;
	case ROW_FINITE:
		bind_finite(s, *(const double *)from);
		break;
	case ROW_SUMMARY:
		bind_summary(s, from);
		break;
	}
}

void row_bind(struct statement *s, struct row_shape shape, const void *row)
{
	for (size_t i = 0; i < shape.field_count; i++)
		bind_field(s, shape.fields[i].kind, (const char *)row + shape.fields[i].offset);
}

enum status row_put(struct store_tx *tx, const char *sql, struct row_shape shape, const void *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), sql, err));
	row_bind(&s, shape, row);
	return statement_run(&s, err);
}

enum status read_number_as(struct store_reader *on, const char *sql, struct numbers numbers, enum row_field_kind kind,
	void *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on, sql, err));
	bind_all(&s, numbers);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		read_field(&s, NULL, kind, out);
	return OK;
}
