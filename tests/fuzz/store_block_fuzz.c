/* Any bytes: a block or a refusal. The frame is often broken by chance, so the bytes are also tried as its content; and
 * cut into lines, they must come back. */
#include "store/pack/block.h"

#include <stdlib.h>

enum { MAX_LINES = 256, MAX_BYTES = 1 << 24, FORMAT = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(struct span bytes, struct zstd *zstd)
{
	AUTO_DONE(buf) plain = BUF_INIT(MAX_BYTES);
	AUTO(arena) arena = arena_new();
	struct error err = {0};
	struct line *lines;
	size_t count, total = 0;

	if (block_unpack(bytes, zstd, &plain, arena, &lines, &count, &err) != OK) {
		if (!err.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < count; i++)
		total += lines[i].text.len + 1;
	if (total > plain.len)
		abort();
}

static void unpack_content(struct span bytes, struct zstd *zstd)
{
	AUTO_DONE(buf) framed = BUF_INIT(MAX_BYTES);

	buf_append_char(&framed, FORMAT);
	if (zstd_pack(zstd, bytes, 1, &framed, NULL) == OK)
		unpack(buf_span(&framed), zstd);
}

/* The first byte of each line is its flags. */
static void round_trip(struct span bytes, struct zstd *zstd)
{
	AUTO_DONE(buf) out = BUF_INIT(MAX_BYTES);
	AUTO_DONE(buf) plain = BUF_INIT(MAX_BYTES);
	AUTO(arena) arena = arena_new();
	struct line lines[MAX_LINES], *got;
	size_t count = 0, got_count;

	for (struct span part; count < MAX_LINES && bytes.len && span_next(&bytes, '|', &part); count++)
		lines[count] = (struct line){
			.text = part, .ts_ms = (int64_t)bytes.len, .flags = part.len ? (unsigned char)*part.ptr : 0};
	if (block_pack(lines, count, zstd, &out, NULL) != OK ||
		block_unpack(buf_span(&out), zstd, &plain, arena, &got, &got_count, NULL) != OK || got_count != count)
		abort();
	for (size_t i = 0; i < count; i++)
		if (!span_equal(got[i].text, lines[i].text) || got[i].flags != lines[i].flags ||
			got[i].ts_ms != lines[i].ts_ms)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(zstd) zstd = zstd_new();
	struct span bytes = span_of((const char *)data, size);

	unpack(bytes, zstd);
	unpack_content(bytes, zstd);
	round_trip(bytes, zstd);
	return 0;
}
