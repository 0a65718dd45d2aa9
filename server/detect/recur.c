#include "detect/recur.h"

#include <math.h>

static const double exact_share = 0.005; /* of a distance: what two may differ by */

static size_t kept(const struct recur *recur)
{
	return recur->count < RECUR_PLACES ? recur->count : RECUR_PLACES;
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

unsigned recur_matches(const struct recur *recur, int64_t step, double size, double least, double tolerance)
{
	unsigned midway = 0, multiples = 0;
	double shortest = shortest_of(recur, step, least), largest = 0;

	for (size_t i = 0; i < kept(recur); i++) {
		double distance = distance_of(recur, i, step), times = round(distance / shortest);
		bool is_middle = is_midway(recur, i, step, least, tolerance);
		bool is_multiple = times >= 1 && fabs(distance - times * shortest) <= tolerance;
		midway += is_middle;
		multiples += is_multiple;
		if (is_middle || is_multiple)
			largest = fmax(largest, (double)recur->sizes[i]);
	}
	multiples -= multiples < 2 ? multiples : 2; /* the shortest is one of itself, and a second may be chance */
	return size > 3 * largest ? 0 : midway > multiples ? midway : multiples;
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
	for (size_t i = 0; i < kept(recur); i++) {
		pack_i64(out, recur->steps[i]);
		pack_double(out, (double)recur->sizes[i]);
	}
}

void recur_unpack(struct recur *recur, struct unpacker *in)
{
	uint64_t count = unpack_u64(in);

	in->has_failed |= count >= 2 * RECUR_PLACES;
	if (in->has_failed)
		return;
	recur->count = (uint32_t)count;
	for (size_t i = 0; i < kept(recur); i++) {
		recur->steps[i] = unpack_i64(in);
		recur->sizes[i] = (float)unpack_double(in);
	}
}
