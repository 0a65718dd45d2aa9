#include "fleet/goodput_derive.h"

#include <math.h>
#include <stdlib.h>

/* Of one interval, for the median: no sum of them overflows. */
#define WEIGHT_MAX (1LL << 32)
/* What is behind a line of an evaluation or a checkpoint may be so long, if the job's others were short. */
enum { MARKED_MS = 15 * 60 * 1000 };
/* Steps are late only beyond this: times of lines are often of whole seconds. */
enum { LATE_MS = 2000 };
/* So far behind the first step of a restart its status may stand. */
enum { LAG_MS = 60 * 1000 };

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
enum status goodput_find_made(struct goodput_deriving *d, struct error *err)
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
bool goodput_is_crossed(const struct goodput_facts *facts, size_t *phase, int64_t from_ms, int64_t to_ms)
{
	while (*phase < facts->phase_count && facts->phases[*phase].to_ms <= from_ms)
		++*phase;
	for (size_t i = *phase; i < facts->phase_count && facts->phases[i].from_ms < to_ms; i++)
		if (!facts->phases[i].is_training && !facts->phases[i].is_away &&
			facts->phases[i].to_ms > facts->phases[i].from_ms)
			return true;
	return false;
}

bool goodput_has_mark(const struct goodput_facts *facts, size_t *mark, int64_t from_ms, int64_t to_ms)
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
enum status goodput_find_pace(struct goodput_deriving *d, struct error *err)
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
			bool is_across = goodput_is_crossed(facts, &phase, a->ts_ms, b->ts_ms);
			bool is_marked = goodput_has_mark(facts, &mark, a->ts_ms, b->ts_ms);
			if (is_same_attempt(a, b) && b->step > a->step && b->ts_ms > a->ts_ms &&
				!(is_strict && (is_across || is_marked)))
				paces[count++] =
					(struct pace){(double)(b->ts_ms - a->ts_ms) / (double)(b->step - a->step),
						goodput_least(b->step - a->step, WEIGHT_MAX)};
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

enum status goodput_take_stride(struct goodput_deriving *d, struct error *err)
{
	d->stride = d->facts->stride;
	return d->stride > 0 ? OK
			     : goodput_find_stride(d->facts->points, d->facts->point_count, d->arena, &d->stride, err);
}

static int64_t time_of(double step_ms, int64_t steps)
{
	double ms = step_ms * (double)steps;

	return ms < 9e15 ? llround(ms) : (int64_t)9e15;
}

int64_t goodput_time_of(const struct goodput_deriving *d, int64_t steps)
{
	return time_of(d->out->step_ms, steps);
}

bool goodput_is_late(double step_ms, int64_t taken_ms, int64_t steps)
{
	int64_t expected_ms = time_of(step_ms, steps);

	return taken_ms - expected_ms > goodput_most(goodput_most(time_of(step_ms, 1), expected_ms / 4), LATE_MS);
}

enum status goodput_find_step_ms(
	const struct goodput_point *points, size_t count, struct arena *arena, double *step_ms, struct error *err)
{
	const struct goodput_facts facts = {.points = points, .point_count = count};
	struct goodput out = {0};
	struct goodput_deriving d = {.facts = &facts, .arena = arena, .out = &out};

	TRY(goodput_find_pace(&d, err));
	*step_ms = out.step_ms;
	return OK;
}

bool goodput_may_lag(const struct goodput_point *first, int64_t status_ms)
{
	return status_ms > first->ts_ms && status_ms - first->ts_ms <= LAG_MS;
}

bool goodput_status_lags(
	const struct goodput_point *points, size_t count, size_t first, int64_t status_ms, double step_ms)
{
	const struct goodput_point *b = &points[first];

	if (step_ms <= 0 || !goodput_may_lag(b, status_ms))
		return false;
	for (size_t i = first + 1; i < count && b->ts_ms <= status_ms; i++) {
		const struct goodput_point *a = b;
		b = &points[i];
		if (!is_same_attempt(a, b) || b->step < a->step ||
			goodput_is_late(step_ms, b->ts_ms - a->ts_ms, b->step - a->step))
			return false;
	}
	return b->ts_ms > status_ms;
}

/* ---- what lies behind a line ---- */

int64_t goodput_time_at_it(const struct goodput_facts *facts, int64_t from_ms, int64_t to_ms)
{
	int64_t ms = goodput_most(to_ms - from_ms, 0);

	for (size_t i = 0; i < facts->phase_count && ms > MARKED_MS; i++)
		if (facts->phases[i].is_away)
			ms -= goodput_most(goodput_least(facts->phases[i].to_ms, to_ms) -
						   goodput_most(facts->phases[i].from_ms, from_ms),
				0);
	return ms;
}

bool goodput_find_wait(const struct goodput_deriving *d, size_t *mark, const struct goodput_point *a,
	const struct goodput_point *b, enum goodput_bucket *bucket, int64_t *wait_ms)
{
	const struct goodput_mark *marks = d->facts->marks;

	if (!goodput_has_mark(d->facts, mark, a->ts_ms, b->ts_ms))
		return false;
	while (*mark + 1 < d->facts->mark_count && marks[*mark + 1].ts_ms <= b->ts_ms)
		++*mark;
	*bucket = marks[*mark].bucket;
	*wait_ms = goodput_time_at_it(d->facts, marks[*mark].ts_ms, b->ts_ms) - goodput_time_of(d, b->step - a->step);
	*wait_ms = goodput_most(*wait_ms, 0);
	return true;
}

enum status goodput_find_waits(struct goodput_deriving *d, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	size_t phase = 0, mark = 0, broken = 0;
	struct goodput_done done;
	enum goodput_bucket bucket;
	int64_t wait_ms;

	for (size_t i = 0; i < GOODPUT_BUCKETS; i++) {
		bool is_marked = i == GOODPUT_EVALUATION || i == GOODPUT_CHECKPOINT;
		d->waits[i].ms = is_marked ? arena_alloc(d->arena, (facts->mark_count + 1) * sizeof(int64_t)) : NULL;
		if (is_marked && !d->waits[i].ms)
			return error_no_memory(err);
	}
	for (size_t i = 0; i + 1 < facts->point_count; i++) {
		const struct goodput_point *a = &facts->points[i], *b = a + 1;
		bool is_across = goodput_is_crossed(facts, &phase, a->ts_ms, b->ts_ms) ||
				 goodput_is_broken_off(d->out, &broken, a, b);
		if (is_same_attempt(a, b) && !is_across && goodput_find_wait(d, &mark, a, b, &bucket, &wait_ms) &&
			!goodput_find_done(d, a, b->ts_ms, &done))
			d->waits[bucket].ms[d->waits[bucket].count++] = wait_ms;
	}
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++)
		if (d->waits[i].count)
			qsort(d->waits[i].ms, d->waits[i].count, sizeof(int64_t), by_number);
	return OK;
}

bool goodput_is_hang(const struct goodput_deriving *d, enum goodput_bucket bucket, int64_t wait_ms, bool is_own)
{
	const struct goodput_waits *waits = &d->waits[bucket];
	size_t others = waits->count - is_own, at = others > 1 ? others - 2 : 0, own = 0;

	if (wait_ms <= MARKED_MS || !others)
		return wait_ms > MARKED_MS;
	while (is_own && own < waits->count && waits->ms[own] < wait_ms)
		own++;
	return wait_ms > 2 * waits->ms[is_own && at >= own ? at + 1 : at];
}
