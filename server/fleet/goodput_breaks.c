#include "fleet/goodput_derive.h"

#include <string.h>

void *goodput_grow(struct arena *arena, void *items, size_t count, size_t *cap, size_t bytes)
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

/* ---- where it started over ---- */

/* The step that the work before the first printed one went on from: a checkpoint that was seen there, else one stride back. Who
 * counts from 0 made step 0 as well, and nothing before it. */
static int64_t from_step_of(const struct goodput_deriving *d, size_t first)
{
	int64_t step = d->facts->points[first].step;
	int64_t from_step = step ? step - goodput_least(d->stride, goodput_most(step, 0)) : -1;

	for (size_t i = 0; i < d->facts->mark_count && d->facts->marks[i].ts_ms < d->facts->points[first].ts_ms; i++) {
		int64_t kept = d->facts->marks[i].step;
		if (d->facts->marks[i].bucket == GOODPUT_CHECKPOINT && kept > from_step && kept < step)
			from_step = kept;
	}
	return from_step;
}

enum status goodput_find_starts(struct goodput_deriving *d, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	uint32_t attempt = 0;
	size_t cap = 0;

	for (size_t i = 0; i < facts->point_count; i++) {
		if (i && facts->points[i].attempt <= attempt)
			continue;
		attempt = facts->points[i].attempt;
		d->starts = goodput_grow(d->arena, d->starts, d->start_count, &cap, sizeof *d->starts);
		if (!d->starts)
			return error_no_memory(err);
		d->starts[d->start_count++] = (struct goodput_start){i, from_step_of(d, i), NO_BREAK};
	}
	d->cuts = arena_alloc(d->arena, (d->start_count + 1) * sizeof *d->cuts);
	return d->cuts ? OK : error_no_memory(err);
}

static void add_cut(struct goodput_deriving *d, int64_t step, size_t owner)
{
	if (!d->cut_count || step < d->cuts[d->cut_count - 1].step)
		d->cuts[d->cut_count++] = (struct goodput_cut){step, owner};
}

void goodput_find_cuts(struct goodput_deriving *d, const struct goodput_start *start)
{
	d->cut_count = 0;
	for (const struct goodput_start *later = start + 1; later < d->starts + d->start_count; later++)
		add_cut(d, later->from_step, later->own_break);
	add_cut(d, d->facts->next.from_step, d->last_break);
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

/* A cause of a start-up is why machines are waited for. */
static bool is_of_break(const struct goodput_phase *phase)
{
	return !phase->is_training && !phase->is_away && phase->to_ms > phase->from_ms &&
	       (phase->bucket == GOODPUT_RESTART || (phase->bucket == GOODPUT_IDLE && phase->cause.len));
}

/* Completed, unless it was said to have ended otherwise since: that is how it ended. */
static bool is_done_phase(const struct goodput_facts *facts, size_t at, int64_t from_ms, int64_t to_ms)
{
	const struct goodput_phase *phase = &facts->phases[at];

	if (!phase->is_done || phase->from_ms >= to_ms || (phase->to_ms <= from_ms && phase->from_ms < from_ms))
		return false;
	while (at < facts->phase_count && facts->phases[at].is_done)
		at++;
	return at == facts->phase_count || facts->phases[at].bucket != GOODPUT_IDLE;
}

/* The last step of those that it is to make is printed, or the last that is printed of them. */
static bool has_made_all(const struct goodput_deriving *d, const struct goodput_point *last)
{
	int64_t made = last->step + (d->facts->points[0].step == 0);

	return d->facts->declared_steps && made <= d->facts->declared_steps &&
	       d->facts->declared_steps - made < d->stride;
}

bool goodput_find_done(
	const struct goodput_deriving *d, const struct goodput_point *last, int64_t to_ms, struct goodput_done *out)
{
	const struct goodput_facts *facts = d->facts;

	*out = (struct goodput_done){.at_ms = to_ms, .until_ms = last->ts_ms};
	for (size_t i = 0; i < facts->phase_count && facts->phases[i].from_ms < to_ms; i++) {
		const struct goodput_phase *phase = &facts->phases[i];
		bool is_broken = phase->to_ms > last->ts_ms && is_of_break(phase);
		if (is_broken && !out->is_told)
			return false;
		out->is_broken_since |= is_broken;
		if (!is_done_phase(facts, i, last->ts_ms, to_ms))
			continue;
		if (!out->is_told)
			out->at_ms = goodput_most(phase->from_ms, last->ts_ms);
		out->until_ms = goodput_least(phase->to_ms, to_ms);
		out->is_told = true;
	}
	return out->is_told || has_made_all(d, last);
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

static struct goodput_break *add_break(struct goodput_deriving *d, int64_t from_ms, int64_t to_ms, int64_t step)
{
	struct goodput *out = d->out;

	out->breaks = goodput_grow(d->arena, out->breaks, out->break_count, &d->break_cap, sizeof *out->breaks);
	if (!out->breaks)
		return NULL;
	out->breaks[out->break_count] = (struct goodput_break){.from_ms = from_ms,
		.to_ms = to_ms,
		.cause = cause_of(d->facts, from_ms, to_ms ? to_ms : d->end_ms + 1),
		.step = step,
		.from_step = -1};
	return &out->breaks[out->break_count++];
}

/* Some steps were made, and nobody knows how many: the points do not have them. */
static bool is_printed_before(const struct goodput_facts *facts, int64_t ms)
{
	return facts->printed_ms && facts->printed_ms < ms;
}

/* A step was printed while these statuses stood, and the break is that one's. */
static bool is_known_break(const struct goodput *out, int64_t begun_ms)
{
	return out->break_count && out->breaks[out->break_count - 1].to_ms > begun_ms;
}

/*
 * Restarts that no printed step follows, or none precedes: [from_ms, to_ms) has no step. Before the first one nothing was lost, if lines
 * have no others; behind the last one it is not known until another job has gone on.
 */
enum status goodput_add_silent_breaks(
	struct goodput_deriving *d, int64_t from_ms, int64_t to_ms, int64_t step, struct error *err)
{
	bool is_known = step < 0 || d->facts->next.from_step != INT64_MAX; /* else the end's break has them */
	int64_t lost_steps = (d->facts->point_count && is_known) || d->facts->made_no_step ? 0 : -1;
	size_t first = first_training(d->facts); /* before it a cause is why machines were waited for */
	struct goodput_break *broken = NULL;
	bool was_restart = false;
	int64_t begun_ms = 0;

	for (size_t i = 0; i < d->facts->phase_count; i++) {
		const struct goodput_phase *phase = &d->facts->phases[i];
		bool is_restart = is_of_break(phase) && (phase->bucket == GOODPUT_RESTART || i > first);
		bool is_within = is_restart && phase->from_ms >= from_ms && phase->from_ms < to_ms;
		broken = is_restart ? broken : NULL;
		begun_ms = was_restart ? begun_ms : phase->from_ms;
		was_restart = is_restart;
		if (is_within && !broken && !is_known_break(d->out, begun_ms)) {
			broken = add_break(d, phase->from_ms, 0, step);
			if (!broken)
				return error_no_memory(err);
			broken->lost_steps = step < 0 && is_printed_before(d->facts, phase->from_ms) ? -1 : lost_steps;
		}
		if (is_within && broken && i + 1 < d->facts->phase_count)
			broken->to_ms = phase->to_ms;
	}
	return OK;
}

/* Between these two points somebody made steps that are not told, and maybe more that were made again. */
static bool lacks_steps(const struct goodput_deriving *d, const struct goodput_point *a, const struct goodput_point *b)
{
	return !d->facts->is_thinned && b->step - a->step > d->stride;
}

/* The break in front of a restart says what it cost; it is what the attempts before it are cut by. */
static enum status break_off(struct goodput_deriving *d, const struct goodput_point *a, const struct goodput_point *b,
	int64_t step, struct goodput_start *start, struct error *err)
{
	struct goodput_done done;
	bool was_done = goodput_find_done(d, a, b->ts_ms, &done);
	struct goodput_break *broken = add_break(d, was_done ? done.until_ms : a->ts_ms, b->ts_ms, step);

	if (!broken)
		return error_no_memory(err);
	if (!start) {
		broken->lost_steps = lacks_steps(d, a, b) ? -1 : 0;
		return OK;
	}
	broken->from_step = start->from_step;
	broken->lost_steps = goodput_most(step - start->from_step, 0);
	start->own_break = d->out->break_count - 1;
	return OK;
}

/* The newest restart that steps alone tell of, or the newest gap between steps that may have been one. */
struct unsaid {
	size_t first; /* its first point; 0: there is none */
	size_t own_break; /* NO_BREAK: steps went on behind the gap, which is a break once a status says so */
};

/* The status that broke off the training which phase TAKEN_UP took up again. */
static size_t find_off(const struct goodput_facts *facts, size_t taken_up)
{
	size_t off = taken_up;

	while (off && !facts->phases[off - 1].is_training)
		off--;
	return off;
}

/* A status that lags behind the first steps of a restart says what that was. *is_late of false: it is another break. */
static enum status take_late_status(
	struct goodput_deriving *d, struct unsaid *unsaid, size_t taken_up, bool *is_late, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	const struct goodput_point *first = &facts->points[unsaid->first];
	int64_t off_ms = facts->phases[find_off(facts, taken_up)].from_ms;
	struct goodput_break *own;

	*is_late = unsaid->first &&
		   goodput_status_lags(facts->points, facts->point_count, unsaid->first, off_ms, d->out->step_ms);
	if (*is_late && unsaid->own_break == NO_BREAK) {
		unsaid->own_break = d->out->break_count;
		TRY(break_off(d, first - 1, first, first[-1].step, NULL, err));
	}
	own = *is_late ? &d->out->breaks[unsaid->own_break] : NULL;
	if (own && !own->cause.len)
		own->cause = cause_of(facts, off_ms, facts->phases[taken_up].from_ms);
	unsaid->first = 0;
	return OK;
}

/* A restart from a checkpoint of the newest step goes on behind a gap. What steps tell of by going back comes first, as long as a status
 * may be that one's. */
static void note_gap(const struct goodput_deriving *d, size_t first, struct unsaid *unsaid)
{
	const struct goodput_point *b = &d->facts->points[first], *a = b - 1;
	bool is_of_restart = unsaid->first && unsaid->own_break != NO_BREAK;

	if (d->out->step_ms > 0 && goodput_is_late(d->out->step_ms, b->ts_ms - a->ts_ms, b->step - a->step) &&
		!(is_of_restart && goodput_may_lag(&d->facts->points[unsaid->first], b->ts_ms)))
		*unsaid = (struct unsaid){first, NO_BREAK};
}

/*
 * Which breaks there are between the points; the highest step before each. An attempt that begins while the status of its break still
 * stands settles that status: the training which follows it is no second break.
 */
enum status goodput_find_breaks(struct goodput_deriving *d, int64_t *last_step, struct error *err)
{
	const struct goodput_facts *facts = d->facts;
	size_t phase = 0, at = 1, settled = first_training(facts);
	struct unsaid unsaid = {0};

	*last_step = facts->points[0].step;
	for (size_t i = 0; i + 1 < facts->point_count; i++) {
		const struct goodput_point *a = &facts->points[i], *b = a + 1;
		struct goodput_start *start =
			at < d->start_count && d->starts[at].first == i + 1 ? &d->starts[at++] : NULL;
		size_t taken_up = find_taken_up(facts, &phase, settled, a->ts_ms, b->ts_ms);
		bool is_taken_up = taken_up < facts->phase_count, is_told = is_taken_up, is_late = false;
		if (is_taken_up)
			settled = taken_up;
		else if (start && (is_told = phase_at(facts, b->ts_ms) > settled))
			settled = phase_at(facts, b->ts_ms);
		if (is_taken_up && !start)
			TRY(take_late_status(d, &unsaid, taken_up, &is_late, err));
		if (start || (is_taken_up && !is_late))
			TRY(break_off(d, a, b, *last_step, start, err));
		if (start)
			unsaid = (struct unsaid){is_told ? 0 : i + 1, start->own_break};
		else if (!is_taken_up)
			note_gap(d, i + 1, &unsaid);
		*last_step = start ? b->step : goodput_most(*last_step, b->step);
	}
	return OK;
}

bool goodput_is_broken_off(
	const struct goodput *out, size_t *at, const struct goodput_point *a, const struct goodput_point *b)
{
	while (*at < out->break_count && out->breaks[*at].from_ms < a->ts_ms)
		++*at;
	return *at < out->break_count && out->breaks[*at].from_ms <= b->ts_ms && out->breaks[*at].to_ms == b->ts_ms;
}

enum status goodput_find_last_break(struct goodput_deriving *d, int64_t last_ms, int64_t last_step, struct error *err)
{
	const struct goodput_link *next = &d->facts->next;
	bool is_cut = next->from_step < last_step;

	if (d->facts->end != GOODPUT_FAILED && !is_cut)
		return OK;
	const struct goodput_facts *facts = d->facts;
	struct goodput_done done;
	if (facts->point_count && goodput_find_done(d, &facts->points[facts->point_count - 1], d->end_ms, &done))
		last_ms = done.until_ms;
	struct goodput_break *broken = add_break(d, goodput_least(last_ms, d->end_ms), 0, last_step);
	if (!broken)
		return error_no_memory(err);
	broken->cause = d->facts->end_cause.len ? d->facts->end_cause : broken->cause;
	broken->lost_steps = -1;
	if (next->from_step == INT64_MAX)
		return OK;
	broken->is_of_next = true;
	broken->from_step = next->from_step;
	if (d->facts->point_count) /* what lies before its own first step the jobs before it have lost */
		broken->lost_steps = is_cut ? last_step - goodput_most(next->from_step, d->out->first_from_step) : 0;
	else if (d->facts->made_no_step)
		broken->lost_steps = 0;
	d->last_break = d->out->break_count - 1;
	return OK;
}

void goodput_count_next(struct goodput_deriving *d)
{
	const struct goodput_link *next = &d->facts->next;

	if (d->last_break == NO_BREAK || !next->step_ms)
		return;
	struct goodput_break *last = &d->out->breaks[d->last_break];
	last->to_ms = goodput_most(next->step_ms, last->from_ms);
	if (d->facts->end == GOODPUT_COMPLETED)
		return;
	last->restart_ms = next->work_ms - last->from_ms - next->silent_ms;
	for (size_t i = 0; i < d->last_break; i++)
		if (d->out->breaks[i].from_ms >= last->from_ms)
			last->restart_ms -= d->out->breaks[i].restart_ms;
	last->restart_ms = goodput_most(last->restart_ms, 0);
}
