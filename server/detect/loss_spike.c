/*
 * Spikes and divergence of a training loss.
 *
 * The next value is expected where the last 128 accepted values point to (robust.h); z is the distance above that in
 * robust standard deviations, shrunk while the history is short. An excursion trips the detector when
 *   - of the last 4 points 2 have z > 4 and the sum of min(z - 3, 8) is at least 9; or 3 and 12 when single points go
 *     beyond z = 6 more often than once in a thousand: the tail of the data, not the trainer (the count lags 12 points,
 *     so that an excursion does not call itself usual). Where the loss wanders, half as far again as it did before; or
 *   - the cumulative sum of z (clipped to +-4, less 1) passes 14, and the mean of the last dozen points has risen far enough
 *     since the sum was 0: ramps and small shifts. The bar of the sum rises with the correlation of neighbouring points, as the
 *     variance of their sums does. Losses wander: the rate of learning goes in cycles, data come in another order. How
 *     far the mean rose in earlier sums is kept (wander, which fades); half as far again is a mark. A warning is twice as far, 5
 *     spreads and 8 % high, if eight times its length passed before it began, or 16 %; or 8 spreads and four times the wander, of 2560
 *     points or more.
 * The z of evidence is the smaller of that against what is expected and that against the mean of the last dozen points: what rises
 * slowly is a ramp, and no jump.
 * Where a line stands for five steps or more, one point beyond z = 10 may be the whole spike and trips it too (12 where the
 * tail is heavy: a public log of a mixture of experts has both, every fifth step printed), after 256 points; but not where
 * points are as odd downwards. What comes again at equal distances (recur.h) is no news: the first line of an epoch that is one batch
 * where the others are means is nothing, a bad batch that every epoch brings again is a mark.
 * What this loss does all the time, in any order (spells.h), is no news either, and no mark.
 * What jumps to where the stream began may be the next training in it, unless it is half as high again or its line says its step, which
 * would begin again. It is a mark until 16 and 32 points tell whether it falls from there as the first one did; then all starts
 * afresh. What comes back before was a spike, and is told then.
 * Losses of neighbouring steps are hardly correlated, so that two odd points are far rarer than one: one point alone,
 * which bad data often causes, is a mark of severity info and no more. For a mark, z is less what the last point's z
 * lets expect of a correlated curve, in spreads of some hundred points, and the bar is 3.8; half a spread more for each mark
 * beyond four that were there of late, up to 8: about one in 2000 points. What is left of a correlated curve is also matched
 * with what a small spike leaves there (small_spike).
 * Of a training that is joined beyond step 1000, a restart or a stretch of steps that nothing is known of, little is wanted: from
 * two values on, one is odd that lies beyond the largest by half the level, and by three times what lies between them.
 * After an alarm the window is frozen until the points are normal again. The incident becomes a divergence, critical,
 * when 8 points in a row lie above half the way back to where training started (the median of its first 16 points), or
 * when 256 points later the loss still stands a fifth above its old level. A spike that lingers for 256 points below
 * that is the new level: it ends, and the window starts afresh; so does a divergence after 4096.
 *
 * Sources. Window, robust z, evidence and the frozen window: the detector's figures were chosen on synthetic curves and
 * public training logs; relatives are OLMo-core's SkipStepOptimizer (6 sigma over 128 steps), Hampel's identifier, and
 * Page's cumulative sum (1954). Half-way back: in the public chronicles of 104B and 176B models, spikes that came back
 * by themselves stayed below it, those that needed a restart did not.
 */
#include "detect/beginning.h"
#include "detect/kind.h"
#include "detect/ramp.h"
#include "detect/recur.h"
#include "detect/spells.h"

enum {
	RECENT = 4,
	NEWS = 8,
	START = 16,
	TAIL_LAG = 12,
	HISTORY_MIN = ROBUST_FEW,
	SAMPLED_STEPS = 5,
	HIGH_RUN = 8,
	LINGER = 256,
	GIVE_UP = 4096,
	FREE_MARKS = 4,
	WHOLE_SPIKE_POINTS = 256,
	OFTEN = 3, /* matches */
	FEW_TIMES = 2,
	AGAIN = 32,
	APART = 16, /* points */
	FORMAT_WITH_WANDER = 5,
	FORMAT_WITH_EPOCH = 6,
	FORMAT_WITH_ORIGIN = 7 /* of what comes again; and how often it spikes */
};

static const double mark_least = 3.8, mark_most = 8, mark_step = 0.5; /* bars: the step is a mark's */
static const double mark_floor = 1.5; /* what is new in a point that lies among the others is none to look at */
static const double down_fading = 1 - 1.0 / 4096;
static const double small_margin = 0.25; /* a small spike is looked for in three ways at once */
static const double far_share = 0.5; /* of the level: with few values known */
static const double far_score = 8;
static const double above_start = 1.5; /* times the highest of the first points: no beginning */
static const double young_share = 0.01; /* of the level: what a spread is at least that is little known */

struct alarm {
	bool is_open;
	struct incident incident;
	double level; /* frozen at the opening */
	double spread;
	double calm; /* moving mean of z, clipped to +-8: below 1 it is over */
	double height; /* moving mean of the excess, as a share of the worst */
	double reported; /* the worst value in the last report */
	uint32_t points;
	uint32_t high_run; /* points in a row above half the way to the start */
	bool is_ramp; /* small excesses added up */
};

struct loss_spike {
	struct robust_window *window; /* NULL until the first finite value */
	uint32_t attempt;
	float z[RECENT]; /* of the last points, newest last */
	int64_t steps[RECENT];
	struct ramp ramp;
	struct spells spells;
	struct recur odd; /* where odd points and runs of them began */
	bool was_odd; /* the last point */
	uint32_t again; /* points that may belong to what came again */
	uint32_t in_epoch; /* of the last point, as its line counts; 0: it does not */
	bool is_first_line; /* this point is of another epoch than the last one */
	double down; /* the lowest z of late, turned round; fades */
	struct beginning first, next; /* of the stream; of what may be another training in it, while is_next */
	bool is_next;
	uint32_t after; /* points that may yet belong to the last alarm */
	double before; /* z of the last point, as it counts for the next one */
	float news[NEWS]; /* what was new in the last points, newest last */
	int64_t window_step; /* of the first value in the window */
	double tail; /* decaying count of points beyond z = 6 */
	double marks; /* decaying count of marks that remained one */
	uint32_t tail_bits; /* the last TAIL_LAG points, not yet in the count */
	float start[START];
	uint32_t start_count;
	double start_level; /* median of start, once it is full */
	struct alarm alarm;
};

static double clip(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

static void forget_evidence(struct loss_spike *state)
{
	memset(state->z, 0, sizeof state->z);
	memset(state->news, 0, sizeof state->news);
	state->before = 0;
	ramp_forget(&state->ramp);
}

static void learn_start(struct loss_spike *state, double value)
{
	if (state->start_count >= START)
		return;
	/* Kept sorted: the insertion of one more. */
	uint32_t at = state->start_count++;
	float f = (float)clip(value, -1e30, 1e30);
	for (; at > 0 && state->start[at - 1] > f; at--)
		state->start[at] = state->start[at - 1];
	state->start[at] = f;
	state->start_level = (double)state->start[state->start_count / 2];
}

/*
 * With few values the median and the MAD are uncertain themselves; correlated ones are worth fewer, and the trend takes
 * a part of their spread with it.
 */
static double score(const struct robust_window *window, double value)
{
	double rho = window->correlation, history = window->count;
	double widened = 1 + 0.8 * (ROBUST_WINDOW - history) / (ROBUST_WINDOW - HISTORY_MIN);

	widened /= sqrt(fmax(0.25, 1 - 2 * (1 + rho) / ((1 - rho) * ROBUST_WINDOW)));

	if (window->count < HISTORY_MIN || !(window->spread > 0))
		return 0;
	double level = robust_expected(window), least = young_share * (ROBUST_WINDOW - history) / ROBUST_WINDOW;
	return (value - level) / (fmax(window->spread, least * fabs(level)) * widened);
}

/* Of a restart, or a training that is joined in its midst, something can be said before its spread is known. */
static double young_score(struct loss_spike *state, double value)
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
static double innovation(struct loss_spike *state, double z)
{
	const struct robust_window *window = state->window;
	double rho = window->correlation, new = (z - rho * state->before) / sqrt(1 - rho * rho);

	state->before = clip(z, -4, 4);
	return new *clip(window->spread / window->long_spread, 1 / 1.2, 1 / 0.85);
}

/* A series that has odd points all the time gets a higher bar: a mark about every 2000 points is what a chart bears. */
static double mark_bar(const struct loss_spike *state)
{
	return clip(mark_least + mark_step * (state->marks - FREE_MARKS), mark_least, mark_most);
}

/*
 * The best of what may have come into a correlated curve of late, in standard deviations: one odd point, told by the next
 * one's falling back as well; or a step, 4 or 8 points ago, of which each point since has a little more. White noise
 * needs none of this: there a point says all of it.
 */
static double small_spike(const struct loss_spike *state)
{
	double rho = state->window->correlation, best = 0, sum = 0;
	const float *newest = &state->news[NEWS - 1];

	if (rho < 0.25)
		return 0;
	if (newest[-1] > 3) /* a fall alone is none */
		best = ((double)newest[-1] - rho * (double)newest[0]) / sqrt(1 + rho * rho);
	for (int i = 0; i < NEWS - 1; i++) {
		sum += (1 - rho) * (double)newest[-i];
		if (i == 2 || i == NEWS - 2)
			best = fmax(best, (sum + (double)newest[-i - 1]) / sqrt(1 + (i + 1) * (1 - rho) * (1 - rho)));
	}
	return best;
}

/* z: against what is expected; jump: against the last points as well. */
static void gather(struct loss_spike *state, double z, double jump, int64_t step)
{
	for (size_t i = 1; i < RECENT; i++) {
		state->z[i - 1] = state->z[i];
		state->steps[i - 1] = state->steps[i];
	}
	state->z[RECENT - 1] = (float)clip(jump, -1e6, 1e6);
	state->steps[RECENT - 1] = step;
	ramp_gather(&state->ramp, state->window, z, step);
}

static void follow_points(struct loss_spike *state, double value)
{
	ramp_follow(&state->ramp, state->window, value);
	state->after -= state->after > 0;
}

/*
 * What comes at equal distances is no news: nothing where that is certain, else a mark. Odd are points on either side: a line that
 * is one batch where the others are means is as odd downwards.
 */
static unsigned matches_of(struct loss_spike *state, const struct point *point, double z)
{
	double gap = fmax(1, (double)point->step - (double)state->steps[RECENT - 1]);
	bool is_odd = fabs(z) > 4;

	state->down = fmax(state->down * down_fading, -z);
	unsigned matches = 0;

	state->again -= state->again > 0;
	if (is_odd && !state->was_odd) {
		matches = recur_matches(&state->odd, point->step, fabs(z), APART * gap, gap / 2);
		bool is_again =
			matches >= FEW_TIMES || recur_is_again(&state->odd, point->step, fabs(z), APART * gap, 2 * gap);
		state->again = is_again ? AGAIN : 0;
		recur_add(&state->odd, point->step, fabs(z));
	}
	state->was_odd = is_odd;
	return matches;
}

static bool has_heavy_tail(const struct loss_spike *state)
{
	return state->tail >= 2; /* of about 2048 points */
}

static void count_tail(struct loss_spike *state, double z)
{
	uint32_t leaving = state->tail_bits >> (TAIL_LAG - 1) & 1;

	state->tail_bits = (state->tail_bits << 1 | (z > 6)) & ((1u << TAIL_LAG) - 1);
	state->tail = state->tail * (1 - 1.0 / 2048) + leaving;
	state->marks *= 1 - 1.0 / 8192;
}

enum cause { CAUSE_NONE, CAUSE_EVIDENCE, CAUSE_SUM };

static bool is_sampled(const struct loss_spike *state)
{
	return (double)state->steps[RECENT - 1] - (double)state->steps[RECENT - 2] >= SAMPLED_STEPS;
}

/* Where a line stands for several steps, one point may be all there is of a spike. The first of an epoch may stand for one. */
static bool is_whole_spike(const struct loss_spike *state)
{
	double bar = fmax(has_heavy_tail(state) ? 12 : 10, 1.5 * state->down);

	return is_sampled(state) && !state->is_first_line && state->ramp.points >= WHOLE_SPIKE_POINTS &&
	       state->z[RECENT - 1] > bar;
}

static bool has_evidence(const struct loss_spike *state)
{
	bool is_heavy = has_heavy_tail(state);
	double sum = 0, rho = state->window->correlation;
	int count = 0;

	for (size_t i = 0; i < RECENT; i++) {
		count += state->z[i] > 4;
		sum += clip((double)state->z[i] - 3, 0, 8);
	}
	return state->z[RECENT - 1] > 3 && count >= (is_heavy ? 3 : 2) && sum >= (is_heavy ? 12 : 9) * (1 + rho);
}

static enum cause judge(struct loss_spike *state, double value)
{
	bool is_whole = is_whole_spike(state), is_evident = is_whole || has_evidence(state);

	if (is_evident)
		spells_add(&state->spells);
	if (spells_are_usual(&state->spells)) /* they add up by themselves, too; what stays is a longer run than any */
		return spells_have_more(&state->spells) ? CAUSE_EVIDENCE : CAUSE_NONE;
	if (is_whole || (is_evident && ramp_is_beyond(&state->ramp, value)))
		return CAUSE_EVIDENCE;
	return ramp_is_high(&state->ramp, state->window) ? CAUSE_SUM : CAUSE_NONE;
}

static int64_t onset(const struct loss_spike *state, enum cause cause)
{
	int64_t step = state->steps[RECENT - 1];

	if (cause == CAUSE_SUM)
		return state->ramp.sum_step;
	for (size_t i = RECENT - 1; i-- > 0 && state->z[i] > 3;)
		step = state->steps[i];
	return step;
}

static bool is_like_start(const struct loss_spike *state, const struct point *point)
{
	const struct robust_window *window = state->window;
	double highest = state->start_count ? (double)state->start[state->start_count - 1] : 0;

	return !point_says_its_step(point) && point->value < above_start * highest &&
	       beginning_is_height(&state->first, point->value, robust_expected(window), window->spread);
}

static void open_alarm(struct loss_spike *state, enum severity severity, uint64_t ordinal, const struct point *point,
	double z, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;

	state->is_next = severity == SEVERITY_INFO && is_like_start(state, point);
	state->next = (struct beginning){0};
	*alarm = (struct alarm){
		.is_open = true, .level = robust_expected(state->window), .spread = state->window->spread};
	alarm->calm = 8;
	alarm->height = 1;
	alarm->reported = point->value;
	alarm->incident = incident_at(INCIDENT_LOSS_SPIKE, severity, ordinal, point);
	alarm->incident.expected = alarm->level;
	alarm->incident.spread = alarm->spread;
	alarm->incident.score = z;
	if (severity > SEVERITY_INFO) {
		enum cause cause = judge(state, point->value);
		alarm->incident.first_step = onset(state, cause);
		alarm->is_ramp = cause == CAUSE_SUM;
		alarm->calm = alarm->is_ramp ? 3 : 8;
	}
	to->report(to->context, INCIDENT_OPENED, &alarm->incident);
}

/* Follows the incident; says so when it got clearly worse. */
static void follow(struct alarm *alarm, const struct point *point, bool is_part, const struct report_to *to)
{
	if (is_part)
		alarm->incident.last_step = point->step;
	if (point->value <= alarm->incident.worst)
		return;
	alarm->incident.worst = point->value;
	alarm->incident.worst_step = point->step;
	if (alarm->incident.severity == SEVERITY_INFO ||
		point->value - alarm->level < 1.25 * (alarm->reported - alarm->level))
		return;
	alarm->reported = point->value;
	to->report(to->context, INCIDENT_UPDATED, &alarm->incident);
}

static void end_alarm(struct loss_spike *state, const struct point *point, const struct report_to *to)
{
	ramp_end(&state->ramp, state->window, state->alarm.is_ramp, state->alarm.level);
	state->after = ROBUST_WINDOW;
	state->was_odd = state->is_next = false;
	state->alarm.is_open = false;
	forget_evidence(state);
	incident_close(&state->alarm.incident, point, to);
}

/* The spike ends here and goes on as a divergence that began where it did. */
static void become_divergence(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;
	struct incident spike = alarm->incident;

	spells_drop(&state->spells);

	alarm->incident = incident_at(INCIDENT_DIVERGENCE, SEVERITY_CRITICAL, ordinal, point);
	alarm->incident.first_step = spike.first_step;
	alarm->incident.expected = alarm->level;
	alarm->incident.spread = alarm->spread;
	alarm->incident.score = (point->value - alarm->level) / alarm->spread;
	alarm->incident.worst = spike.worst;
	alarm->incident.worst_step = spike.worst_step;
	to->report(to->context, INCIDENT_OPENED, &alarm->incident); /* first: the cause is never closed in between */
	incident_close(&spike, point, to);
}

/* Points in a row above half the way to where training began. */
static void count_high(struct loss_spike *state, double value)
{
	struct alarm *alarm = &state->alarm;
	double half = fmax(0.5 * (state->start_level - alarm->level), 10 * alarm->spread);

	alarm->high_run = value - alarm->level > half && state->start_level > alarm->level ? alarm->high_run + 1 : 0;
}

static bool has_diverged(const struct loss_spike *state)
{
	const struct alarm *alarm = &state->alarm;
	double excess = alarm->height * (alarm->incident.worst - alarm->level);

	if (alarm->high_run >= HIGH_RUN)
		return true;
	return alarm->points == LINGER && excess > 0.2 * fabs(alarm->level) && excess > 10 * alarm->spread;
}

static void feed_alarm(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;
	double excess = point->value - alarm->level, z = excess / alarm->spread;
	bool is_divergence = alarm->incident.kind == INCIDENT_DIVERGENCE;

	follow(alarm, point, z > 3, to);
	spells_gather(&state->spells, z, !alarm->is_ramp && !is_divergence);
	follow_points(state, point->value);
	alarm->points++;
	alarm->calm += (is_sampled(state) ? 0.4 : 0.25) * (clip(z, -8, 8) - alarm->calm);
	alarm->height += 0.0625 * (clip(excess / (alarm->incident.worst - alarm->level), 0, 1) - alarm->height);
	count_high(state, point->value);
	if ((alarm->calm < 1 && z < 3) || (is_divergence && alarm->height < 0.15)) {
		end_alarm(state, point, to);
	} else if (!is_divergence && has_diverged(state)) {
		become_divergence(state, ordinal, point, to);
	} else if (alarm->points >= (is_divergence ? GIVE_UP : LINGER)) {
		spells_drop(&state->spells);
		robust_clear(state->window);
		end_alarm(state, point, to);
	}
}

/* A mark of one odd point: raised when it was the beginning of more, ended by the next normal point. */
static void feed_mark(
	struct loss_spike *state, const struct point *point, double z, enum cause cause, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;

	if (state->is_next)
		count_high(state, point->value);
	if (cause != CAUSE_NONE && state->is_next) {
		follow(alarm, point, true, to);
	} else if (cause != CAUSE_NONE) {
		alarm->incident.severity = SEVERITY_WARNING;
		int64_t first_step = onset(state, cause);
		if (first_step < alarm->incident.first_step)
			alarm->incident.first_step = first_step;
		follow(alarm, point, true, to);
		alarm->reported = alarm->incident.worst;
		to->report(to->context, INCIDENT_UPDATED, &alarm->incident);
	} else if (z < 4) {
		state->marks += !alarm->is_ramp;
		state->is_next = false;
		state->ramp.near = fmin(state->ramp.near, alarm->level + alarm->spread);
		alarm->is_open = false;
		memset(state->news, 0, sizeof state->news);
		incident_close(&alarm->incident, point, to);
	} else {
		follow(alarm, point, true, to);
	}
}

/* What is left of the last alarm says nothing of how often odd points come. */
static void mark_point(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, double z, const struct report_to *to)
{
	open_alarm(state, SEVERITY_INFO, ordinal, point, z, to);
	state->alarm.is_ramp = state->after > 0;
}

/* Once until the sum is back at 0. */
static void mark_ramp(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, double z, const struct report_to *to)
{
	open_alarm(state, SEVERITY_INFO, ordinal, point, z, to);
	state->alarm.incident.first_step = state->ramp.sum_step;
	state->alarm.is_ramp = state->ramp.is_marked = true;
}

static void feed_watch(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct robust_window *window = state->window;
	bool is_young = window->count < HISTORY_MIN;
	double z = is_young ? young_score(state, point->value) : score(window, point->value);
	double ceiling = robust_expected(window) + 6 * window->spread, new = is_young ? z : innovation(state, z);
	double jump = is_young ? z : fmin(z, (point->value - state->ramp.near) / window->spread);
	unsigned matches = is_young ? 0 : matches_of(state, point, z);

	if (matches >= OFTEN && !state->alarm.is_open)
		z = jump = new = 0;
	gather(state, z, jump, point->step);
	spells_gather(&state->spells, z, false);
	follow_points(state, point->value);
	memmove(state->news, state->news + 1, (NEWS - 1) * sizeof *state->news);
	state->news[NEWS - 1] = (float)clip(new, -8, 8);
	double small = small_spike(state);
	enum cause cause = state->again ? CAUSE_NONE : judge(state, point->value);
	if (state->alarm.is_open)
		feed_mark(state, point, z, cause, to);
	else if (cause != CAUSE_NONE)
		open_alarm(
			state, is_like_start(state, point) ? SEVERITY_INFO : SEVERITY_WARNING, ordinal, point, z, to);
	else if (z > mark_floor && !spells_are_usual(&state->spells) &&
		 (new > mark_bar(state) || small > mark_bar(state) + small_margin))
		mark_point(state, ordinal, point, fmax(z, small), to);
	else if (z > 0 && !state->ramp.is_marked && ramp_has_added_up(&state->ramp, window))
		mark_ramp(state, ordinal, point, z, to);
	bool is_stay = state->again && state->again < AGAIN - NEWS && z > 4;
	if (cause != CAUSE_NONE || (is_young && z > 0) || is_stay)
		return;
	count_tail(state, jump);
	if (window->count == 0)
		state->window_step = point->step;
	robust_add(window, !is_young && point->value > ceiling ? ceiling : point->value);
}

/* A new attempt repeats steps with values of another time: what is known of the old one does not hold. */
static void start_attempt(struct loss_spike *state, const struct point *point, const struct report_to *to)
{
	if (state->alarm.is_open)
		end_alarm(state, point, to);
	forget_evidence(state);
	robust_clear(state->window);
	spells_drop(&state->spells);
	state->ramp = (struct ramp){0};
	state->attempt = point->attempt;
}

/* It came back at once: no training begins like that. What was odd for long enough is told after all. */
static void refute_next(struct loss_spike *state, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;

	state->is_next = false;
	if (state->again || spells_are_usual(&state->spells) || !has_evidence(state) ||
		!ramp_is_beyond(&state->ramp, alarm->incident.worst))
		return;
	alarm->incident.severity = SEVERITY_WARNING;
	alarm->reported = alarm->incident.worst;
	to->report(to->context, INCIDENT_UPDATED, &alarm->incident);
}

/* Another training in the same stream: what jumped to where the first one began falls from there as that did. */
static void follow_beginning(struct loss_spike *state, const struct point *point, const struct report_to *to)
{
	double noise = state->alarm.spread * point->value / state->alarm.level;

	if (!beginning_is_above(&state->first, point->value, state->alarm.level)) {
		refute_next(state, to);
		return;
	}
	beginning_learn(&state->next, point->value);
	if (state->next.count == BEGINNING_POINTS / 2) {
		state->is_next = beginning_is_alike(&state->first, &state->next, 1, noise);
	} else if (state->next.count == BEGINNING_POINTS) {
		state->is_next = false;
		if (beginning_is_alike(&state->first, &state->next, 2, noise))
			start_attempt(state, point, to);
	}
}

static bool is_far_on(const struct loss_spike *state, int64_t step)
{
	double last = (double)state->steps[RECENT - 1], before = last - (double)state->steps[RECENT - 2];
	double gap = (double)step - last;

	return state->window->count >= 2 && robust_is_gap(gap, before);
}

/* The counter on the line begins again, and the loss far above: one model after the other in the same stream. */
static bool is_next_training(const struct loss_spike *state, const struct point *point)
{
	double level = robust_expected(state->window);

	return point->in_epoch >= 1 && point->in_epoch <= 2 && point->step > point->in_epoch && level > 0 &&
	       point->value > 2 * level;
}

static void feed(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct loss_spike *state = of;

	if (!isfinite(point->value))
		return;
	if (!state->window) {
		state->window = mem_zeroed(sizeof *state->window);
		state->attempt = point->attempt;
		if (point->step < ROBUST_LATE_STEP)
			recur_begin(&state->odd, point->step);
	}
	if (!state->window)
		return; /* out of memory: blind, not dead; tried again with the next point */
	if (point->attempt != state->attempt || is_far_on(state, point->step) || is_next_training(state, point))
		start_attempt(state, point, to);
	state->is_first_line = point->in_epoch && point->in_epoch < state->in_epoch;
	state->in_epoch = point->in_epoch;
	learn_start(state, point->value);
	if (state->first.count || point->step < ROBUST_LATE_STEP)
		beginning_learn(&state->first, point->value);
	if (state->is_next)
		follow_beginning(state, point, to);
	if (state->alarm.is_open && state->alarm.incident.severity > SEVERITY_INFO)
		feed_alarm(state, ordinal, point, to);
	else
		feed_watch(state, ordinal, point, to);
}

static void pack_alarm(const struct alarm *alarm, struct buf *out)
{
	incident_pack(&alarm->incident, out);
	pack_double(out, alarm->level);
	pack_double(out, alarm->spread);
	pack_double(out, alarm->calm);
	pack_double(out, alarm->height);
	pack_double(out, alarm->reported);
	pack_u64(out, alarm->points);
	pack_u64(out, alarm->high_run);
	pack_u64(out, alarm->is_ramp);
}

static void unpack_alarm(struct alarm *alarm, unsigned format, struct unpacker *in)
{
	incident_unpack(&alarm->incident, in);
	alarm->level = unpack_double(in);
	alarm->spread = unpack_double(in);
	alarm->calm = unpack_double(in);
	alarm->height = unpack_double(in);
	alarm->reported = unpack_double(in);
	alarm->points = (uint32_t)unpack_u64(in);
	alarm->high_run = (uint32_t)unpack_u64(in);
	alarm->is_ramp = format >= FORMAT_WITH_WANDER && unpack_u64(in);
	in->has_failed |= !isfinite(alarm->level) || !(alarm->spread > 0) || alarm->points > GIVE_UP;
}

static void pack_wander(const struct loss_spike *state, struct buf *out)
{
	ramp_pack(&state->ramp, out);
	pack_u64(out, (uint64_t)state->was_odd | (uint64_t)state->is_next << 1);
	pack_u64(out, state->again);
	pack_u64(out, state->after);
	pack_u64(out, state->in_epoch);
	pack_double(out, state->down);
	recur_pack(&state->odd, out);
	spells_pack(&state->spells, out);
	beginning_pack(&state->first, out);
	if (state->is_next)
		beginning_pack(&state->next, out);
}

static void unpack_wander(struct loss_spike *state, unsigned format, struct unpacker *in)
{
	ramp_unpack(&state->ramp, in);
	uint64_t flags = unpack_u64(in);
	in->has_failed |= flags > 3;
	state->was_odd = flags & 1;
	state->is_next = flags >> 1;
	state->again = (uint32_t)unpack_u64(in);
	state->after = (uint32_t)unpack_u64(in);
	state->in_epoch = format >= FORMAT_WITH_EPOCH ? (uint32_t)unpack_u64(in) : 0;
	state->down = unpack_double(in);
	recur_unpack(&state->odd, format >= FORMAT_WITH_ORIGIN, in);
	if (format >= FORMAT_WITH_ORIGIN)
		spells_unpack(&state->spells, in);
	beginning_unpack(&state->first, in);
	if (state->is_next)
		beginning_unpack(&state->next, in);
}

/* Of a state of before: nothing is known of how it began, nor how far it goes by itself. */
static void take_over(struct loss_spike *state)
{
	state->first.count = BEGINNING_POINTS;
	ramp_take_over(&state->ramp, state->window);
}

static void pack(const void *of, struct buf *out)
{
	const struct loss_spike *state = of;

	pack_u64(out, (uint64_t)(state->window != NULL) | (uint64_t)state->alarm.is_open << 1);
	if (!state->window)
		return;
	pack_u64(out, state->attempt);
	for (size_t i = 0; i < RECENT; i++) {
		pack_double(out, (double)state->z[i]);
		pack_i64(out, state->steps[i]);
	}
	for (size_t i = 0; i < NEWS; i++)
		pack_double(out, (double)state->news[i]);
	pack_i64(out, state->window_step);
	pack_double(out, state->ramp.sum);
	pack_i64(out, state->ramp.sum_step);
	pack_double(out, state->tail);
	pack_double(out, state->before);
	pack_double(out, state->marks);
	pack_u64(out, state->tail_bits);
	pack_u64(out, state->start_count);
	for (size_t i = 0; i < state->start_count; i++)
		pack_double(out, (double)state->start[i]);
	robust_pack(state->window, out);
	pack_wander(state, out);
	if (state->alarm.is_open)
		pack_alarm(&state->alarm, out);
}

static void unpack_start(struct loss_spike *state, struct unpacker *in)
{
	uint64_t count = unpack_u64(in);

	in->has_failed |= count > START;
	if (in->has_failed)
		return;
	state->start_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		state->start[i] = (float)unpack_double(in);
	state->start_level = count ? (double)state->start[count / 2] : 0;
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct loss_spike *state = of;
	uint64_t flags = unpack_u64(in);

	in->has_failed |= flags > 3 || flags == 2;
	if (in->has_failed || flags == 0)
		return;
	state->window = mem_zeroed(sizeof *state->window);
	if (!state->window)
		unpacker_no_memory(in);
	state->attempt = (uint32_t)unpack_u64(in);
	for (size_t i = 0; i < RECENT; i++) {
		state->z[i] = (float)unpack_double(in);
		state->steps[i] = unpack_i64(in);
	}
	for (size_t i = 0; i < NEWS && format > 1; i++)
		state->news[i] = (float)unpack_double(in);
	state->window_step = format > 1 ? unpack_i64(in) : 0;
	state->ramp.sum = unpack_double(in);
	state->ramp.sum_step = unpack_i64(in);
	state->tail = unpack_double(in);
	if (format) {
		state->before = unpack_double(in);
		state->marks = unpack_double(in);
	}
	state->tail_bits = (uint32_t)unpack_u64(in);
	unpack_start(state, in);
	if (in->has_failed)
		return;
	robust_unpack(state->window, format, in);
	if (format >= FORMAT_WITH_WANDER)
		unpack_wander(state, format, in);
	else
		take_over(state);
	state->alarm.is_open = flags >> 1;
	if (state->alarm.is_open)
		unpack_alarm(&state->alarm, format, in);
}

static void done(void *of)
{
	struct loss_spike *state = of;

	mem_free(state->window);
}

static bool open(const void *of, struct incident *out)
{
	const struct loss_spike *state = of;

	*out = state->alarm.incident;
	return state->alarm.is_open;
}

const struct detector_kind loss_spike_kind = {
	.bytes = sizeof(struct loss_spike),
	.roles = 1u << ROLE_LOSS,
	.feed = feed,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};
