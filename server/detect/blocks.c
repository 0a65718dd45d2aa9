#include "detect/blocks.h"
#include "detect/order.h"

#include <math.h>

static const double largest = 1e30;

bool blocks_add(struct blocks *blocks, double value, int64_t step, double *median)
{
	if (blocks->used == 0)
		blocks->first_step = step;
	double finite = value < largest ? value : largest;
	blocks->values[blocks->used++] = (float)(finite < -largest ? -largest : finite);
	if (blocks->used < BLOCK_POINTS)
		return false;
	blocks->used = 0;
	*median = order_median(blocks->values, BLOCK_POINTS);
	return true;
}

void blocks_keep(struct blocks *blocks, double median)
{
	blocks->medians[blocks->next] = (float)median;
	blocks->next = (blocks->next + 1) % BLOCK_RING;
	blocks->count += blocks->count < BLOCK_RING;
}

/* back: 0 is the newest. */
static float kept(const struct blocks *blocks, size_t back)
{
	return blocks->medians[(blocks->next + BLOCK_RING - 1 - back) % BLOCK_RING];
}

double blocks_level(const struct blocks *blocks, size_t skip, size_t count)
{
	float copy[BLOCK_RING];

	for (size_t i = 0; i < count; i++)
		copy[i] = kept(blocks, skip + i);
	return order_median(copy, count);
}

double blocks_spread(const struct blocks *blocks)
{
	float gaps[BLOCK_RING];
	size_t count = 0;

	for (size_t i = 1; i < blocks->count; i++)
		gaps[count++] = fabsf(kept(blocks, i) - kept(blocks, i - 1));
	return count ? 1.4826 * order_median(gaps, count) / sqrt(2) : 0;
}

void blocks_clear(struct blocks *blocks)
{
	*blocks = (struct blocks){0};
}

void blocks_pack(const struct blocks *blocks, struct buf *out)
{
	pack_u64(out, blocks->used);
	pack_i64(out, blocks->first_step);
	for (size_t i = 0; i < blocks->used; i++)
		pack_double(out, (double)blocks->values[i]);
	pack_u64(out, blocks->count);
	for (size_t i = blocks->count; i-- > 0;)
		pack_double(out, (double)kept(blocks, i));
}

static float unpack_value(struct unpacker *in)
{
	double value = unpack_double(in);

	in->has_failed |= !(fabs(value) <= 2 * largest);
	return (float)value;
}

void blocks_unpack(struct blocks *blocks, struct unpacker *in)
{
	uint64_t used = unpack_u64(in);

	blocks_clear(blocks);
	blocks->first_step = unpack_i64(in);
	in->has_failed |= used >= BLOCK_POINTS;
	for (uint64_t i = 0; i < used && !in->has_failed; i++)
		blocks->values[i] = unpack_value(in);
	uint64_t count = unpack_u64(in);
	in->has_failed |= count > BLOCK_RING;
	if (in->has_failed)
		return;
	blocks->used = (uint32_t)used;
	for (uint64_t i = 0; i < count; i++)
		blocks_keep(blocks, (double)unpack_value(in));
}
