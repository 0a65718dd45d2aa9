/*
 * A policy that collapses: an entropy that falls to a small part of what it was, a reward that loses half of what it had gained; and
 * that stays so.
 *
 * Both are looked at in blocks of eight points: an entropy in medians; a reward, which is often 0 or 1, in means. What is usual is the
 * mean of the past, in which the last quarter of it counts most (of 512 blocks and more, the last 64), less what it lags behind
 * where the curve falls: so an entropy that decays as healthy ones do, however far, is never below it. The spread is told by
 * neighbouring blocks. What lies below the usual is summed up in spreads, a block counting 6 at most and each less 1 (Page's
 * cumulative sum); while the sum is not 0, that is a fall. How far falls went that came back is kept (wander; it fades).
 *
 * A fall opens entropy_collapse when its last three blocks are below three tenths of the usual, reward_collapse when the last four
 * have each lost half of the most that it had gained since its first 32 points. It must be 6 spreads, further than falls went before
 * (half as far again; of a reward 2.5 times as far), and have taken no longer than a quarter of what went before: what takes longer
 * is slow, and becomes the usual. A reward must have gained 6 spreads by then. So one that is flat, noisy or seldom anything but 0 is
 * not looked at, and a few bad points, or one bad evaluation, do not fill its blocks. 96 points of an entropy are wanted before
 * anything is said, 128 of a reward.
 *
 * An entropy of continuous actions may be negative, and has no floor: nothing is said of one below 0. Some trainers print it turned
 * round (entropy_loss); then what is below stands above. Ends with two blocks back above half the way, or as the new level after
 * 512 points; or with its attempt.
 */
#include "detect/blocks.h"
#include "detect/kind.h"

enum {
	ENTROPY_RUN = 3, /* blocks */
	REWARD_RUN = 4,
	RUN_MOST = 4,
	START = 4,
	HISTORY_MIN = 12,
	QUICK = 4, /* a fall is no longer than this part of what went before */
	MEMORY_LEAST = 4,
	MEMORY_MOST = 64,
	SPREAD_MEMORY = 32,
	CALM_RUN = 2,
	GIVE_UP = 64,
	COUNT_MOST = 1 << 20
};

static const double least_spreads = 6;
static const double sum_bar = 14, sum_slack = 1, sum_most = 6; /* in spreads */
static const double gap_spread = 0.886; /* of normal values: their deviation, as a share of the mean distance of two */
static const double ahead = 1.25; /* times the lag of the mean behind the curve */
static const double floor_share = 0.002; /* of the level: what a spread is at least */
static const double wander_fading = 1 - 1.0 / 4096; /* a block */
static const double entropy_far = 0.4, entropy_fall = 0.7, entropy_most = 1.3, entropy_times = 1.5;
static const double reward_far = 0.25, reward_fall = 0.5, reward_times = 2.5, reward_gain = 6;

struct collapse {
	struct blocks blocks; /* the open one alone */
	uint32_t attempt;
	uint32_t count; /* blocks that were learnt */
	bool is_turned; /* printed as its negative */
	double start; /* the mean of the first blocks */
	double best; /* the highest usual level since */
	double level, lagging; /* the mean of the past, and the mean of that */
	double last, gap; /* the last block that was learnt; how far neighbours are apart */
	double inner; /* how far the points of a block are from its mean, as the square of a mean's deviation */
	double wander; /* how far falls went that came back; of an entropy as a share */
	double sum;
	uint32_t run; /* blocks since the sum left 0 */
	int64_t run_step;
	double deepest; /* how far it went, as wander has it */
	float recent[RUN_MOST]; /* their last values, the newest last */
	bool is_open;
	uint32_t open_blocks, calm_run;
	struct incident incident;
};

/* What an entropy and a reward differ in. All are of the state before the block. */
struct nature {
	enum incident_kind kind;
	uint32_t run; /* blocks of a fall that are looked at */
	bool is_mean; /* a block is the mean of its points, else the median */
	bool is_share; /* wander is in units, which change with the level */
	bool may_be_turned;
	double (*unit)(const struct collapse *state, double usual); /* 0: nothing can be said */
	double far; /* what is so far below is not learnt: in units */
	double fall, most; /* a fall to be told: in units */
	double times; /* the falls before */
};

/* ---- what is usual ---- */

/* A curve that falls is ahead of its mean by as much as that is of its own; by a quarter more while the memory grows. */
static double usual_of(const struct collapse *state)
{
	return fmin(state->level, state->level - ahead * (state->lagging - state->level));
}

/* Of 0 and 1, several blocks may be alike by chance: what their points say is no less. */
static double spread_of(const struct collapse *state)
{
	return fmax(fmax(gap_spread * state->gap, sqrt(state->inner)), floor_share * fabs(state->level));
}

static double unit_of_entropy(const struct collapse *state, double usual)
{
	(void)state;
	return fmax(0, usual);
}

/* The most that it had gained: of one that lost it slowly, what is left is no more than that. */
static double unit_of_reward(const struct collapse *state, double usual)
{
	double gained = fmax(state->best, usual) - state->start;

	return gained > reward_gain * spread_of(state) ? gained : 0;
}

static double mean_of(const struct blocks *blocks)
{
	double sum = 0;

	for (size_t i = 0; i < BLOCK_POINTS; i++)
		sum += (double)blocks->values[i];
	return sum / BLOCK_POINTS;
}

/* The variance of the mean of a block's points. */
static double inner_of(const struct blocks *blocks)
{
	double mean = mean_of(blocks), sum = 0;

	for (size_t i = 0; i < BLOCK_POINTS; i++)
		sum += ((double)blocks->values[i] - mean) * ((double)blocks->values[i] - mean);
	return sum / (BLOCK_POINTS * (BLOCK_POINTS - 1));
}

static void learn(struct collapse *state, double value)
{
	uint32_t count = state->count += state->count < COUNT_MOST;
	double memory = fmin(MEMORY_MOST, fmax(MEMORY_LEAST, (double)count / 4));
	double share = 1 / fmin(count, memory);

	if (count > 1)
		state->gap += (fabs(value - state->last) - state->gap) / fmin(count - 1, SPREAD_MEMORY);
	state->inner += (inner_of(&state->blocks) - state->inner) / fmin(count, SPREAD_MEMORY);
	if (count <= START)
		state->best = state->start += (value - state->start) / count;
	state->last = value;
	state->level += share * (value - state->level);
	state->lagging += share * (state->level - state->lagging);
	state->best = fmax(state->best, usual_of(state));
}

static void end_fall(struct collapse *state)
{
	state->wander = fmax(state->wander, state->deepest);
	state->sum = state->deepest = 0;
	state->run = 0;
}

/* It has become the usual: as a curve begins, but for what is known of it. */
static void begin_at(struct collapse *state, double value)
{
	end_fall(state);
	state->level = state->lagging = state->last = value;
}

/* What it had gained is gone. */
static void begin_new(struct collapse *state, double value)
{
	begin_at(state, value);
	state->best = value;
}

static void restart(struct collapse *state, const struct point *point, const struct report_to *to)
{
	if (state->is_open)
		incident_close(&state->incident, point, to);
	*state = (struct collapse){.attempt = point->attempt};
}

/* ---- a fall ---- */

/* How far the last blocks are below, once the fall has so many: medians in the mean; of means, which a few points move, each of them. */
static double depth_of(const struct collapse *state, const struct nature *nature, double usual)
{
	double highest = -INFINITY, sum = 0;

	for (size_t i = RUN_MOST - nature->run; i < RUN_MOST; i++) {
		highest = fmax(highest, (double)state->recent[i]);
		sum += (double)state->recent[i];
	}
	return state->run < nature->run ? 0 : usual - (nature->is_mean ? highest : sum / nature->run);
}

static void sum_up(struct collapse *state, double value, double usual, double spread)
{
	double below = fmin(sum_most, fmax(-sum_most, (usual - value) / spread));

	if (state->sum <= 0) {
		end_fall(state);
		state->run_step = state->blocks.first_step;
	}
	state->sum = fmax(0, state->sum + below - sum_slack);
	state->run++;
	memmove(state->recent, state->recent + 1, (RUN_MOST - 1) * sizeof *state->recent);
	state->recent[RUN_MOST - 1] = (float)value;
}

static double as_printed(const struct collapse *state, double value)
{
	return state->is_turned ? -value : value;
}

static void open_collapse(struct collapse *state, const struct nature *nature, uint64_t ordinal,
	const struct point *point, double depth, const struct report_to *to)
{
	struct incident *incident = &state->incident;
	double usual = usual_of(state), spread = spread_of(state);

	state->is_open = true;
	state->open_blocks = state->calm_run = 0;
	*incident = incident_at(nature->kind, SEVERITY_WARNING, ordinal, point);
	incident->first_step = state->run_step;
	incident->value = incident->worst = as_printed(state, usual - depth);
	incident->expected = as_printed(state, usual);
	incident->spread = spread;
	incident->score = (incident->value - incident->expected) / spread;
	to->report(to->context, INCIDENT_OPENED, incident);
}

/* value: of a block. True: it is part of a fall, and not to be learnt. */
static bool watch(struct collapse *state, const struct nature *nature, uint64_t ordinal, const struct point *point,
	double value, const struct report_to *to)
{
	double usual = usual_of(state), spread = spread_of(state), unit = nature->unit(state, usual);

	if (!(spread > 0) || !(unit > 0)) {
		end_fall(state);
		return false;
	}
	sum_up(state, value, usual, spread);
	double depth = depth_of(state, nature, usual), share = nature->is_share ? depth / unit : depth;
	bool is_far = state->sum > 0 && usual - value > fmax(nature->far * unit, 4 * spread);
	bool is_quick = QUICK * state->run <= state->count;
	bool is_deep = depth > fmax(nature->fall * unit, least_spreads * spread) && depth < nature->most * unit &&
		       share > nature->times * state->wander;
	state->deepest = fmax(state->deepest, share);
	if (is_far && !is_quick) {
		begin_at(state, value);
		return false;
	}
	if (is_far && is_deep && state->sum > sum_bar)
		open_collapse(state, nature, ordinal, point, depth, to);
	return is_far;
}

/* One that was told and came back must be outdone by the next one. */
static void follow(struct collapse *state, const struct nature *nature, const struct point *point, double value,
	const struct report_to *to)
{
	struct incident *incident = &state->incident;
	double usual = as_printed(state, incident->expected),
	       half_way = (usual + as_printed(state, incident->value)) / 2;
	bool is_calm = value > half_way;

	state->calm_run = is_calm ? state->calm_run + 1 : 0;
	if (!is_calm)
		incident->last_step = point->step;
	if (value < as_printed(state, incident->worst)) {
		incident->worst = as_printed(state, value);
		incident->worst_step = point->step;
	}
	if (state->calm_run < CALM_RUN && ++state->open_blocks < GIVE_UP)
		return;
	state->deepest /= nature->times;
	state->is_open = false;
	if (is_calm) {
		end_fall(state);
		incident_close(incident, point, to);
	} else {
		begin_new(state, value);
		incident_close_as_level(incident, point, to);
	}
}

static void feed(struct collapse *state, const struct nature *nature, uint64_t ordinal, const struct point *point,
	const struct report_to *to)
{
	double value;

	if (!isfinite(point->value))
		return;
	if (point->attempt != state->attempt)
		restart(state, point, to);
	if (!blocks_add(&state->blocks, point->value, point->step, &value))
		return;
	if (nature->is_mean)
		value = mean_of(&state->blocks);
	if (state->count == 0)
		state->is_turned = nature->may_be_turned && value < 0;
	value = state->is_turned ? -value : value;
	state->wander *= wander_fading;
	if (state->is_open)
		follow(state, nature, point, value, to);
	else if (state->count < HISTORY_MIN || !watch(state, nature, ordinal, point, value, to))
		learn(state, value);
}

static const struct nature entropy = {.kind = INCIDENT_ENTROPY_COLLAPSE,
	.run = ENTROPY_RUN,
	.is_share = true,
	.may_be_turned = true,
	.unit = unit_of_entropy,
	.far = entropy_far,
	.fall = entropy_fall,
	.most = entropy_most,
	.times = entropy_times};
static const struct nature reward = {.kind = INCIDENT_REWARD_COLLAPSE,
	.run = REWARD_RUN,
	.is_mean = true,
	.unit = unit_of_reward,
	.far = reward_far,
	.fall = reward_fall,
	.most = INFINITY,
	.times = reward_times};

static void feed_entropy(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	feed(of, &entropy, ordinal, point, to);
}

static void feed_reward(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	feed(of, &reward, ordinal, point, to);
}

/* ---- as it is stored ---- */

static void pack(const void *of, struct buf *out)
{
	const struct collapse *state = of;

	blocks_pack(&state->blocks, out);
	pack_u64(out, state->attempt);
	pack_u64(out, state->count);
	pack_u64(out, (uint64_t)state->is_turned | (uint64_t)state->is_open << 1);
	pack_double(out, state->start);
	pack_double(out, state->best);
	pack_double(out, state->level);
	pack_double(out, state->lagging);
	pack_double(out, state->last);
	pack_double(out, state->gap);
	pack_double(out, state->inner);
	pack_double(out, state->wander);
	pack_double(out, state->sum);
	pack_u64(out, state->run);
	pack_i64(out, state->run_step);
	pack_double(out, state->deepest);
	for (size_t i = 0; i < RUN_MOST; i++)
		pack_double(out, (double)state->recent[i]);
	if (!state->is_open)
		return;
	pack_u64(out, state->open_blocks);
	pack_u64(out, state->calm_run);
	incident_pack(&state->incident, out);
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct collapse *state = of;

	(void)format;
	blocks_unpack(&state->blocks, in);
	state->attempt = (uint32_t)unpack_u64(in);
	uint64_t count = unpack_u64(in), flags = unpack_u64(in);
	in->has_failed |= count > COUNT_MOST || flags > 3;
	state->count = (uint32_t)count;
	state->is_turned = flags & 1;
	state->is_open = flags >> 1;
	state->start = unpack_double(in);
	state->best = unpack_double(in);
	state->level = unpack_double(in);
	state->lagging = unpack_double(in);
	state->last = unpack_double(in);
	state->gap = unpack_double(in);
	state->inner = unpack_double(in);
	state->wander = unpack_double(in);
	state->sum = unpack_double(in);
	state->run = (uint32_t)unpack_u64(in);
	state->run_step = unpack_i64(in);
	state->deepest = unpack_double(in);
	for (size_t i = 0; i < RUN_MOST; i++)
		state->recent[i] = (float)unpack_double(in);
	if (in->has_failed || !state->is_open)
		return;
	state->open_blocks = (uint32_t)unpack_u64(in);
	state->calm_run = (uint32_t)unpack_u64(in);
	incident_unpack(&state->incident, in);
	in->has_failed |= state->open_blocks >= GIVE_UP || state->calm_run >= CALM_RUN;
}

static void done(void *of)
{
	(void)of;
}

static bool open(const void *of, struct incident *out)
{
	const struct collapse *state = of;

	*out = state->incident;
	return state->is_open;
}

const struct detector_kind entropy_collapse_kind = {
	.bytes = sizeof(struct collapse),
	.roles = 1u << ROLE_ENTROPY,
	.since_format = 7,
	.feed = feed_entropy,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};

const struct detector_kind reward_collapse_kind = {
	.bytes = sizeof(struct collapse),
	.roles = 1u << ROLE_REWARD,
	.since_format = 7,
	.feed = feed_reward,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};
