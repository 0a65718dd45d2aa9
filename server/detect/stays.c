#include "detect/stays.h"

#include <math.h>

static const double like_depth = 0.5; /* a stretch is like a deeper one from there on */
static const double fading = 1 - 1.0 / 1024;

double stays_longest(const struct stays *stays, double depth)
{
	double longest = 0;

	for (size_t i = 0; i < STAYS; i++) {
		double like = fmin(1, (double)stays->kept[i].depth / (like_depth * depth));
		longest = fmax(longest, like * like * (double)stays->kept[i].length);
	}
	return longest;
}

unsigned stays_count(const struct stays *stays, double depth)
{
	unsigned count = 0;

	for (size_t i = 0; i < STAYS; i++)
		count += (double)stays->kept[i].depth >= like_depth * depth ? stays->kept[i].count : 0;
	return count < FEW_STAYS ? count : FEW_STAYS;
}

void stays_fade(struct stays *stays)
{
	for (size_t i = 0; i < STAYS; i++)
		stays->kept[i].length *= (float)fading;
}

static bool is_like(const struct stay *stay, float depth)
{
	return stay->depth >= (float)like_depth * depth && depth >= (float)like_depth * stay->depth;
}

void stays_keep(struct stays *stays, double of_depth, double of_length)
{
	float depth = (float)of_depth, length = (float)of_length;
	struct stay *place = &stays->kept[0];

	for (size_t i = 0; i < STAYS; i++) {
		if (is_like(&stays->kept[i], depth)) {
			place = &stays->kept[i];
			break;
		}
		if (stays->kept[i].length < place->length)
			place = &stays->kept[i];
	}
	bool is_same = is_like(place, depth);
	uint32_t count = is_same && place->count < FEW_STAYS ? place->count + 1 : is_same ? FEW_STAYS : 1;
	if (is_same && place->length > length)
		*place = (struct stay){place->depth + (depth - place->depth) / 4, place->length, count};
	else if (is_same || place->length < length)
		*place = (struct stay){depth, length, count};
}

void stays_pack(const struct stays *stays, struct buf *out)
{
	for (size_t i = 0; i < STAYS; i++) {
		pack_double(out, (double)stays->kept[i].depth);
		pack_double(out, (double)stays->kept[i].length);
		pack_u64(out, stays->kept[i].count);
	}
}

void stays_unpack(struct stays *stays, bool has_counts, struct unpacker *in)
{
	for (size_t i = 0; i < STAYS; i++) {
		stays->kept[i].depth = (float)unpack_double(in);
		stays->kept[i].length = (float)unpack_double(in);
		uint64_t count = has_counts ? unpack_u64(in) : FEW_STAYS;
		in->has_failed |= count > FEW_STAYS;
		stays->kept[i].count = in->has_failed ? 0 : (uint32_t)count;
	}
}
