/*
 * Job: tells what comes again at equal distances: the first line of each epoch, the same batch in each of them.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 * Deterministic: the same steps in the same order give the same bits, also after pack and unpack.
 *
 * Kept are the last eight places and how odd they were. Distances are equal where an earlier place lies midway between a still
 * earlier one and this one; or where an earlier one is a multiple of the shortest distance away. One such place may be chance, three
 * are not. Also where so many of them, and the beginning of the training, where the first epoch began, are whole multiples of one
 * distance away that chance would seldom have it (not every epoch need be odd, and what is odd by itself lies between them). One is enough where the three are as odd as each other, to a factor of two: the same batch does the same.
 */
#pragma once

#include "base/codec/pack.h"

enum { RECUR_PLACES = 8 };

struct recur {
	int64_t steps[RECUR_PLACES]; /* a ring */
	float sizes[RECUR_PLACES];
	int64_t origin; /* where the training began */
	bool has_origin;
	uint32_t count; /* ever, but no more than twice the places: the newest is at (count - 1) % RECUR_PLACES */
};

void recur_begin(struct recur *recur, int64_t step); /* what is kept of odd places stays */
void recur_add(struct recur *recur, int64_t step, double size);
/* How many of them stand at equal distances with this step. Not nearer than `least`; 0 where this is three times as odd. */
unsigned recur_matches(const struct recur *recur, int64_t step, double size, double least, double tolerance);
/* Two as odd as this one do; tolerance: less of short distances. */
bool recur_is_again(const struct recur *recur, int64_t step, double size, double least, double tolerance);
void recur_pack(const struct recur *recur, struct buf *out);
void recur_unpack(struct recur *recur, bool has_origin, struct unpacker *in); /* older states have none */
