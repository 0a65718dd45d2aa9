/* Any bytes, as a record and as its content: slices whose lines can be walked to the stated end, or a refusal. */
#include "store/pack/journal_record.h"

#include <stdlib.h>

enum { MAX_BYTES = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct journal_slice *slices, size_t count, struct zstd *zstd)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_BYTES);
	struct error err = {0};

	for (size_t i = 0; i < count; i++) {
		if (journal_open_slice(&slices[i], zstd, &text, &err) != OK) {
			if (!err.text[0])
				abort();
			continue;
		}
		struct journal_cursor cursor = journal_lines(&slices[i]);
		struct line line;
		size_t lines = 0;
		volatile char last = 0;
		while (journal_next_line(&cursor, &line)) {
			lines++;
			if (line.text.len)
				last = line.text.ptr[line.text.len - 1];
		}
		(void)last;
		if (lines != slices[i].line_count)
			abort();
	}
}

static void unpack(struct span record, struct zstd *zstd)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(MAX_BYTES);
	struct journal_slice *slices;
	struct error err = {0};
	size_t count;

	if (journal_unpack(record, zstd, &plain, &slices, &count, arena, &err) == OK)
		walk(slices, count, zstd);
	else if (!err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) frame = BUF_INIT(MAX_BYTES);
	AUTO_DONE(buf) framed = BUF_INIT(MAX_BYTES);
	struct span bytes = span_of((const char *)data, size);

	unpack(bytes, zstd);
	/* A frame is often broken by chance, so the bytes are also tried as its content, in both formats. */
	if (zstd_pack(zstd, bytes, 1, &frame, NULL) != OK)
		return 0;
	buf_append_char(&framed, 1);
	buf_append_span(&framed, buf_span(&frame));
	unpack(buf_span(&framed), zstd);
	buf_reset(&framed);
	buf_append_char(&framed, 2);
	pack_span(&framed, buf_span(&frame));
	unpack(buf_span(&framed), zstd);
	return 0;
}
