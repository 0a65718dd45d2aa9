/* Any bytes: a chunk or a refusal; and what was read packs and reads again as the same. */
#include "store/pack/chunk.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(struct zstd *zstd, const struct point *points, size_t count)
{
	static struct point again[CHUNK_MAX_POINTS];
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	size_t again_count = 0;

	if (chunk_pack(points, count, zstd, &out, NULL) != OK)
		abort();
	if (chunk_unpack(buf_span(&out), zstd, again, &again_count, NULL) != OK || again_count != count)
		abort();
	for (size_t i = 0; i < count; i++)
		if (memcmp(&points[i].value, &again[i].value, sizeof(double)) != 0 || points[i].step != again[i].step ||
			points[i].ts_ms != again[i].ts_ms || points[i].line != again[i].line ||
			points[i].attempt != again[i].attempt)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct point points[CHUNK_MAX_POINTS];
	AUTO(zstd) zstd = zstd_new();
	struct error err = {0};
	size_t count = 0;

	if (chunk_unpack(span_of((const char *)data, size), zstd, points, &count, &err) == OK)
		check_again(zstd, points, count);
	else if (err.status == OK || !err.text[0])
		abort();
	return 0;
}
