#include "detect/ramp.h"

#include <math.h>

enum { NEW_LENGTHS = 8, SURE_LENGTHS = 16, SURE_POINTS = 2560, POINTS_MOST = 1 << 20 };

static const double sum_bar = 14, sum_slack = 1, sum_most = 4; /* of z */
static const double near_share = 1.0 / 8; /* of a point in what is near */
static const double near_most = 8; /* spreads that a point may lie from it */
static const double high_share = 0.08, high_spreads = 5, plain_share = 0.16;
static const double sure_spreads = 8, sure_times = 4;
static const double wander_times = 1.5, page_times = 2, wander_most = 0.15, wander_fading = 1 - 1.0 / 8192;

/* What the sum has seen is how far this series goes by itself, once it has come back. */
static void learn_wander(struct ramp *ramp, const struct robust_window *window)
{
	ramp->wander = fmax(ramp->wander, fmin(ramp->rise, wander_most * fabs(robust_expected(window))));
	ramp->rise = 0;
}

void ramp_gather(struct ramp *ramp, const struct robust_window *window, double z, int64_t step)
{
	if (ramp->sum <= 0) {
		ramp_forget(ramp);
		ramp->sum_step = step;
		ramp->base = robust_expected(window);
		if (ramp->rise > 0)
			learn_wander(ramp, window);
	}
	ramp->sum = fmax(0, ramp->sum + robust_clip(z, -sum_most, sum_most) - sum_slack);
	ramp->sum_points += ramp->sum_points < POINTS_MOST;
}

void ramp_follow(struct ramp *ramp, const struct robust_window *window, double value)
{
	double most = near_most * window->spread;

	ramp->points += ramp->points < POINTS_MOST;
	ramp->wander *= wander_fading;
	if (window->count < ROBUST_FEW || !(window->spread > 0)) {
		ramp->near = window->count ? robust_expected(window) : value;
		return;
	}
	ramp->near += near_share * robust_clip(value - ramp->near, -most, most);
	if (ramp->sum > 0)
		ramp->rise = fmax(ramp->rise, ramp->near - ramp->base);
}

bool ramp_is_beyond(const struct ramp *ramp, double value)
{
	return value - ramp->base > wander_times * ramp->wander;
}

bool ramp_has_added_up(const struct ramp *ramp, const struct robust_window *window)
{
	double rho = window->correlation;

	return ramp->sum > sum_bar * (1 + rho) / (1 - rho) && ramp->near - ramp->base > wander_times * ramp->wander;
}

bool ramp_is_high(const struct ramp *ramp, const struct robust_window *window)
{
	double above = ramp->near - ramp->base, share = above / fabs(ramp->base), spreads = above / window->spread;
	bool is_new = ramp->points >= NEW_LENGTHS * ramp->sum_points;
	bool is_sure = ramp->points >= SURE_POINTS && ramp->points >= SURE_LENGTHS * ramp->sum_points &&
		       spreads > sure_spreads && above > sure_times * ramp->wander;

	if (ramp->sum <= sum_bar || spreads <= high_spreads || !ramp_has_added_up(ramp, window) ||
		above <= page_times * ramp->wander)
		return false;
	return share > plain_share || (is_new && (share > high_share || is_sure));
}

void ramp_forget(struct ramp *ramp)
{
	ramp->sum = 0;
	ramp->sum_points = 0;
	ramp->is_marked = false;
}

void ramp_end(struct ramp *ramp, const struct robust_window *window, bool was_ramp, double level)
{
	if (was_ramp)
		learn_wander(ramp, window);
	ramp->rise = 0;
	ramp->near = level;
}

void ramp_pack(const struct ramp *ramp, struct buf *out)
{
	pack_u64(out, ramp->sum_points);
	pack_u64(out, ramp->points);
	pack_double(out, ramp->near);
	pack_double(out, ramp->base);
	pack_double(out, ramp->rise);
	pack_double(out, ramp->wander);
	pack_u64(out, ramp->is_marked);
}

void ramp_unpack(struct ramp *ramp, struct unpacker *in)
{
	ramp->sum_points = (uint32_t)unpack_u64(in);
	ramp->points = (uint32_t)unpack_u64(in);
	ramp->near = unpack_double(in);
	ramp->base = unpack_double(in);
	ramp->rise = unpack_double(in);
	ramp->wander = unpack_double(in);
	uint64_t is_marked = unpack_u64(in);
	in->has_failed |= is_marked > 1;
	ramp->is_marked = is_marked;
}

void ramp_take_over(struct ramp *ramp, const struct robust_window *window)
{
	ramp->points = window->count;
	ramp->near = ramp->base = robust_expected(window);
}
