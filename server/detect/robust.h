/*
 * Job: what the next value of a noisy curve ought to be, from the last 128: median and MAD about a straight trend.
 * Ownership: values. Threads: one at a time. Internal to detect/.
 * Deterministic: the same values in the same order give the same bits, also after pack and unpack.
 */
#pragma once

#include "base/codec/pack.h"

enum { ROBUST_WINDOW = 128, ROBUST_REFIT = 16, ROBUST_FEW = 20 };
enum { ROBUST_LATE_STEP = 1000 }; /* a window that begins there begins in the midst of a training */

struct robust_window {
	float values[ROBUST_WINDOW]; /* a ring; next is the oldest once it is full */
	uint32_t count;
	uint32_t next;
	uint32_t since_fit; /* values added since the figures below were made */
	double level; /* at the newest value of the fit */
	double slope; /* a value; never above 0: what rises is to be noticed, not to be followed */
	double spread; /* 1.4826 MAD of the residuals, floored; 0: no spread can be told */
	double long_spread; /* the same, over some hundred values more */
	double correlation; /* of neighbouring residuals, 0..0.95 */
};

static inline double robust_clip(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

void robust_clear(struct robust_window *window);
void robust_add(struct robust_window *window, double value);
/* The level that the next value should be near. */
double robust_expected(const struct robust_window *window);
/*
 * Of 2 to 19 values nothing can be told in spreads. This one is beyond the largest by `least`, and by three times what lies
 * between them: where a training is joined in its midst that is an excursion, and no beginning.
 */
bool robust_is_far(const struct robust_window *window, double value, double least);
void robust_refit(struct robust_window *window);
/* One unit of the last digit that a value was printed with, as far as it shows; 0: a round number, or six digits and more. */
double robust_quantum(double value);
/* A stretch of steps that nothing is known of: what was usual before need not be now. before: the distance of the last two points. */
bool robust_is_gap(double distance, double before);
void robust_pack(const struct robust_window *window, struct buf *out);
/* format: as of detector_kind.unpack */
void robust_unpack(struct robust_window *window, unsigned format, struct unpacker *in);
