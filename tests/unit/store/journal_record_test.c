#include "test.h"

#include "store/journal_record.h"

static const struct line lines[] = {
	{.text = {"plain", 5}, .ts_ms = NO_TIME, .flags = 0},
	{.text = {"", 0}, .ts_ms = 1001, .flags = LINE_OPEN_END},
	{.text = {"a\0b\n\xff", 5}, .ts_ms = 999, .flags = LINE_CUT},
	{.text = {"last", 4}, .ts_ms = INT64_MAX, .flags = 0},
};
enum { LINE_COUNT = sizeof lines / sizeof *lines };

static const struct journal_slice first = {.job_id = 7,
	.stream_id = 3,
	.generation = 2,
	.first_line = 1ull << 40,
	.first_byte = 1ull << 50,
	.arrival_ms = 1700000000000,
	.line_count = LINE_COUNT,
	.text_bytes = 18,
	.sent_bytes = 4242};
static const struct journal_slice second = {.job_id = 8, .stream_id = 1, .arrival_ms = -1, .line_count = 0};

static void check_slices(const struct journal_slice *slices, size_t count)
{
	struct line line;
	size_t seen = 0;

	CHECK_INT(count, 2);
	CHECK_INT(slices[0].job_id, 7);
	CHECK_INT(slices[0].stream_id, 3);
	CHECK_INT(slices[0].generation, 2);
	CHECK_INT(slices[0].first_line, 1ull << 40);
	CHECK_INT(slices[0].first_byte, 1ull << 50);
	CHECK_INT(slices[0].arrival_ms, 1700000000000);
	CHECK_INT(slices[0].line_count, LINE_COUNT);
	CHECK_INT(slices[0].text_bytes, 18);
	CHECK_INT(slices[0].sent_bytes, 4242);
	CHECK_INT(slices[1].arrival_ms, -1);
	CHECK_INT(slices[1].line_count, 0);
	struct journal_cursor cursor = journal_lines(&slices[0]);
	while (journal_next_line(&cursor, &line)) {
		CHECK_SPAN(line.text, lines[seen].text);
		CHECK_INT(line.ts_ms, lines[seen].ts_ms);
		CHECK_INT(line.flags, lines[seen].flags);
		seen++;
	}
	CHECK_INT(seen, LINE_COUNT);
	cursor = journal_lines(&slices[1]);
	CHECK(!journal_next_line(&cursor, &line));
}

TEST(slices_come_back_packed_and_plain)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	AUTO_DONE(buf) kept = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	struct journal_writer writer = {0};
	struct journal_slice *slices = NULL;
	size_t count = 0;

	for (int again = 0; again < 2; again++) { /* the writer is as new after each record */
		buf_reset(&record);
		buf_reset(&kept);
		journal_add(&writer, &first, lines);
		journal_add(&writer, &second, NULL);
		CHECK_INT(writer.slice_count, 2);
		CHECK_OK(journal_pack(&writer, zstd, &kept, &record, &err));
		CHECK_INT(writer.slice_count, 0);
		CHECK_INT(writer.plain.len, 0);
		CHECK_OK(journal_slices(buf_span(&kept), &slices, &count, arena, &err));
		check_slices(slices, count);
		CHECK_OK(journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err));
		check_slices(slices, count);
	}
	buf_done(&writer.plain);
}

TEST(a_damaged_record_is_refused)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	AUTO_DONE(buf) kept = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	struct journal_writer writer = {0};
	struct journal_slice *slices = NULL;
	size_t count = 0;

	journal_add(&writer, &first, lines);
	CHECK_OK(journal_pack(&writer, zstd, &kept, &record, &err));
	for (size_t len = 0; len < record.len; len++)
		CHECK(journal_unpack(span_of(record.ptr, len), zstd, &plain, &slices, &count, arena, NULL) ==
			ERR_INVALID);
	for (size_t len = 1; len < kept.len; len++)
		CHECK_FAILS(
			journal_slices(span_of(kept.ptr, len), &slices, &count, arena, &err), ERR_INVALID, "slice 1");
	record.ptr[0] = 5;
	CHECK_FAILS(
		journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err), ERR_INVALID, "format 5");
	buf_done(&writer.plain);
}
