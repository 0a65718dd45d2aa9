#include "detect/loss_spike_alarm.h"

enum { HIGH_RUN = 8, LINGER = 256 };

static const double above_start = 1.5; /* times the highest of the first points: no beginning */

bool spike_is_like_start(const struct loss_spike *state, const struct point *point)
{
	const struct robust_window *window = state->window;
	double highest = state->start_count ? (double)state->start[state->start_count - 1] : 0;

	return !point_says_its_step(point) && point->value < above_start * highest &&
	       beginning_is_height(&state->first, point->value, robust_expected(window), window->spread);
}

void spike_open_alarm(struct loss_spike *state, enum severity severity, uint64_t ordinal, const struct point *point,
	double z, const struct report_to *to)
{
	struct spike_alarm *alarm = &state->alarm;

	state->is_next = severity == SEVERITY_INFO && spike_is_like_start(state, point);
	state->next = (struct beginning){0};
	*alarm = (struct spike_alarm){
		.is_open = true, .level = robust_expected(state->window), .spread = state->window->spread};
	alarm->calm = 8;
	alarm->height = 1;
	alarm->reported = point->value;
	alarm->incident = incident_at(INCIDENT_LOSS_SPIKE, severity, ordinal, point);
	alarm->incident.expected = alarm->level;
	alarm->incident.spread = alarm->spread;
	alarm->incident.score = z;
	if (severity > SEVERITY_INFO) {
		enum spike_cause cause = spike_judge(state, point->value);
		alarm->incident.first_step = spike_onset(state, cause);
		alarm->is_ramp = cause == SPIKE_SUM;
		alarm->calm = alarm->is_ramp ? 3 : 8;
	}
	to->report(to->context, INCIDENT_OPENED, &alarm->incident);
}

/* Follows the incident; says so when it got clearly worse. */
static void follow(struct spike_alarm *alarm, const struct point *point, bool is_part, const struct report_to *to)
{
	if (is_part)
		alarm->incident.last_step = point->step;
	if (point->value <= alarm->incident.worst)
		return;
	alarm->incident.worst = point->value;
	alarm->incident.worst_step = point->step;
	if (alarm->incident.severity == SEVERITY_INFO ||
		point->value - alarm->level < 1.25 * (alarm->reported - alarm->level))
		return;
	alarm->reported = point->value;
	to->report(to->context, INCIDENT_UPDATED, &alarm->incident);
}

static void end_alarm(struct loss_spike *state)
{
	ramp_end(&state->ramp, state->window, state->alarm.is_ramp, state->alarm.level);
	state->after = ROBUST_WINDOW;
	state->was_odd = state->is_next = false;
	state->alarm.is_open = false;
	spike_forget_evidence(state);
}

void spike_end_alarm(struct loss_spike *state, const struct point *point, const struct report_to *to)
{
	end_alarm(state);
	incident_close(&state->alarm.incident, point, to);
}

/* It stays: all starts afresh from there. */
static void give_up(struct loss_spike *state, const struct point *point, const struct report_to *to)
{
	spells_drop(&state->spells);
	robust_clear(state->window);
	end_alarm(state);
	incident_close_as_level(&state->alarm.incident, point, to);
}

/* The spike ends here and goes on as a divergence that began where it did. */
static void become_divergence(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct spike_alarm *alarm = &state->alarm;
	struct incident spike = alarm->incident;

	spells_drop(&state->spells);

	alarm->incident = incident_at(INCIDENT_DIVERGENCE, SEVERITY_CRITICAL, ordinal, point);
	alarm->incident.first_step = spike.first_step;
	alarm->incident.expected = alarm->level;
	alarm->incident.spread = alarm->spread;
	alarm->incident.score = (point->value - alarm->level) / alarm->spread;
	alarm->incident.worst = spike.worst;
	alarm->incident.worst_step = spike.worst_step;
	to->report(to->context, INCIDENT_OPENED, &alarm->incident); /* first: the cause is never closed in between */
	incident_close(&spike, point, to);
}

/* Points in a row above half the way to where training began. */
static void count_high(struct loss_spike *state, double value)
{
	struct spike_alarm *alarm = &state->alarm;
	double half = fmax(0.5 * (state->start_level - alarm->level), 10 * alarm->spread);

	alarm->high_run = value - alarm->level > half && state->start_level > alarm->level ? alarm->high_run + 1 : 0;
}

static bool has_diverged(const struct loss_spike *state)
{
	const struct spike_alarm *alarm = &state->alarm;
	double excess = alarm->height * (alarm->incident.worst - alarm->level);

	if (alarm->high_run >= HIGH_RUN)
		return true;
	return alarm->points == LINGER && excess > 0.2 * fabs(alarm->level) && excess > 10 * alarm->spread;
}

void spike_follow_alarm(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct spike_alarm *alarm = &state->alarm;
	double excess = point->value - alarm->level, z = excess / alarm->spread;
	bool is_divergence = alarm->incident.kind == INCIDENT_DIVERGENCE;

	follow(alarm, point, z > 3, to);
	spells_gather(&state->spells, z, !alarm->is_ramp && !is_divergence);
	spike_follow_points(state, point);
	alarm->points++;
	alarm->calm += (spike_is_sampled(state) ? 0.4 : 0.25) * (robust_clip(z, -8, 8) - alarm->calm);
	alarm->height += 0.0625 * (robust_clip(excess / (alarm->incident.worst - alarm->level), 0, 1) - alarm->height);
	count_high(state, point->value);
	if ((alarm->calm < 1 && z < 3) || (is_divergence && alarm->height < 0.15)) {
		spike_end_alarm(state, point, to);
	} else if (!is_divergence && has_diverged(state)) {
		become_divergence(state, ordinal, point, to);
	} else if (alarm->points >= (is_divergence ? SPIKE_GIVE_UP : LINGER)) {
		give_up(state, point, to);
	}
}

/* A mark of one odd point: raised when it was the beginning of more, ended by the next normal point. */
void spike_follow_mark(struct loss_spike *state, const struct point *point, double z, enum spike_cause cause,
	const struct report_to *to)
{
	struct spike_alarm *alarm = &state->alarm;

	if (state->is_next)
		count_high(state, point->value);
	if (cause != SPIKE_NONE && state->is_next) {
		follow(alarm, point, true, to);
	} else if (cause != SPIKE_NONE) {
		alarm->incident.severity = SEVERITY_WARNING;
		int64_t first_step = spike_onset(state, cause);
		if (first_step < alarm->incident.first_step)
			alarm->incident.first_step = first_step;
		follow(alarm, point, true, to);
		alarm->reported = alarm->incident.worst;
		to->report(to->context, INCIDENT_UPDATED, &alarm->incident);
	} else if (z < 4) {
		state->marks += !alarm->is_ramp;
		state->is_next = false;
		state->ramp.near = fmin(state->ramp.near, alarm->level + alarm->spread);
		alarm->is_open = false;
		memset(state->news, 0, sizeof state->news);
		incident_close(&alarm->incident, point, to);
	} else {
		follow(alarm, point, true, to);
	}
}

/* What is left of the last alarm says nothing of how often odd points come. */
void spike_mark_point(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, double z, const struct report_to *to)
{
	spike_open_alarm(state, SEVERITY_INFO, ordinal, point, z, to);
	state->alarm.is_ramp = state->after > 0;
}

/* Once until the sum is back at 0. */
void spike_mark_ramp(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, double z, const struct report_to *to)
{
	spike_open_alarm(state, SEVERITY_INFO, ordinal, point, z, to);
	state->alarm.incident.first_step = state->ramp.sum_step;
	state->alarm.is_ramp = state->ramp.is_marked = true;
}
