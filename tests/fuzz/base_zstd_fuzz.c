/* Unpacking stays below its limit whatever the frame says; what was unpacked packs and unpacks to the same. */
#include "base/codec/zstd.h"

#include <stdlib.h>

enum { MAX_BYTES = 10000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX), frame = BUF_INIT(SIZE_MAX), again = BUF_INIT(SIZE_MAX);

	if (!zstd)
		return 0;
	enum status status = zstd_unpack(zstd, span_of((const char *)data, size), MAX_BYTES, &plain, NULL);
	if (plain.len > MAX_BYTES || plain.failure || (status && plain.len))
		abort();
	if (status)
		return 0;
	if (zstd_pack(zstd, buf_span(&plain), 1, &frame, NULL) ||
		zstd_unpack(zstd, buf_span(&frame), plain.len, &again, NULL) ||
		!span_equal(buf_span(&plain), buf_span(&again)))
		abort();
	return 0;
}
