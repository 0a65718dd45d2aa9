#include "detect/kind.h"
#include "detect/unmean.h"

/* In the order of their states. */
static const struct detector_kind *const kinds[] = {&non_finite_kind, &loss_spike_kind, &loss_drop_kind, &plateau_kind,
	&grad_spike_kind, &throughput_kind, &step_time_kind, &entropy_collapse_kind, &reward_collapse_kind};
/* 1 knew no running means, 2 not the attempt of a NaN, 3 no slow stretches of a rate, 4 not how far a loss wanders, 5 not the
 * count of an epoch's lines, and half as many marks of a plateau, 6 no collapse of an entropy or a reward, and not how often a loss
 * spikes, 7 not what a rate was like for two thousand points, nor how far
 * infinities and norms are apart */
enum { FORMAT_PLAIN = 1, FORMAT = 8, FORMAT_SHIFT = 8 };
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0], ALL_KINDS = (1 << KIND_COUNT) - 1, CALM_POINTS = 32 };

struct detector_set {
	enum role role;
	struct unmean *unmean; /* of a loss; NULL of others */
	void *states[KIND_COUNT]; /* NULL: the kind means nothing for the role */
	unsigned char fed[KIND_COUNT]; /* the others, in order */
	size_t fed_count;
	unsigned unsaid; /* bits, by kind: what is open of it was not said since the job went on. Not packed */
	unsigned since; /* points since then */
};

struct detector_set *detector_set_new(enum role role)
{
	AUTO(detector_set) set = mem_zeroed(sizeof *set);

	if (!set)
		return NULL;
	set->role = role;
	if (role == ROLE_LOSS && !(set->unmean = mem_zeroed(sizeof *set->unmean)))
		return NULL;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (!(kinds[i]->roles & 1u << role))
			continue;
		if (!(set->states[i] = mem_zeroed(kinds[i]->bytes)))
			return NULL;
		set->fed[set->fed_count++] = (unsigned char)i;
	}
	return TAKE(set);
}

void detector_set_free(struct detector_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (set->states[i])
			kinds[i]->done(set->states[i]);
		mem_free(set->states[i]);
	}
	mem_free(set->unmean);
	mem_free(set);
}

void detector_set_say_again(struct detector_set *set)
{
	set->unsaid = ALL_KINDS;
	set->since = 0;
}

/* A NaN says so itself. Whatever ends with some usual points does so within these. */
static void say_again(
	struct detector_set *set, size_t i, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	bool says_so = kinds[i] == &non_finite_kind ? !isfinite(point->value)
						    : isfinite(point->value) && set->since > CALM_POINTS;
	struct incident open;

	if (!says_so || !kinds[i]->open(set->states[i], &open))
		return;
	set->unsaid &= ~(1u << i);
	if (open.opened_ordinal == ordinal)
		return;
	open = incident_again(&open, point);
	to->report(to->context, INCIDENT_UPDATED, &open);
}

void detector_set_feed(
	struct detector_set *set, uint64_t ordinal, const struct point *point, detector_report *report, void *context)
{
	struct report_to to = {report, context};
	struct point own = *point;
	bool is_seen = !set->unmean || !isfinite(point->value) || unmean_point(set->unmean, &own);

	set->since += set->since <= CALM_POINTS;
	for (size_t at = 0; at < set->fed_count; at++) {
		size_t i = set->fed[at];
		if (!is_seen && kinds[i] != &non_finite_kind)
			continue;
		kinds[i]->feed(set->states[i], ordinal, kinds[i] == &non_finite_kind ? point : &own, &to);
		if (set->unsaid & 1u << i)
			say_again(set, i, ordinal, point, &to);
	}
}

uint32_t detector_set_pace(const struct detector_set *set, double *rate, double *newest)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (set->states[i] && (kinds[i] == &throughput_kind || kinds[i] == &step_time_kind))
			return throughput_pace(set->states[i], rate, newest);
	return 0;
}

double detector_set_usual_pace(const struct detector_set *set)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (set->states[i] && (kinds[i] == &throughput_kind || kinds[i] == &step_time_kind))
			return throughput_usual_pace(set->states[i]);
	return 0;
}

void detector_set_pack(const struct detector_set *set, struct buf *out)
{
	pack_u64(out, set->role | FORMAT << FORMAT_SHIFT);
	if (set->unmean)
		unmean_pack(set->unmean, out);
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (set->states[i])
			kinds[i]->pack(set->states[i], out);
}

enum status detector_set_unpack(struct detector_set **out, enum role role, struct unpacker *in, struct error *err)
{
	AUTO(detector_set) set = detector_set_new(role);

	if (!set)
		return error_no_memory(err);
	uint64_t head = unpack_u64(in), format = head >> FORMAT_SHIFT;
	if ((head & ((1u << FORMAT_SHIFT) - 1)) != role || format > FORMAT)
		return error_set(
			err, ERR_INVALID, "the state of a detector is damaged: it is not of role %s", role_name(role));
	if (format > FORMAT_PLAIN && set->unmean)
		unmean_unpack(set->unmean, in);
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (set->states[i] && kinds[i]->since_format <= format)
			kinds[i]->unpack(set->states[i], (unsigned)format, in);
	if (in->is_out_of_memory)
		return error_no_memory(err);
	if (in->has_failed)
		return error_set(err, ERR_INVALID, "the state of a detector of role %s is damaged", role_name(role));
	*out = TAKE(set);
	return OK;
}

struct incident incident_at(
	enum incident_kind kind, enum severity severity, uint64_t ordinal, const struct point *point)
{
	return (struct incident){
		.kind = kind,
		.severity = severity,
		.state = INCIDENT_OPEN,
		.opened_ordinal = ordinal,
		.first_step = point->step,
		.last_step = point->step,
		.opened_step = point->step,
		.opened_ms = point->ts_ms,
		.line = point->line,
		.value = point->value,
		.worst = point->value,
		.worst_step = point->step,
	};
}

struct incident incident_again(const struct incident *open, const struct point *point)
{
	struct incident again = *open;

	again.is_again = true;
	again.first_step = again.last_step = again.opened_step = point->step;
	again.opened_ms = point->ts_ms;
	again.line = point->line;
	again.value = again.worst = point->value;
	again.worst_step = point->step;
	return again;
}

void incident_close(struct incident *incident, const struct point *point, const struct report_to *to)
{
	incident->state = INCIDENT_RECOVERED;
	incident->closed_ms = point->ts_ms;
	to->report(to->context, INCIDENT_CLOSED, incident);
}

void incident_close_as_level(struct incident *incident, const struct point *point, const struct report_to *to)
{
	incident->closed_why = INCIDENT_CLOSED_NEW_LEVEL;
	incident_close(incident, point, to);
}

void incident_pack(const struct incident *incident, struct buf *out)
{
	pack_u64(out, incident->kind);
	pack_u64(out, incident->severity);
	pack_u64(out, incident->opened_ordinal);
	pack_i64(out, incident->first_step);
	pack_i64(out, incident->last_step);
	pack_i64(out, incident->opened_step);
	pack_i64(out, incident->opened_ms);
	pack_u64(out, incident->line);
	pack_double(out, incident->value);
	pack_double(out, incident->expected);
	pack_double(out, incident->spread);
	pack_double(out, incident->score);
	pack_double(out, incident->worst);
	pack_i64(out, incident->worst_step);
}

/* Only open incidents are kept in states. */
void incident_unpack(struct incident *incident, struct unpacker *in)
{
	uint64_t kind = unpack_u64(in), severity = unpack_u64(in);

	in->has_failed |= kind >= INCIDENT_KIND_COUNT || severity >= SEVERITY_COUNT;
	*incident = (struct incident){.state = INCIDENT_OPEN};
	if (in->has_failed)
		return;
	incident->kind = (enum incident_kind)kind;
	incident->severity = (enum severity)severity;
	incident->opened_ordinal = unpack_u64(in);
	incident->first_step = unpack_i64(in);
	incident->last_step = unpack_i64(in);
	incident->opened_step = unpack_i64(in);
	incident->opened_ms = unpack_i64(in);
	incident->line = unpack_u64(in);
	incident->value = unpack_double(in);
	incident->expected = unpack_double(in);
	incident->spread = unpack_double(in);
	incident->score = unpack_double(in);
	incident->worst = unpack_double(in);
	incident->worst_step = unpack_i64(in);
}
