#include "detect/recur.h"

#include <math.h>

enum { PARTS = 16 }; /* that the distance of two may have: what lies between was not odd */

static const double seldom = 0.01;
static const double exact_share = 0.005; /* of a distance: what two may differ by */

static size_t kept(const struct recur *recur)
{
	return recur->count < RECUR_PLACES ? recur->count : RECUR_PLACES;
}

void recur_begin(struct recur *recur, int64_t step)
{
	recur->origin = step;
	recur->has_origin = true;
}

void recur_add(struct recur *recur, int64_t step, double size)
{
	size_t at = recur->count % RECUR_PLACES;

	recur->steps[at] = step;
	recur->sizes[at] = (float)fmin(1e30, size);
	recur->count = recur->count + 1 < 2 * RECUR_PLACES ? recur->count + 1 : RECUR_PLACES;
}

static double distance_of(const struct recur *recur, size_t i, int64_t step)
{
	return (double)step - (double)recur->steps[i];
}

/* The shortest distance between neighbours that is none of one run. */
static double shortest_of(const struct recur *recur, int64_t step, double least)
{
	double shortest = INFINITY;

	for (size_t i = 0; i < kept(recur); i++) {
		double distance = distance_of(recur, i, step);
		if (distance >= least)
			shortest = fmin(shortest, distance);
		for (size_t j = 0; j < kept(recur); j++) {
			distance = distance_of(recur, i, recur->steps[j]);
			if (distance >= least)
				shortest = fmin(shortest, distance);
		}
	}
	return shortest;
}

static bool is_midway(const struct recur *recur, size_t i, int64_t step, double least, double tolerance)
{
	double distance = distance_of(recur, i, step);

	for (size_t j = 0; j < kept(recur); j++)
		if (distance >= least && fabs(distance_of(recur, j, step) - 2 * distance) <= tolerance)
			return true;
	return false;
}

static bool is_multiple(double distance, double period, double tolerance)
{
	return fabs(distance - period * round(distance / period)) <= tolerance;
}

static bool has_origin_on(const struct recur *recur, int64_t step, double period, double tolerance)
{
	return recur->has_origin && is_multiple((double)step - (double)recur->origin, period, tolerance);
}

/* Of the kept ones, and the beginning: how many are whole multiples of the period away, but for the one that it was told by. */
static unsigned on_grid(
	const struct recur *recur, size_t but, int64_t step, double period, double tolerance, double *largest)
{
	unsigned count = has_origin_on(recur, step, period, tolerance);

	*largest = (double)recur->sizes[but];
	for (size_t j = 0; j < kept(recur); j++) {
		bool is_on = j != but && is_multiple(distance_of(recur, j, step), period, tolerance);
		count += is_on;
		*largest = is_on ? fmax(*largest, (double)recur->sizes[j]) : *largest;
	}
	return count;
}

/* How often chance would have it: `count` of `others` steps are on the grid, for one of as many grids as were tried. */
static double chance_of(unsigned count, size_t others, double tries, double share)
{
	double chance = tries;

	for (unsigned i = 0; i < count; i++)
		chance *= share * (double)(others - i) / (i + 1);
	return chance;
}

/* Two, or as many as there are where the beginning is one of them: that is the first line of each epoch. */
static unsigned period_of(const struct recur *recur, int64_t step, double least, double tolerance, double *largest)
{
	size_t others = kept(recur) - 1 + recur->has_origin;
	unsigned best = 0;

	for (size_t i = 0; i < kept(recur); i++)
		for (int parts = 1; parts <= PARTS; parts++) {
			double period = distance_of(recur, i, step) / parts, of_these;
			if (period < least)
				break;
			unsigned count = on_grid(recur, i, step, period, tolerance, &of_these);
			double chance = chance_of(count, others, (double)kept(recur) * parts, 2 * tolerance / period);
			unsigned found = has_origin_on(recur, step, period, tolerance) ? count + 1 : 2;
			if (count && chance < seldom && found > best) {
				best = found;
				*largest = of_these;
			}
		}
	return best;
}

unsigned recur_matches(const struct recur *recur, int64_t step, double size, double least, double tolerance)
{
	unsigned midway = 0, multiples = 0;
	double shortest = shortest_of(recur, step, least), largest = 0;

	for (size_t i = 0; i < kept(recur); i++) {
		double distance = distance_of(recur, i, step), times = round(distance / shortest);
		bool is_middle = is_midway(recur, i, step, least, tolerance);
		bool is_times = times >= 1 && fabs(distance - times * shortest) <= tolerance;
		midway += is_middle;
		multiples += is_times;
		if (is_middle || is_times)
			largest = fmax(largest, (double)recur->sizes[i]);
	}
	multiples -= multiples < 2 ? multiples : 2; /* the shortest is one of itself, and a second may be chance */
	unsigned matches = midway > multiples ? midway : multiples;
	unsigned on_one = matches < 2 && kept(recur) ? period_of(recur, step, least, tolerance, &largest) : 0;
	matches = on_one > matches ? on_one : matches;
	return size > 3 * largest ? 0 : matches;
}

static bool is_like(double size, double other)
{
	return size < 2 * other && other < 2 * size;
}

bool recur_is_again(const struct recur *recur, int64_t step, double size, double least, double tolerance)
{
	for (size_t i = 0; i < kept(recur); i++) {
		double distance = distance_of(recur, i, step), give = fmin(tolerance, exact_share * distance);
		if (distance < least || !is_like(size, (double)recur->sizes[i]))
			continue;
		for (size_t j = 0; j < kept(recur); j++)
			if (fabs(distance_of(recur, j, step) - 2 * distance) <= give &&
				is_like(size, (double)recur->sizes[j]))
				return true;
	}
	return false;
}

void recur_pack(const struct recur *recur, struct buf *out)
{
	pack_u64(out, recur->count);
	pack_u64(out, recur->has_origin);
	if (recur->has_origin)
		pack_i64(out, recur->origin);
	for (size_t i = 0; i < kept(recur); i++) {
		pack_i64(out, recur->steps[i]);
		pack_double(out, (double)recur->sizes[i]);
	}
}

void recur_unpack(struct recur *recur, bool has_origin, struct unpacker *in)
{
	uint64_t count = unpack_u64(in), is_known = has_origin ? unpack_u64(in) : 0;

	in->has_failed |= count >= 2 * RECUR_PLACES || is_known > 1;
	if (in->has_failed)
		return;
	recur->count = (uint32_t)count;
	recur->has_origin = is_known;
	recur->origin = is_known ? unpack_i64(in) : 0;
	for (size_t i = 0; i < kept(recur); i++) {
		recur->steps[i] = unpack_i64(in);
		recur->sizes[i] = (float)unpack_double(in);
	}
}
