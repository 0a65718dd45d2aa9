/* The first byte says in how large pieces the rest arrives; the pieces must not change what is understood. */
#include "cli/http/http_reply.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum status read_in_pieces(struct http_reply *reply, struct span bytes, size_t piece)
{
	while (bytes.len) {
		size_t len = bytes.len < piece ? bytes.len : piece;
		enum status status = http_reply_feed(reply, span_of(bytes.ptr, len), NULL);
		if (status != OK)
			return status;
		bytes = span_skip(bytes, len);
	}
	return http_reply_end(reply, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(http_reply) whole = {0};
	AUTO_DONE(http_reply) pieces = {0};

	if (size == 0)
		return 0;
	struct span bytes = span_of((const char *)data + 1, size - 1);
	http_reply_init(&whole, 4096);
	http_reply_init(&pieces, 4096);
	enum status one = read_in_pieces(&whole, bytes, SIZE_MAX);
	enum status other = read_in_pieces(&pieces, bytes, (size_t)data[0] + 1);
	if (one != other || (one == OK && !span_equal(buf_span(&whole.body), buf_span(&pieces.body))))
		abort();
	return 0;
}
