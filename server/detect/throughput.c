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
 * What is said of it. Rates alternate: checkpoints are written, data lie elsewhere, neighbours come and go. That a rate is low
 * is told by its level, that it stays low only by how long, against what such stretches lasted before. So the lengths of the last
 * stretches are kept, by depth. A stretch opens throughput_drop as a mark (info) once it is twice as long as any that was
 * nearly as deep. It is raised to a warning when it is four times as long, and has lasted 128 points or a quarter of an hour. Of lengths
 * that are spread exponentially the next one is longer than that once in seventy times where four are known; where three, two or one
 * are, so seldom longer than 6, 10 and more times the longest: then these are asked (of one 12, or it would never be told). While
 * less than 1920 points were known, what the series is like is not known either: then the stretch must have lasted as many, or an hour.
 *
 * Three medians above by 6 spreads and by a tenth are a throughput_change, a mark that is over at once, and what is usual starts
 * afresh: so a slow beginning (compilation, caches that fill) is no reference for long. 48 points are wanted before anything is said.
 *
 * A restart begins afresh; but where its first 48 points are slower by a fifth than what was usual before, that is a warning too,
 * unless such stretches were there before.
 */
#include "detect/blocks.h"
#include "detect/kind.h"

enum {
	HISTORY_MIN = 6,
	RUN = 3,
	TIMELESS_RUN = 8,
	RUN_MS = 20 * 1000,
	GIVE_UP = 256,
	PACE_BLOCKS = 4,
	STAYS = 4,
	KNOWN_ENOUGH = 1920 / BLOCK_POINTS,
	STAY_ENOUGH = 128 / BLOCK_POINTS,
	AGAIN_STAY = 512 / BLOCK_POINTS,
	STAY_MS = 15 * 60 * 1000,
	LONG_STAY_MS = 60 * 60 * 1000,
	FEW_STAYS = 4,
	FORMAT_WITH_STAYS = 4,
	FORMAT_WITH_COUNTS = 7
};

static const double restart_share = 0.8;
static const double least_share = 0.05; /* of the usual: below that, a difference is of no interest */
static const double sum_bar = 12, sum_slack = 1, sum_most = 6, sum_run = 4; /* in spreads */
static const double calm_bar = 6;
static const double like_depth = 0.5; /* a stretch is like a deeper one from there on */
static const double mark_times = 1.5; /* the longest one like it */
static const double page_times[FEW_STAYS + 1] = {
	4, 12, 10, 6, 4}; /* by how many were like it: few say less of how long they last */
static const double steady_share = 0.75; /* of its medians are low, or it is none that stays */
static const double stay_fading = 1 - 1.0 / 1024; /* a median */

/* A slow stretch that is over. */
struct stay {
	float depth; /* as a share of what was usual; 0: none */
	float length; /* in medians; fades */
	uint32_t count; /* stretches that it stands for; no more than FEW_STAYS */
};

struct throughput {
	struct blocks blocks;
	float recent[PACE_BLOCKS]; /* medians, in a ring; of a stretch as well */
	uint32_t seen; /* medians */
	uint32_t known; /* of these, since what is usual was last forgotten; no more than KNOWN_ENOUGH */
	uint32_t attempt;
	uint32_t low_run, high_run, calm_run; /* medians */
	int64_t run_step, run_ms; /* where the run of low or high ones began */
	uint32_t run_known; /* what was known then */
	double low_sum; /* how far it is below, in spreads */
	double low_total; /* of its medians */
	double before; /* what was usual before the restart; 0: not known, or compared */
	struct stay stays[STAYS];
	bool is_open; /* a slow stretch; said or not */
	bool is_said;
	uint32_t open_blocks;
	double usual; /* frozen at the opening */
	double gap;
	double spread;
	double calm_sum;
	double reported; /* the worst in the last report */
	struct incident incident;
};

/* ---- what slow stretches were like ---- */

static double depth_of(const struct throughput *state)
{
	return 1 - state->low_total / (state->low_run * state->usual);
}

/* The longest one, in medians. One less than half as deep counts for less. */
static double longest_like(const struct throughput *state, double depth)
{
	double longest = 0;

	for (size_t i = 0; i < STAYS; i++) {
		double like = fmin(1, (double)state->stays[i].depth / (like_depth * depth));
		longest = fmax(longest, like * like * (double)state->stays[i].length);
	}
	return longest;
}

static unsigned count_like(const struct throughput *state, double depth)
{
	unsigned count = 0;

	for (size_t i = 0; i < STAYS; i++)
		count += (double)state->stays[i].depth >= like_depth * depth ? state->stays[i].count : 0;
	return count < FEW_STAYS ? count : FEW_STAYS;
}

static void fade_stays(struct throughput *state)
{
	for (size_t i = 0; i < STAYS; i++)
		state->stays[i].length *= (float)stay_fading;
}

/* One that is as deep as a kept one, or nearly, is put together with it; else the shortest gives way. */
static void keep_stay(struct throughput *state)
{
	float depth = (float)depth_of(state), length = (float)state->low_run;
	struct stay *place = &state->stays[0];

	for (size_t i = 0; i < STAYS; i++) {
		struct stay *stay = &state->stays[i];
		bool is_like = stay->depth >= (float)like_depth * depth && depth >= (float)like_depth * stay->depth;
		if (is_like) {
			place = stay;
			break;
		}
		if (stay->length < place->length)
			place = stay;
	}
	bool is_like = place->depth >= (float)like_depth * depth && depth >= (float)like_depth * place->depth;
	uint32_t count = is_like && place->count < FEW_STAYS ? place->count + 1 : is_like ? FEW_STAYS : 1;
	if (is_like && place->length > length)
		*place = (struct stay){place->depth + (depth - place->depth) / 4, place->length, count};
	else if (is_like || place->length < length)
		*place = (struct stay){depth, length, count};
}

static void forget_run(struct throughput *state)
{
	state->low_run = state->high_run = 0;
	state->low_sum = state->low_total = 0;
}

static void restart(struct throughput *state, const struct point *point, const struct report_to *to)
{
	struct throughput fresh = {.attempt = point->attempt};

	fresh.before = state->is_open                       ? state->usual
		       : state->blocks.count >= HISTORY_MIN ? blocks_level(&state->blocks, 0, state->blocks.count)
							    : state->before;
	if (state->is_open && state->low_run)
		keep_stay(state);
	memcpy(fresh.stays, state->stays, sizeof fresh.stays);
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
	double value = fmin(median, state->low_total / state->low_run);

	state->is_said = true;
	state->reported = value;
	state->incident = change_at(INCIDENT_THROUGHPUT_DROP, severity, ordinal, point, value);
	state->incident.first_step = state->run_step;
	state->incident.expected = state->usual;
	state->incident.spread = state->spread;
	state->incident.score = (value - state->usual) / state->spread;
	to->report(to->context, INCIDENT_OPENED, &state->incident);
}

static double lasted_ms(const struct throughput *state, const struct point *point)
{
	return (double)point->ts_ms - (double)state->run_ms;
}

/* It has outlasted what is to be expected of a rate that comes back. */
static bool is_lasting(const struct throughput *state, const struct point *point)
{
	double depth = depth_of(state), longest = longest_like(state, depth);
	bool is_young = state->run_known < KNOWN_ENOUGH, has_come_back = longest >= RUN;
	double enough = is_young ? KNOWN_ENOUGH : has_come_back ? AGAIN_STAY : STAY_ENOUGH;

	if (state->low_run <= page_times[count_like(state, depth)] * longest ||
		state->low_run < steady_share * state->open_blocks)
		return false;
	return state->low_run >= enough ||
	       lasted_ms(state, point) >= (is_young || has_come_back ? LONG_STAY_MS : STAY_MS);
}

static void say_what_is_new(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	const struct report_to *to)
{
	bool is_page = is_lasting(state, point);

	if (!state->is_said && (is_page || state->low_run > mark_times * longest_like(state, depth_of(state)))) {
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
}

static void mark_rise(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	double usual, double spread, const struct report_to *to)
{
	struct incident incident = change_at(INCIDENT_THROUGHPUT_CHANGE, SEVERITY_INFO, ordinal, point, median);

	incident.first_step = state->run_step;
	incident.expected = usual;
	incident.spread = spread;
	incident.score = (median - usual) / spread;
	to->report(to->context, INCIDENT_OPENED, &incident);
	incident_close(&incident, point, to);
	blocks_clear(&state->blocks);
	state->known = 0;
	forget_run(state);
}

static bool has_lasted(const struct throughput *state, uint32_t run, const struct point *point)
{
	return run >= TIMELESS_RUN || (run >= RUN && lasted_ms(state, point) >= RUN_MS);
}

/* The first figures after a restart. */
static void compare_restart(
	struct throughput *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	double level = blocks_level(&state->blocks, 0, HISTORY_MIN), usual = state->before;

	state->before = 0;
	if (!(usual > 0) || level > restart_share * usual)
		return;
	state->run_step = point->step;
	state->run_ms = point->ts_ms;
	state->low_run = HISTORY_MIN;
	state->low_total = HISTORY_MIN * level;
	open_stretch(state, usual, fmax(blocks_spread(&state->blocks), 0.005 * usual), (1 - restart_share) * usual);
	bool is_new = HISTORY_MIN > mark_times * longest_like(state, depth_of(state));
	say_drop(state, is_new ? SEVERITY_WARNING : SEVERITY_INFO, ordinal, point, level, to);
}

static void begin_run(struct throughput *state, const struct point *point, int64_t first_step)
{
	state->run_step = first_step;
	state->run_ms = point->ts_ms;
	state->run_known = state->known;
	state->low_run = 0;
	state->low_total = 0;
}

/* True: the medians of the run are low together. */
static bool sum_low(struct throughput *state, const struct point *point, double median, double usual, double spread)
{
	double below = fmin(sum_most, fmax(-sum_most, (usual - median) / spread));

	if (state->low_sum <= sum_slack)
		begin_run(state, point, state->blocks.first_step);
	state->low_sum = fmax(0, state->low_sum + below - sum_slack);
	state->low_run++;
	state->low_total += median;
	double mean = state->low_total / state->low_run;
	return state->low_sum > sum_bar && mean < (1 - least_share) * usual && median < (usual + mean) / 2;
}

/* In a noisy rate, what may be a slow stretch is no part of what is usual. */
static bool is_run(const struct throughput *state, double usual, double spread)
{
	return state->low_sum > sum_run && 3 * spread > least_share * usual;
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
	double usual = blocks_level(&state->blocks, 0, state->blocks.count), floor = 0.005 * fabs(usual);
	double spread = fmax(blocks_spread(&state->blocks), floor);
	double gap = fmax(6 * spread, least_share * fabs(usual));
	bool is_known = spread > 0 && usual > 0; /* else nothing but zeros so far */
	bool is_high = is_known && median > usual + fmax(gap, 0.1 * usual);

	bool is_low = is_known && sum_low(state, point, median, usual, spread);
	if (is_high && state->high_run == 0)
		begin_run(state, point, state->blocks.first_step);
	state->high_run = is_high ? state->high_run + 1 : 0;
	if (is_low && has_lasted(state, state->low_run, point)) {
		double below = usual - state->low_total / state->low_run;
		open_stretch(state, usual, spread, fmin(gap, below));
		say_what_is_new(state, ordinal, point, median, to);
	} else if (has_lasted(state, state->high_run, point)) {
		mark_rise(state, ordinal, point, median, usual, spread, to);
	} else {
		if (state->low_run > BLOCK_RING)
			forget_run(state); /* lower, but not by enough: what is usual follows */
		if (!is_high && !(is_known && median < usual - gap) && !is_run(state, usual, spread))
			blocks_keep(&state->blocks, median);
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
		incident_close(&state->incident, point, to);
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
		state->low_run++;
		state->low_total += median;
	}
	if (state->calm_run >= RUN && state->calm_sum > calm_bar)
		end_stretch(state, false, point, to);
	else if (state->open_blocks >= GIVE_UP)
		end_stretch(state, !is_calm, point, to);
	else if (!is_calm)
		say_what_is_new(state, ordinal, point, median, to);
	if (state->is_open && state->is_said)
		worsen(state, point, median, to);
}

static void feed(void *of, uint64_t ordinal, const struct point *point, double value, const struct report_to *to)
{
	struct throughput *state = of;
	double median;

	if (!isfinite(value))
		return;
	if (point->attempt != state->attempt)
		restart(state, point, to);
	if (!blocks_add(&state->blocks, value, point->step, &median))
		return;
	state->recent[state->seen++ % PACE_BLOCKS] = (float)median;
	state->known += state->known < KNOWN_ENOUGH;
	fade_stays(state);
	if (state->is_open)
		follow(state, ordinal, point, median, to);
	else
		watch(state, ordinal, point, median, to);
}

static void feed_rate(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	feed(of, ordinal, point, point->value, to);
}

/* Of what a step takes: watched as steps a unit of time, said in the series' own unit. */
struct turned {
	const struct report_to *to;
};

static double turn(double value)
{
	return value != 0 ? 1 / value : value;
}

static struct incident turn_incident(const struct incident *incident)
{
	struct incident said = *incident;

	said.value = turn(incident->value);
	said.expected = turn(incident->expected);
	said.worst = turn(incident->worst);
	said.spread = incident->spread * said.expected * said.expected;
	said.score = said.spread > 0 ? (said.value - said.expected) / said.spread : 0;
	return said;
}

static void report_turned(void *context, enum incident_change change, const struct incident *incident)
{
	const struct turned *turned = context;
	struct incident said = turn_incident(incident);

	turned->to->report(turned->to->context, change, &said);
}

static void feed_time(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct turned turned = {to};
	struct report_to through = {report_turned, &turned};

	if (point->value > 0)
		feed(of, ordinal, point, 1 / point->value, &through);
}

uint32_t throughput_pace(const void *of, double *rate)
{
	const struct throughput *state = of;
	struct blocks recent = {0};

	if (state->seen < PACE_BLOCKS)
		return 0;
	for (size_t i = 0; i < PACE_BLOCKS; i++)
		blocks_keep(&recent, (double)state->recent[i]);
	*rate = blocks_level(&recent, 0, PACE_BLOCKS);
	return state->seen;
}

double throughput_usual_pace(const void *of)
{
	const struct throughput *state = of;

	if (state->is_open)
		return state->usual;
	return state->blocks.count < HISTORY_MIN ? 0 : blocks_level(&state->blocks, 0, state->blocks.count);
}

static void pack(const void *of, struct buf *out)
{
	const struct throughput *state = of;

	blocks_pack(&state->blocks, out);
	pack_u64(out, state->seen);
	pack_u64(out, state->known);
	for (size_t i = 0; i < PACE_BLOCKS; i++)
		pack_double(out, (double)state->recent[i]);
	pack_u64(out, state->attempt);
	pack_u64(out, state->low_run);
	pack_u64(out, state->high_run);
	pack_i64(out, state->run_step);
	pack_i64(out, state->run_ms);
	pack_u64(out, state->run_known);
	pack_double(out, state->low_sum);
	pack_double(out, state->low_total);
	pack_double(out, state->before);
	for (size_t i = 0; i < STAYS; i++) {
		pack_double(out, (double)state->stays[i].depth);
		pack_double(out, (double)state->stays[i].length);
		pack_u64(out, state->stays[i].count);
	}
	pack_u64(out, (uint64_t)state->is_open | (uint64_t)state->is_said << 1);
	if (!state->is_open)
		return;
	pack_u64(out, state->calm_run);
	pack_u64(out, state->open_blocks);
	pack_double(out, state->usual);
	pack_double(out, state->gap);
	pack_double(out, state->spread);
	pack_double(out, state->calm_sum);
	pack_double(out, state->reported);
	incident_pack(&state->incident, out);
}

/* Before stretches were summed up, each that was open had been said. */
static void take_over(struct throughput *state)
{
	state->known = state->run_known = state->seen < KNOWN_ENOUGH ? state->seen : KNOWN_ENOUGH;
	state->low_run = state->high_run = 0;
	if (!state->is_open)
		return;
	state->is_said = true;
	state->spread = state->incident.spread;
	state->low_run = state->open_blocks + RUN;
	state->low_total = state->low_run * state->incident.value;
	state->run_ms = state->incident.opened_ms;
}

static void unpack_open(struct throughput *state, unsigned format, struct unpacker *in)
{
	state->calm_run = (uint32_t)unpack_u64(in);
	state->open_blocks = (uint32_t)unpack_u64(in);
	state->usual = unpack_double(in);
	state->gap = unpack_double(in);
	if (format >= FORMAT_WITH_STAYS) {
		state->spread = unpack_double(in);
		state->calm_sum = unpack_double(in);
	}
	state->reported = unpack_double(in);
	incident_unpack(&state->incident, in);
	in->has_failed |= state->open_blocks >= GIVE_UP;
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct throughput *state = of;
	bool has_stays = format >= FORMAT_WITH_STAYS;

	blocks_unpack(&state->blocks, in);
	state->seen = (uint32_t)unpack_u64(in);
	state->known = has_stays ? (uint32_t)unpack_u64(in) : 0;
	for (size_t i = 0; i < PACE_BLOCKS; i++)
		state->recent[i] = (float)unpack_double(in);
	state->attempt = (uint32_t)unpack_u64(in);
	state->low_run = (uint32_t)unpack_u64(in);
	state->high_run = (uint32_t)unpack_u64(in);
	state->run_step = unpack_i64(in);
	state->run_ms = format > 1 ? unpack_i64(in) : 0;
	state->run_known = has_stays ? (uint32_t)unpack_u64(in) : 0;
	state->low_sum = has_stays ? unpack_double(in) : 0;
	state->low_total = has_stays ? unpack_double(in) : 0;
	state->before = format > 1 ? unpack_double(in) : 0;
	for (size_t i = 0; i < STAYS && has_stays; i++) {
		state->stays[i].depth = (float)unpack_double(in);
		state->stays[i].length = (float)unpack_double(in);
		uint64_t count = format >= FORMAT_WITH_COUNTS ? unpack_u64(in) : FEW_STAYS;
		in->has_failed |= count > FEW_STAYS;
		state->stays[i].count = in->has_failed ? 0 : (uint32_t)count;
	}
	uint64_t flags = unpack_u64(in);
	in->has_failed |= flags > 3 || state->known > KNOWN_ENOUGH;
	state->is_open = flags & 1;
	state->is_said = flags >> 1;
	if (!in->has_failed && state->is_open)
		unpack_open(state, format, in);
	if (!has_stays)
		take_over(state);
}

static void done(void *of)
{
	(void)of;
}

static bool open_rate(const void *of, struct incident *out)
{
	const struct throughput *state = of;

	*out = state->incident;
	return state->is_open && state->is_said;
}

static bool open_time(const void *of, struct incident *out)
{
	struct incident open;
	bool is_open = open_rate(of, &open);

	*out = turn_incident(&open);
	return is_open;
}

const struct detector_kind throughput_kind = {
	.bytes = sizeof(struct throughput),
	.roles = 1u << ROLE_THROUGHPUT,
	.since_format = 1,
	.feed = feed_rate,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open_rate,
};

const struct detector_kind step_time_kind = {
	.bytes = sizeof(struct throughput),
	.roles = 1u << ROLE_STEP_TIME,
	.since_format = 1,
	.feed = feed_time,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open_time,
};
