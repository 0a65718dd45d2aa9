/*
 * Three passes: how long an undisturbed step takes; the wall clock cut at every printed step, as if all of it were training; and
 * the secondary statuses laid over that, because what they say is stated and what the steps say is worked out.
 */
#include "fleet/goodput_derive.h"

/* ---- pieces ---- */

static enum status add_piece(
	struct goodput_deriving *d, int64_t to_ms, enum goodput_bucket bucket, size_t owner, struct error *err)
{
	int64_t from_ms = d->piece_count ? d->pieces[d->piece_count - 1].to_ms : d->begin_ms;

	if (to_ms <= from_ms)
		return OK;
	d->pieces = goodput_grow(d->arena, d->pieces, d->piece_count, &d->piece_cap, sizeof *d->pieces);
	if (!d->pieces)
		return error_no_memory(err);
	d->pieces[d->piece_count++] = (struct goodput_piece){from_ms, to_ms, bucket, owner};
	return OK;
}

/* Steps from_step + 1 .. from_step + steps were made in [from_ms, to_ms): those up to the lowest cut stay. */
static enum status add_work(
	struct goodput_deriving *d, int64_t from_ms, int64_t to_ms, int64_t from_step, int64_t steps, struct error *err)
{
	enum goodput_bucket bucket = GOODPUT_PRODUCTIVE;
	size_t owner = NO_BREAK;

	for (size_t i = d->cut_count; i-- > 0;) {
		const struct goodput_cut *cut = &d->cuts[i];
		if (cut->step >= from_step + steps)
			break;
		int64_t kept = goodput_most(cut->step - from_step, 0);
		int64_t kept_ms = steps ? (int64_t)((__int128)(to_ms - from_ms) * kept / steps) : 0;
		TRY(add_piece(d, from_ms + kept_ms, bucket, owner, err));
		bucket = GOODPUT_REDONE;
		owner = cut->owner;
	}
	return add_piece(d, to_ms, bucket, owner, err);
}

/* Up to to_ms: what was printed in between, else `bucket`. */
static enum status add_marked(struct goodput_deriving *d, int64_t from_ms, int64_t to_ms, int64_t marks_to_ms,
	enum goodput_bucket bucket, bool last_takes_rest, struct error *err)
{
	const struct goodput_mark *marks = d->facts->marks;

	for (; goodput_has_mark(d->facts, &d->mark, from_ms, marks_to_ms); d->mark++) {
		TRY(add_piece(d, goodput_least(marks[d->mark].ts_ms, to_ms), marks[d->mark].bucket, NO_BREAK, err));
		if (last_takes_rest)
			bucket = marks[d->mark].bucket;
		from_ms = goodput_most(from_ms, marks[d->mark].ts_ms - 1);
	}
	return add_piece(d, to_ms, bucket, NO_BREAK, err);
}

/* What lies between two printed steps of one attempt. */
static enum status add_interval(struct goodput_deriving *d, const struct goodput_point *a,
	const struct goodput_point *b, int64_t from_step, struct error *err)
{
	int64_t taken_ms = b->ts_ms - a->ts_ms, steps = goodput_most(b->step - from_step, 0);
	bool is_marked = goodput_has_mark(d->facts, &d->mark, a->ts_ms, b->ts_ms);
	int64_t work_ms = taken_ms, wait_ms;
	enum goodput_bucket bucket;
	struct goodput_done done;
	size_t last = d->mark;

	if (d->out->step_ms > 0 && (is_marked || goodput_is_late(d->out->step_ms, taken_ms, steps)))
		work_ms = goodput_least(taken_ms, goodput_time_of(d, steps));
	bool is_hang = is_marked && goodput_find_wait(d, &last, a, b, &bucket, &wait_ms) &&
		       !goodput_find_done(d, a, b->ts_ms, &done) && goodput_is_hang(d, bucket, wait_ms, true);
	if (is_marked && work_ms < taken_ms)
		TRY(add_marked(d, a->ts_ms, b->ts_ms - work_ms, b->ts_ms, GOODPUT_STALLED, !is_hang, err));
	else
		TRY(add_piece(d, b->ts_ms - work_ms, GOODPUT_STALLED, NO_BREAK, err));
	return add_work(d, b->ts_ms - work_ms, b->ts_ms, from_step, steps, err);
}

/* What lies before a point, back to from_ms, and is not the work of its own steps. */
static enum status add_gap(struct goodput_deriving *d, int64_t from_ms, const struct goodput_point *b,
	int64_t from_step, enum goodput_bucket bucket, struct error *err)
{
	int64_t steps = goodput_most(b->step - from_step, 0);
	int64_t work_ms = goodput_least(goodput_most(b->ts_ms - from_ms, 0), goodput_time_of(d, steps));

	TRY(add_piece(d, b->ts_ms - work_ms, bucket, NO_BREAK, err));
	return add_work(d, b->ts_ms - work_ms, b->ts_ms, from_step, steps, err);
}

/* Behind the last step of a job that is done. */
static enum status add_done(struct goodput_deriving *d, int64_t last_ms, int64_t done_ms, struct error *err)
{
	return add_marked(d, last_ms, done_ms, done_ms, GOODPUT_IDLE, false, err);
}

/* What a part that has made no step yet takes. */
static enum goodput_bucket gone_on_in(const struct goodput_done *done)
{
	return done->is_broken_since ? GOODPUT_RESTART : GOODPUT_FIRST_STEP;
}

/* Behind its last line: does the next step stay away longer than what the line says takes? */
static bool is_stuck(const struct goodput_deriving *d)
{
	const struct goodput_facts *facts = d->facts;
	size_t last = facts->mark_count;

	while (last && facts->marks[last - 1].ts_ms > d->end_ms)
		last--;
	if (!last)
		return false;
	const struct goodput_mark *mark = &facts->marks[last - 1];
	int64_t behind_ms = goodput_time_at_it(facts, mark->ts_ms, d->end_ms);
	return goodput_is_hang(d, mark->bucket, behind_ms - goodput_time_of(d, d->stride), false);
}

/* Where the training was told to end: what it takes to stop, once somebody said so, makes no step late. */
static int64_t told_to_end_ms(const struct goodput_deriving *d, int64_t last_ms)
{
	const struct goodput_facts *facts = d->facts;
	int64_t told_ms = d->end_ms;

	for (size_t i = 0; i < facts->phase_count && facts->end == GOODPUT_STOPPED; i++)
		if (facts->phases[i].bucket == GOODPUT_IDLE && facts->phases[i].from_ms >= last_ms)
			told_ms = goodput_least(told_ms, facts->phases[i].from_ms);
	return told_ms;
}

/* Behind the last step. */
static enum status add_rest(struct goodput_deriving *d, const struct goodput_point *last, struct error *err)
{
	int64_t last_ms = last->ts_ms, taken_ms = told_to_end_ms(d, last_ms) - last_ms,
		expected_ms = goodput_time_of(d, d->stride);
	bool late = d->out->step_ms > 0 && goodput_is_late(d->out->step_ms, taken_ms, d->stride);
	struct goodput_done done;

	if (goodput_find_done(d, last, d->end_ms, &done) && (done.is_told || d->facts->end != GOODPUT_FAILED)) {
		bool is_over = d->facts->end == GOODPUT_COMPLETED && !done.is_broken_since;
		TRY(add_done(d, last_ms, done.at_ms, err));
		return is_over ? add_done(d, done.at_ms, d->end_ms, err)
			       : add_piece(d, d->end_ms, gone_on_in(&done), NO_BREAK, err);
	}
	for (size_t i = 0; i < d->facts->phase_count; i++) {
		const struct goodput_phase *phase = &d->facts->phases[i];
		if (phase->is_training || phase->bucket != GOODPUT_RESTART || phase->to_ms <= last_ms ||
			phase->to_ms <= phase->from_ms) /* it was behind the end */
			continue;
		TRY(add_piece(d, goodput_most(phase->from_ms, last_ms), GOODPUT_STALLED, NO_BREAK, err));
		return add_piece(d, d->end_ms, GOODPUT_RESTART, NO_BREAK, err);
	}
	if (d->facts->end == GOODPUT_RUNS) {
		if (goodput_has_mark(d->facts, &d->mark, last_ms, d->end_ms))
			return add_marked(d, last_ms, d->end_ms, d->end_ms, GOODPUT_STALLED, !is_stuck(d), err);
		TRY(add_piece(d, late ? last_ms + expected_ms : d->end_ms, GOODPUT_PRODUCTIVE, NO_BREAK, err));
		return add_piece(d, d->end_ms, GOODPUT_STALLED, NO_BREAK, err);
	}
	bool is_stall = d->facts->end == GOODPUT_FAILED || (d->facts->end == GOODPUT_STOPPED && late);
	return add_marked(d, last_ms, d->end_ms, d->end_ms, is_stall ? GOODPUT_STALLED : GOODPUT_IDLE, false, err);
}

/* What was done has nothing left to train until it goes on. In time only what was told makes a difference: the very step that was made when
 * it ended, and what begins at once. */
static bool is_done_between(const struct goodput_deriving *d, const struct goodput_point *a,
	const struct goodput_point *b, bool is_late, bool is_told_late, struct goodput_done *out)
{
	if (!goodput_find_done(d, a, b->ts_ms, out) || (!out->is_told && (!is_late || is_told_late)))
		return false;
	out->is_broken_since |= is_told_late;
	return true;
}

/* Between two printed steps; is_gap: there is more than steps, and what is printed between them; is_told_late: a status that lags says so. */
static enum status add_between(struct goodput_deriving *d, const struct goodput_point *a, const struct goodput_point *b,
	int64_t from_step, bool is_gap, bool is_told_late, struct error *err)
{
	int64_t steps = goodput_most(b->step - from_step, 0), taken_ms = b->ts_ms - a->ts_ms;
	bool is_late = d->out->step_ms <= 0 || goodput_is_late(d->out->step_ms, taken_ms, steps);
	struct goodput_done done;

	if (!(is_late || is_gap) || !is_done_between(d, a, b, is_late, is_told_late, &done))
		return is_gap ? add_gap(d, a->ts_ms, b, from_step, GOODPUT_RESTART, err)
			      : add_interval(d, a, b, from_step, err);
	int64_t work_ms = goodput_least(taken_ms, goodput_time_of(d, steps));
	int64_t done_ms = !is_late ? a->ts_ms : done.is_told ? done.at_ms : b->ts_ms - work_ms;
	TRY(add_done(d, a->ts_ms, done_ms, err));
	return add_gap(d, done_ms, b, from_step, gone_on_in(&done), err);
}

/* The wall clock as if all of it were training. */
static enum status cut_points(struct goodput_deriving *d, struct error *err)
{
	const struct goodput_point *points = d->facts->points;
	struct goodput_start *start = d->starts;
	size_t phase = 0, broken = 0;
	int64_t step = start->from_step;

	goodput_find_cuts(d, start);
	TRY(add_gap(d, d->begin_ms, &points[0], step, GOODPUT_FIRST_STEP, err));
	step = points[0].step;
	for (size_t i = 0; i + 1 < d->facts->point_count; i++) {
		const struct goodput_point *a = &points[i], *b = a + 1;
		bool is_crossing = goodput_is_crossed(d->facts, &phase, a->ts_ms, b->ts_ms);
		bool is_start = start + 1 < d->starts + d->start_count && start[1].first == i + 1;
		if (is_start) {
			goodput_find_cuts(d, ++start);
			step = start->from_step;
		}
		bool is_broken = goodput_is_broken_off(d->out, &broken, a, b);
		bool is_gap = is_start || is_crossing || is_broken;
		TRY(add_between(d, a, b, step, is_gap, is_broken && !is_start, err));
		step = is_start ? b->step : goodput_most(step, b->step);
	}
	return add_rest(d, &points[d->facts->point_count - 1], err);
}

/* ---- the statuses over the pieces ---- */

static enum status put_segment(struct goodput_deriving *d, int64_t from_ms, int64_t to_ms, enum goodput_bucket bucket,
	size_t owner, struct error *err)
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
	out->segments =
		goodput_grow(d->arena, out->segments, out->segment_count, &d->segment_cap, sizeof *out->segments);
	if (!out->segments)
		return error_no_memory(err);
	out->segments[out->segment_count++] = (struct goodput_segment){from_ms, to_ms, bucket};
	return OK;
}

/* Where nobody knows how long a step takes nobody knows what of the time was steps; that a restart took its time is seen. */
static enum goodput_bucket bucket_of(const struct goodput_deriving *d, const struct goodput_piece *piece)
{
	bool is_pace_known = !d->facts->point_count || d->out->step_ms > 0;

	return is_pace_known || piece->bucket == GOODPUT_RESTART ? piece->bucket : GOODPUT_UNMEASURED;
}

static enum status lay_over(struct goodput_deriving *d, struct error *err)
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
			TRY(put_segment(d, goodput_most(d->pieces[j].from_ms, phase->from_ms),
				goodput_least(d->pieces[j].to_ms, phase->to_ms), bucket_of(d, &d->pieces[j]),
				d->pieces[j].owner, err));
	}
	return OK;
}

/* Of an end from which somebody went on, with what it took to stop. */
static bool is_behind_end(const struct goodput_facts *facts, const struct goodput_segment *segment)
{
	for (size_t i = 0; i < facts->phase_count; i++) {
		const struct goodput_phase *phase = &facts->phases[i];
		if (phase->bucket == GOODPUT_IDLE && phase->cause.len && phase->from_ms < segment->to_ms &&
			phase->to_ms > segment->from_ms)
			return true;
	}
	return false;
}

/* The work stands behind an end, too, whether another job goes on or the same one; and whoever held the machines. */
static bool is_standing(
	const struct goodput_facts *facts, const struct goodput_break *broken, const struct goodput_segment *segment)
{
	return segment->bucket == GOODPUT_RESTART ||
	       (segment->bucket == GOODPUT_IDLE && broken->to_ms && is_behind_end(facts, segment));
}

static void sum_breaks(const struct goodput_facts *facts, struct goodput *out)
{
	for (size_t i = 0, at = 0; i < out->break_count; i++) {
		struct goodput_break *broken = &out->breaks[i];
		int64_t to_ms = broken->to_ms ? broken->to_ms : INT64_MAX;
		while (at < out->segment_count && out->segments[at].to_ms <= broken->from_ms)
			at++;
		for (size_t j = at; j < out->segment_count && out->segments[j].from_ms < to_ms; j++)
			if (is_standing(facts, broken, &out->segments[j]))
				broken->restart_ms += goodput_least(out->segments[j].to_ms, to_ms) -
						      goodput_most(out->segments[j].from_ms, broken->from_ms);
		out->lost_steps += goodput_most(broken->lost_steps, 0);
	}
}

static enum status derive_steps(struct goodput_deriving *d, struct error *err)
{
	struct goodput *out = d->out;
	int64_t last_step;

	TRY(goodput_find_made(d, err));
	const struct goodput_facts *facts = d->facts;
	int64_t last_ms = facts->points[facts->point_count - 1].ts_ms;
	TRY(goodput_find_pace(d, err));
	TRY(goodput_take_stride(d, err));
	TRY(goodput_find_starts(d, err));
	TRY(goodput_add_silent_breaks(d, INT64_MIN, facts->points[0].ts_ms, -1, err));
	TRY(goodput_find_breaks(d, &last_step, err));
	TRY(goodput_find_waits(d, err));
	TRY(goodput_add_silent_breaks(d, last_ms, INT64_MAX, last_step, err));
	out->first_from_step = d->starts[0].from_step;
	for (size_t i = 1; i < d->start_count; i++)
		out->first_from_step = goodput_least(out->first_from_step, d->starts[i].from_step);
	TRY(goodput_find_last_break(d, last_ms, last_step, err));
	TRY(cut_points(d, err));
	out->has_steps = true;
	out->stride = d->stride;
	out->last_step = last_step;
	out->steps = goodput_most(goodput_least(last_step, facts->next.from_step) - out->first_from_step, 0);
	return OK;
}

/* A job that made no step is to those before it what those that go on with it are, and its own breaks. */
static void find_link(struct goodput_deriving *d)
{
	struct goodput_link *link = &d->out->link;
	const struct goodput_point *first = d->facts->points;

	*link = d->facts->next;
	if (d->out->has_steps) {
		int64_t steps = goodput_most(first->step - d->starts[0].from_step, 0);
		/* whose first line is its first step began before that, and nobody knows when */
		int64_t begin_ms = d->begin_ms < first->ts_ms ? d->begin_ms : INT64_MIN;
		*link = (struct goodput_link){.from_step = goodput_least(link->from_step, d->out->first_from_step),
			.step_ms = first->ts_ms,
			.work_ms = goodput_most(first->ts_ms - goodput_time_of(d, steps), begin_ms)};
	}
	for (size_t i = 0; i < d->out->break_count; i++)
		if (d->out->breaks[i].step < 0 && (!d->out->has_steps || d->out->breaks[i].from_ms < first->ts_ms))
			link->silent_ms += d->out->breaks[i].restart_ms;
}

enum status goodput_derive(
	const struct goodput_facts *facts, struct arena *arena, struct goodput *out, struct error *err)
{
	struct goodput_deriving d = {.facts = facts, .arena = arena, .out = out, .stride = 1, .last_break = NO_BREAK};

	*out = (struct goodput){.link = facts->next};
	if (!facts->phase_count)
		return OK;
	d.begin_ms = facts->phases[0].from_ms;
	d.end_ms = facts->phases[facts->phase_count - 1].to_ms;
	if (facts->point_count) {
		TRY(derive_steps(&d, err));
	} else {
		bool has_failed = facts->end == GOODPUT_FAILED;
		TRY(goodput_add_silent_breaks(&d, INT64_MIN, INT64_MAX, -1, err));
		TRY(goodput_find_last_break(&d, d.end_ms, -1, err));
		TRY(add_piece(&d, d.end_ms, has_failed ? GOODPUT_FIRST_STEP : GOODPUT_UNMEASURED, NO_BREAK, err));
	}
	TRY(lay_over(&d, err));
	sum_breaks(facts, out);
	goodput_count_next(&d);
	find_link(&d);
	return OK;
}
