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
 * that is the new level: it ends as that (closed_why), and the window starts afresh; so does a divergence after 4096.
 *
 * Sources. Window, robust z, evidence and the frozen window: the detector's figures were chosen on synthetic curves and
 * public training logs; relatives are OLMo-core's SkipStepOptimizer (6 sigma over 128 steps), Hampel's identifier, and
 * Page's cumulative sum (1954). Half-way back: in the public chronicles of 104B and 176B models, spikes that came back
 * by themselves stayed below it, those that needed a restart did not.
 */
#include "detect/loss_spike_alarm.h"

enum { OFTEN = 3 /* matches */ };

static const double mark_floor = 1.5; /* what is new in a point that lies among the others is none to look at */
static const double small_margin = 0.25; /* a small spike is looked for in three ways at once */

static void learn_start(struct loss_spike *state, double value)
{
	if (state->start_count >= SPIKE_START)
		return;
	/* Kept sorted: the insertion of one more. */
	uint32_t at = state->start_count++;
	float f = (float)robust_clip(value, -1e30, 1e30);
	for (; at > 0 && state->start[at - 1] > f; at--)
		state->start[at] = state->start[at - 1];
	state->start[at] = f;
	state->start_level = (double)state->start[state->start_count / 2];
}

static void feed_watch(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct robust_window *window = state->window;
	bool is_young = window->count < ROBUST_FEW;
	double z = is_young ? spike_young_score(state, point->value) : spike_score(window, point->value);
	double ceiling = robust_expected(window) + 6 * window->spread, new = is_young ? z : spike_innovation(state, z);
	double jump = is_young ? z : fmin(z, (point->value - state->ramp.near) / window->spread);
	unsigned matches = is_young ? 0 : spike_matches(state, point, z);

	if (matches >= OFTEN && !state->alarm.is_open)
		z = jump = new = 0;
	spike_gather(state, z, jump, point->step);
	spells_gather(&state->spells, z, false);
	spike_follow_points(state, point);
	memmove(state->news, state->news + 1, (SPIKE_NEWS - 1) * sizeof *state->news);
	state->news[SPIKE_NEWS - 1] = (float)robust_clip(new, -8, 8);
	double small = spike_small(state);
	enum spike_cause cause = state->again ? SPIKE_NONE : spike_judge(state, point->value);
	if (state->alarm.is_open)
		spike_follow_mark(state, point, z, cause, to);
	else if (cause != SPIKE_NONE)
		spike_open_alarm(state, spike_is_like_start(state, point) ? SEVERITY_INFO : SEVERITY_WARNING, ordinal,
			point, z, to);
	else if (z > mark_floor && !spells_are_usual(&state->spells) &&
		 (new > spike_mark_bar(state) || small > spike_mark_bar(state) + small_margin))
		spike_mark_point(state, ordinal, point, fmax(z, small), to);
	else if (z > 0 && !state->ramp.is_marked && ramp_has_added_up(&state->ramp, window))
		spike_mark_ramp(state, ordinal, point, z, to);
	bool is_stay = state->again && state->again < SPIKE_AGAIN - SPIKE_NEWS && z > 4;
	if (cause != SPIKE_NONE || (is_young && z > 0) || is_stay)
		return;
	spike_count_tail(state, jump);
	if (window->count == 0)
		state->window_step = point->step;
	robust_add(window, !is_young && point->value > ceiling ? ceiling : point->value);
}

/* A new attempt repeats steps with values of another time: what is known of the old one does not hold. */
static void start_attempt(struct loss_spike *state, const struct point *point, const struct report_to *to)
{
	if (state->alarm.is_open)
		spike_end_alarm(state, point, to);
	spike_forget_evidence(state);
	robust_clear(state->window);
	spells_drop(&state->spells);
	state->ramp = (struct ramp){0};
	state->attempt = point->attempt;
}

/* It came back at once: no training begins like that. What was odd for long enough is told after all. */
static void refute_next(struct loss_spike *state, const struct report_to *to)
{
	struct spike_alarm *alarm = &state->alarm;

	state->is_next = false;
	if (state->again || spells_are_usual(&state->spells) || !spike_has_evidence(state) ||
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
	double last = (double)state->steps[SPIKE_RECENT - 1], before = last - (double)state->steps[SPIKE_RECENT - 2];
	double gap = (double)step - last;

	return state->window->count >= 2 && robust_is_gap(gap, before);
}

/* The counter on the line begins again, and the loss far above: one model after the other in the same stream. While an incident is
 * open, far above where that is. */
static bool is_next_training(const struct loss_spike *state, const struct point *point)
{
	const struct spike_alarm *alarm = &state->alarm;
	double level = alarm->is_open ? alarm->level + alarm->height * (alarm->incident.worst - alarm->level)
				      : robust_expected(state->window);

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
		spike_follow_alarm(state, ordinal, point, to);
	else
		feed_watch(state, ordinal, point, to);
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
	.pack = spike_pack,
	.unpack = spike_unpack,
	.done = done,
	.open = open,
};
