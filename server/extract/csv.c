#include "extract/csv.h"

#include "extract/line/number.h"

enum { HEADER_MAX_BYTES = 4096, COLUMNS_MIN = 3 };

static size_t column_count(struct span row)
{
	size_t count = 1;

	for (size_t i = 0; i < row.len; i++)
		count += row.ptr[i] == ',';
	return count;
}

ptrdiff_t csv_step_column(struct span header)
{
	static const struct span names[] = {
		SPAN("global_step"), SPAN("step"), SPAN("iteration"), SPAN("iter"), SPAN("epoch")};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct span rest = header, name;
		for (ptrdiff_t column = 0; span_next(&rest, ',', &name); column++)
			if (span_equal_fold(span_trim(name), names[i]))
				return column;
	}
	return -1;
}

/* A header names the step, and no column is a number. */
static bool is_header(struct span row)
{
	struct span rest = row, part;
	double value;

	if (row.len > HEADER_MAX_BYTES || column_count(row) < COLUMNS_MIN || !span_is_utf8(row) ||
		memchr(row.ptr, 0, row.len))
		return false;
	while (span_next(&rest, ',', &part))
		if (span_trim(part).len == 0 || number_parse(part, &value))
			return false;
	return csv_step_column(row) >= 0;
}

bool csv_read_step(struct buf *header, struct span row, int64_t *step, struct span *where)
{
	struct span names = buf_span(header), part = row;

	if (is_header(row)) {
		buf_reset(header);
		buf_append_span(header, row);
		return false;
	}
	if (names.len == 0 || column_count(row) != column_count(names))
		return false;
	for (ptrdiff_t column = csv_step_column(names); column >= 0; column--)
		if (!span_next(&row, ',', &part))
			return false;
	*where = part;
	return number_parse_step(part, step);
}
