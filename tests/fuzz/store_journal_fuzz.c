/* Any bytes, as a record and as its content: slices whose lines can be walked to the stated end, or a refusal. */
#include "store/journal_record.h"

#include <stdlib.h>

enum { MAX_BYTES = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct journal_slice *slices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(MAX_BYTES);
	struct span bytes = span_of((const char *)data, size);
	struct journal_slice *slices;
	struct error err = {0};
	size_t count;

	if (journal_unpack(bytes, zstd, &plain, &slices, &count, arena, &err) == OK)
		walk(slices, count);
	else if (!err.text[0])
		abort();
	if (journal_slices(bytes, &slices, &count, arena, &err) == OK)
		walk(slices, count);
	return 0;
}
