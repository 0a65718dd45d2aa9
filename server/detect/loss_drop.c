/*
 * Too good to be true: a loss that falls by three tenths of its level within a few points and stays there. Data that
 * repeats, labels that leak into the input, a wrong mask, another model in the same stream.
 *
 * The loss is looked at in medians of eight points. Two in a row below 0.7 of the best level so far, and below the last four's
 * median by 8 spreads and by four times what the curve fell a block before, open it, a warning; 128 points are wanted before that.
 * What is no drop: an epoch's staircase (in a public fine-tuning log 0.41 -> 0.32 -> 0.28 -> 0.18: the third step would be one,
 * but comes at twice the step of the first, as epochs do: a fall by a tenth and 4 spreads is remembered for that); stages of the learning rate (5 to 20 %), the fall at the start,
 * the way back from a divergence; less than three units of the last digit (0.02 -> 0.01). Losses about zero or below it have no share to fall by.
 * Ends with two medians back above half the way, or as the new level after 512 points.
 */
#include "detect/blocks.h"
#include "detect/kind.h"
#include "detect/robust.h"

enum { HISTORY_MIN = 16, RUN = 2, GIVE_UP = 64, NEAR = 4, LEAST_UNITS = 3 };

static const double share = 0.7, stair_share = 0.9;

struct loss_drop {
	struct blocks blocks;
	uint32_t attempt;
	uint32_t low_run, calm_run;
	uint32_t stair_run;
	int64_t run_step, fall_step;
	int64_t stair_step; /* where it last fell at once, but not as far as for a drop; 0: nowhere */
	double best; /* the lowest level so far, once there is a history */
	bool is_open;
	uint32_t open_blocks;
	struct incident incident;
};

static void restart(struct loss_drop *state, const struct point *point, const struct report_to *to)
{
	if (state->is_open)
		incident_close(&state->incident, point, to);
	*state = (struct loss_drop){.attempt = point->attempt};
}

static void open_drop(struct loss_drop *state, uint64_t ordinal, const struct point *point, double median, double usual,
	double spread, const struct report_to *to)
{
	struct incident *incident = &state->incident;

	state->is_open = true;
	state->open_blocks = state->calm_run = 0;
	*incident = incident_at(INCIDENT_LOSS_DROP, SEVERITY_WARNING, ordinal, point);
	incident->value = incident->worst = median;
	incident->first_step = state->run_step;
	incident->expected = usual;
	incident->spread = spread;
	incident->score = (median - usual) / spread;
	to->report(to->context, INCIDENT_OPENED, incident);
}

/* A fall at a multiple of the step of an earlier one: an epoch ends there, and its data come again. */
static bool is_stair(const struct loss_drop *state, const struct point *point)
{
	double stair = (double)state->stair_step, at = (double)state->run_step;
	double times = stair > 0 ? round(at / stair) : 0;
	double near = (double)point->step - (double)state->blocks.first_step + 0.01 * stair;

	return times >= 2 && near < 0.05 * stair && fabs(at - times * stair) <= near;
}

static void note_stair(struct loss_drop *state, bool is_fall, int64_t step)
{
	if (is_fall && state->stair_run == 0)
		state->fall_step = step;
	state->stair_run = is_fall ? state->stair_run + 1 : 0;
	if (state->stair_run == RUN)
		state->stair_step = state->fall_step;
}

static void watch(
	struct loss_drop *state, uint64_t ordinal, const struct point *point, double median, const struct report_to *to)
{
	const struct blocks *blocks = &state->blocks;

	if (blocks->count < HISTORY_MIN) {
		blocks_keep(&state->blocks, median);
		return;
	}
	double usual = blocks_level(blocks, 0, NEAR), older = blocks_level(blocks, HISTORY_MIN - NEAR, NEAR);
	double fall = fmax(0, (older - usual) / (HISTORY_MIN - NEAR));
	bool may_fall = median < stair_share * usual; /* else the spread, which costs most, is not wanted */
	double spread = may_fall ? fmax(blocks_spread(blocks), 0.002 * fabs(usual)) : 0;
	state->best = state->best > 0 ? fmin(state->best, usual) : usual;
	bool is_low = may_fall && state->best > 0 && median < share * state->best &&
		      median < usual - fmax(8 * spread + 4 * fall, LEAST_UNITS * robust_quantum(median));

	note_stair(state, !is_low && may_fall && median < usual - 4 * spread, blocks->first_step);
	if (!is_low)
		blocks_keep(&state->blocks, median);
	else if (state->low_run == 0)
		state->run_step = blocks->first_step;
	state->low_run = is_low ? state->low_run + 1 : 0;
	if (state->low_run >= RUN && is_stair(state, point)) {
		blocks_clear(&state->blocks);
		state->best = 0;
		state->low_run = 0;
	} else if (state->low_run >= RUN) {
		open_drop(state, ordinal, point, median, usual, spread, to);
	}
}

static void follow(struct loss_drop *state, const struct point *point, double median, const struct report_to *to)
{
	struct incident *incident = &state->incident;
	bool is_calm = median > (1 + share) / 2 * incident->expected;

	state->calm_run = is_calm ? state->calm_run + 1 : 0;
	if (!is_calm)
		incident->last_step = point->step;
	if (median < incident->worst) {
		incident->worst = median;
		incident->worst_step = point->step;
	}
	if (state->calm_run < RUN && ++state->open_blocks < GIVE_UP)
		return;
	state->is_open = false;
	state->low_run = 0;
	if (is_calm) {
		incident_close(incident, point, to);
		return;
	}
	blocks_clear(&state->blocks);
	state->best = 0;
	incident_close_as_level(incident, point, to);
}

static void feed(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct loss_drop *state = of;
	double median;

	if (!isfinite(point->value))
		return;
	if (point->attempt != state->attempt)
		restart(state, point, to);
	if (!blocks_add(&state->blocks, point->value, point->step, &median))
		return;
	if (state->is_open)
		follow(state, point, median, to);
	else
		watch(state, ordinal, point, median, to);
}

static void pack(const void *of, struct buf *out)
{
	const struct loss_drop *state = of;

	blocks_pack(&state->blocks, out);
	pack_u64(out, state->attempt);
	pack_u64(out, state->low_run);
	pack_i64(out, state->run_step);
	pack_double(out, state->best);
	pack_u64(out, state->stair_run);
	pack_i64(out, state->fall_step);
	pack_i64(out, state->stair_step);
	pack_u64(out, state->is_open);
	if (!state->is_open)
		return;
	pack_u64(out, state->calm_run);
	pack_u64(out, state->open_blocks);
	incident_pack(&state->incident, out);
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct loss_drop *state = of;

	blocks_unpack(&state->blocks, in);
	state->attempt = (uint32_t)unpack_u64(in);
	state->low_run = (uint32_t)unpack_u64(in);
	state->run_step = unpack_i64(in);
	state->best = unpack_double(in);
	if (format > 1) {
		state->stair_run = (uint32_t)unpack_u64(in);
		state->fall_step = unpack_i64(in);
		state->stair_step = unpack_i64(in);
	}
	uint64_t is_open = unpack_u64(in);
	in->has_failed |= is_open > 1 || state->low_run > RUN;
	state->is_open = is_open;
	if (in->has_failed || !is_open)
		return;
	state->calm_run = (uint32_t)unpack_u64(in);
	state->open_blocks = (uint32_t)unpack_u64(in);
	incident_unpack(&state->incident, in);
	in->has_failed |= state->open_blocks >= GIVE_UP || state->calm_run >= RUN;
}

static void done(void *of)
{
	(void)of;
}

static bool open(const void *of, struct incident *out)
{
	const struct loss_drop *state = of;

	*out = state->incident;
	return state->is_open;
}

const struct detector_kind loss_drop_kind = {
	.bytes = sizeof(struct loss_drop),
	.roles = 1u << ROLE_LOSS,
	.since_format = 1,
	.feed = feed,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};
