#include "harness.h"
#include "store/blocks.h"
#include "store/journal.h"
#include "store/points.h"

TEST(an_empty_journal_says_so)
{
	struct harness h = harness_new();
	uint64_t newest = 9, oldest = 9, bytes = 9, seq = 0;
	struct span record = SPAN("x");

	CHECK_OK(store_journal_figures(h.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(newest + oldest + bytes, 0);
	CHECK_OK(store_next_journal(h.reader, h.arena, &seq, &record, &err));
	CHECK(!record.ptr);
	CHECK_FAILS(store_read_journal(h.reader, h.arena, 3, &record, &err), ERR_NOT_FOUND, "record 3");
	harness_done(&h);
}

TEST(records_are_read_in_order_and_trimmed_but_for_the_newest)
{
	struct harness h = harness_new();
	uint64_t newest = 0, oldest = 0, bytes = 0, seq = 0;
	struct span record = {0};

	harness_begin(&h);
	for (uint64_t i = 1; i <= 10; i++)
		CHECK_OK(store_append_journal(h.tx, i * 2, span_of("\0\1\2\3\4\5\6\7\10\11\12", i), &err));
	CHECK_FAILS(store_append_journal(h.tx, 4, SPAN("x"), &err), ERR_CONFLICT, "record 4");
	harness_commit(&h);
	CHECK_OK(store_read_journal(h.reader, h.arena, 6, &record, &err));
	CHECK_SPAN(record, span_of("\0\1\2", 3));
	seq = 7;
	CHECK_OK(store_next_journal(h.reader, h.arena, &seq, &record, &err));
	CHECK_INT(seq, 8);
	CHECK_INT(record.len, 4);
	CHECK_OK(store_journal_figures(h.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(newest, 20);
	CHECK_INT(oldest, 2);
	CHECK_INT(bytes, 55);
	harness_begin(&h);
	CHECK_OK(store_trim_journal(h.tx, 12, 3, &err));
	harness_commit(&h);
	CHECK_OK(store_journal_figures(h.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(oldest, 8);
	harness_begin(&h);
	CHECK_OK(store_trim_journal(h.tx, UINT64_MAX, SIZE_MAX, &err));
	harness_commit(&h);
	harness_reopen(&h);
	CHECK_OK(store_journal_figures(h.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(newest, 20);
	CHECK_INT(oldest, 20);
	CHECK_INT(bytes, 10);
	harness_done(&h);
}

static void put_block(struct harness *h, uint64_t first_line, uint64_t count, const char *data)
{
	struct block_row row = {1, 2, first_line, count, 10, 20, 30, span_from(data), SPAN("")};

	CHECK_OK(store_put_block(h->tx, &row, &err));
}

TEST(the_block_that_holds_a_line_is_found_or_the_next)
{
	struct harness h = harness_new();
	struct block_row row = {0};

	harness_begin(&h);
	put_block(&h, 0, 10, "a");
	put_block(&h, 10, 5, "b");
	put_block(&h, 100, 5, "c");
	put_block(&h, 100, 7, "grown");
	harness_commit(&h);
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 2, 9, &row, &err));
	CHECK_SPAN(row.data, SPAN("a"));
	CHECK_INT(row.first_ms + row.last_ms + (int64_t)row.raw_bytes, 60);
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 2, 10, &row, &err));
	CHECK_SPAN(row.data, SPAN("b"));
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 2, 15, &row, &err));
	CHECK_SPAN(row.data, SPAN("grown"));
	CHECK_INT(row.line_count, 7);
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 2, 106, &row, &err));
	CHECK_INT(row.first_line, 100);
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 2, 107, &row, &err));
	CHECK_INT(row.line_count, 0);
	CHECK_SPAN(row.data, SPAN(""));
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 2, UINT64_MAX, &row, &err));
	CHECK_INT(row.line_count, 0);
	CHECK_OK(store_read_block(h.reader, h.arena, 1, 3, 0, &row, &err));
	CHECK_INT(row.line_count, 0);
	CHECK_OK(store_read_last_block(h.reader, h.arena, 1, 2, &row, &err));
	CHECK_SPAN(row.data, SPAN("grown"));
	CHECK_OK(store_read_last_block(h.reader, h.arena, 2, 2, &row, &err));
	CHECK_INT(row.line_count, 0);
	harness_done(&h);
}

static void put_chunk(struct harness *h, uint64_t first_ordinal, uint64_t count, const char *data)
{
	struct chunk_row row = {1, 2, first_ordinal, count, -5, 6, 7, 8, span_from(data)};

	CHECK_OK(store_put_chunk(h->tx, &row, &err));
}

TEST(the_chunk_that_holds_a_point_is_found_or_the_next)
{
	struct harness h = harness_new();
	struct chunk_row row = {0};

	harness_begin(&h);
	put_chunk(&h, 0, 1024, "a");
	put_chunk(&h, 2048, 1, "c");
	put_chunk(&h, 2048, 2, "grown");
	harness_commit(&h);
	CHECK_OK(store_read_chunk(h.reader, h.arena, 1, 2, 1023, &row, &err));
	CHECK_SPAN(row.data, SPAN("a"));
	CHECK_INT(row.first_step, -5);
	CHECK_INT(row.last_step + row.first_ms + row.last_ms, 21);
	CHECK_OK(store_read_chunk(h.reader, h.arena, 1, 2, 1024, &row, &err));
	CHECK_SPAN(row.data, SPAN("grown"));
	CHECK_INT(row.point_count, 2);
	CHECK_OK(store_read_chunk(h.reader, h.arena, 1, 2, 2050, &row, &err));
	CHECK_INT(row.point_count, 0);
	CHECK_OK(store_read_last_chunk(h.reader, h.arena, 1, 2, &row, &err));
	CHECK_INT(row.first_ordinal, 2048);
	CHECK_OK(store_read_last_chunk(h.reader, h.arena, 1, 1, &row, &err));
	CHECK_INT(row.point_count, 0);
	harness_done(&h);
}
