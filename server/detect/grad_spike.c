/*
 * A gradient norm that explodes: often some steps before the loss does (in the public chronicle of a 176B model 0.24 ->
 * 0.95 -> 2.4 -> 16 -> 145 -> 960, the loss rising with the last one).
 *
 * Norms multiply rather than add, and have long tails: the logarithm is looked at, against the last 128 accepted values
 * (robust.h), whose spread is at least a tenth. A point is odd when it is three times the usual and 6 spreads above. Two
 * odd ones of the last three open a warning; a single one beyond five times and 8 spreads is a mark (info), unless such
 * single points are usual in the series (more than one in a thousand). Ends with three points below twice the usual, or
 * as the new level after 256 points. Zeros (skipped steps) and what is not finite are passed over. After a stretch of steps that nothing is
 * known of (robust_is_gap) all begins afresh: a public log prints the norm times a loss scale that had grown meanwhile.
 */
#include "detect/kind.h"
#include "detect/robust.h"

enum { HISTORY_MIN = ROBUST_FEW, RECENT = 3, CALM_RUN = 3, GIVE_UP = 256, GAP_MOST = 1 << 30, FORMAT_WITH_GAP = 8 };

struct grad_spike {
	struct robust_window *window; /* of logarithms; NULL until the first value */
	uint32_t attempt;
	int64_t window_step; /* of the first value in the window */
	uint32_t odd; /* a bit for each of the last points, the newest lowest */
	int64_t odd_step; /* of the oldest of them */
	int64_t last_step, last_gap; /* of the last point, and its distance from the one before */
	double tail; /* decaying count of single odd points */
	bool is_open;
	uint32_t points, calm_run;
	double level, spread, reported; /* of logarithms */
	struct incident incident;
};

static void end(struct grad_spike *state, const struct point *point, const struct report_to *to)
{
	state->is_open = false;
	state->odd = 0;
	incident_close(&state->incident, point, to);
}

static void give_up(struct grad_spike *state, const struct point *point, const struct report_to *to)
{
	robust_clear(state->window);
	state->is_open = false;
	state->odd = 0;
	incident_close_as_level(&state->incident, point, to);
}

static void open_spike(struct grad_spike *state, enum severity severity, uint64_t ordinal, const struct point *point,
	double score, const struct report_to *to)
{
	struct incident *incident = &state->incident;

	state->is_open = true;
	state->points = state->calm_run = 0;
	*incident = incident_at(INCIDENT_GRAD_SPIKE, severity, ordinal, point);
	incident->first_step = state->odd_step;
	incident->expected = exp(state->level);
	incident->spread = incident->expected * expm1(state->spread);
	incident->score = score;
	state->reported = log(point->value);
	to->report(to->context, INCIDENT_OPENED, incident);
}

static void worsen(struct grad_spike *state, const struct point *point)
{
	struct incident *incident = &state->incident;

	incident->last_step = point->step;
	if (point->value <= incident->worst)
		return;
	incident->worst = point->value;
	incident->worst_step = point->step;
}

static void follow(struct grad_spike *state, const struct point *point, const struct report_to *to)
{
	double above = log(point->value) - state->level;
	bool is_calm = above < M_LN2;

	state->calm_run = is_calm ? state->calm_run + 1 : 0;
	if (!is_calm)
		worsen(state, point);
	if (state->calm_run >= CALM_RUN) {
		end(state, point, to);
	} else if (++state->points >= GIVE_UP) {
		give_up(state, point, to);
	} else if (log(state->incident.worst) > state->reported + M_LN2) {
		state->reported = log(state->incident.worst);
		to->report(to->context, INCIDENT_UPDATED, &state->incident);
	}
}

static void raise(struct grad_spike *state, const struct point *point, const struct report_to *to)
{
	state->incident.severity = SEVERITY_WARNING;
	worsen(state, point);
	to->report(to->context, INCIDENT_UPDATED, &state->incident);
}

static void watch(struct grad_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct robust_window *window = state->window;
	double value = log(point->value), above = 0, score = 0;

	if (window->count >= HISTORY_MIN) {
		state->level = robust_expected(window);
		state->spread = fmax(window->spread, 0.1);
		above = value - state->level;
		score = above / state->spread;
	}
	bool is_far = state->window_step >= ROBUST_LATE_STEP && robust_is_far(window, value, log(3));
	if (is_far) {
		robust_refit(window);
		state->level = robust_expected(window);
		state->spread = fmax(window->spread, 0.1);
		above = value - state->level;
		score = above / state->spread;
	}
	bool is_odd = is_far || (above > log(3) && score > 6), is_mark = is_odd && above > log(5) && score > 8;
	if (is_odd && !(state->odd & 3))
		state->odd_step = point->step;
	state->odd = (state->odd << 1 | is_odd) & ((1u << RECENT) - 1);
	state->tail = state->tail * (1 - 1.0 / 2048) + (state->odd == 2); /* odd, and the next was not */
	bool is_spike = is_odd && __builtin_popcount(state->odd) >= 2;
	if (state->is_open && is_spike)
		raise(state, point, to);
	else if (state->is_open && !is_odd)
		end(state, point, to);
	else if (is_spike)
		open_spike(state, SEVERITY_WARNING, ordinal, point, score, to);
	else if (is_mark && !state->is_open && state->tail < 2)
		open_spike(state, SEVERITY_INFO, ordinal, point, score, to);
	if (window->count == 0)
		state->window_step = point->step;
	if (!is_far && (!state->is_open || state->incident.severity == SEVERITY_INFO))
		robust_add(
			window, window->count >= HISTORY_MIN ? fmin(value, state->level + 6 * state->spread) : value);
}

static void restart(struct grad_spike *state, const struct point *point, const struct report_to *to)
{
	if (state->is_open)
		end(state, point, to);
	state->odd = 0;
	robust_clear(state->window);
	state->attempt = point->attempt;
}

static bool is_far_on(const struct grad_spike *state, const struct point *point)
{
	return state->window->count &&
	       robust_is_gap((double)point->step - (double)state->last_step, (double)state->last_gap);
}

static void feed(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct grad_spike *state = of;

	if (!isfinite(point->value) || !(point->value > 0))
		return;
	if (!state->window) {
		state->window = mem_zeroed(sizeof *state->window);
		state->attempt = point->attempt;
	}
	if (!state->window)
		return; /* out of memory: blind, not dead; tried again with the next point */
	if (point->attempt != state->attempt || is_far_on(state, point))
		restart(state, point, to);
	double gap = (double)point->step - (double)state->last_step;
	state->last_gap = gap > 0 && gap < (double)GAP_MOST ? (int64_t)gap : 0;
	state->last_step = point->step;
	if (state->is_open && state->incident.severity > SEVERITY_INFO)
		follow(state, point, to);
	else
		watch(state, ordinal, point, to);
}

static void pack(const void *of, struct buf *out)
{
	const struct grad_spike *state = of;

	pack_u64(out, (uint64_t)(state->window != NULL) | (uint64_t)state->is_open << 1);
	if (!state->window)
		return;
	pack_u64(out, state->attempt);
	pack_u64(out, state->odd);
	pack_i64(out, state->odd_step);
	pack_double(out, state->tail);
	robust_pack(state->window, out);
	pack_i64(out, state->window_step);
	pack_i64(out, state->last_step);
	pack_i64(out, state->last_gap);
	if (!state->is_open)
		return;
	pack_u64(out, state->points);
	pack_u64(out, state->calm_run);
	pack_double(out, state->level);
	pack_double(out, state->spread);
	pack_double(out, state->reported);
	incident_pack(&state->incident, out);
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct grad_spike *state = of;
	uint64_t flags = unpack_u64(in);

	in->has_failed |= flags > 3 || flags == 2;
	if (in->has_failed || flags == 0)
		return;
	state->window = mem_zeroed(sizeof *state->window);
	in->has_failed |= !state->window;
	if (in->has_failed)
		return;
	state->attempt = (uint32_t)unpack_u64(in);
	state->odd = (uint32_t)unpack_u64(in);
	state->odd_step = unpack_i64(in);
	state->tail = unpack_double(in);
	robust_unpack(state->window, format, in);
	state->window_step = format > 1 ? unpack_i64(in) : 0;
	state->last_step = format >= FORMAT_WITH_GAP ? unpack_i64(in) : 0;
	state->last_gap = format >= FORMAT_WITH_GAP ? unpack_i64(in) : 0;
	in->has_failed |= state->odd >= 1u << RECENT;
	state->is_open = flags >> 1;
	if (in->has_failed || !state->is_open)
		return;
	state->points = (uint32_t)unpack_u64(in);
	state->calm_run = (uint32_t)unpack_u64(in);
	state->level = unpack_double(in);
	state->spread = unpack_double(in);
	state->reported = unpack_double(in);
	incident_unpack(&state->incident, in);
	in->has_failed |= state->points >= GIVE_UP || state->calm_run >= CALM_RUN || !isfinite(state->level);
}

static void done(void *of)
{
	struct grad_spike *state = of;

	mem_free(state->window);
}

static bool open(const void *of, struct incident *out)
{
	const struct grad_spike *state = of;

	*out = state->incident;
	return state->is_open;
}

const struct detector_kind grad_spike_kind = {
	.bytes = sizeof(struct grad_spike),
	.roles = 1u << ROLE_GRAD_NORM,
	.since_format = 1,
	.feed = feed,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};
