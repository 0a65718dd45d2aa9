#include "fleet/continuity.h"

#include "base/median.h"

#include <math.h>
#include <string.h>

#define RATE_TOLERANCE 1e-6 /* of the larger of both */
#define LEAST_SPREAD 1e-4 /* of the loss: logs print four digits or so, and a curve without noise has no spread */
#define MAD_TO_SPREAD 1.4826

#define ONE_SIDED_SPREADS_MIN 0.5 /* a sum in another order may be a little higher all the way */

enum {
	CHANGES_MIN = 4, /* fewer tell nothing of a spread */
	FAR_CHANGES_MIN = 15, /* each of a few steps is judged by the spread, so this must be well known */
	ONE_SIDED_MIN = 20 /* as many coins that fall on one side: twice in a million times */
};

struct pair {
	int64_t step;
	double before, after;
};

/* ---- what is kept ---- */

/* In the order of steps, the lowest ones: lines may come late. */
static void keep(struct continuity_side *side, int64_t step, double value)
{
	struct continuity_print *prints = side->prints;
	size_t at = side->count;

	while (at && prints[at - 1].step > step)
		at--;
	if (at && prints[at - 1].step == step) {
		prints[at - 1].value = value; /* it was printed once more */
		return;
	}
	if (at == CONTINUITY_WINDOW)
		return;
	side->count += side->count < CONTINUITY_WINDOW;
	memmove(&prints[at + 1], &prints[at], (side->count - 1 - at) * sizeof *prints);
	prints[at] = (struct continuity_print){step, value};
}

void continuity_add_before(struct continuity_series *series, int64_t first_step, int64_t step, double value)
{
	if (!isfinite(value))
		return;
	if (step < first_step)
		series->earlier[series->earlier_count++ % CONTINUITY_PAIRS] = value;
	else
		keep(&series->before, step, value);
}

void continuity_add_after(struct continuity_series *series, int64_t step, double value)
{
	keep(&series->after, step, value);
}

void continuity_put_before(struct continuity_series *series, const struct continuity_series *bad, int64_t first_step)
{
	struct continuity_side *before = &series->before;

	while (before->count && before->prints[before->count - 1].step >= first_step)
		before->count--;
	for (size_t i = 0; i < bad->before.count; i++)
		keep(before, bad->before.prints[i].step, bad->before.prints[i].value);
}

/* ---- arithmetic ---- */

static size_t find_pairs(const struct continuity_series *series, struct pair out[CONTINUITY_PAIRS])
{
	const struct continuity_side *a = &series->before, *b = &series->after;
	size_t count = 0;

	for (size_t i = 0, j = 0; i < a->count && j < b->count && count < CONTINUITY_PAIRS;) {
		if (a->prints[i].step < b->prints[j].step)
			i++;
		else if (a->prints[i].step > b->prints[j].step)
			j++;
		else {
			out[count++] = (struct pair){a->prints[i].step, a->prints[i].value, b->prints[j].value};
			i++;
			j++;
		}
	}
	return count;
}

/* By how much the loss changes from print to print beyond its own slope, over the prints around the restart's first step. */
static double spread_of(const struct continuity_series *loss, size_t *from_changes)
{
	double values[2 * CONTINUITY_PAIRS], changes[2 * CONTINUITY_PAIRS];
	size_t count = 0, change_count = 0;
	uint64_t first = loss->earlier_count > CONTINUITY_PAIRS ? loss->earlier_count - CONTINUITY_PAIRS : 0;

	for (uint64_t i = first; i < loss->earlier_count; i++)
		values[count++] = loss->earlier[i % CONTINUITY_PAIRS];
	for (size_t i = 0; i < loss->before.count && i < CONTINUITY_PAIRS; i++)
		values[count++] = loss->before.prints[i].value;
	for (size_t i = 1; i < count; i++)
		changes[change_count++] = values[i] - values[i - 1];
	*from_changes = change_count;
	if (change_count < CHANGES_MIN)
		return NAN;
	double slope = median_of(changes, change_count);
	for (size_t i = 0; i < change_count; i++)
		changes[i] = fabs(changes[i] - slope);
	double spread = MAD_TO_SPREAD * median_of(changes, change_count) / sqrt(2);
	return fmax(spread, LEAST_SPREAD * fabs(median_of(values, count)));
}

static int64_t stride_of(const struct continuity_side *after)
{
	double steps[CONTINUITY_PAIRS];
	size_t count = 0;

	for (size_t i = 1; i < after->count && count < CONTINUITY_PAIRS; i++)
		steps[count++] = (double)(after->prints[i].step - after->prints[i - 1].step);
	double stride = count ? median_of(steps, count) : 1;
	return stride >= 1 ? (int64_t)stride : 1;
}

/* How far all of them are at least, and whether they are on one side. */
static void find_sides(const double *differences, size_t count, size_t from_changes, struct continuity *out)
{
	double least = INFINITY;

	for (size_t i = 0; i < count; i++) {
		out->higher_steps += differences[i] > 0;
		out->lower_steps += differences[i] < 0;
		least = fmin(least, fabs(differences[i]));
	}
	bool is_one_side = count && (out->higher_steps == count || out->lower_steps == count);
	out->least_spreads = is_one_side && from_changes >= FAR_CHANGES_MIN ? least / out->loss_spread : 0;
	out->is_one_sided = is_one_side && count >= ONE_SIDED_MIN && out->loss_spreads >= ONE_SIDED_SPREADS_MIN;
}

static void compare_loss(const struct continuity_series *loss, struct continuity *out)
{
	struct pair pairs[CONTINUITY_PAIRS];
	double before[CONTINUITY_PAIRS], after[CONTINUITY_PAIRS], differences[CONTINUITY_PAIRS];
	size_t count = 0, from_changes;

	out->overlap_steps = find_pairs(loss, pairs);
	for (size_t i = 0; i < out->overlap_steps; i++) {
		if (!isfinite(pairs[i].after)) {
			if (!out->no_number_steps++) {
				out->no_number_step = pairs[i].step;
				out->no_number_before = pairs[i].before;
				out->no_number_after = pairs[i].after;
			}
			continue;
		}
		before[count] = pairs[i].before;
		after[count] = pairs[i].after;
		differences[count++] = pairs[i].after - pairs[i].before;
	}
	out->loss_before = median_of(before, count);
	out->loss_after = median_of(after, count);
	out->loss_difference = median_of(differences, count);
	out->loss_spread = spread_of(loss, &from_changes);
	out->loss_spreads =
		out->loss_difference == 0 && out->loss_spread >= 0 ? 0 : fabs(out->loss_difference) / out->loss_spread;
	find_sides(differences, count, from_changes, out);
}

static enum continuity_answer compare_exactly(
	const struct continuity_series *series, int64_t *step, double *before, double *after)
{
	struct pair pairs[CONTINUITY_PAIRS];
	size_t count = series ? find_pairs(series, pairs) : 0, compared = 0;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(pairs[i].after))
			continue;
		compared++;
		double larger = fmax(fabs(pairs[i].before), fabs(pairs[i].after));
		if (fabs(pairs[i].after - pairs[i].before) <= RATE_TOLERANCE * larger)
			continue;
		*step = pairs[i].step;
		*before = pairs[i].before;
		*after = pairs[i].after;
		return CONTINUITY_DIFFERENT;
	}
	return compared ? CONTINUITY_EQUAL : CONTINUITY_UNKNOWN;
}

static void add_cause(struct continuity *c, const char *cause, enum continuity_about about)
{
	if (!c->cause_count)
		c->about = about;
	c->causes[c->cause_count++] = cause;
}

/* A lower loss is the doing of another rate, where that was printed, or of data that nothing counts. */
static void find_causes(struct continuity *c)
{
	bool is_far = c->loss_spreads > CONTINUITY_SPREADS_MAX, is_lower = is_far && c->loss_difference < 0;

	if (c->no_number_steps)
		add_cause(c, "not a number", CONTINUITY_NO_NUMBER);
	if (is_far && !is_lower)
		add_cause(c, "older checkpoint", CONTINUITY_LOSS);
	if (c->rate == CONTINUITY_DIFFERENT)
		add_cause(c, "rate restarted", CONTINUITY_RATE);
	if (c->data == CONTINUITY_DIFFERENT)
		add_cause(c, "data order", CONTINUITY_DATA);
	else if (is_lower && c->rate != CONTINUITY_DIFFERENT)
		add_cause(c, "data order", CONTINUITY_LOSS);
	if (c->cause_count)
		c->verdict = CONTINUITY_DIFFERS;
	else
		c->verdict = isnan(c->loss_spreads) ? CONTINUITY_NOT_PROVABLE : CONTINUITY_CONTINUED;
}

void continuity_judge(const struct continuity_series *loss, const struct continuity_series *rate,
	const struct continuity_series *data, struct continuity *out)
{
	*out = (struct continuity){.first_step = INT64_MIN, .stride = stride_of(&loss->after)};
	out->after_count = loss->after.count;
	if (loss->after.count)
		out->first_step = loss->after.prints[0].step;
	if (loss->after.count && loss->before.count)
		out->is_past = loss->after.prints[loss->after.count - 1].step >=
			       loss->before.prints[loss->before.count - 1].step;
	compare_loss(loss, out);
	out->rate = compare_exactly(rate, &out->rate_step, &out->rate_before, &out->rate_after);
	out->data = compare_exactly(data, &out->data_step, &out->data_before, &out->data_after);
	find_causes(out);
}

/* What was before one restart, as it is in front of a later step and from there on. */
static void move_start(struct continuity_series *series, int64_t first_step)
{
	struct continuity_side *before = &series->before;
	size_t passed = 0;

	while (passed < before->count && before->prints[passed].step < first_step)
		series->earlier[series->earlier_count++ % CONTINUITY_PAIRS] = before->prints[passed++].value;
	before->count -= passed;
	memmove(before->prints, before->prints + passed, before->count * sizeof *before->prints);
}

bool continuity_takes_back(const struct continuity_series *const bad[CONTINUITY_FOLLOWED],
	const struct continuity_series *const now[CONTINUITY_FOLLOWED], struct continuity *out)
{
	struct continuity_series series[CONTINUITY_FOLLOWED];
	struct continuity judged;

	for (int i = 0; i < CONTINUITY_FOLLOWED; i++) {
		series[i] = *bad[i];
		series[i].after = now[i]->after;
		if (now[0]->after.count)
			move_start(&series[i], now[0]->after.prints[0].step);
	}
	continuity_judge(&series[0], &series[1], &series[2], &judged);
	if (judged.verdict != CONTINUITY_CONTINUED)
		return false;
	*out = judged;
	return true;
}

const char *continuity_verdict_name(enum continuity_verdict verdict)
{
	static const char *const names[] = {"continued", "differs", "not provable"};

	return names[verdict];
}
