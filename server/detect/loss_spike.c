/*
 * Spikes and divergence of a training loss.
 *
 * The next value is expected where the last 128 accepted values point to (robust.h); z is the distance above that in
 * robust standard deviations, shrunk while the history is short. An excursion trips the detector when
 *   - of the last 4 points 2 have z > 4 and the sum of min(z - 3, 8) is at least 9; or 3 and 12 when single points go
 *     beyond z = 6 more often than once in a thousand: the tail of the data, not the trainer (the count lags 12 points,
 *     so that an excursion does not call itself usual); or
 *   - the cumulative sum of z (clipped to +-4, less 1) passes 14, which finds ramps and small shifts; the bar rises with
 *     the correlation of neighbouring points, as the variance of their sums does.
 * Where a line stands for five steps or more, one point beyond z = 8 may be the whole spike and trips it too (12 where the
 * tail is heavy: a public log of a mixture of experts has both, every fifth step printed).
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
#include "detect/kind.h"
#include "detect/robust.h"

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
	GAP_STEPS = 1000,
	GAP_TIMES = 100
};

static const double mark_least = 3.8, mark_most = 8, mark_step = 0.5; /* bars: the step is a mark's */
static const double mark_floor = 1.5; /* what is new in a point that lies among the others is none to look at */
static const double small_margin = 0.25; /* a small spike is looked for in three ways at once */
static const double far_share = 0.5; /* of the level: with few values known */
static const double far_score = 8;

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
};

struct loss_spike {
	struct robust_window *window; /* NULL until the first finite value */
	uint32_t attempt;
	float z[RECENT]; /* of the last points, newest last */
	int64_t steps[RECENT];
	double cusum;
	int64_t cusum_step; /* where the sum last left 0 */
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
	state->cusum = 0;
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
	return (value - robust_expected(window)) / (window->spread * widened);
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

static void gather(struct loss_spike *state, double z, int64_t step)
{
	for (size_t i = 1; i < RECENT; i++) {
		state->z[i - 1] = state->z[i];
		state->steps[i - 1] = state->steps[i];
	}
	state->z[RECENT - 1] = (float)clip(z, -1e6, 1e6);
	state->steps[RECENT - 1] = step;
	if (state->cusum <= 0)
		state->cusum_step = step;
	state->cusum = fmax(0, state->cusum + clip(z, -4, 4) - 1);
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

/* Where a line stands for several steps, one point may be all there is of a spike. */
static bool is_whole_spike(const struct loss_spike *state)
{
	return is_sampled(state) && state->z[RECENT - 1] > (has_heavy_tail(state) ? 12 : 8);
}

static enum cause judge(const struct loss_spike *state)
{
	bool is_heavy = has_heavy_tail(state);
	double sum = 0, rho = state->window->correlation;
	int count = 0;

	for (size_t i = 0; i < RECENT; i++) {
		count += state->z[i] > 4;
		sum += clip((double)state->z[i] - 3, 0, 8);
	}
	if (state->z[RECENT - 1] > 3 && count >= (is_heavy ? 3 : 2) && sum >= (is_heavy ? 12 : 9) * (1 + rho))
		return CAUSE_EVIDENCE;
	if (is_whole_spike(state))
		return CAUSE_EVIDENCE;
	return state->cusum > 14 * (1 + rho) / (1 - rho) ? CAUSE_SUM : CAUSE_NONE;
}

static int64_t onset(const struct loss_spike *state, enum cause cause)
{
	int64_t step = state->steps[RECENT - 1];

	if (cause == CAUSE_SUM)
		return state->cusum_step;
	for (size_t i = RECENT - 1; i-- > 0 && state->z[i] > 3;)
		step = state->steps[i];
	return step;
}

static void open_alarm(struct loss_spike *state, enum severity severity, uint64_t ordinal, const struct point *point,
	double z, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;

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
		enum cause cause = judge(state);
		alarm->incident.first_step = onset(state, cause);
		alarm->calm = cause == CAUSE_SUM ? 3 : 8;
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
	double half_way = fmax(0.5 * (state->start_level - alarm->level), 10 * alarm->spread);
	bool is_divergence = alarm->incident.kind == INCIDENT_DIVERGENCE;

	follow(alarm, point, z > 3, to);
	alarm->points++;
	alarm->calm += (is_sampled(state) ? 0.4 : 0.25) * (clip(z, -8, 8) - alarm->calm);
	alarm->height += 0.0625 * (clip(excess / (alarm->incident.worst - alarm->level), 0, 1) - alarm->height);
	alarm->high_run = excess > half_way && state->start_level > alarm->level ? alarm->high_run + 1 : 0;
	if ((alarm->calm < 1 && z < 3) || (is_divergence && alarm->height < 0.15)) {
		end_alarm(state, point, to);
	} else if (!is_divergence && has_diverged(state)) {
		become_divergence(state, ordinal, point, to);
	} else if (alarm->points >= (is_divergence ? GIVE_UP : LINGER)) {
		robust_clear(state->window);
		end_alarm(state, point, to);
	}
}

/* A mark of one odd point: raised when it was the beginning of more, ended by the next normal point. */
static void feed_mark(
	struct loss_spike *state, const struct point *point, double z, enum cause cause, const struct report_to *to)
{
	struct alarm *alarm = &state->alarm;

	if (cause != CAUSE_NONE) {
		alarm->incident.severity = SEVERITY_WARNING;
		alarm->incident.first_step = onset(state, cause);
		follow(alarm, point, true, to);
		alarm->reported = alarm->incident.worst;
		to->report(to->context, INCIDENT_UPDATED, &alarm->incident);
	} else if (z < 4) {
		state->marks++;
		alarm->is_open = false;
		memset(state->news, 0, sizeof state->news);
		incident_close(&alarm->incident, point, to);
	} else {
		follow(alarm, point, true, to);
	}
}

static void feed_watch(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct robust_window *window = state->window;
	bool is_young = window->count < HISTORY_MIN;
	double z = is_young ? young_score(state, point->value) : score(window, point->value);
	double ceiling = robust_expected(window) + 6 * window->spread, new = is_young ? z : innovation(state, z);

	gather(state, z, point->step);
	memmove(state->news, state->news + 1, (NEWS - 1) * sizeof *state->news);
	state->news[NEWS - 1] = (float)clip(new, -8, 8);
	double small = small_spike(state);
	enum cause cause = judge(state);
	if (state->alarm.is_open)
		feed_mark(state, point, z, cause, to);
	else if (cause != CAUSE_NONE)
		open_alarm(state, SEVERITY_WARNING, ordinal, point, z, to);
	else if (z > mark_floor && (new > mark_bar(state) || small > mark_bar(state) + small_margin))
		open_alarm(state, SEVERITY_INFO, ordinal, point, fmax(z, small), to);
	if (cause != CAUSE_NONE || (is_young && z > 0))
		return;
	count_tail(state, z);
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
	state->attempt = point->attempt;
}

/* A stretch of steps that nothing is known of: what was usual before need not be now. */
static bool is_far_on(const struct loss_spike *state, int64_t step)
{
	double last = (double)state->steps[RECENT - 1], before = last - (double)state->steps[RECENT - 2];
	double gap = (double)step - last;

	return state->window->count >= 2 && gap >= GAP_STEPS && before > 0 && gap >= GAP_TIMES * before;
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
	}
	if (!state->window)
		return; /* out of memory: blind, not dead; tried again with the next point */
	if (point->attempt != state->attempt || is_far_on(state, point->step) || is_next_training(state, point))
		start_attempt(state, point, to);
	learn_start(state, point->value);
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
}

static void unpack_alarm(struct alarm *alarm, struct unpacker *in)
{
	incident_unpack(&alarm->incident, in);
	alarm->level = unpack_double(in);
	alarm->spread = unpack_double(in);
	alarm->calm = unpack_double(in);
	alarm->height = unpack_double(in);
	alarm->reported = unpack_double(in);
	alarm->points = (uint32_t)unpack_u64(in);
	alarm->high_run = (uint32_t)unpack_u64(in);
	in->has_failed |= !isfinite(alarm->level) || !(alarm->spread > 0) || alarm->points > GIVE_UP;
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
	pack_double(out, state->cusum);
	pack_i64(out, state->cusum_step);
	pack_double(out, state->tail);
	pack_double(out, state->before);
	pack_double(out, state->marks);
	pack_u64(out, state->tail_bits);
	pack_u64(out, state->start_count);
	for (size_t i = 0; i < state->start_count; i++)
		pack_double(out, (double)state->start[i]);
	robust_pack(state->window, out);
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
	state->cusum = unpack_double(in);
	state->cusum_step = unpack_i64(in);
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
	state->alarm.is_open = flags >> 1;
	if (state->alarm.is_open)
		unpack_alarm(&state->alarm, in);
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
