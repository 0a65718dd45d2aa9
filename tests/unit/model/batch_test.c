#include "model/batch.h"
#include "test.h"

TEST(a_batch_copies_what_it_is_given)
{
	AUTO(batch) batch = batch_new(42);
	char text[] = "hello";

	CHECK(batch);
	CHECK_INT(batch->arrival_ms, 42);
	struct batch_part *part = batch_part(batch, SPAN("job"), SPAN("algo-1"));
	CHECK(part);
	CHECK(batch_add(batch, part, span_from(text), NO_TIME, 0, 6));
	CHECK(batch_add(batch, part, SPAN(""), 7, LINE_CUT, 100));
	memset(text, 'x', sizeof text - 1);
	CHECK_SPAN(part->lines[0].text, SPAN("hello"));
	CHECK_INT(part->lines[0].ts_ms, NO_TIME);
	CHECK_INT(part->lines[1].flags, LINE_CUT);
	CHECK_INT(part->sent_bytes, 106);
	CHECK_INT(batch->cut_lines, 1);
	CHECK_INT(batch->line_count, 2);
	CHECK_INT(batch->text_bytes, 7);
}

TEST(parts_are_found_again)
{
	AUTO(batch) batch = batch_new(1);

	for (int round = 0; round < 2; round++)
		for (char c = 'a'; c <= 'z'; c++) {
			struct batch_part *part = batch_part(batch, SPAN("job"), span_of(&c, 1));
			CHECK(part && batch_add(batch, part, SPAN("x"), NO_TIME, 0, 2));
		}
	CHECK_INT(batch->part_count, 26);
	CHECK_INT(batch->line_count, 52);
	CHECK_INT(batch->parts[25].count, 2);
}
