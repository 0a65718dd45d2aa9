#include "detect/loss_spike_evidence.h"

enum {
	TAIL_LAG = 12,
	SAMPLED_STEPS = 5,
	FREE_MARKS = 4,
	WHOLE_SPIKE_POINTS = 256,
	FEW_TIMES = 2, /* matches */
	APART = 16, /* points */
};

static const double mark_least = 3.8, mark_most = 8, mark_step = 0.5; /* bars: the step is a mark's */
static const double down_fading = 1 - 1.0 / 4096;
static const double far_share = 0.5; /* of the level: with few values known */
static const double far_score = 8;
static const double young_share = 0.01; /* of the level: what a spread is at least that is little known */

void spike_forget_evidence(struct loss_spike *state)
{
	memset(state->z, 0, sizeof state->z);
	memset(state->news, 0, sizeof state->news);
	state->before = 0;
	ramp_forget(&state->ramp);
}

/*
 * With few values the median and the MAD are uncertain themselves; correlated ones are worth fewer, and the trend takes
 * a part of their spread with it.
 */
double spike_score(const struct robust_window *window, double value)
{
	double rho = window->correlation, history = window->count;
	double widened = 1 + 0.8 * (ROBUST_WINDOW - history) / (ROBUST_WINDOW - ROBUST_FEW);

	widened /= sqrt(fmax(0.25, 1 - 2 * (1 + rho) / ((1 - rho) * ROBUST_WINDOW)));

	if (window->count < ROBUST_FEW || !(window->spread > 0))
		return 0;
	double level = robust_expected(window), least = young_share * (ROBUST_WINDOW - history) / ROBUST_WINDOW;
	return (value - level) / (fmax(window->spread, least * fabs(level)) * widened);
}

/* Of a restart, or a training that is joined in its midst, something can be said before its spread is known. */
double spike_young_score(struct loss_spike *state, double value)
{
	struct robust_window *window = state->window;

	if (window->count < 2 || state->window_step < ROBUST_LATE_STEP)
		return 0;
	robust_refit(window);
	double level = robust_expected(window);
	bool is_still_far = state->alarm.is_open && value - level > far_share / 2 * level;
	bool is_far = level > 0 && (is_still_far || robust_is_far(window, value, far_share * level));
	return is_far ? far_score : 0;
}

/*
 * What is new in this point, in standard deviations: of a correlated curve a part of z is the last point's. That part is
 * kept for the next one.
 */
double spike_innovation(struct loss_spike *state, double z)
{
	const struct robust_window *window = state->window;
	double rho = window->correlation, new = (z - rho * state->before) / sqrt(1 - rho * rho);

	state->before = robust_clip(z, -4, 4);
	return new *robust_clip(window->spread / window->long_spread, 1 / 1.2, 1 / 0.85);
}

/* A series that has odd points all the time gets a higher bar: a mark about every 2000 points is what a chart bears. */
double spike_mark_bar(const struct loss_spike *state)
{
	return robust_clip(mark_least + mark_step * (state->marks - FREE_MARKS), mark_least, mark_most);
}

/*
 * The best of what may have come into a correlated curve of late, in standard deviations: one odd point, told by the next
 * one's falling back as well; or a step, 4 or 8 points ago, of which each point since has a little more. White noise
 * needs none of this: there a point says all of it.
 */
double spike_small(const struct loss_spike *state)
{
	double rho = state->window->correlation, best = 0, sum = 0;
	const float *newest = &state->news[SPIKE_NEWS - 1];

	if (rho < 0.25)
		return 0;
	if (newest[-1] > 3) /* a fall alone is none */
		best = ((double)newest[-1] - rho * (double)newest[0]) / sqrt(1 + rho * rho);
	for (int i = 0; i < SPIKE_NEWS - 1; i++) {
		sum += (1 - rho) * (double)newest[-i];
		if (i == 2 || i == SPIKE_NEWS - 2)
			best = fmax(best, (sum + (double)newest[-i - 1]) / sqrt(1 + (i + 1) * (1 - rho) * (1 - rho)));
	}
	return best;
}

void spike_gather(struct loss_spike *state, double z, double jump, int64_t step)
{
	memmove(state->z, state->z + 1, (SPIKE_RECENT - 1) * sizeof *state->z);
	state->z[SPIKE_RECENT - 1] = (float)robust_clip(jump, -1e6, 1e6);
	ramp_gather(&state->ramp, state->window, z, step);
}

void spike_follow_points(struct loss_spike *state, const struct point *point)
{
	memmove(state->steps, state->steps + 1, (SPIKE_RECENT - 1) * sizeof *state->steps);
	state->steps[SPIKE_RECENT - 1] = point->step;
	ramp_follow(&state->ramp, state->window, point->value);
	state->after -= state->after > 0;
}

/*
 * What comes at equal distances is no news: nothing where that is certain, else a mark. Odd are points on either side: a line that
 * is one batch where the others are means is as odd downwards.
 */
unsigned spike_matches(struct loss_spike *state, const struct point *point, double z)
{
	double gap = fmax(1, (double)point->step - (double)state->steps[SPIKE_RECENT - 1]);
	bool is_odd = fabs(z) > 4;

	state->down = fmax(state->down * down_fading, -z);
	unsigned matches = 0;

	state->again -= state->again > 0;
	if (is_odd && !state->was_odd) {
		matches = recur_matches(&state->odd, point->step, fabs(z), APART * gap, gap / 2);
		bool is_again =
			matches >= FEW_TIMES || recur_is_again(&state->odd, point->step, fabs(z), APART * gap, 2 * gap);
		state->again = is_again ? SPIKE_AGAIN : 0;
		recur_add(&state->odd, point->step, fabs(z));
	}
	state->was_odd = is_odd;
	return matches;
}

static bool has_heavy_tail(const struct loss_spike *state)
{
	return state->tail >= 2; /* of about 2048 points */
}

void spike_count_tail(struct loss_spike *state, double z)
{
	uint32_t leaving = state->tail_bits >> (TAIL_LAG - 1) & 1;

	state->tail_bits = (state->tail_bits << 1 | (z > 6)) & ((1u << TAIL_LAG) - 1);
	state->tail = state->tail * (1 - 1.0 / 2048) + leaving;
	state->marks *= 1 - 1.0 / 8192;
}

bool spike_is_sampled(const struct loss_spike *state)
{
	return (double)state->steps[SPIKE_RECENT - 1] - (double)state->steps[SPIKE_RECENT - 2] >= SAMPLED_STEPS;
}

/* Where a line stands for several steps, one point may be all there is of a spike. The first of an epoch may stand for one. */
static bool is_whole_spike(const struct loss_spike *state)
{
	double bar = fmax(has_heavy_tail(state) ? 12 : 10, 1.5 * state->down);

	return spike_is_sampled(state) && !state->is_first_line && state->ramp.points >= WHOLE_SPIKE_POINTS &&
	       state->z[SPIKE_RECENT - 1] > bar;
}

bool spike_has_evidence(const struct loss_spike *state)
{
	bool is_heavy = has_heavy_tail(state);
	double sum = 0, rho = state->window->correlation;
	int count = 0;

	for (size_t i = 0; i < SPIKE_RECENT; i++) {
		count += state->z[i] > 4;
		sum += robust_clip((double)state->z[i] - 3, 0, 8);
	}
	return state->z[SPIKE_RECENT - 1] > 3 && count >= (is_heavy ? 3 : 2) && sum >= (is_heavy ? 12 : 9) * (1 + rho);
}

enum spike_cause spike_judge(struct loss_spike *state, double value)
{
	bool is_whole = is_whole_spike(state), is_evident = is_whole || spike_has_evidence(state);

	if (is_evident)
		spells_add(&state->spells);
	if (spells_are_usual(&state->spells)) /* they add up by themselves, too; what stays is a longer run than any */
		return spells_have_more(&state->spells) ? SPIKE_EVIDENCE : SPIKE_NONE;
	if (is_whole || (is_evident && ramp_is_beyond(&state->ramp, value)))
		return SPIKE_EVIDENCE;
	return ramp_is_high(&state->ramp, state->window) ? SPIKE_SUM : SPIKE_NONE;
}

int64_t spike_onset(const struct loss_spike *state, enum spike_cause cause)
{
	int64_t step = state->steps[SPIKE_RECENT - 1];

	if (cause == SPIKE_SUM)
		return state->ramp.sum_step;
	for (size_t i = SPIKE_RECENT - 1; i-- > 0 && state->z[i] > 3;)
		step = state->steps[i];
	return step;
}
