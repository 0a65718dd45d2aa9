#include "store/pack/block.h"
#include "test.h"

#include <stdio.h>

static const struct line hard[] = {
	{.text = {"plain", 5}, .ts_ms = 1000, .flags = 0},
	{.text = {"", 0}, .ts_ms = 1001, .flags = 0},
	{.text = {"a\0b\xff\xfe", 5}, .ts_ms = 999, .flags = LINE_CUT},
	{.text = {"\n", 1}, .ts_ms = INT64_MAX, .flags = 0},
	{.text = {"two\nlines\n", 10}, .ts_ms = INT64_MIN + 1, .flags = LINE_OPEN_END},
	{.text = {"progress 1%\rprogress 2%\r", 24}, .ts_ms = 0, .flags = LINE_CUT | LINE_OPEN_END},
	{.text = {"\n\n\n", 3}, .ts_ms = -5, .flags = 0},
	{.text = {"", 0}, .ts_ms = 7, .flags = LINE_OPEN_END},
};
enum { HARD_COUNT = sizeof hard / sizeof *hard };

static void check_same(const struct line *got, const struct line *want, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_SPAN(got[i].text, want[i].text);
		CHECK_INT(got[i].ts_ms, want[i].ts_ms);
		CHECK_INT(got[i].flags, want[i].flags);
	}
}

TEST(lines_come_back_byte_for_byte)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) data = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	struct line *lines = NULL;
	size_t count = 0;

	for (size_t wanted = 0; wanted <= HARD_COUNT; wanted++) {
		buf_reset(&data);
		CHECK_OK(block_pack(hard, wanted, zstd, &data, &err));
		CHECK_OK(block_unpack(buf_span(&data), zstd, &plain, arena, &lines, &count, &err));
		CHECK_INT(count, wanted);
		check_same(lines, hard, count);
	}
}

TEST(a_cursor_goes_to_the_lines_that_are_wanted)
{
	enum { COUNT = 400 };
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	struct line lines[COUNT], line;
	char texts[COUNT][24];

	for (size_t i = 0; i < COUNT; i++) {
		snprintf(texts[i], sizeof texts[i], i % 7 ? "%.*s%zu" : "", (int)(i % 13), "abcdefghijklm", i);
		lines[i] = (struct line){.text = span_from(texts[i]),
			.ts_ms = i % 3 ? (int64_t)(i * i) : -(int64_t)i,
			.flags = i % 50 == 8 ? LINE_CUT : 0};
	}
	CHECK_OK(block_lay_out(lines, COUNT, &plain, &err));
	for (size_t step = 1; step < COUNT; step += step < 20 ? 1 : 37) {
		struct block_cursor cursor = block_lines(buf_span(&plain));
		const char *at = cursor.texts.rest.ptr;
		for (size_t i = 0; i < COUNT; at += lines[i++].text.len + 1) {
			if (i % step)
				continue;
			CHECK(block_go_to(&cursor, at, &line));
			CHECK_INT(cursor.at, i + 1);
			check_same(&line, &lines[i], 1);
		}
	}
}

TEST(a_full_block_comes_back_small)
{
	enum { COUNT = 9000 };
	static struct line lines[COUNT];
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) data = BUF_INIT(1 << 22);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 22);
	struct line *got = NULL;
	size_t count = 0, bytes = 0;

	for (size_t i = 0; i < COUNT; i++) {
		AUTO_DONE(buf) text = BUF_INIT(1000);
		buf_printf(&text,
			" iteration %7zu/ 2000000 | consumed samples: %12zu | lm loss: 2.%06zuE+00 | grad norm: 0.%03zu |",
			i, i * 512, i * 7919 % 1000000, i * 31 % 1000);
		lines[i] = (struct line){
			.text = arena_copy(arena, buf_span(&text)), .ts_ms = 1700000000000 + (int64_t)i * 1003};
		bytes += text.len + 1;
	}
	CHECK_OK(block_pack(lines, COUNT, zstd, &data, &err));
	CHECK(data.len * 6 < bytes);
	CHECK_OK(block_unpack(buf_span(&data), zstd, &plain, arena, &got, &count, &err));
	CHECK_INT(count, COUNT);
	check_same(got, lines, COUNT);
}

TEST(a_damaged_block_is_refused)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) data = BUF_INIT(1 << 20);
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);
	struct line *lines = NULL;
	size_t count = 0;

	CHECK_OK(block_pack(hard, HARD_COUNT, zstd, &data, &err));
	for (size_t len = 0; len < data.len; len++)
		CHECK(block_unpack(span_of(data.ptr, len), zstd, &plain, arena, &lines, &count, NULL) != OK);
	for (size_t i = 0; i < data.len * 8; i++) {
		data.ptr[i / 8] ^= (char)(1 << i % 8);
		if (block_unpack(buf_span(&data), zstd, &plain, arena, &lines, &count, NULL) == OK)
			check_same(lines, hard, count); /* bits that mean nothing */
		data.ptr[i / 8] ^= (char)(1 << i % 8);
	}
	data.ptr[0] = 7;
	CHECK_FAILS(block_unpack(buf_span(&data), zstd, &plain, arena, &lines, &count, &err), ERR_INVALID, "format 7");
}
