/*
 * A job that became slower, or faster, and stays so: of throughput, and of step time turned round.
 *
 * The rate is looked at in medians of eight points: the one or two slow steps of a checkpoint or an evaluation do not
 * reach them. What is usual is the median of the last 32 of these; their spread is told by neighbouring ones, and is at
 * least half a per cent.
 *
 * A slow stretch. What lies below the usual is summed up, in spreads, a median counting 6 at most and each less 1 (Page's
 * cumulative sum). It is a stretch when the sum passes 12, its mean is a twentieth below the usual, and it has three medians
 * and 20 s of log time (a progress bar prints an average, in which one slow step lasts a dozen; where times stand still, eight
 * medians). So a fall by a half takes three medians, and one by two spreads, in a noisy rate, a dozen. It ends when three
 * medians lie back within half of it and as much has been summed up on that side, or is what is usual after 2048 points.
 *
 * What is usual follows a slow decline, and in a very noisy rate a fall, before either has summed up. So the same is done once more with
 * medians of eight medians (64 points), against the last 32 of these: there it must be 8 % below.
 *
 * What is said of it. Rates alternate: checkpoints are written, data lie elsewhere, neighbours come and go. That a rate is low
 * is told by its level, that it stays low only by how long, against what such stretches lasted before (stays.h). A stretch opens
 * throughput_drop as a mark (info) once it is half as long again as any that was nearly as deep. It is raised to a warning when it is
 * four times as long, and has lasted 512 points or an hour. Of lengths that are spread exponentially the next one is longer than that
 * once in seventy times where four are known; where three, two or one are, so seldom longer than 6, 10 and more times the longest: then
 * these are asked (of one 12, or it would never be told). Where none was like it, it must have cost the work of 48 points, and 128
 * points, or a quarter of an hour. While less than 1920 points were known, what the series is like is not known either: then the
 * stretch must have lasted as many (and 512 points must have been known), or an hour.
 * A rate may also walk among several levels, and be below the highest for long. So where it came back before, or little is known, it
 * must last as long since it last rose: by a quarter of the depth, and three spreads.
 *
 * Three medians above by 6 spreads and by a tenth are a throughput_change, a mark that is over at once, and what is usual starts
 * afresh: so a slow beginning (compilation, caches that fill) is no reference for long. 48 points are wanted before anything is said.
 *
 * A restart begins afresh; but where its first 48 points are slower by a fifth than what was usual before, that is a warning too,
 * unless such stretches were there before.
 */
#include "detect/throughput.h"

enum {
	HISTORY_MIN = 6,
	FAR_MIN = 12,
	TIMELESS_RUN = 8,
	RUN_MS = 20 * 1000,
	KNOWN_LEAST = 512 / BLOCK_POINTS,
	STAY_ENOUGH = 128 / BLOCK_POINTS,
	AGAIN_STAY = 512 / BLOCK_POINTS,
	STAY_MS = 15 * 60 * 1000,
	LONG_STAY_MS = 60 * 60 * 1000
};

static const double restart_share = 0.8;
static const double least_share = 0.05; /* of the usual: below that, a difference is of no interest */
static const double sum_bar = 12, sum_slack = 1, sum_most = 6, sum_run = 4; /* in spreads */
static const double calm_bar = 6;
static const double far_share = 0.08;
static const double lost_enough = 48.0 / BLOCK_POINTS; /* medians' worth of work */
static const double rise_share = 1.0 / 4, rise_spreads = 3; /* of a stretch's depth; and of a median: another level */
static const double mark_times = 1.5; /* the longest one like it */
static const double page_times[FEW_STAYS + 1] = {
	4, 12, 10, 6, 4}; /* by how many were like it: few say less of how long they last */
static const double steady_share = 0.75; /* of its medians are low, or it is none that stays */

/* ---- what slow stretches were like ---- */

static double depth_of(const struct throughput *state)
{
	return 1 - state->low.total / (state->low.length * state->usual);
}

static double longest_like(const struct throughput *state)
{
	return stays_longest(&state->stays, depth_of(state));
}

/* How deep it is now, where it became deeper than it was on the whole. */
static double depth_now(const struct throughput *state)
{
	double highest = 0;

	for (size_t i = 0; i < THROUGHPUT_RECENT; i++)
		highest = fmax(highest, (double)state->recent[i]);
	return fmax(depth_of(state), 1 - highest / state->usual);
}

static void keep_stay(struct throughput *state)
{
	stays_keep(&state->stays, depth_of(state), state->low.length);
}

static void forget_run(struct throughput *state)
{
	state->high_run = 0;
	state->low.length = 0;
	state->low.sum = state->low.total = 0;
}

static void forget_far(struct throughput *state)
{
	blocks_clear(&state->far);
	state->far_low = (struct slow_run){0};
}

static void restart(struct throughput *state, const struct point *point, const struct report_to *to)
{
	struct throughput fresh = {.attempt = point->attempt};

	fresh.before = state->is_open                       ? state->usual
		       : state->blocks.count >= HISTORY_MIN ? blocks_level(&state->blocks, 0, state->blocks.count)
							    : state->before;
	if (state->is_open && state->low.length)
		keep_stay(state);
	fresh.stays = state->stays;
	if (state->is_open && state->is_said)
		incident_close(&state->incident, point, to);
	*state = fresh;
}

static struct incident change_at(
	enum incident_kind kind, enum severity severity, uint64_t ordinal, const struct point *point, double median)
{
	struct incident incident = incident_at(kind, severity, ordinal, point);

	incident.value = incident.worst = median;
	return incident;
}

/* ---- a slow stretch ---- */

static void say_drop(struct throughput *state, enum severity severity, uint64_t ordinal, const struct point *point,
	double median, const struct report_to *to)
{
	double value = fmin(median, state->low.total / state->low.length);

	state->is_said = true;
	state->reported = value;
	state->incident = change_at(INCIDENT_THROUGHPUT_DROP, severity, ordinal, point, value);
	state->incident.first_step = state->low.step;
	state->incident.expected = state->usual;
	state->incident.spread = state->spread;
	state->incident.score = (value - state->usual) / state->spread;
	to->report(to->context, INCIDENT_OPENED, &state->incident);
}

static double since_ms(int64_t ms, const struct point *point)
{
	return (double)point->ts_ms - (double)ms;
}

/* How many medians are enough to tell that it stays, where time does not tell it first. */
static double enough_of(const struct throughput *state, double longest)
{
	if (state->low.known < KNOWN_LEAST)
		return INFINITY;
	if (state->low.known < THROUGHPUT_KNOWN)
		return THROUGHPUT_KNOWN;
	return longest >= THROUGHPUT_RUN ? AGAIN_STAY : fmax(STAY_ENOUGH, lost_enough / depth_of(state));
}

/*
 * It has outlasted what is to be expected of a rate that comes back. Where one is known to walk among levels, or not known to stay at
 * one, the stretch counts from where it last rose to another level.
 */
static bool is_lasting(const struct throughput *state, const struct point *point)
{
	double longest = longest_like(state);
	bool may_walk = state->low.known < THROUGHPUT_KNOWN || longest >= THROUGHPUT_RUN;
	uint32_t run = may_walk ? state->steady_run : state->low.length;

	if (run <= page_times[stays_count(&state->stays, depth_of(state))] * longest ||
		state->low.length < steady_share * state->open_blocks)
		return false;
	return run >= enough_of(state, longest) ||
	       since_ms(may_walk ? state->steady_ms : state->low.ms, point) >= (may_walk ? LONG_STAY_MS : STAY_MS);
}

static void say_what_is_new(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	const struct report_to *to)
{
	bool is_page = is_lasting(state, point);

	if (!state->is_said &&
		(is_page || state->low.length > mark_times * stays_longest(&state->stays, depth_now(state)))) {
		say_drop(state, is_page ? SEVERITY_WARNING : SEVERITY_INFO, ordinal, point, median, to);
	} else if (state->is_said && is_page && state->incident.severity == SEVERITY_INFO) {
		state->incident.severity = SEVERITY_WARNING;
		to->report(to->context, INCIDENT_UPDATED, &state->incident);
	}
}

static void open_stretch(struct throughput *state, double usual, double spread, double gap)
{
	state->is_open = true;
	state->is_said = false;
	state->open_blocks = state->calm_run = 0;
	state->calm_sum = 0;
	state->usual = usual;
	state->spread = spread;
	state->gap = gap;
	state->steady_run = state->low.length;
	state->steady_ms = state->low.ms;
	state->lowest = INFINITY;
	forget_far(state);
}

static void mark_rise(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	double usual, double spread, const struct report_to *to)
{
	struct incident incident = change_at(INCIDENT_THROUGHPUT_CHANGE, SEVERITY_INFO, ordinal, point, median);

	incident.first_step = state->high_step;
	incident.expected = usual;
	incident.spread = spread;
	incident.score = (median - usual) / spread;
	to->report(to->context, INCIDENT_OPENED, &incident);
	incident_close(&incident, point, to);
	blocks_clear(&state->blocks);
	forget_far(state);
	state->known = 0;
	forget_run(state);
}

static bool has_lasted(uint32_t run, int64_t ms, const struct point *point)
{
	return run >= TIMELESS_RUN || (run >= THROUGHPUT_RUN && since_ms(ms, point) >= RUN_MS);
}

/* The first figures after a restart. */
static void compare_restart(
	struct throughput *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	double level = blocks_level(&state->blocks, 0, HISTORY_MIN), usual = state->before;

	state->before = 0;
	if (!(usual > 0) || level > restart_share * usual)
		return;
	state->low = (struct slow_run){.step = point->step,
		.ms = point->ts_ms,
		.known = state->low.known,
		.length = HISTORY_MIN,
		.total = HISTORY_MIN * level};
	open_stretch(state, usual, fmax(blocks_spread(&state->blocks), 0.005 * usual), (1 - restart_share) * usual);
	bool is_new = HISTORY_MIN > mark_times * longest_like(state);
	say_drop(state, is_new ? SEVERITY_WARNING : SEVERITY_INFO, ordinal, point, level, to);
}

/* True: the medians of the run are low together. */
static bool sum_low(
	struct slow_run *run, const struct slow_run *fresh, double median, double usual, double spread, double share)
{
	double below = fmin(sum_most, fmax(-sum_most, (usual - median) / spread)), sum = run->sum;

	if (sum <= sum_slack)
		*run = *fresh;
	run->sum = fmax(0, sum + below - sum_slack);
	run->length++;
	run->total += median;
	double mean = run->total / run->length;
	return run->sum > sum_bar && mean < (1 - share) * usual && median < (usual + mean) / 2;
}

/* In a noisy rate, what may be a slow stretch is no part of what is usual. */
static bool is_run(const struct throughput *state, double usual, double spread)
{
	return state->low.sum > sum_run && 3 * spread > least_share * usual;
}

static double near_spread(const struct throughput *state, double usual)
{
	return fmax(blocks_spread(&state->blocks), 0.005 * fabs(usual));
}

/* The same once more in medians of eight medians, against what was usual for two thousand points: slow declines, and falls in noise. */
static void watch_far(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	const struct report_to *to)
{
	double far;

	if (!blocks_add(&state->far, median, state->blocks.first_step, &far))
		return;
	if (state->far.count < FAR_MIN) {
		blocks_keep(&state->far, far);
		return;
	}
	double usual = blocks_level(&state->far, 0, state->far.count);
	double spread = fmax(blocks_spread(&state->far), 0.005 * fabs(usual));
	struct slow_run fresh = {.step = state->far.first_step, .ms = point->ts_ms, .known = state->known};
	if (!(usual > 0))
		return;
	if (sum_low(&state->far_low, &fresh, far, usual, spread, far_share) &&
		state->far_low.length >= THROUGHPUT_RUN) {
		state->low = state->far_low;
		state->low.length *= BLOCK_POINTS;
		state->low.total *= BLOCK_POINTS;
		open_stretch(state, usual, near_spread(state, usual), usual - state->low.total / state->low.length);
		blocks_clear(&state->blocks); /* it had followed the fall */
		say_what_is_new(state, ordinal, point, far, to);
		return;
	}
	if (state->far_low.length > BLOCK_RING)
		state->far_low = (struct slow_run){0};
	if (state->far_low.sum <= sum_run)
		blocks_keep(&state->far, far);
}

/* What was nearly usual before a fall is no part of it, though a dip long before may have left a sum. */
static bool falls_here(const struct throughput *state, double median, double usual, double gap)
{
	double before = (double)state->recent[(state->seen - 2) % THROUGHPUT_RECENT], bar = usual - gap / 2;

	return median < usual - gap && before > bar && state->low.total > state->low.length * bar;
}

static void watch(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	const struct report_to *to)
{
	if (state->blocks.count < HISTORY_MIN) {
		blocks_keep(&state->blocks, median);
		if (state->blocks.count == HISTORY_MIN && state->before != 0)
			compare_restart(state, ordinal, point, to);
		return;
	}
	double usual = blocks_level(&state->blocks, 0, state->blocks.count), spread = near_spread(state, usual);
	double gap = fmax(6 * spread, least_share * fabs(usual));
	bool is_known = spread > 0 && usual > 0; /* else nothing but zeros so far */
	bool is_high = is_known && median > usual + fmax(gap, 0.1 * usual);
	struct slow_run fresh = {.step = state->blocks.first_step, .ms = point->ts_ms, .known = state->known};

	if (is_known && falls_here(state, median, usual, gap))
		state->low.step = fresh.step;
	bool is_low = is_known && sum_low(&state->low, &fresh, median, usual, spread, least_share);
	if (is_high && state->high_run == 0) {
		state->high_step = state->blocks.first_step;
		state->high_ms = point->ts_ms;
	}
	state->high_run = is_high ? state->high_run + 1 : 0;
	if (is_low && has_lasted(state->low.length, state->low.ms, point)) {
		double below = usual - state->low.total / state->low.length;
		open_stretch(state, usual, spread, fmin(gap, below));
		say_what_is_new(state, ordinal, point, median, to);
	} else if (has_lasted(state->high_run, state->high_ms, point)) {
		mark_rise(state, ordinal, point, median, usual, spread, to);
	} else {
		if (state->low.length > BLOCK_RING)
			forget_run(state); /* lower, but not by enough: what is usual follows */
		if (!is_high && !(is_known && median < usual - gap) && !is_run(state, usual, spread))
			blocks_keep(&state->blocks, median);
		watch_far(state, ordinal, point, median, to);
	}
}

static void end_stretch(struct throughput *state, bool is_usual, const struct point *point, const struct report_to *to)
{
	keep_stay(state);
	if (is_usual) {
		blocks_clear(&state->blocks);
		state->known = 0;
	}
	state->is_open = false;
	forget_run(state);
	if (state->is_said)
		(is_usual ? incident_close_as_level : incident_close)(&state->incident, point, to);
}

/* A rate that walks among levels rises to another one within the stretch: from there on it must last anew. */
static void follow_level(struct throughput *state, const struct point *point)
{
	struct blocks recent = {0};

	for (size_t i = 0; i < THROUGHPUT_RECENT; i++)
		blocks_keep(&recent, (double)state->recent[i]);
	double level = blocks_level(&recent, 0, THROUGHPUT_RECENT), rise = level - state->lowest;
	state->steady_run++;
	state->lowest = fmin(state->lowest, level);
	if (rise > fmax(rise_share * (state->usual - state->lowest), rise_spreads * state->spread)) {
		state->steady_run = 0;
		state->steady_ms = point->ts_ms;
		state->lowest = level;
	}
}

static void worsen(struct throughput *state, const struct point *point, double median, const struct report_to *to)
{
	struct incident *incident = &state->incident;

	if (median < incident->worst) {
		incident->worst = median;
		incident->worst_step = point->step;
	}
	if (state->usual - incident->worst <= 1.25 * (state->usual - state->reported))
		return;
	state->reported = incident->worst;
	to->report(to->context, INCIDENT_UPDATED, incident);
}

static void follow(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	const struct report_to *to)
{
	double above = (median - (state->usual - state->gap / 2)) / state->spread;
	bool is_calm = above > 0;

	state->calm_run = is_calm ? state->calm_run + 1 : 0;
	state->calm_sum = fmax(0, state->calm_sum + fmin(sum_most, fmax(-sum_most, above)));
	state->open_blocks++;
	if (!is_calm) {
		state->incident.last_step = point->step;
		state->low.length++;
		state->low.total += median;
		follow_level(state, point);
	}
	if (state->calm_run >= THROUGHPUT_RUN && state->calm_sum > calm_bar)
		end_stretch(state, false, point, to);
	else if (state->open_blocks >= THROUGHPUT_GIVE_UP)
		end_stretch(state, !is_calm, point, to);
	else if (!is_calm)
		say_what_is_new(state, ordinal, point, median, to);
	if (state->is_open && state->is_said)
		worsen(state, point, median, to);
}

void throughput_feed(
	struct throughput *state, uint64_t ordinal, const struct point *point, double value, const struct report_to *to)
{
	double median;

	if (!isfinite(value))
		return;
	if (point->attempt != state->attempt)
		restart(state, point, to);
	if (!blocks_add(&state->blocks, value, point->step, &median))
		return;
	state->recent[state->seen++ % THROUGHPUT_RECENT] = (float)median;
	state->known += state->known < THROUGHPUT_KNOWN;
	stays_fade(&state->stays);
	if (state->is_open)
		follow(state, ordinal, point, median, to);
	else
		watch(state, ordinal, point, median, to);
}

static void feed_rate(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	throughput_feed(of, ordinal, point, point->value, to);
}

uint32_t throughput_pace(const void *of, double *rate, double *newest)
{
	const struct throughput *state = of;
	struct blocks recent = {0};

	if (state->seen < THROUGHPUT_RECENT)
		return 0;
	if (!rate)
		return state->seen;
	for (size_t i = 0; i < THROUGHPUT_RECENT; i++)
		blocks_keep(&recent, (double)state->recent[i]);
	*rate = blocks_level(&recent, 0, THROUGHPUT_RECENT);
	*newest = (double)state->recent[(state->seen - 1) % THROUGHPUT_RECENT];
	return state->seen;
}

double throughput_usual_pace(const void *of)
{
	const struct throughput *state = of;

	if (state->is_open)
		return state->usual;
	return state->blocks.count < HISTORY_MIN ? 0 : blocks_level(&state->blocks, 0, state->blocks.count);
}

void throughput_done(void *of)
{
	(void)of;
}

bool throughput_open(const void *of, struct incident *out)
{
	const struct throughput *state = of;

	*out = state->incident;
	return state->is_open && state->is_said;
}

const struct detector_kind throughput_kind = {
	.bytes = sizeof(struct throughput),
	.roles = 1u << ROLE_THROUGHPUT,
	.since_format = 1,
	.feed = feed_rate,
	.pack = throughput_pack,
	.unpack = throughput_unpack,
	.done = throughput_done,
	.open = throughput_open,
};
