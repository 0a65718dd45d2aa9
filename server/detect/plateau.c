/*
 * A loss that stopped falling while its own curve had far to go: a dead rate, a frozen model, a broken loader.
 *
 * Curves of training look alike on a logarithmic axis of steps. So the level (the median of five medians of eight
 * points) is noted at steps that are a quarter of an octave apart, and with it what it fell since half an octave before. A power law
 * keeps at least 0.8 of its fall from one half octave to the next. It is a plateau when two falls were steady (the later
 * 0.5 to 1.5 of the earlier, a twentieth of the level or more, beyond 6 spreads), the third was no greater, and the newest is
 * less than a tenth of what they promised. A staircase of epochs, a drop and what levels off by itself, as an exponential
 * does, were not steady before. Nothing is said before step 1000 and 256 points, nor of losses about zero or below it.
 *
 * Severity info: a run that is done is flat too, and somebody who looks can tell. Ends when the level falls again by a
 * twentieth; or with its attempt. Silent for curves that never fell: there is nothing to say where they were heading.
 */
#include "detect/blocks.h"
#include "detect/kind.h"

enum {
	NEAR = 5,
	APART = 2,
	MARKS = 4 * APART,
	OLD_MARKS = 4,
	FORMAT_WITH_QUARTERS = 6,
	POINTS_MIN = 256 / BLOCK_POINTS,
	STEP_MIN = 1000,
	FIRST_STEP = 64
};

struct plateau {
	struct blocks blocks;
	uint32_t attempt;
	uint32_t seen; /* blocks */
	double due; /* the step of the next mark */
	uint32_t mark_count;
	double marks[MARKS]; /* levels, the newer last */
	int64_t mark_steps[MARKS];
	bool is_open;
	struct incident incident;
};

static void restart(struct plateau *state, const struct point *point, const struct report_to *to)
{
	if (state->is_open)
		incident_close(&state->incident, point, to);
	*state = (struct plateau){.attempt = point->attempt, .due = FIRST_STEP};
}

static void open_plateau(struct plateau *state, uint64_t ordinal, const struct point *point, double level,
	double expected, double spread, const struct report_to *to)
{
	struct incident *incident = &state->incident;

	state->is_open = true;
	*incident = incident_at(INCIDENT_PLATEAU, SEVERITY_INFO, ordinal, point);
	incident->value = incident->worst = level;
	incident->first_step = state->mark_steps[3 * APART];
	incident->expected = expected;
	incident->spread = spread;
	incident->score = (level - expected) / spread;
	to->report(to->context, INCIDENT_OPENED, incident);
}

/* A quarter of an octave after the newest mark, half a one after the one before: is the fall since then what the falls before it promised? */
static void judge(
	struct plateau *state, uint64_t ordinal, const struct point *point, double level, const struct report_to *to)
{
	const double *marks = state->marks;
	double newest = marks[3 * APART];
	double first = marks[0] - marks[APART], second = marks[APART] - marks[2 * APART];
	double third = marks[2 * APART] - newest, fall = newest - level, promised = 0.64 * second;
	double spread = fmax(blocks_spread(&state->blocks), 0.002 * fabs(level));

	if (state->is_open || state->mark_count < MARKS || state->seen < POINTS_MIN || point->step < STEP_MIN)
		return;
	bool was_steady = level > 0 && second > fmax(0.05 * level, 6 * spread) && second > 0.5 * first &&
			  second < 1.5 * first && third < 1.2 * second && third > -0.2 * second;
	if (was_steady && fall < 0.1 * promised && fall > -0.5 * promised)
		open_plateau(state, ordinal, point, level, newest - promised, spread, to);
}

static void take_mark(struct plateau *state, int64_t step, double level)
{
	memmove(state->marks, state->marks + 1, (MARKS - 1) * sizeof *state->marks);
	memmove(state->mark_steps, state->mark_steps + 1, (MARKS - 1) * sizeof *state->mark_steps);
	state->marks[MARKS - 1] = level;
	state->mark_steps[MARKS - 1] = step;
	state->mark_count += state->mark_count < MARKS;
	state->due = (double)step * sqrt(M_SQRT2);
}

static void follow(struct plateau *state, const struct point *point, double level, const struct report_to *to)
{
	struct incident *incident = &state->incident;

	incident->last_step = point->step;
	if (level > 0.95 * incident->value)
		return;
	state->is_open = false;
	incident_close(incident, point, to);
}

static void feed(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct plateau *state = of;
	double median;

	if (!isfinite(point->value))
		return;
	if (point->attempt != state->attempt)
		restart(state, point, to);
	if (!blocks_add(&state->blocks, point->value, point->step, &median))
		return;
	blocks_keep(&state->blocks, median);
	state->seen += state->seen < POINTS_MIN;
	if (state->blocks.count < NEAR || (!state->is_open && (double)point->step < state->due))
		return;
	double level = blocks_level(&state->blocks, 0, NEAR);
	if (state->is_open)
		follow(state, point, level, to);
	if ((double)point->step < state->due)
		return;
	judge(state, ordinal, point, level, to);
	take_mark(state, point->step, level);
}

static void pack(const void *of, struct buf *out)
{
	const struct plateau *state = of;

	blocks_pack(&state->blocks, out);
	pack_u64(out, state->attempt);
	pack_u64(out, state->seen);
	pack_double(out, state->due);
	pack_u64(out, state->mark_count);
	for (size_t i = 0; i < MARKS; i++) {
		pack_double(out, state->marks[i]);
		pack_i64(out, state->mark_steps[i]);
	}
	pack_u64(out, state->is_open);
	if (state->is_open)
		incident_pack(&state->incident, out);
}

/* Marks of a state of before were half an octave apart: what lies between is taken for straight, and the next one is due as it was. */
static void spread_marks(struct plateau *state)
{
	for (size_t i = OLD_MARKS; i-- > 0;) {
		size_t after = i + 1 < OLD_MARKS ? APART * (i + 1) : APART * i;
		double mark = state->marks[i];
		int64_t step = state->mark_steps[i];
		state->marks[APART * i + 1] = after > APART * i ? (mark + state->marks[after]) / 2 : mark;
		state->mark_steps[APART * i + 1] = step;
		state->marks[APART * i] = mark;
		state->mark_steps[APART * i] = step;
	}
	state->mark_count *= APART;
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct plateau *state = of;

	blocks_unpack(&state->blocks, in);
	state->attempt = (uint32_t)unpack_u64(in);
	state->seen = (uint32_t)unpack_u64(in);
	state->due = unpack_double(in);
	state->mark_count = (uint32_t)unpack_u64(in);
	size_t marks = format >= FORMAT_WITH_QUARTERS ? MARKS : OLD_MARKS;
	for (size_t i = 0; i < marks; i++) {
		state->marks[i] = unpack_double(in);
		state->mark_steps[i] = unpack_i64(in);
	}
	in->has_failed |= state->mark_count > marks;
	if (marks == OLD_MARKS)
		spread_marks(state);
	uint64_t is_open = unpack_u64(in);
	in->has_failed |= is_open > 1 || state->seen > POINTS_MIN;
	state->is_open = is_open;
	if (state->is_open && !in->has_failed)
		incident_unpack(&state->incident, in);
}

static void done(void *of)
{
	(void)of;
}

static bool open(const void *of, struct incident *out)
{
	const struct plateau *state = of;

	*out = state->incident;
	return state->is_open;
}

const struct detector_kind plateau_kind = {
	.bytes = sizeof(struct plateau),
	.roles = 1u << ROLE_LOSS,
	.since_format = 1,
	.feed = feed,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};
