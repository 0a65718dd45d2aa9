#include "harness.h"

TEST(plain_lines)
{
	check_body(&ingest_plain, SPAN("a\nbc\n\nd\r\n"), SPAN("J/algo-1:|a#2|bc#3|#1|d\r#3\n"), 0, NULL);
	check_body(&ingest_plain, SPAN(""), SPAN(""), 0, NULL);
	check_body(&ingest_plain, SPAN("\n"), SPAN("J/algo-1:|#1\n"), 0, NULL);
	check_body(&ingest_plain, SPAN("x\0\xff\ny"), SPAN("J/algo-1:|x\0\xff#4|y^2#1\n"), 0, NULL);
	check_body(&ingest_plain, SPAN("10%\r20%\rdone\n"), SPAN("J/algo-1:|10%\r20%\rdone#13\n"), 0, NULL);
}

TEST(plain_long_lines_are_cut)
{
	check_body(&ingest_plain, SPAN("0123456789abcdef\nx\n"), SPAN("J/algo-1:|0123456789abcdef#17|x#2\n"), 0, NULL);
	check_body(
		&ingest_plain, SPAN("0123456789abcdefG\nx\n"), SPAN("J/algo-1:|0123456789abcdef^1#18|x#2\n"), 0, NULL);
	check_body(&ingest_plain, SPAN("0123456789abcdefGHIJKLM"), SPAN("J/algo-1:|0123456789abcdef^3#23\n"), 0, NULL);
}

TEST(plain_an_endless_line_needs_constant_memory)
{
	static char block[1 << 16];
	AUTO(batch) batch = batch_new(1);
	struct ingest_parser *parser;

	memset(block, 'x', sizeof block);
	CHECK_OK(ingest_plain.open(&parser, &test_options, &err));
	for (int i = 0; i < 1024; i++)
		CHECK_OK(ingest_plain.feed(parser, batch, span_of(block, sizeof block), &err));
	CHECK_INT(batch_bytes(batch), 0);
	CHECK_OK(ingest_plain.feed(parser, batch, SPAN("\nnext\n"), &err));
	CHECK_INT(batch->parts[0].lines[0].sent_bytes, (1 << 26) + 1);
	CHECK_INT(batch->parts[0].lines[0].flags, LINE_CUT);
	CHECK_SPAN(batch->parts[0].lines[1].text, SPAN("next"));
	CHECK_INT(batch->cut_lines, 1);
	ingest_plain.free(parser);
}

TEST(plain_goes_on_in_another_batch)
{
	AUTO(batch) first = batch_new(1);
	AUTO(batch) second = batch_new(2);
	struct ingest_parser *parser;

	CHECK_OK(ingest_plain.open(&parser, &test_options, &err));
	CHECK_OK(ingest_plain.feed(parser, first, SPAN("a\nbe"), &err));
	CHECK_OK(ingest_plain.feed(parser, second, SPAN("gun\n"), &err));
	CHECK_INT(first->line_count, 1);
	CHECK_SPAN(second->parts[0].lines[0].text, SPAN("begun"));
	ingest_plain.free(parser);
}

TEST(plain_needs_a_job)
{
	struct ingest_options options = test_options;
	struct ingest_parser *parser;

	options.job = SPAN("");
	CHECK_FAILS(ingest_plain.open(&parser, &options, &err), ERR_INVALID, "job is empty");
}

TEST(plain_survives_every_failing_allocation)
{
	for (long nth = 1; nth < 40; nth++) {
		struct ingest_parser *parser = NULL;
		struct error err;
		AUTO(batch) batch = batch_new(1);
		mem_fail_at(nth);
		if (ingest_plain.open(&parser, &test_options, &err) == OK) {
			enum status status = feed_all(&ingest_plain, parser, batch, SPAN("aaa\nbbb\nc"), 2, &err);
			CHECK(status == OK || status == ERR_MEMORY);
			ingest_plain.free(parser);
		}
		mem_fail_at(0);
	}
}
