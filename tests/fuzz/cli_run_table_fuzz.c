/* Tables of runs of any bytes: each byte belongs to one record, and each row gives points that could be sent. */
#include "base/alloc.h"
#include "cli/input/run_table.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *context, const struct table_point *point)
{
	size_t *count = context;

	if (!point->metric.len || !span_is_utf8(point->metric) || point->ts_ms < 0)
		abort();
	++*count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(table_cells) cells = {0};
	AUTO(run_table) table = NULL;
	struct span rest = span_of((const char *)data, size);
	size_t lines, all_lines = 0, newlines = 0;
	struct table_row row;

	for (size_t i = 0; i < size; i++)
		newlines += data[i] == '\n';
	for (size_t bytes; rest.len && (bytes = table_record(rest, true, &lines)) > 0; rest = span_skip(rest, bytes)) {
		size_t count = 0;
		if (bytes > rest.len || !table_cells_read(&cells, span_of(rest.ptr, bytes)) || !cells.count)
			abort();
		all_lines += lines;
		if (!table && run_table_new(&table, &cells, NULL) != OK)
			return 0;
		if (table->kind == RUN_TABLE_NONE)
			return 0;
		if (run_table_read(table, &cells, take, &count, &row, NULL) == OK &&
			count + row.odd_cells > table->count)
			abort();
	}
	if (!rest.len && all_lines != newlines)
		abort();
	return 0;
}
