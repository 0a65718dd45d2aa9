/* Any bytes: a row of buckets, or the heads of a pyramid, or a refusal; and what was read packs and reads again as the same. */
#include "base/arena.h"
#include "store/pack/pyramid.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct pyramid_bucket *buckets, size_t count, unsigned level)
{
	static struct pyramid_bucket again[PYRAMID_ROW_BUCKETS];
	static struct pyramid_work work;
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	size_t again_count = 0;

	pyramid_row_pack(&out, buckets, count, level, &work);
	if (pyramid_row_unpack(buf_span(&out), level, again, &again_count, NULL) != OK || again_count != count)
		abort();
	if (count && memcmp(buckets, again, count * sizeof *again) != 0)
		abort();
}

static void check_heads(struct span data)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) out = BUF_INIT(1 << 24);
	struct pyramid_head *heads, *again;
	size_t count, again_count;

	if (!arena || pyramid_heads_unpack(data, arena, &heads, &count, NULL) != OK)
		return;
	pyramid_heads_pack(&out, heads, count);
	if (pyramid_heads_unpack(buf_span(&out), arena, &again, &again_count, NULL) != OK || again_count != count)
		abort();
	for (size_t i = 0; i < count; i++)
		if (heads[i].attempt != again[i].attempt || heads[i].axis != again[i].axis ||
			heads[i].base != again[i].base || heads[i].top != again[i].top ||
			heads[i].min_x != again[i].min_x || heads[i].max_x != again[i].max_x)
			abort();
}

/* The first byte is the level. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pyramid_bucket buckets[PYRAMID_ROW_BUCKETS];
	struct error err = {0};
	size_t count = 0;

	if (!size)
		return 0;
	unsigned level = data[0];
	struct span rest = span_of((const char *)data + 1, size - 1);
	if (pyramid_row_unpack(rest, level, buckets, &count, &err) == OK)
		check_row(buckets, count, level);
	else if (err.status == OK || !err.text[0])
		abort();
	check_heads(rest);
	return 0;
}
