/*
 * Job: tells whether a series is printed as the mean since the start of its epoch, and turns such means back into what they are
 *      means of: x = (n A_n - m A_m) / (n - m), n and m the steps of the epoch behind each.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 * Deterministic: the same points in the same order give the same bits, also after pack and unpack.
 *
 * How it is told. A mean of n values moves by 1/n of what a value does: from one point to the next it moves less and less, until
 * the epoch ends and it starts afresh. The moves are looked at as the square root of how far two neighbouring ones are apart
 * (no trend adds to that, and an odd one little), in octaves of points since the start. Where the last full octave has less
 * than 0.65 of the octave two before it (0.5 in a mean, 1 in a plain curve), the epoch looks like means. An epoch ends
 * where the counter on the line falls back; where there is none, with a move six times the largest of late, or after as many
 * steps as the last two had. An epoch of 64 points is enough, two in a row of 32; two that have 0.85 or more end it.
 *
 * Digits. Printed with few of them, the difference of two means says little late in an epoch: a value is made when the epoch
 * has grown by a sixteenth, and so far that the smallest move that the series ever made leaves no more than 1/64 of it open; of
 * what came since the last one. The points between give none.
 */
#pragma once

#include "base/codec/pack.h"
#include "model/metrics/point.h"

enum { UNMEAN_OCTAVES = 16 };

struct unmean {
	bool is_mean;
	bool was_like_mean; /* the epoch before */
	uint32_t attempt;
	uint32_t count; /* points of the epoch */
	uint32_t in_epoch; /* of the last point, as its line says; 0: it does not */
	int64_t start_step; /* the last before the epoch */
	int64_t last_step;
	int64_t length, length_before; /* of the last epochs, in steps; 0: none */
	double last, last_move;
	double mean; /* of the mean_count steps up to the last value that was made */
	int64_t mean_count;
	double quantum; /* the smallest move so far: of its digits, if these are few */
	float largest[2]; /* moves: of the eight points before, and of those since */
	float octaves[UNMEAN_OCTAVES];
};

/* point becomes what the detectors are to see. False: nothing yet. Finite values only. */
bool unmean_point(struct unmean *state, struct point *point);
void unmean_pack(const struct unmean *state, struct buf *out);
void unmean_unpack(struct unmean *state, struct unpacker *in);
