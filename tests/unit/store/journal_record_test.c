#include "store/pack/journal_record.h"
#include "test.h"

static const struct line lines[] = {
	{.text = {"plain", 5}, .ts_ms = NO_TIME, .flags = 0},
	{.text = {"", 0}, .ts_ms = 1001, .flags = LINE_OPEN_END},
	{.text = {"a\0b\n\xff", 5}, .ts_ms = 999, .flags = LINE_CUT},
	{.text = {"last", 4}, .ts_ms = INT64_MAX, .flags = 0},
};
enum { LINE_COUNT = sizeof lines / sizeof *lines };
static const int64_t effective_ms[LINE_COUNT] = {1000, 1001, 999, INT64_MAX};

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

static void check_lines(struct journal_slice *slice, struct zstd *zstd, struct buf *text, bool has_effective_times)
{
	struct line line;
	size_t seen = 0;

	CHECK_OK(journal_open_slice(slice, zstd, text, &err));
	struct journal_cursor cursor = journal_lines(slice);
	while (journal_next_line(&cursor, &line)) {
		CHECK_SPAN(line.text, lines[seen].text);
		CHECK_INT(line.ts_ms, has_effective_times ? effective_ms[seen] : lines[seen].ts_ms);
		CHECK_INT(line.flags, lines[seen].flags);
		seen++;
	}
	CHECK_INT(seen, LINE_COUNT);
}

static void check_head(const struct journal_slice *slice)
{
	CHECK_INT(slice->job_id, 7);
	CHECK_INT(slice->stream_id, 3);
	CHECK_INT(slice->generation, 2);
	CHECK_INT(slice->first_line, 1ull << 40);
	CHECK_INT(slice->first_byte, 1ull << 50);
	CHECK_INT(slice->arrival_ms, 1700000000000);
	CHECK_INT(slice->line_count, LINE_COUNT);
	CHECK_INT(slice->text_bytes, 18);
	CHECK_INT(slice->sent_bytes, 4242);
}

/* The same lines as a block, with a log time each. */
static struct journal_slice make_block(struct zstd *zstd, struct buf *block)
{
	struct line timed[LINE_COUNT];
	struct journal_slice slice = first;

	for (size_t i = 0; i < LINE_COUNT; i++) {
		timed[i] = lines[i];
		timed[i].ts_ms = effective_ms[i];
	}
	CHECK_OK(block_pack(timed, LINE_COUNT, zstd, block, &err));
	slice.kind = JOURNAL_BLOCK;
	slice.block = buf_span(block);
	slice.first_ms = 999;
	slice.last_ms = INT64_MAX;
	return slice;
}

TEST(slices_of_both_kinds_come_back)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	AUTO_DONE(buf) kept = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	AUTO_DONE(buf) block = BUF_INIT(1 << 20);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct journal_writer writer = {0};
	struct journal_slice *slices = NULL, large = make_block(zstd, &block);
	size_t count = 0;

	for (int again = 0; again < 2; again++) { /* the writer is as new after each record */
		buf_reset(&record);
		buf_reset(&kept);
		size_t body_at = journal_add(&writer, &first, lines), end = writer.plain.len;
		journal_add(&writer, &large, NULL);
		size_t plain_bytes = writer.plain.len, block_bytes = writer.blocks.len;
		journal_add(&writer, &large, NULL); /* a batch whose later part failed */
		journal_writer_cut(&writer, plain_bytes, block_bytes, 2);
		journal_add(&writer, &second, NULL);
		CHECK_INT(writer.slice_count, 3);
		CHECK_OK(journal_pack(&writer, zstd, &kept, &record, &err));
		CHECK_INT(writer.slice_count, 0);
		CHECK_INT(writer.plain.len, 0);
		CHECK_INT(writer.blocks.len, 0);
		CHECK_OK(journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err));
		CHECK_INT(count, 3);
		CHECK_SPAN(slices[0].body, span_of(kept.ptr + body_at, end - body_at));
		check_head(&slices[0]);
		check_lines(&slices[0], zstd, &text, false);
		check_head(&slices[1]);
		CHECK_SPAN(slices[1].block, buf_span(&block));
		CHECK_INT(slices[1].first_ms, 999);
		CHECK_INT(slices[1].last_ms, INT64_MAX);
		check_lines(&slices[1], zstd, &text, true);
		CHECK_INT(slices[2].arrival_ms, -1);
		CHECK_OK(journal_open_slice(&slices[2], zstd, &text, &err));
		struct journal_cursor cursor = journal_lines(&slices[2]);
		struct line line;
		CHECK(!journal_next_line(&cursor, &line));
	}
	journal_writer_done(&writer);
}

/* A record as the first release wrote it: no kinds, and one frame alone. */
TEST(a_record_of_format_1_is_read)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct journal_writer writer = {0};
	struct journal_slice *slices = NULL;
	size_t count = 0;

	journal_add(&writer, &first, lines);
	buf_append_char(&record, 1);
	CHECK_INT(writer.plain.ptr[0], JOURNAL_LINES);
	CHECK_OK(zstd_pack(zstd, span_skip(buf_span(&writer.plain), 1), 1, &record, &err));
	CHECK_OK(journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err));
	CHECK_INT(count, 1);
	check_head(&slices[0]);
	check_lines(&slices[0], zstd, &text, false);
	journal_writer_done(&writer);
}

TEST(a_damaged_record_is_refused)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	AUTO_DONE(buf) kept = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	AUTO_DONE(buf) block = BUF_INIT(1 << 20);
	struct journal_writer writer = {0};
	struct journal_slice *slices = NULL, large = make_block(zstd, &block);
	size_t count = 0;

	journal_add(&writer, &first, lines);
	journal_add(&writer, &large, NULL);
	CHECK_OK(journal_pack(&writer, zstd, &kept, &record, &err));
	for (size_t len = 0; len < record.len; len++)
		CHECK(journal_unpack(span_of(record.ptr, len), zstd, &plain, &slices, &count, arena, NULL) ==
			ERR_INVALID);
	buf_append_char(&record, 'x');
	CHECK_FAILS(journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err), ERR_INVALID,
		"1 bytes too many");
	record.ptr[0] = 5;
	CHECK_FAILS(
		journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err), ERR_INVALID, "format 5");
	journal_writer_done(&writer);
}

/* The others of its record stay readable. */
TEST(a_damaged_slice_is_named)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	AUTO_DONE(buf) kept = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	AUTO_DONE(buf) block = BUF_INIT(1 << 20);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct journal_writer writer = {0};
	struct journal_slice *slices = NULL, large = make_block(zstd, &block);
	size_t count = 0;

	journal_add(&writer, &large, NULL);
	journal_add(&writer, &first, lines);
	large.line_count++; /* more than the block holds */
	journal_add(&writer, &large, NULL);
	CHECK_OK(journal_pack(&writer, zstd, &kept, &record, &err));
	record.ptr[record.len - 1] ^= 1; /* the last block's checksum */
	CHECK_OK(journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err));
	check_lines(&slices[0], zstd, &text, true);
	check_lines(&slices[1], zstd, &text, false);
	CHECK(journal_open_slice(&slices[2], zstd, &text, NULL) == ERR_INVALID);
	record.ptr[record.len - 1] ^= 1;
	CHECK_FAILS(journal_open_slice(&slices[2], zstd, &text, &err), ERR_INVALID, "does not hold 5 whole lines");
	journal_writer_done(&writer);
}

/* Of more than 256 KiB the memory itself is handed out, of less a copy. */
TEST(records_of_any_size_come_back)
{
	static char bytes[300 << 10];
	struct line long_line = {.text = span_of(bytes, sizeof bytes), .ts_ms = NO_TIME};
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	struct journal_writer writer = {0};
	struct journal_slice *slices, slice = {.kind = JOURNAL_LINES, .line_count = 1};
	size_t count;

	memset(bytes, 'x', sizeof bytes);
	for (int i = 0; i < 4; i++) {
		AUTO_DONE(buf) record = BUF_INIT(1 << 20);
		AUTO_DONE(buf) kept = BUF_INIT(1 << 20);
		AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
		long_line.text.len = i % 2 ? sizeof bytes : 1500;
		size_t body_at = journal_add(&writer, &slice, &long_line);
		CHECK_OK(journal_pack(&writer, zstd, &kept, &record, &err));
		CHECK_INT(writer.plain.len, 0);
		CHECK_OK(journal_unpack(buf_span(&record), zstd, &plain, &slices, &count, arena, &err));
		CHECK_INT(count, 1);
		CHECK_SPAN(buf_span(&plain), buf_span(&kept));
		CHECK_SPAN(slices[0].body, span_of(kept.ptr + body_at, kept.len - body_at));
		if (i % 2 == 0)
			CHECK(kept.cap < kept.len + 16); /* no more memory than that */
	}
	journal_writer_done(&writer);
}
