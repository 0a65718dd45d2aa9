/* What can be read can be written, and what was written reads and writes as the same text. */
#include "base/json/json_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool print_again(struct span text, struct buf *out)
{
	AUTO(json) json = NULL;

	if (json_parse(&json, text, NULL) != OK)
		return false;
	json_print(json, out);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(buf) once = BUF_INIT(SIZE_MAX), twice = BUF_INIT(SIZE_MAX);
	struct span text = span_of((const char *)data, size);
	struct error err;

	if (!print_again(text, &once)) {
		AUTO(json) json = NULL;
		if (json_parse(&json, text, &err) == OK || err.line < 1 || err.column < 1)
			abort();
		return 0;
	}
	if (!print_again(buf_span(&once), &twice) || !span_equal(buf_span(&once), buf_span(&twice)))
		abort();
	if (!span_is_utf8(buf_span(&once)))
		abort();
	return 0;
}
