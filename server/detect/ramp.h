/*
 * Job: small excesses of a loss that add up: whether they are a ramp or a small shift, and worth a warning, or how far this series
 *      goes by itself.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 * Deterministic: the same values in the same order give the same bits, also after pack and unpack.
 *
 * The sum of z (clipped to +-4, less 1; Page 1954) that passes 14 says that the points lie higher than expected; the bar rises
 * with the correlation of neighbouring points, as the variance of their sums does. How high is told by the mean of the last dozen points
 * (near), against what was expected when the sum was 0. Losses wander: the rate of learning goes in cycles, data come in another
 * order. So what each sum saw is kept (wander; it fades, and is at most 15 % of the level): what is half as far again has added up. It is
 * high if it is twice as far, and
 *   - 5 spreads and 8 % of the level, and eight times as many points as it has taken went before; or 16 %; or
 *   - 8 spreads and four times the wander, sixteen times as far on, of 2560 points or more.
 */
#pragma once

#include "detect/robust.h"

struct ramp {
	double sum;
	int64_t sum_step; /* where the sum last left 0 */
	uint32_t sum_points; /* since then */
	uint32_t points; /* since the attempt began */
	double near;
	double base; /* what was expected when the sum left 0 */
	double rise, wander; /* how far above that points rose: since then; at most, in the sums before */
	bool is_marked; /* since the sum left 0: for the caller to set */
};

/* z: of the point, against what is expected. Before the point is part of the window. */
void ramp_gather(struct ramp *ramp, const struct robust_window *window, double z, int64_t step);
/* After that; of points of an incident as well. */
void ramp_follow(struct ramp *ramp, const struct robust_window *window, double value);
/* It lies higher than this series goes by itself, by half. */
bool ramp_is_beyond(const struct ramp *ramp, double value);
bool ramp_has_added_up(const struct ramp *ramp, const struct robust_window *window);
bool ramp_is_high(const struct ramp *ramp, const struct robust_window *window);
/* The sum is 0 again. */
void ramp_forget(struct ramp *ramp);
/* An incident is over, before ramp_forget. was_ramp: it is part of what this series does. */
void ramp_end(struct ramp *ramp, const struct robust_window *window, bool was_ramp, double level);
void ramp_pack(const struct ramp *ramp, struct buf *out); /* without the sum and its step */
void ramp_unpack(struct ramp *ramp, struct unpacker *in);
/* Of a state that had none. */
void ramp_take_over(struct ramp *ramp, const struct robust_window *window);
