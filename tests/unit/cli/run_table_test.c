#include "cli/input/run_table.h"
#include "test.h"

#include <stdio.h>

/* What the rows give: "run|metric|step|ts_ms|value " each. */
struct seen {
	char text[512];
};

static void take(void *context, const struct table_point *point)
{
	struct seen *seen = context;
	size_t len = strlen(seen->text);

	snprintf(seen->text + len, sizeof seen->text - len, "%.*s|%.*s|%lld|%lld|%g ", SPAN_ARGS(point->run),
		SPAN_ARGS(point->metric), (long long)point->step, (long long)point->ts_ms, point->value);
}

/* The kind of the head, and what the rows behind it give. */
static enum run_table_kind read_all(struct span text, struct seen *seen)
{
	AUTO_DONE(table_cells) cells = {0};
	AUTO(run_table) table = NULL;
	struct table_row row;
	size_t lines;

	seen->text[0] = 0;
	for (size_t bytes; text.len && (bytes = table_record(text, true, &lines)) > 0; text = span_skip(text, bytes)) {
		CHECK(table_cells_read(&cells, span_of(text.ptr, bytes)));
		if (!table) {
			CHECK_OK(run_table_new(&table, &cells, &err));
			if (table->kind == RUN_TABLE_NONE)
				return RUN_TABLE_NONE;
		} else {
			CHECK_OK(run_table_read(table, &cells, take, seen, &row, &err));
		}
	}
	return table ? table->kind : RUN_TABLE_NONE;
}

TEST(run_table_records)
{
	AUTO_DONE(table_cells) cells = {0};
	size_t lines;

	CHECK_INT(table_record(SPAN("a,b\nc"), false, &lines), 4);
	CHECK_INT(table_record(SPAN("a,b"), false, &lines), 0);
	CHECK_INT(table_record(SPAN("a,b"), true, &lines), 3);
	CHECK_INT(table_record(SPAN("\"a\nb\"\nc"), true, &lines), 6);
	CHECK_INT(lines, 2);
	CHECK_INT(table_record(SPAN("\"a\nb"), true, &lines), 0); /* a quote without its end */
	CHECK_INT(
		table_record(SPAN("5\" disk,1\nc"), true, &lines), 10); /* a quote within a cell is one of its bytes */
	CHECK(table_cells_read(&cells, SPAN("a,\"b \"\"c\"\", d\",,\"\",5\" disk\r\n")));
	CHECK_INT(cells.count, 5);
	CHECK_SPAN(cells.items[1], SPAN("b \"c\", d"));
	CHECK_SPAN(cells.items[2], SPAN(""));
	CHECK_SPAN(cells.items[3], SPAN(""));
	CHECK_SPAN(cells.items[4], SPAN("5\" disk"));
}

TEST(run_table_kinds_and_points)
{
	struct seen seen;

	CHECK_INT(read_all(SPAN("Step,a - b - c,a - b - c__MIN,a - b - c__MAX\n1,2,0,9\n2,,,\n"), &seen),
		RUN_TABLE_CHART);
	CHECK_TEXT(seen.text, "a - b|c|1|0|2 ");
	CHECK_INT(read_all(SPAN("epoch,r - m,r - m__MIN,r - m__MAX\n3,1,1,1\n"), &seen), RUN_TABLE_CHART);
	CHECK_TEXT(seen.text, "r|m|3|0|1 ");
	CHECK_INT(read_all(SPAN("loss,_step,_timestamp\n0.5,7,1700000000.25\n1,8,\n"), &seen), RUN_TABLE_HISTORY);
	CHECK_TEXT(seen.text, "|loss|7|1700000000250|0.5 |loss|8|0|1 ");
	CHECK_INT(read_all(SPAN("timestamp,step,value,key,run_id\n1700000000000,1,-inf,m,r\n0,2,3,m,r\n"), &seen),
		RUN_TABLE_METRICS);
	CHECK_TEXT(seen.text, "r|m|1|1700000000000|-inf r|m|2|0|3 ");
}

TEST(run_table_that_is_none)
{
	struct seen seen;

	CHECK_INT(read_all(SPAN("step,loss\n1,2\n"), &seen), RUN_TABLE_NONE);
	CHECK_INT(read_all(SPAN("Step 1 - loss 2\n"), &seen), RUN_TABLE_NONE);
	CHECK_INT(read_all(SPAN("INFO, worker - started\n"), &seen), RUN_TABLE_NONE);
	CHECK_INT(read_all(SPAN("_step\n1\n"), &seen), RUN_TABLE_NONE);
	CHECK_INT(read_all(SPAN(""), &seen), RUN_TABLE_NONE);
}
