#include "detect/unmean.h"

#include <math.h>

enum {
	EPOCH_MIN = 32, /* points that an epoch has at least to be looked at */
	EPOCH_ENOUGH = 64,
	LATELY = 8,
	FIRST_OCTAVE = 2
};

static const int64_t step_most = INT64_C(1) << 53; /* beyond that nothing is counted */

static const double share = 1.0 / 16; /* by which the epoch grows from value to value, at least */
static const double uncertain = 1.0 / 64; /* how much of a value its digits may leave open */
static const float like_mean = 0.65f, still_like_mean = 0.85f;
static const uint32_t mean_bit = 1u << 31; /* of an attempt: what is known of plain points does not hold for these */

static void start_epoch(struct unmean *state, int64_t before_step)
{
	state->start_step = before_step;
	state->count = 0;
	state->mean = 0;
	state->mean_count = 0;
	state->last_move = 0;
	memset(state->largest, 0, sizeof state->largest);
	memset(state->octaves, 0, sizeof state->octaves);
}

/* Octave k has the points 2^k to 2^(k+1) - 1 of the epoch, from 1. */
static float octave_mean(const struct unmean *state, int octave)
{
	return state->octaves[octave] / (float)(1u << octave);
}

/* is_known: it was told before, and is not given up for one odd epoch. */
static bool is_like_mean(const struct unmean *state, bool is_known)
{
	if (state->count + 1 < EPOCH_MIN)
		return false;
	int last = 31 - __builtin_clz(state->count + 1) - 1;
	last = last < UNMEAN_OCTAVES ? last : UNMEAN_OCTAVES - 1;
	float late = octave_mean(state, last), between = octave_mean(state, last - 1),
	      early = octave_mean(state, last - 2);
	if (is_known)
		return late < still_like_mean * early;
	return late < like_mean * early && late < 0.95f * between && between < 0.95f * early;
}

static bool is_jump(const struct unmean *state, double move)
{
	float lately = fmaxf(state->largest[0], state->largest[1]);

	return state->count >= LATELY && lately > 0 && fabs(move) > 6 * (double)lately;
}

static bool has_ended(const struct unmean *state, const struct point *point, double move)
{
	if (point->in_epoch && state->in_epoch)
		return point->in_epoch < state->in_epoch;
	if (state->is_mean && state->length && state->length == state->length_before)
		return point->step - state->start_step > state->length;
	return is_jump(state, move) && (state->is_mean || is_like_mean(state, false));
}

/* What the epoch that is over tells. */
static void judge_epoch(struct unmean *state)
{
	bool is_like = is_like_mean(state, state->is_mean), is_enough = state->count + 1 >= EPOCH_ENOUGH;

	if (state->count + 1 >= EPOCH_MIN) {
		state->is_mean = state->is_mean ? is_like || state->was_like_mean
						: is_like && (is_enough || state->was_like_mean);
		state->was_like_mean = is_like;
	}
	state->length_before = state->length;
	state->length = state->last_step - state->start_step;
}

static void note_move(struct unmean *state, double move)
{
	int octave = 31 - __builtin_clz(state->count);

	if (octave < UNMEAN_OCTAVES && octave >= FIRST_OCTAVE)
		state->octaves[octave] += sqrtf((float)fmin(1e30, fabs(move - state->last_move)));
	if (state->count % LATELY == 0) {
		state->largest[0] = state->largest[1];
		state->largest[1] = 0;
	}
	if (move != 0 && (!(state->quantum > 0) || fabs(move) < state->quantum))
		state->quantum = fabs(move);
	state->largest[1] = fmaxf(state->largest[1], (float)fmin(1e30, fabs(move)));
	state->last_move = move;
}

static bool make_value(struct unmean *state, struct point *point)
{
	int64_t count = point->in_epoch ? point->in_epoch : point->step - state->start_step;
	double before = (double)state->mean_count, since = (double)count - before, value = point->value;

	/* rounding both means makes the value uncertain by the quantum times before / since */
	if (since < 1 || since < before * share || since * uncertain * fabs(value) < before * state->quantum)
		return false;
	point->value = value + (value - state->mean) * before / since;
	state->mean = value;
	state->mean_count = count;
	return true;
}

static void restart(struct unmean *state, const struct point *point)
{
	*state = (struct unmean){.attempt = point->attempt, .last = point->value, .quantum = state->quantum};
	start_epoch(state, point->step - 1);
}

static bool is_countable(int64_t step, int64_t most)
{
	return step > -most && step < most;
}

bool unmean_point(struct unmean *state, struct point *point)
{
	if (!is_countable(point->step, step_most))
		return true;
	if (point->attempt != state->attempt || point->step < state->last_step)
		restart(state, point);
	double move = point->value - state->last;
	if (state->count == 1 && !state->length)
		state->start_step = 2 * state->last_step - point->step; /* the first one stands for as many steps */
	if (state->count && has_ended(state, point, move)) {
		judge_epoch(state);
		start_epoch(state, state->last_step);
	}
	state->count += state->count < UINT32_MAX - 1;
	if (state->count > 1)
		note_move(state, move);
	state->last = point->value;
	state->last_step = point->step;
	state->in_epoch = point->in_epoch;
	if (!state->is_mean)
		return true;
	point->attempt |= mean_bit;
	return make_value(state, point);
}

static void pack_float(struct buf *out, float value)
{
	pack_double(out, (double)value);
}

void unmean_pack(const struct unmean *state, struct buf *out)
{
	pack_u64(out, (uint64_t)state->is_mean | (uint64_t)state->was_like_mean << 1);
	pack_u64(out, state->attempt);
	pack_u64(out, state->count);
	pack_u64(out, state->in_epoch);
	pack_i64(out, state->start_step);
	pack_i64(out, state->last_step);
	pack_i64(out, state->length);
	pack_i64(out, state->length_before);
	pack_double(out, state->last);
	pack_double(out, state->last_move);
	pack_double(out, state->mean);
	pack_double(out, state->quantum);
	pack_i64(out, state->mean_count);
	pack_float(out, state->largest[0]);
	pack_float(out, state->largest[1]);
	for (int i = FIRST_OCTAVE; i < UNMEAN_OCTAVES && state->count >> i; i++)
		pack_float(out, state->octaves[i]);
}

void unmean_unpack(struct unmean *state, struct unpacker *in)
{
	uint64_t flags = unpack_u64(in);

	*state = (struct unmean){.is_mean = flags & 1, .was_like_mean = flags >> 1 & 1};
	in->has_failed |= flags > 3;
	state->attempt = (uint32_t)unpack_u64(in);
	state->count = (uint32_t)unpack_u64(in);
	state->in_epoch = (uint32_t)unpack_u64(in);
	state->start_step = unpack_i64(in);
	state->last_step = unpack_i64(in);
	state->length = unpack_i64(in);
	state->length_before = unpack_i64(in);
	in->has_failed |=
		!is_countable(state->start_step, 8 * step_most) || !is_countable(state->last_step, 8 * step_most) ||
		!is_countable(state->length, 8 * step_most) || !is_countable(state->length_before, 8 * step_most);
	state->last = unpack_double(in);
	state->last_move = unpack_double(in);
	state->mean = unpack_double(in);
	state->quantum = unpack_double(in);
	state->mean_count = unpack_i64(in);
	in->has_failed |= !is_countable(state->mean_count, 8 * step_most);
	state->largest[0] = (float)unpack_double(in);
	state->largest[1] = (float)unpack_double(in);
	for (int i = FIRST_OCTAVE; i < UNMEAN_OCTAVES && state->count >> i; i++)
		state->octaves[i] = (float)unpack_double(in);
}
