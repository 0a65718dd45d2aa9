#include "detect/beginning.h"

#include <math.h>

static const double high_share = 1.3; /* of the level: a beginning below that cannot be told from a spike */
static const double near_height = 0.6; /* of the way up to it */
static const double far_down = 0.3; /* of that way */
static const double alike_least = 0.25, alike_most = 2.5; /* of its fall */

void beginning_learn(struct beginning *beginning, double value)
{
	if (beginning->count >= BEGINNING_POINTS)
		return;
	beginning->sums[beginning->count < 8 ? 0 : beginning->count < 16 ? 1 : 2] += value;
	beginning->count++;
}

bool beginning_is_known(const struct beginning *beginning)
{
	return beginning->count == BEGINNING_POINTS;
}

static double mean_of(const struct beginning *beginning, int part)
{
	return beginning->sums[part] / (part < 2 ? 8 : 16);
}

static double fall_of(const struct beginning *beginning, int part)
{
	return mean_of(beginning, 0) - mean_of(beginning, part);
}

bool beginning_is_height(const struct beginning *first, double value, double level, double spread)
{
	double start = mean_of(first, 0);

	return beginning_is_known(first) && level > 0 && start > high_share * level &&
	       fall_of(first, 2) > spread * start / level && value > level + near_height * (start - level);
}

bool beginning_is_above(const struct beginning *first, double value, double level)
{
	return value > level + far_down * (mean_of(first, 0) - level);
}

bool beginning_is_alike(const struct beginning *first, const struct beginning *next, int part, double noise)
{
	double fell = fall_of(first, part), falls = fall_of(next, part);
	double slack = part == 1 ? noise / 2 : 0; /* of the difference of two means of eight */

	if (part == 1) /* a warm-up may have held the one or the other where it began */
		return falls > alike_least / 2 * fell - slack &&
		       falls < alike_most * fmax(fell, fall_of(first, 2) / 2) + slack;
	return falls > alike_least * fell && falls < alike_most * fell;
}

void beginning_pack(const struct beginning *beginning, struct buf *out)
{
	pack_u64(out, beginning->count);
	for (size_t i = 0; i < BEGINNING_PARTS; i++)
		pack_double(out, beginning->sums[i]);
}

void beginning_unpack(struct beginning *beginning, struct unpacker *in)
{
	uint64_t count = unpack_u64(in);

	in->has_failed |= count > BEGINNING_POINTS;
	beginning->count = in->has_failed ? 0 : (uint32_t)count;
	for (size_t i = 0; i < BEGINNING_PARTS; i++)
		beginning->sums[i] = unpack_double(in);
}
