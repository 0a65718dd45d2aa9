/*
 * Three passes: how long an undisturbed step takes; the wall clock cut at every printed step, as if all of it were training; and
 * the secondary statuses laid over that, because what they say is stated and what the steps say is worked out.
 */
#include "fleet/goodput.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps are late only beyond this: times of lines are often of whole seconds. */
enum { LATE_MS = 2000 };
/* What is behind a line of an evaluation or a checkpoint may be so long, if none of the job was longer before. */
enum { MARKED_MS = 15 * 60 * 1000 };
/* Of one interval, for the median: no sum of them overflows. */
#define WEIGHT_MAX (1LL << 32)

/* A run of points between two restarts. */
struct start {
	size_t first; /* its first point */
	int64_t from_step; /* it goes on from */
	size_t own_break; /* that it begins behind */
};

/* What the attempt at work made beyond this step is made again; and behind which break first. */
struct cut {
	int64_t step;
	size_t owner;
};

struct piece {
	int64_t from_ms, to_ms;
	enum goodput_bucket bucket;
	size_t owner; /* REDONE: by which break */
};

#define NO_BREAK SIZE_MAX

struct deriving {
	const struct goodput_facts *facts; /* those given, with the points that made a step */
	struct goodput_facts made;
	struct arena *arena;
	struct goodput *out;
	struct start *starts;
	size_t start_count;
	struct cut *cuts; /* each below the one before */
	size_t cut_count;
	size_t last_break; /* behind which another job goes on */
	struct piece *pieces;
	size_t piece_count, piece_cap;
	size_t segment_cap, break_cap;
	size_t mark; /* the first that is not used yet */
	int64_t longest_marked_ms; /* of an evaluation or a checkpoint between two steps */
	int64_t stride;
	int64_t begin_ms, end_ms;
};

static void *grow(struct arena *arena, void *items, size_t count, size_t *cap, size_t bytes)
{
	if (items && count < *cap)
		return items;
	size_t wanted = *cap ? 2 * *cap : 32;
	void *grown = arena_alloc(arena, wanted * bytes);
	if (grown && items && count)
		memcpy(grown, items, count * bytes);
	if (grown)
		*cap = wanted;
	return grown;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- which points made a step ---- */

/* Was the training interrupted behind a, and went on by b, as statuses or a pause say? */
static bool went_on(const struct goodput_facts *facts, size_t *phase, int64_t a_ms, int64_t b_ms)
{
	bool was_off = false;

	while (*phase < facts->phase_count && facts->phases[*phase].to_ms <= a_ms)
		++*phase;
	for (size_t i = *phase; i < facts->phase_count && facts->phases[i].from_ms <= b_ms; i++) {
		const struct goodput_phase *at = &facts->phases[i];
		if (at->is_training && was_off)
			return true;
		was_off |= !at->is_training && at->to_ms > at->from_ms;
	}
	return false;
}

/*
 * A step that was printed before, by another rank or once more, is none that was made: its time is part of the next one's. The
 * first one behind an interruption is made again, however few were lost. Each start is an attempt of its own.
 */
static enum status find_made(struct deriving *d, struct error *err)
{
	const struct goodput_facts *given = d->facts;
	struct goodput_point *made = arena_alloc(d->arena, (given->point_count + 1) * sizeof *made);
	uint32_t attempt = 0, starts = 0;
	size_t count = 0, phase = 0;

	if (!made)
		return error_no_memory(err);
	for (size_t i = 0; i < given->point_count; i++) {
		const struct goodput_point *at = &given->points[i];
		bool is_start = !i || at->attempt > attempt;
		bool is_further = count && at->step > made[count - 1].step;
		is_start |= !is_further && i && went_on(given, &phase, at[-1].ts_ms, at->ts_ms);
		if (!is_start && !is_further)
			continue;
		attempt = at->attempt > attempt ? at->attempt : attempt;
		starts += is_start;
		made[count++] = (struct goodput_point){at->ts_ms, at->step, starts};
	}
	d->made = *given;
	d->made.points = made;
	d->made.point_count = count;
	d->facts = &d->made;
	return OK;
}

/* ---- how long a step takes ---- */

struct pace {
	double step_ms;
	int64_t steps;
};

static int by_pace(const void *a, const void *b)
{
	double x = ((const struct pace *)a)->step_ms, y = ((const struct pace *)b)->step_ms;

	return (x > y) - (x < y);
}

/* The half of all steps is not slower. */
static double median_pace(struct pace *paces, size_t count)
{
	int64_t all = 0, seen = 0;

	if (count)
		qsort(paces, count, sizeof *paces, by_pace);
	for (size_t i = 0; i < count; i++)
		all += paces[i].steps;
	for (size_t i = 0; i < count; i++) {
		seen += paces[i].steps;
		if (seen >= all - seen)
			return paces[i].step_ms;
	}
	return 0;
}

/* Does a phase that is no training reach into it? */
static bool is_crossed(const struct goodput_facts *facts, size_t *phase, int64_t from_ms, int64_t to_ms)
{
	while (*phase < facts->phase_count && facts->phases[*phase].to_ms <= from_ms)
		++*phase;
	for (size_t i = *phase; i < facts->phase_count && facts->phases[i].from_ms < to_ms; i++)
		if (!facts->phases[i].is_training && !facts->phases[i].is_away &&
			facts->phases[i].to_ms > facts->phases[i].from_ms)
			return true;
	return false;
}

static bool has_mark(const struct goodput_facts *facts, size_t *mark, int64_t from_ms, int64_t to_ms)
{
	while (*mark < facts->mark_count && facts->marks[*mark].ts_ms <= from_ms)
		++*mark;
	return *mark < facts->mark_count && facts->marks[*mark].ts_ms <= to_ms;
}

static bool is_same_attempt(const struct goodput_point *a, const struct goodput_point *b)
{
	return b->attempt <= a->attempt;
}

/* Undisturbed: within one attempt and one status, and nothing but steps was printed. Without any such: all of an attempt. */
static enum status find_pace(struct deriving *d, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	struct pace *paces = arena_alloc(d->arena, (facts->point_count + 1) * sizeof *paces);

	if (!paces)
		return error_no_memory(err);
	for (int is_strict = 1; is_strict >= 0 && d->out->step_ms <= 0; is_strict--) {
		size_t count = 0, phase = 0, mark = 0;
		for (size_t i = 0; i + 1 < facts->point_count; i++) {
			const struct goodput_point *a = &facts->points[i], *b = a + 1;
			/* both are asked each time: each goes along with the points */
			bool is_across = is_crossed(facts, &phase, a->ts_ms, b->ts_ms);
			bool is_marked = has_mark(facts, &mark, a->ts_ms, b->ts_ms);
			if (is_same_attempt(a, b) && b->step > a->step && b->ts_ms > a->ts_ms &&
				!(is_strict && (is_across || is_marked)))
				paces[count++] =
					(struct pace){(double)(b->ts_ms - a->ts_ms) / (double)(b->step - a->step),
						least(b->step - a->step, WEIGHT_MAX)};
		}
		d->out->step_ms = median_pace(paces, count);
	}
	return OK;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

enum status goodput_find_stride(
	const struct goodput_point *points, size_t point_count, struct arena *arena, int64_t *stride, struct error *err)
{
	int64_t *strides = arena_alloc(arena, (point_count + 1) * sizeof *strides);
	const struct goodput_point *highest = NULL; /* of the newest attempt */
	uint32_t attempt = 0;
	size_t count = 0;

	if (!strides)
		return error_no_memory(err);
	for (size_t i = 0; i < point_count; i++) {
		bool is_start = !highest || points[i].attempt > attempt;
		if (!is_start && points[i].step <= highest->step)
			continue;
		if (!is_start)
			strides[count++] = points[i].step - highest->step;
		attempt = is_start ? points[i].attempt : attempt;
		highest = &points[i];
	}
	if (count)
		qsort(strides, count, sizeof *strides, by_number);
	*stride = count ? strides[(count - 1) / 2] : 1;
	return OK;
}

static enum status find_stride(struct deriving *d, struct error *err)
{
	d->stride = d->facts->stride;
	return d->stride > 0 ? OK
			     : goodput_find_stride(d->facts->points, d->facts->point_count, d->arena, &d->stride, err);
}

static int64_t time_of(const struct deriving *d, int64_t steps)
{
	double ms = d->out->step_ms * (double)steps;

	return ms < 9e15 ? llround(ms) : (int64_t)9e15;
}

/* ---- where it started over ---- */

/* The step that the work before the first printed one went on from: a checkpoint that was seen there, else one stride back. */
static int64_t from_step_of(const struct deriving *d, size_t first)
{
	int64_t step = d->facts->points[first].step;
	int64_t from_step = step - least(d->stride, most(step, 0));

	for (size_t i = 0; i < d->facts->mark_count && d->facts->marks[i].ts_ms < d->facts->points[first].ts_ms; i++) {
		int64_t kept = d->facts->marks[i].step;
		if (d->facts->marks[i].bucket == GOODPUT_CHECKPOINT && kept > from_step && kept < step)
			from_step = kept;
	}
	return from_step;
}

static enum status find_starts(struct deriving *d, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	uint32_t attempt = 0;
	size_t cap = 0;

	for (size_t i = 0; i < facts->point_count; i++) {
		if (i && facts->points[i].attempt <= attempt)
			continue;
		attempt = facts->points[i].attempt;
		d->starts = grow(d->arena, d->starts, d->start_count, &cap, sizeof *d->starts);
		if (!d->starts)
			return error_no_memory(err);
		d->starts[d->start_count++] = (struct start){i, from_step_of(d, i), NO_BREAK};
	}
	d->cuts = arena_alloc(d->arena, (d->start_count + 1) * sizeof *d->cuts);
	return d->cuts ? OK : error_no_memory(err);
}

static void add_cut(struct deriving *d, int64_t step, size_t owner)
{
	if (!d->cut_count || step < d->cuts[d->cut_count - 1].step)
		d->cuts[d->cut_count++] = (struct cut){step, owner};
}

static void find_cuts(struct deriving *d, const struct start *start)
{
	d->cut_count = 0;
	for (const struct start *later = start + 1; later < d->starts + d->start_count; later++)
		add_cut(d, later->from_step, later->own_break);
	add_cut(d, d->facts->next_from_step, d->last_break);
}

/* ---- breaks ---- */

static struct span cause_of(const struct goodput_facts *facts, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < facts->phase_count; i++)
		if (facts->phases[i].to_ms > from_ms && facts->phases[i].from_ms < to_ms &&
			facts->phases[i].cause.len && !facts->phases[i].is_training &&
			(facts->phases[i].bucket == GOODPUT_RESTART || facts->phases[i].bucket == GOODPUT_IDLE))
			return facts->phases[i].cause;
	return SPAN("");
}

static bool is_of_break(const struct goodput_phase *phase)
{
	return !phase->is_training && !phase->is_away && phase->to_ms > phase->from_ms &&
	       (phase->bucket == GOODPUT_RESTART || phase->cause.len);
}

static size_t first_training(const struct goodput_facts *facts)
{
	size_t i = 0;

	while (i < facts->phase_count &&
		!(facts->phases[i].is_training && facts->phases[i].to_ms > facts->phases[i].from_ms))
		i++;
	return i;
}

/*
 * The training that was taken up again between these two steps, after a status behind `settled` had broken it off; phase_count: there
 * is none. Steps that are printed while such a status stands (a stop that is waited for, an upload beside the training) are none that
 * it broke.
 */
static size_t find_taken_up(
	const struct goodput_facts *facts, size_t *phase, size_t settled, int64_t from_ms, int64_t to_ms)
{
	bool was_off = false;

	while (*phase < facts->phase_count && facts->phases[*phase].to_ms <= from_ms)
		++*phase;
	for (size_t i = *phase; i < facts->phase_count && facts->phases[i].from_ms <= to_ms; i++) {
		if (was_off && facts->phases[i].is_training)
			return i;
		was_off |= i > settled && is_of_break(&facts->phases[i]);
	}
	return facts->phase_count;
}

static size_t phase_at(const struct goodput_facts *facts, int64_t ms)
{
	size_t i = 0;

	while (i + 1 < facts->phase_count && facts->phases[i + 1].from_ms <= ms)
		i++;
	return i;
}

static struct goodput_break *add_break(struct deriving *d, int64_t from_ms, int64_t to_ms, int64_t step)
{
	struct goodput *out = d->out;

	out->breaks = grow(d->arena, out->breaks, out->break_count, &d->break_cap, sizeof *out->breaks);
	if (!out->breaks)
		return NULL;
	out->breaks[out->break_count] = (struct goodput_break){.from_ms = from_ms,
		.to_ms = to_ms,
		.cause = cause_of(d->facts, from_ms, to_ms ? to_ms : d->end_ms + 1),
		.step = step,
		.from_step = -1};
	return &out->breaks[out->break_count++];
}

/*
 * Restarts that no printed step follows, or none precedes: [from_ms, to_ms) has no step. Before the first one nothing was lost;
 * behind the last one it is not known yet.
 */
static enum status add_silent_breaks(
	struct deriving *d, int64_t from_ms, int64_t to_ms, int64_t step, struct error *err)
{
	int64_t lost_steps = d->facts->point_count && step < 0 ? 0 : -1;
	bool was_restart = false;

	for (size_t i = 0; i < d->facts->phase_count; i++) {
		const struct goodput_phase *phase = &d->facts->phases[i];
		bool is_restart =
			!phase->is_training && phase->bucket == GOODPUT_RESTART && phase->to_ms > phase->from_ms;
		if (is_restart && !was_restart && phase->from_ms >= from_ms && phase->from_ms < to_ms) {
			struct goodput_break *broken = add_break(d, phase->from_ms, 0, step);
			if (!broken)
				return error_no_memory(err);
			broken->lost_steps = lost_steps;
		}
		if (is_restart && phase->from_ms >= from_ms && phase->from_ms < to_ms && i + 1 < d->facts->phase_count)
			d->out->breaks[d->out->break_count - 1].to_ms = phase->to_ms;
		was_restart = is_restart;
	}
	return OK;
}

/* ---- pieces ---- */

static enum status add_piece(
	struct deriving *d, int64_t to_ms, enum goodput_bucket bucket, size_t owner, struct error *err)
{
	int64_t from_ms = d->piece_count ? d->pieces[d->piece_count - 1].to_ms : d->begin_ms;

	if (to_ms <= from_ms)
		return OK;
	d->pieces = grow(d->arena, d->pieces, d->piece_count, &d->piece_cap, sizeof *d->pieces);
	if (!d->pieces)
		return error_no_memory(err);
	d->pieces[d->piece_count++] = (struct piece){from_ms, to_ms, bucket, owner};
	return OK;
}

/* Steps from_step + 1 .. from_step + steps were made in [from_ms, to_ms): those up to the lowest cut stay. */
static enum status add_work(
	struct deriving *d, int64_t from_ms, int64_t to_ms, int64_t from_step, int64_t steps, struct error *err)
{
	enum goodput_bucket bucket = GOODPUT_PRODUCTIVE;
	size_t owner = NO_BREAK;

	for (size_t i = d->cut_count; i-- > 0;) {
		const struct cut *cut = &d->cuts[i];
		if (cut->step >= from_step + steps)
			break;
		int64_t kept = most(cut->step - from_step, 0);
		int64_t kept_ms = steps ? (int64_t)((__int128)(to_ms - from_ms) * kept / steps) : 0;
		TRY(add_piece(d, from_ms + kept_ms, bucket, owner, err));
		bucket = GOODPUT_REDONE;
		owner = cut->owner;
	}
	return add_piece(d, to_ms, bucket, owner, err);
}

/* Up to to_ms: what was printed in between, else `bucket`. */
static enum status add_marked(struct deriving *d, int64_t from_ms, int64_t to_ms, int64_t marks_to_ms,
	enum goodput_bucket bucket, bool last_takes_rest, struct error *err)
{
	const struct goodput_mark *marks = d->facts->marks;

	for (; has_mark(d->facts, &d->mark, from_ms, marks_to_ms); d->mark++) {
		TRY(add_piece(d, least(marks[d->mark].ts_ms, to_ms), marks[d->mark].bucket, NO_BREAK, err));
		if (last_takes_rest)
			bucket = marks[d->mark].bucket;
		from_ms = most(from_ms, marks[d->mark].ts_ms - 1);
	}
	return add_piece(d, to_ms, bucket, NO_BREAK, err);
}

static bool is_late(const struct deriving *d, int64_t taken_ms, int64_t steps)
{
	int64_t expected_ms = time_of(d, steps);

	return taken_ms - expected_ms > most(most(time_of(d, 1), expected_ms / 4), LATE_MS);
}

/* What lies between two printed steps of one attempt. */
static enum status add_interval(struct deriving *d, const struct goodput_point *a, const struct goodput_point *b,
	int64_t from_step, struct error *err)
{
	int64_t taken_ms = b->ts_ms - a->ts_ms, steps = most(b->step - from_step, 0);
	bool is_marked = has_mark(d->facts, &d->mark, a->ts_ms, b->ts_ms);
	int64_t work_ms = taken_ms;

	if (d->out->step_ms > 0 && (is_marked || is_late(d, taken_ms, steps)))
		work_ms = least(taken_ms, time_of(d, steps));
	if (is_marked && work_ms < taken_ms)
		TRY(add_marked(d, a->ts_ms, b->ts_ms - work_ms, b->ts_ms, GOODPUT_STALLED, true, err));
	else
		TRY(add_piece(d, b->ts_ms - work_ms, GOODPUT_STALLED, NO_BREAK, err));
	if (is_marked)
		d->longest_marked_ms = most(d->longest_marked_ms, taken_ms - work_ms);
	return add_work(d, b->ts_ms - work_ms, b->ts_ms, from_step, steps, err);
}

/* What lies before a point, back to from_ms, and is not the work of its own steps. */
static enum status add_gap(struct deriving *d, int64_t from_ms, const struct goodput_point *b, int64_t from_step,
	enum goodput_bucket bucket, struct error *err)
{
	int64_t steps = most(b->step - from_step, 0);
	int64_t work_ms = least(most(b->ts_ms - from_ms, 0), time_of(d, steps));

	TRY(add_piece(d, b->ts_ms - work_ms, bucket, NO_BREAK, err));
	return add_work(d, b->ts_ms - work_ms, b->ts_ms, from_step, steps, err);
}

/* Behind its last line: does the next step stay away longer than what the line says takes? */
static bool is_stuck(const struct deriving *d)
{
	const struct goodput_facts *facts = d->facts;
	size_t last = facts->mark_count;

	while (last && facts->marks[last - 1].ts_ms > d->end_ms)
		last--;
	return last &&
	       d->end_ms - facts->marks[last - 1].ts_ms - time_of(d, d->stride) > most(d->longest_marked_ms, MARKED_MS);
}

/* Where the training was told to end: what it takes to stop, once somebody said so, makes no step late. */
static int64_t told_to_end_ms(const struct deriving *d, int64_t last_ms)
{
	const struct goodput_facts *facts = d->facts;
	int64_t told_ms = d->end_ms;

	for (size_t i = 0; i < facts->phase_count && facts->end == GOODPUT_STOPPED; i++)
		if (facts->phases[i].bucket == GOODPUT_IDLE && facts->phases[i].from_ms >= last_ms)
			told_ms = least(told_ms, facts->phases[i].from_ms);
	return told_ms;
}

/* Behind the last step. */
static enum status add_rest(struct deriving *d, int64_t last_ms, struct error *err)
{
	int64_t taken_ms = told_to_end_ms(d, last_ms) - last_ms, expected_ms = time_of(d, d->stride);
	bool late = d->out->step_ms > 0 && is_late(d, taken_ms, d->stride);

	for (size_t i = 0; i < d->facts->phase_count; i++) {
		const struct goodput_phase *phase = &d->facts->phases[i];
		if (phase->is_training || phase->bucket != GOODPUT_RESTART || phase->to_ms <= last_ms)
			continue;
		TRY(add_piece(d, most(phase->from_ms, last_ms), GOODPUT_STALLED, NO_BREAK, err));
		return add_piece(d, d->end_ms, GOODPUT_RESTART, NO_BREAK, err);
	}
	if (d->facts->end == GOODPUT_RUNS) {
		if (has_mark(d->facts, &d->mark, last_ms, d->end_ms))
			return add_marked(d, last_ms, d->end_ms, d->end_ms, GOODPUT_STALLED, !is_stuck(d), err);
		TRY(add_piece(d, late ? last_ms + expected_ms : d->end_ms, GOODPUT_PRODUCTIVE, NO_BREAK, err));
		return add_piece(d, d->end_ms, GOODPUT_STALLED, NO_BREAK, err);
	}
	bool is_stall = d->facts->end == GOODPUT_FAILED || (d->facts->end == GOODPUT_STOPPED && late);
	return add_marked(d, last_ms, d->end_ms, d->end_ms, is_stall ? GOODPUT_STALLED : GOODPUT_IDLE, false, err);
}

/* The break in front of a restart says what it cost; it is what the attempts before it are cut by. */
static enum status break_off(struct deriving *d, const struct goodput_point *a, const struct goodput_point *b,
	int64_t step, struct start *start, struct error *err)
{
	struct goodput_break *broken = add_break(d, a->ts_ms, b->ts_ms, step);

	if (!broken)
		return error_no_memory(err);
	if (!start)
		return OK;
	broken->from_step = start->from_step;
	broken->lost_steps = most(step - start->from_step, 0);
	start->own_break = d->out->break_count - 1;
	return OK;
}

/*
 * Which breaks there are between the points; the highest step before each. An attempt that begins while the status of its break still
 * stands settles that status: the training which follows it is no second break.
 */
static enum status find_breaks(struct deriving *d, int64_t *last_step, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	size_t phase = 0, at = 1, settled = first_training(facts);

	*last_step = facts->points[0].step;
	for (size_t i = 0; i + 1 < facts->point_count; i++) {
		const struct goodput_point *a = &facts->points[i], *b = a + 1;
		struct start *start = at < d->start_count && d->starts[at].first == i + 1 ? &d->starts[at++] : NULL;
		size_t taken_up = find_taken_up(facts, &phase, settled, a->ts_ms, b->ts_ms);
		if (taken_up < facts->phase_count)
			settled = taken_up;
		else if (start && phase_at(facts, b->ts_ms) > settled)
			settled = phase_at(facts, b->ts_ms);
		if (start || taken_up < facts->phase_count)
			TRY(break_off(d, a, b, *last_step, start, err));
		*last_step = start ? b->step : most(*last_step, b->step);
	}
	return OK;
}

static enum status find_last_break(struct deriving *d, int64_t last_ms, int64_t last_step, struct error *err)
{
	bool is_cut = d->facts->next_from_step < last_step;

	if (d->facts->end != GOODPUT_FAILED && !is_cut)
		return OK;
	struct goodput_break *broken = add_break(d, least(last_ms, d->end_ms), 0, last_step);
	if (!broken)
		return error_no_memory(err);
	broken->cause = d->facts->end_cause.len ? d->facts->end_cause : broken->cause;
	if (d->facts->next_from_step == INT64_MAX) {
		broken->lost_steps = -1;
		return OK;
	}
	broken->from_step = d->facts->next_from_step;
	broken->lost_steps = is_cut ? last_step - d->facts->next_from_step : 0;
	d->last_break = d->out->break_count - 1;
	return OK;
}

/* The wall clock as if all of it were training. */
static enum status cut_points(struct deriving *d, struct error *err)
{
	const struct goodput_point *points = d->facts->points;
	struct start *start = d->starts;
	size_t phase = 0;
	int64_t step = start->from_step;

	find_cuts(d, start);
	TRY(add_gap(d, d->begin_ms, &points[0], step, GOODPUT_FIRST_STEP, err));
	step = points[0].step;
	for (size_t i = 0; i + 1 < d->facts->point_count; i++) {
		const struct goodput_point *a = &points[i], *b = a + 1;
		bool is_crossing = is_crossed(d->facts, &phase, a->ts_ms, b->ts_ms);
		bool is_start = start + 1 < d->starts + d->start_count && start[1].first == i + 1;
		if (is_start) {
			find_cuts(d, ++start);
			step = start->from_step;
		}
		if (is_start || is_crossing)
			TRY(add_gap(d, a->ts_ms, b, step, GOODPUT_RESTART, err));
		else
			TRY(add_interval(d, a, b, step, err));
		step = is_start ? b->step : most(step, b->step);
	}
	return add_rest(d, points[d->facts->point_count - 1].ts_ms, err);
}

/* ---- the statuses over the pieces ---- */

static enum status put_segment(
	struct deriving *d, int64_t from_ms, int64_t to_ms, enum goodput_bucket bucket, size_t owner, struct error *err)
{
	struct goodput *out = d->out;
	struct goodput_segment *last = out->segment_count ? &out->segments[out->segment_count - 1] : NULL;

	if (to_ms <= from_ms)
		return OK;
	out->ms[bucket] += to_ms - from_ms;
	out->total_ms += to_ms - from_ms;
	if (bucket == GOODPUT_REDONE && owner < out->break_count)
		out->breaks[owner].redone_ms += to_ms - from_ms;
	if (last && last->bucket == bucket && last->to_ms == from_ms) {
		last->to_ms = to_ms;
		return OK;
	}
	out->segments = grow(d->arena, out->segments, out->segment_count, &d->segment_cap, sizeof *out->segments);
	if (!out->segments)
		return error_no_memory(err);
	out->segments[out->segment_count++] = (struct goodput_segment){from_ms, to_ms, bucket};
	return OK;
}

/* Where nobody knows how long a step takes nobody knows what of the time was steps; that a restart took its time is seen. */
static enum goodput_bucket bucket_of(const struct deriving *d, const struct piece *piece)
{
	bool is_pace_known = !d->facts->point_count || d->out->step_ms > 0;

	return is_pace_known || piece->bucket == GOODPUT_RESTART ? piece->bucket : GOODPUT_UNMEASURED;
}

static enum status lay_over(struct deriving *d, struct error *err)
{
	size_t at = 0;

	for (size_t i = 0; i < d->facts->phase_count; i++) {
		const struct goodput_phase *phase = &d->facts->phases[i];
		if (phase->is_away)
			continue;
		if (!phase->is_training) {
			TRY(put_segment(d, phase->from_ms, phase->to_ms, phase->bucket, NO_BREAK, err));
			continue;
		}
		while (at < d->piece_count && d->pieces[at].to_ms <= phase->from_ms)
			at++;
		for (size_t j = at; j < d->piece_count && d->pieces[j].from_ms < phase->to_ms; j++)
			TRY(put_segment(d, most(d->pieces[j].from_ms, phase->from_ms),
				least(d->pieces[j].to_ms, phase->to_ms), bucket_of(d, &d->pieces[j]),
				d->pieces[j].owner, err));
	}
	return OK;
}

static void sum_breaks(struct goodput *out)
{
	for (size_t i = 0, at = 0; i < out->break_count; i++) {
		struct goodput_break *broken = &out->breaks[i];
		int64_t to_ms = broken->to_ms ? broken->to_ms : INT64_MAX;
		while (at < out->segment_count && out->segments[at].to_ms <= broken->from_ms)
			at++;
		for (size_t j = at; j < out->segment_count && out->segments[j].from_ms < to_ms; j++)
			if (out->segments[j].bucket == GOODPUT_RESTART)
				broken->restart_ms += least(out->segments[j].to_ms, to_ms) -
						      most(out->segments[j].from_ms, broken->from_ms);
		out->lost_steps += most(broken->lost_steps, 0);
	}
}

static enum status derive_steps(struct deriving *d, struct error *err)
{
	struct goodput *out = d->out;
	int64_t last_step;

	TRY(find_made(d, err));
	const struct goodput_facts *facts = d->facts;
	int64_t last_ms = facts->points[facts->point_count - 1].ts_ms;
	TRY(find_pace(d, err));
	TRY(find_stride(d, err));
	TRY(find_starts(d, err));
	TRY(add_silent_breaks(d, INT64_MIN, facts->points[0].ts_ms, -1, err));
	TRY(find_breaks(d, &last_step, err));
	TRY(add_silent_breaks(d, last_ms, INT64_MAX, last_step, err));
	TRY(find_last_break(d, last_ms, last_step, err));
	TRY(cut_points(d, err));
	out->has_steps = true;
	out->stride = d->stride;
	out->last_step = last_step;
	out->first_from_step = d->starts[0].from_step;
	for (size_t i = 1; i < d->start_count; i++)
		out->first_from_step = least(out->first_from_step, d->starts[i].from_step);
	out->steps = most(least(last_step, facts->next_from_step) - out->first_from_step, 0);
	return OK;
}

enum status goodput_derive(
	const struct goodput_facts *facts, struct arena *arena, struct goodput *out, struct error *err)
{
	struct deriving d = {.facts = facts, .arena = arena, .out = out, .stride = 1, .last_break = NO_BREAK};

	*out = (struct goodput){.step_ms = 0};
	if (!facts->phase_count)
		return OK;
	d.begin_ms = facts->phases[0].from_ms;
	d.end_ms = facts->phases[facts->phase_count - 1].to_ms;
	if (facts->point_count) {
		TRY(derive_steps(&d, err));
	} else {
		bool has_failed = facts->end == GOODPUT_FAILED;
		TRY(add_silent_breaks(&d, INT64_MIN, INT64_MAX, -1, err));
		TRY(find_last_break(&d, d.end_ms, -1, err));
		TRY(add_piece(&d, d.end_ms, has_failed ? GOODPUT_FIRST_STEP : GOODPUT_UNMEASURED, NO_BREAK, err));
	}
	TRY(lay_over(&d, err));
	sum_breaks(out);
	return OK;
}
