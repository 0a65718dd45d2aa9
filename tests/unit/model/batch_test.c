#include "model/metrics/batch.h"
#include "test.h"

#include <stdio.h>

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

TEST(many_parts_are_found_by_both_names)
{
	AUTO(batch) batch = batch_new(1);
	char name[2000];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 3000; i++) {
			int len = snprintf(name, sizeof name, "j%da%d", i % 3, i);
			/* "j1" "a1" and "j1a" "1" are two streams */
			struct span job = span_of(name, 2 + i % 2),
				    stream = span_skip(span_of(name, (size_t)len), job.len);
			struct batch_part *part = batch_part(batch, job, stream);
			CHECK(part && batch_add(batch, part, SPAN("x"), NO_TIME, 0, 2));
			CHECK(part == batch_find_part(batch, job, stream));
		}
	CHECK_INT(batch->part_count, 3000);
	CHECK_INT(batch->parts[2999].count, 2);
	CHECK(!batch_find_part(batch, SPAN("j1a"), SPAN("0")));
	memset(name, 'n', sizeof name);
	CHECK(!batch_find_part(batch, span_of(name, sizeof name), SPAN("a")));
	struct batch_part *part = batch_part(batch, span_of(name, sizeof name), SPAN("a"));
	CHECK(part && part->job.len == sizeof name);
}
