/*
 * Job: how a training begins, as means of its first points; and whether another one begins likewise. Pure.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 *
 * Alike are beginnings that fall: the next training may start from another height, with another rate of learning. What stands
 * still there, longer than a warm-up would hold it, is a training that has come to grief, and what falls much faster is a spike on
 * its way back.
 */
#pragma once

#include "base/codec/pack.h"

enum { BEGINNING_POINTS = 32, BEGINNING_PARTS = 3 };

struct beginning {
	uint32_t count;
	double sums[BEGINNING_PARTS]; /* of 8, 8 and 16 points */
};

void beginning_learn(struct beginning *beginning, double value);
bool beginning_is_known(const struct beginning *beginning);
/* This value is as high as where it began, of a series that has come down to `level`, give or take `spread`. */
bool beginning_is_height(const struct beginning *first, double value, double level, double spread);
/* A value of what may be another beginning: it has not come down to that level at once. */
bool beginning_is_above(const struct beginning *first, double value, double level);
/* The other one has fallen as this one had, after 16 points (part 1) or after 32 (part 2). noise: of its points. */
bool beginning_is_alike(const struct beginning *first, const struct beginning *next, int part, double noise);
void beginning_pack(const struct beginning *beginning, struct buf *out);
void beginning_unpack(struct beginning *beginning, struct unpacker *in);
