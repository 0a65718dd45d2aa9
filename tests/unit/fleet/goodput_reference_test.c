/* Random jobs against a reference that looks at every millisecond on its own. */
#include "goodput_script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t below(uint64_t *state, int64_t bound)
{
	return (int64_t)(next_random(state) % (uint64_t)bound);
}

struct reference {
	const struct goodput_facts *facts;
	double step_ms;
	int64_t stride;
};

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool is_any_mark(const struct goodput_facts *f, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < f->mark_count; i++)
		if (f->marks[i].ts_ms > from_ms && f->marks[i].ts_ms <= to_ms)
			return true;
	return false;
}

static bool is_any_other_phase(const struct goodput_facts *f, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < f->phase_count; i++)
		if (!f->phases[i].is_training && f->phases[i].from_ms < f->phases[i].to_ms &&
			f->phases[i].from_ms < to_ms && f->phases[i].to_ms > from_ms)
			return true;
	return false;
}

static bool opens_attempt(const struct goodput_facts *f, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (f->points[j].attempt >= f->points[i].attempt)
			return false;
	return true;
}

/* Something else than training was stated behind the point before, and training again. */
static bool is_behind_other(const struct goodput_facts *f, size_t i)
{
	for (size_t p = 0; p < f->phase_count; p++)
		for (size_t q = p + 1; q < f->phase_count; q++)
			if (!f->phases[p].is_training && f->phases[p].from_ms < f->phases[p].to_ms &&
				f->phases[p].to_ms > f->points[i - 1].ts_ms && f->phases[q].is_training &&
				f->phases[q].from_ms <= f->points[i].ts_ms)
				return true;
	return false;
}

/* What is no start and goes no further than the newest attempt did made no step. */
static void drop_unmade(const struct goodput_facts *f, struct goodput_point *points, size_t *count)
{
	int64_t highest = 0;
	uint32_t attempts = 0;

	*count = 0;
	for (size_t i = 0; i < f->point_count; i++) {
		bool is_again = i && !opens_attempt(f, i) && f->points[i].step <= highest;
		if (is_again && !is_behind_other(f, i))
			continue;
		attempts += is_again || opens_attempt(f, i);
		highest = f->points[i].step;
		points[(*count)++] = (struct goodput_point){f->points[i].ts_ms, highest, attempts};
	}
}

/* Every single step in one list. */
static double reference_pace(const struct goodput_facts *f, bool is_strict)
{
	static double all[1 << 16];
	size_t count = 0;

	for (size_t i = 0; i + 1 < f->point_count; i++) {
		const struct goodput_point *a = &f->points[i], *b = a + 1;
		bool is_disturbed = is_any_mark(f, a->ts_ms, b->ts_ms) || is_any_other_phase(f, a->ts_ms, b->ts_ms);
		if (b->attempt > a->attempt || b->ts_ms == a->ts_ms || (is_strict && is_disturbed))
			continue;
		for (int64_t step = a->step; step < b->step; step++)
			all[count++] = (double)(b->ts_ms - a->ts_ms) / (double)(b->step - a->step);
	}
	qsort(all, count, sizeof *all, by_double);
	return count ? all[(count - 1) / 2] : 0;
}

static int64_t reference_from(const struct reference *r, size_t first)
{
	int64_t step = r->facts->points[first].step, best = step > r->stride ? step - r->stride
							    : step > 0       ? 0
							    : step           ? step
									     : -1;

	for (size_t i = 0; i < r->facts->mark_count; i++)
		if (r->facts->marks[i].bucket == GOODPUT_CHECKPOINT &&
			r->facts->marks[i].ts_ms < r->facts->points[first].ts_ms && r->facts->marks[i].step > best &&
			r->facts->marks[i].step < step)
			best = r->facts->marks[i].step;
	return best;
}

/* Was the step that was made behind point i made again? */
static bool is_again(const struct reference *r, size_t i, int64_t step)
{
	if (step > r->facts->next.from_step)
		return true;
	for (size_t j = i + 1; j < r->facts->point_count; j++)
		if (opens_attempt(r->facts, j) && step > reference_from(r, j))
			return true;
	return false;
}

static int64_t expected(const struct reference *r, int64_t steps)
{
	return llround(r->step_ms * (double)steps);
}

static bool reference_is_late(const struct reference *r, int64_t ms, int64_t steps)
{
	double slack = fmax(fmax((double)expected(r, 1), (double)(expected(r, steps) / 4)), 2000);

	return (double)(ms - expected(r, steps)) > slack;
}

static enum goodput_bucket marked(const struct reference *r, int64_t from_ms, int64_t to_ms, int64_t x,
	enum goodput_bucket otherwise, bool last_takes_rest)
{
	const struct goodput_mark *last = NULL;

	for (size_t i = 0; i < r->facts->mark_count; i++) {
		const struct goodput_mark *mark = &r->facts->marks[i];
		if (mark->ts_ms <= from_ms || mark->ts_ms > to_ms)
			continue;
		if (x < mark->ts_ms)
			return mark->bucket;
		last = mark;
	}
	return last && last_takes_rest ? last->bucket : otherwise;
}

/* The millisecond x lies in front of point i, in which steps from + 1 .. that of the point were made; behind after_ms. */
static enum goodput_bucket before_point(const struct reference *r, size_t i, int64_t after_ms, int64_t from, int64_t x,
	bool is_gap, enum goodput_bucket bucket)
{
	const struct goodput_point *b = &r->facts->points[i];
	int64_t taken = b->ts_ms - after_ms, steps = b->step > from ? b->step - from : 0, work = taken;
	bool has_marks = !is_gap && is_any_mark(r->facts, after_ms, b->ts_ms);

	if (is_gap || (r->step_ms > 0 && (has_marks || reference_is_late(r, taken, steps))))
		work = expected(r, steps) < taken ? expected(r, steps) : taken;
	if (x < b->ts_ms - work)
		return has_marks ? marked(r, after_ms, b->ts_ms, x, bucket, true) : bucket;
	if (!steps)
		return is_again(r, i, from) ? GOODPUT_REDONE : GOODPUT_PRODUCTIVE;
	int64_t kept = 0;
	while (kept < steps && !is_again(r, i, from + kept + 1))
		kept++;
	return x < b->ts_ms - work + work * kept / steps ? GOODPUT_PRODUCTIVE : GOODPUT_REDONE;
}

static bool breaks_off(const struct goodput_phase *phase)
{
	return phase->from_ms < phase->to_ms && !phase->is_training && phase->bucket == GOODPUT_RESTART;
}

/* When it was Completed behind one step and before what came next, with nothing that broke it off in front of that. -1: it was not. */
static int64_t done_at(const struct goodput_facts *f, int64_t from_ms, int64_t to_ms, bool *is_broken_since)
{
	int64_t at = -1;

	*is_broken_since = false;
	for (size_t p = 0; p < f->phase_count; p++) {
		const struct goodput_phase *phase = &f->phases[p];
		if (phase->from_ms >= to_ms || (phase->to_ms <= from_ms && phase->from_ms < from_ms))
			continue;
		if (breaks_off(phase) && phase->to_ms > from_ms && at < 0)
			return -1;
		*is_broken_since |= breaks_off(phase) && phase->to_ms > from_ms;
		if (phase->is_done && at < 0)
			at = phase->from_ms > from_ms ? phase->from_ms : from_ms;
	}
	return at;
}

/* Of a job that was stopped nothing is late behind the status that says so. */
static int64_t awaited_ms(const struct goodput_facts *f, int64_t last_ms, int64_t end_ms)
{
	for (size_t p = 0; f->end == GOODPUT_STOPPED && p < f->phase_count; p++)
		if (f->phases[p].bucket == GOODPUT_IDLE && f->phases[p].from_ms >= last_ms)
			return f->phases[p].from_ms - last_ms;
	return end_ms - last_ms;
}

static enum goodput_bucket after_last(const struct reference *r, int64_t end_ms, int64_t x)
{
	const struct goodput_facts *f = r->facts;
	int64_t last_ms = f->points[f->point_count - 1].ts_ms;
	bool late = r->step_ms > 0 && reference_is_late(r, awaited_ms(f, last_ms, end_ms), r->stride), is_broken;
	int64_t done_ms = done_at(f, last_ms, end_ms, &is_broken);

	if (done_ms >= 0 && x < done_ms)
		return marked(r, last_ms, done_ms, x, GOODPUT_IDLE, false);
	if (done_ms >= 0 && f->end == GOODPUT_COMPLETED && !is_broken)
		return marked(r, done_ms, end_ms, x, GOODPUT_IDLE, false);
	if (done_ms >= 0)
		return is_broken ? GOODPUT_RESTART : GOODPUT_FIRST_STEP;
	for (size_t i = 0; i < f->phase_count; i++)
		if (!f->phases[i].is_training && f->phases[i].bucket == GOODPUT_RESTART &&
			f->phases[i].to_ms > last_ms && f->phases[i].to_ms > f->phases[i].from_ms)
			return x < f->phases[i].from_ms ? GOODPUT_STALLED : GOODPUT_RESTART;
	if (f->end == GOODPUT_RUNS && is_any_mark(f, last_ms, end_ms))
		return marked(r, last_ms, end_ms, x, GOODPUT_STALLED, true);
	if (f->end == GOODPUT_RUNS)
		return !late || x < last_ms + expected(r, r->stride) ? GOODPUT_PRODUCTIVE : GOODPUT_STALLED;
	bool is_stall = f->end == GOODPUT_FAILED || (f->end == GOODPUT_STOPPED && late);
	return marked(r, last_ms, end_ms, x, is_stall ? GOODPUT_STALLED : GOODPUT_IDLE, false);
}

static enum goodput_bucket reference_bucket(const struct reference *r, int64_t begin_ms, int64_t end_ms, int64_t x)
{
	const struct goodput_facts *f = r->facts;
	size_t i = 0;

	for (size_t p = 0; p < f->phase_count; p++)
		if (x >= f->phases[p].from_ms && x < f->phases[p].to_ms && !f->phases[p].is_training)
			return f->phases[p].bucket;
	if (!f->point_count)
		return f->end == GOODPUT_FAILED ? GOODPUT_FIRST_STEP : GOODPUT_UNMEASURED;
	while (i < f->point_count && f->points[i].ts_ms <= x)
		i++;
	if (i == f->point_count)
		return after_last(r, end_ms, x);
	if (i == 0)
		return before_point(r, 0, begin_ms, reference_from(r, 0), x, true, GOODPUT_FIRST_STEP);
	bool is_start = opens_attempt(f, i);
	int64_t highest = INT64_MIN;
	for (size_t j = i; j-- > 0;) {
		highest = f->points[j].step > highest ? f->points[j].step : highest;
		if (opens_attempt(f, j))
			break;
	}
	int64_t a_ms = f->points[i - 1].ts_ms, b_ms = f->points[i].ts_ms,
		from = is_start ? reference_from(r, i) : highest;
	bool is_gap = is_start || is_any_other_phase(f, a_ms, b_ms), is_broken;
	bool late = r->step_ms <= 0 ||
		    reference_is_late(r, b_ms - a_ms, f->points[i].step > from ? f->points[i].step - from : 0);
	int64_t done_ms = late || is_gap ? done_at(f, a_ms, b_ms, &is_broken) : -1;
	if (done_ms < 0)
		return before_point(r, i, a_ms, from, x, is_gap, is_gap ? GOODPUT_RESTART : GOODPUT_STALLED);
	if (late && x < done_ms)
		return marked(r, a_ms, done_ms, x, GOODPUT_IDLE, false);
	return before_point(
		r, i, late ? done_ms : a_ms, from, x, true, is_broken ? GOODPUT_RESTART : GOODPUT_FIRST_STEP);
}

static void make_phases(struct script *s, uint64_t *random)
{
	static const char *const statuses[] = {"Starting", "Downloading", "Training", "Training", "Training",
		"Interrupted", "Restarting", "Uploading", "Stopping", "Completed", "Completed"};
	static const char *const messages[] = {"", "Insufficient capacity error", "was unhealthy, replacing it!",
		"Downloading the training image", "Downloading input data"};
	int64_t at = below(random, 100), count = 1 + below(random, 7);
	bool has_trained = false;

	for (int64_t i = 0; i < count; i++) {
		const char *status = statuses[below(random, sizeof statuses / sizeof *statuses)];
		struct goodput_phase phase =
			goodput_phase_of(span_from(status), span_from(messages[below(random, 5)]), has_trained);
		has_trained = !phase.is_done && (has_trained || phase.is_training);
		phase.from_ms = at;
		at += below(random, 10) ? below(random, 9000) : 0;
		phase.to_ms = at;
		add_phase(s, phase);
	}
}

static void make_points(struct script *s, uint64_t *random)
{
	int64_t at = below(random, 6000), step = below(random, 5), count = below(random, 24),
		each = 1 + below(random, 4);
	uint32_t attempt = 1;

	for (int64_t i = 0; i < count; i++) {
		s->points[s->facts.point_count++] = (struct goodput_point){at, step, attempt};
		at += below(random, 9) ? 200 + below(random, 30) : below(random, 7000);
		step += below(random, 12) ? each : below(random, 4);
		if (!below(random, 8)) {
			attempt += 1 + (uint32_t)below(random, 2);
			step = below(random, step + 2);
		}
	}
}

static void make_marks(struct script *s, uint64_t *random)
{
	int64_t at = below(random, 5000), count = below(random, 6);

	for (int64_t i = 0; i < count; i++) {
		bool is_checkpoint = below(random, 2);
		s->marks[s->facts.mark_count++] =
			(struct goodput_mark){at, is_checkpoint ? GOODPUT_CHECKPOINT : GOODPUT_EVALUATION,
				is_checkpoint ? below(random, 30) - 1 : -1};
		at += below(random, 4000);
	}
}

/* The stride of the reference: every interval in one list. */
static int64_t reference_stride(const struct goodput_facts *f)
{
	double all[MANY];
	size_t count = 0;

	for (size_t i = 0; i + 1 < f->point_count; i++)
		if (f->points[i + 1].attempt <= f->points[i].attempt && f->points[i + 1].step > f->points[i].step)
			all[count++] = (double)(f->points[i + 1].step - f->points[i].step);
	qsort(all, count, sizeof *all, by_double);
	return count ? (int64_t)all[(count - 1) / 2] : 1;
}

static bool is_training_at(const struct goodput_facts *f, int64_t x)
{
	for (size_t i = 0; i < f->phase_count; i++)
		if (x >= f->phases[i].from_ms && x < f->phases[i].to_ms)
			return f->phases[i].is_training;
	return false;
}

static void compare(struct script *s)
{
	struct goodput_point made[MANY];
	struct goodput_facts facts = s->facts;

	drop_unmade(&s->facts, made, &facts.point_count);
	facts.points = made;
	struct reference r = {.facts = &facts, .stride = reference_stride(&facts)};
	int64_t begin_ms = s->phases[0].from_ms, end_ms = s->phases[s->facts.phase_count - 1].to_ms;
	int64_t ms[GOODPUT_BUCKETS] = {0}, redone = 0;

	r.step_ms = reference_pace(&facts, true);
	if (r.step_ms <= 0)
		r.step_ms = reference_pace(&facts, false);
	for (int64_t x = begin_ms; x < end_ms; x++) {
		enum goodput_bucket bucket = reference_bucket(&r, begin_ms, end_ms, x);
		bool is_of_steps = facts.point_count && is_training_at(&facts, x) && bucket != GOODPUT_RESTART;
		ms[is_of_steps && r.step_ms <= 0 ? GOODPUT_UNMEASURED : bucket]++;
	}
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++) {
		if (ms[i] != s->out.ms[i])
			printf("%s: %lld, reference %lld\n", goodput_bucket_name((enum goodput_bucket)i),
				(long long)s->out.ms[i], (long long)ms[i]);
		CHECK(s->out.ms[i] >= 0 && ms[i] == s->out.ms[i]);
	}
	for (size_t i = 0; i < s->out.break_count; i++) {
		CHECK(s->out.breaks[i].lost_steps >= -1 && s->out.breaks[i].restart_ms >= 0);
		redone += s->out.breaks[i].redone_ms;
	}
	CHECK(redone == s->out.ms[GOODPUT_REDONE]); /* each lost second has a break that it is lost to */
}

TEST(random_jobs_agree_with_the_reference)
{
	static struct script s;
	uint64_t random = 88172645463325252ULL;

	for (int i = 0; i < 400; i++) {
		begin(&s, (enum goodput_end)below(&random, 4));
		s.facts.next.from_step = below(&random, 4) ? INT64_MAX : below(&random, 20);
		make_phases(&s, &random);
		make_points(&s, &random);
		make_marks(&s, &random);
		run(&s);
		compare(&s);
		arena_free(s.arena);
	}
}
