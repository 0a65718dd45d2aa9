/*
 * NaN and infinities in a loss or a gradient norm. One is enough for a critical incident once the series has been
 * finite; before that a trainer may just have nothing to say yet (its first report, a warm-up), so that only the third
 * in a row counts, as a warning. Infinities must be equally far apart for that, as lines are: a trainer that prints its norm
 * only where it overflowed says how its loss scale goes up and down. Closes after five finite points: a running mean drags one NaN along to the epoch's end.
 * One in a later attempt is another incident: whoever restarted the training takes the old one for mended.
 */
#include "detect/kind.h"

enum {
	EARLY_RUN = 3,
	FINITE_RUN = 5,
	FORMAT_WITH_ATTEMPT = 3,
	FORMAT_WITH_LAST = 8,
	GAP_MOST = 1 << 30,
	GAP_OF_NAN = -1
};

struct non_finite {
	bool has_finite; /* ever */
	bool is_open;
	uint32_t bad_run; /* non-finite points in a row, while the series has not been finite */
	uint32_t finite_run; /* finite points in a row while open */
	uint32_t attempt; /* while open: in which it opened; 0: a state of before that was kept */
	int64_t bad_step; /* where bad_run began */
	int64_t last_bad_step, bad_gap; /* of its last one; and how far that was from the one before; 0: not known */
	double last_finite;
	struct incident incident;
};

static void open_incident(struct non_finite *state, enum severity severity, uint64_t ordinal, const struct point *point,
	const struct report_to *to)
{
	state->is_open = true;
	state->finite_run = 0;
	state->attempt = point->attempt;
	state->incident = incident_at(INCIDENT_NON_FINITE, severity, ordinal, point);
	state->incident.expected = state->last_finite;
	if (!state->has_finite)
		state->incident.first_step = state->bad_step;
	to->report(to->context, INCIDENT_OPENED, &state->incident);
}

static void feed_finite(struct non_finite *state, const struct point *point, const struct report_to *to)
{
	state->has_finite = true;
	state->last_finite = point->value;
	state->bad_run = 0;
	if (state->is_open && ++state->finite_run >= FINITE_RUN) {
		state->is_open = false;
		incident_close(&state->incident, point, to);
	}
}

/* Until then it may be that the restart has put it right: finite points close it as ever. */
static void end_attempt(struct non_finite *state, const struct point *point, const struct report_to *to)
{
	state->is_open = false;
	state->incident.closed_why = INCIDENT_CLOSED_WITH_ATTEMPT;
	incident_close(&state->incident, point, to);
}

/* NaN after NaN; or infinity after infinity, as far on as that was from the one before. */
static void count_early(struct non_finite *state, const struct point *point)
{
	double gap =
		isnan(point->value) ? GAP_OF_NAN : fmin(GAP_MOST, (double)point->step - (double)state->last_bad_step);
	bool was_nan = state->bad_gap == GAP_OF_NAN, is_nan = isnan(point->value);

	if (state->bad_run == 0 || was_nan != is_nan || (state->bad_gap > 0 && gap != (double)state->bad_gap)) {
		state->bad_run = 1;
		state->bad_step = point->step;
		state->bad_gap = is_nan ? GAP_OF_NAN : 0;
	} else if (is_nan || gap > 0) {
		state->bad_run++;
		state->bad_gap = (int64_t)gap;
	}
	state->last_bad_step = point->step;
}

static void feed(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct non_finite *state = of;

	if (state->is_open && !state->attempt)
		state->attempt = point->attempt;
	if (state->is_open && point->attempt > state->attempt && !isfinite(point->value))
		end_attempt(state, point, to);
	if (isfinite(point->value)) {
		feed_finite(state, point, to);
	} else if (state->is_open) {
		state->finite_run = 0;
		state->incident.last_step = point->step;
	} else if (state->has_finite) {
		open_incident(state, SEVERITY_CRITICAL, ordinal, point, to);
	} else {
		count_early(state, point);
		if (state->bad_run >= EARLY_RUN)
			open_incident(state, SEVERITY_WARNING, ordinal, point, to);
	}
}

static void pack(const void *of, struct buf *out)
{
	const struct non_finite *state = of;

	pack_u64(out, (uint64_t)state->has_finite | (uint64_t)state->is_open << 1);
	pack_u64(out, state->bad_run);
	pack_u64(out, state->finite_run);
	pack_i64(out, state->bad_step);
	pack_i64(out, state->last_bad_step);
	pack_i64(out, state->bad_gap);
	pack_double(out, state->last_finite);
	if (!state->is_open)
		return;
	pack_u64(out, state->attempt);
	incident_pack(&state->incident, out);
}

static void unpack(void *of, unsigned format, struct unpacker *in)
{
	struct non_finite *state = of;
	uint64_t flags = unpack_u64(in), bad_run = unpack_u64(in), finite_run = unpack_u64(in);

	in->has_failed |= flags > 3 || bad_run > EARLY_RUN || finite_run > FINITE_RUN;
	state->has_finite = flags & 1;
	state->is_open = flags >> 1 & 1;
	state->bad_run = (uint32_t)bad_run;
	state->finite_run = (uint32_t)finite_run;
	state->bad_step = state->last_bad_step = unpack_i64(in);
	if (format >= FORMAT_WITH_LAST) {
		state->last_bad_step = unpack_i64(in);
		state->bad_gap = unpack_i64(in);
	}
	state->last_finite = unpack_double(in);
	if (!state->is_open)
		return;
	state->attempt = format >= FORMAT_WITH_ATTEMPT ? (uint32_t)unpack_u64(in) : 0;
	incident_unpack(&state->incident, in);
}

static void done(void *of)
{
	(void)of;
}

static bool open(const void *of, struct incident *out)
{
	const struct non_finite *state = of;

	*out = state->incident;
	return state->is_open;
}

const struct detector_kind non_finite_kind = {
	.bytes = sizeof(struct non_finite),
	.roles = 1u << ROLE_LOSS | 1u << ROLE_EVAL_LOSS | 1u << ROLE_GRAD_NORM,
	.feed = feed,
	.pack = pack,
	.unpack = unpack,
	.done = done,
	.open = open,
};
