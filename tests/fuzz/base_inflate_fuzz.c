/* First byte: the encoding and the size of the pieces. Never more than the limit; the pieces make no difference. */
#include "base/codec/inflate.h"

#include <stdlib.h>

enum { MAX_BYTES = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum status decode(enum encoding encoding, struct span input, size_t step, struct buf *out)
{
	AUTO(inflater) inflater = NULL;

	TRY(inflater_new(&inflater, encoding, MAX_BYTES, NULL));
	while (input.len) {
		struct span piece = span_of(input.ptr, input.len < step ? input.len : step), output = SPAN("x");
		input = span_skip(input, piece.len);
		while (output.len) {
			TRY(inflater_step(inflater, &piece, &output, NULL));
			buf_append_span(out, output);
		}
		if (piece.len)
			abort();
	}
	return inflater_end(inflater, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(buf) whole = BUF_INIT(MAX_BYTES), pieces = BUF_INIT(MAX_BYTES);

	if (size == 0)
		return 0;
	struct span input = span_of((const char *)data + 1, size - 1);
	enum encoding encoding = (enum encoding)(data[0] % 4);
	enum status first = decode(encoding, input, SIZE_MAX, &whole);
	enum status second = decode(encoding, input, data[0] / 4 + 1u, &pieces);
	if (whole.failure || pieces.failure)
		abort();
	/* libzstd misses a wrong content size when an empty block ends a frame that comes in pieces. */
	if (encoding != ENCODING_ZSTD && (first == OK) != (second == OK))
		abort();
	if (first == OK && second == OK && !span_equal(buf_span(&whole), buf_span(&pieces)))
		abort();
	return 0;
}
