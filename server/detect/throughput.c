/*
 * A job that became slower, or faster, and stays so: of throughput, and of step time turned round.
 *
 * The rate is looked at in medians of eight points: the one or two slow steps of a checkpoint or an evaluation do not
 * reach them. What is usual is the median of the last 32 of these; their spread is told by neighbouring ones, and is at
 * least half a per cent. Three in a row below that by 6 spreads and by 5 per cent open throughput_drop, a warning, once they
 * have lasted 20 s of log time (a progress bar prints an average, in which one slow step lasts a dozen; where times stand
 * still, eight in a row); it ends with three back within half of that, or becomes what is usual after 2048 points. As many above by
 * 6 spreads and by a tenth are a throughput_change, a mark (info) that is over at once, and what is usual starts afresh: so a slow
 * beginning (compilation, caches that fill) is no reference for long. 48 points are wanted before anything is said.
 *
 * A restart begins afresh; but where its first 48 points are slower by a fifth than what was usual before, that is a drop too.
 */
#include "detect/blocks.h"
#include "detect/kind.h"

enum { HISTORY_MIN = 6, RUN = 3, TIMELESS_RUN = 8, RUN_MS = 20 * 1000, GIVE_UP = 256, PACE_BLOCKS = 4 };

static const double restart_share = 0.8;

struct throughput {
	struct blocks blocks;
	float recent[PACE_BLOCKS]; /* medians, in a ring; of an incident as well */
	uint32_t seen; /* medians */
	uint32_t attempt;
	uint32_t low_run, high_run, calm_run;
	int64_t run_step, run_ms; /* where the run of low or high ones began */
	double before; /* what was usual before the restart; 0: not known, or compared */
	bool is_open;
	uint32_t open_blocks;
	double usual; /* frozen at the opening */
	double gap;
	double reported; /* the worst in the last report */
	struct incident incident;
};

static void restart(struct throughput *state, const struct point *point, const struct report_to *to)
{
	double before = state->is_open                       ? state->usual
			: state->blocks.count >= HISTORY_MIN ? blocks_level(&state->blocks, 0, state->blocks.count)
							     : state->before;

	if (state->is_open)
		incident_close(&state->incident, point, to);
	*state = (struct throughput){.attempt = point->attempt, .before = before};
}

static struct incident change_at(
	enum incident_kind kind, enum severity severity, uint64_t ordinal, const struct point *point, double median)
{
	struct incident incident = incident_at(kind, severity, ordinal, point);

	incident.value = incident.worst = median;
	return incident;
}

static void open_drop(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	double usual, double spread, const struct report_to *to)
{
	state->is_open = true;
	state->open_blocks = state->calm_run = 0;
	state->usual = usual;
	state->reported = median;
	state->incident = change_at(INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING, ordinal, point, median);
	state->incident.first_step = state->run_step;
	state->incident.expected = usual;
	state->incident.spread = spread;
	state->incident.score = (median - usual) / spread;
	to->report(to->context, INCIDENT_OPENED, &state->incident);
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
	state->high_run = 0;
}

static bool has_lasted(const struct throughput *state, uint32_t run, const struct point *point)
{
	return run >= TIMELESS_RUN || (run >= RUN && (double)point->ts_ms - (double)state->run_ms >= RUN_MS);
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
	state->gap = (1 - restart_share) * usual;
	open_drop(state, ordinal, point, level, usual, fmax(blocks_spread(&state->blocks), 0.005 * usual), to);
}

static void watch(struct throughput *state, uint64_t ordinal, const struct point *point, double median,
	int64_t first_step, const struct report_to *to)
{
	if (state->blocks.count < HISTORY_MIN) {
		blocks_keep(&state->blocks, median);
		if (state->blocks.count == HISTORY_MIN && state->before != 0)
			compare_restart(state, ordinal, point, to);
		return;
	}
	double usual = blocks_level(&state->blocks, 0, state->blocks.count), floor = 0.005 * fabs(usual);
	double spread = fmax(blocks_spread(&state->blocks), floor);
	double gap = fmax(6 * spread, 0.05 * fabs(usual));
	bool is_low = median<usual - gap, is_high = median> usual + fmax(gap, 0.1 * fabs(usual));

	if (!(spread > 0))
		is_low = is_high = false; /* nothing but zeros so far */
	if (state->low_run + state->high_run == 0) {
		state->run_step = first_step;
		state->run_ms = point->ts_ms;
	}
	state->low_run = is_low ? state->low_run + 1 : 0;
	state->high_run = is_high ? state->high_run + 1 : 0;
	state->gap = gap;
	if (has_lasted(state, state->low_run, point))
		open_drop(state, ordinal, point, median, usual, spread, to);
	else if (has_lasted(state, state->high_run, point))
		mark_rise(state, ordinal, point, median, usual, spread, to);
	else if (!is_low && !is_high)
		blocks_keep(&state->blocks, median);
}

static void follow(struct throughput *state, const struct point *point, double median, const struct report_to *to)
{
	struct incident *incident = &state->incident;
	bool is_calm = median > state->usual - state->gap / 2;

	state->calm_run = is_calm ? state->calm_run + 1 : 0;
	if (!is_calm)
		incident->last_step = point->step;
	if (median < incident->worst) {
		incident->worst = median;
		incident->worst_step = point->step;
	}
	if (state->calm_run >= RUN || ++state->open_blocks >= GIVE_UP) {
		if (!is_calm)
			blocks_clear(&state->blocks);
		state->is_open = false;
		state->low_run = state->high_run = 0;
		incident_close(incident, point, to);
	} else if (state->usual - incident->worst > 1.25 * (state->usual - state->reported)) {
		state->reported = incident->worst;
		to->report(to->context, INCIDENT_UPDATED, incident);
	}
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
	if (state->is_open)
		follow(state, point, median, to);
	else
		watch(state, ordinal, point, median, state->blocks.first_step, to);
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
	for (size_t i = 0; i < PACE_BLOCKS; i++)
		pack_double(out, (double)state->recent[i]);
	pack_u64(out, state->attempt);
	pack_u64(out, state->low_run);
	pack_u64(out, state->high_run);
	pack_i64(out, state->run_step);
	pack_i64(out, state->run_ms);
	pack_double(out, state->before);
	pack_u64(out, state->is_open);
	if (!state->is_open)
		return;
	pack_u64(out, state->calm_run);
	pack_u64(out, state->open_blocks);
	pack_double(out, state->usual);
	pack_double(out, state->gap);
	pack_double(out, state->reported);
	incident_pack(&state->incident, out);
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct throughput *state = of;

	blocks_unpack(&state->blocks, in);
	state->seen = (uint32_t)unpack_u64(in);
	for (size_t i = 0; i < PACE_BLOCKS; i++)
		state->recent[i] = (float)unpack_double(in);
	state->attempt = (uint32_t)unpack_u64(in);
	state->low_run = (uint32_t)unpack_u64(in);
	state->high_run = (uint32_t)unpack_u64(in);
	state->run_step = unpack_i64(in);
	state->run_ms = format > 1 ? unpack_i64(in) : 0;
	state->before = format > 1 ? unpack_double(in) : 0;
	uint64_t is_open = unpack_u64(in);
	in->has_failed |= is_open > 1 || state->low_run > TIMELESS_RUN || state->high_run > TIMELESS_RUN;
	state->is_open = is_open;
	if (in->has_failed || !is_open)
		return;
	state->calm_run = (uint32_t)unpack_u64(in);
	state->open_blocks = (uint32_t)unpack_u64(in);
	state->usual = unpack_double(in);
	state->gap = unpack_double(in);
	state->reported = unpack_double(in);
	incident_unpack(&state->incident, in);
	in->has_failed |= state->open_blocks >= GIVE_UP || state->calm_run >= RUN;
}

static void done(void *of)
{
	(void)of;
}

static bool open_rate(const void *of, struct incident *out)
{
	const struct throughput *state = of;

	*out = state->incident;
	return state->is_open;
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
