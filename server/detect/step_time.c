/* Of what a step takes: watched as steps a unit of time, by throughput.c, and said in the series' own unit. */
#include "detect/throughput.h"

struct turned {
	const struct report_to *to;
};

static double turn(double value)
{
	return value != 0 ? 1 / value : value;
}

static struct incident turn_incident(const struct incident *incident)
{
	struct incident said = *incident;

	said.value = turn(incident->value);
	said.expected = turn(incident->expected);
	said.worst = turn(incident->worst);
	said.spread = incident->spread * said.expected * said.expected;
	said.score = said.spread > 0 ? (said.value - said.expected) / said.spread : 0;
	return said;
}

static void report_turned(void *context, enum incident_change change, const struct incident *incident)
{
	const struct turned *turned = context;
	struct incident said = turn_incident(incident);

	turned->to->report(turned->to->context, change, &said);
}

static void feed_time(void *of, uint64_t ordinal, const struct point *point, const struct report_to *to)
{
	struct turned turned = {to};
	struct report_to through = {report_turned, &turned};

	if (point->value > 0)
		throughput_feed(of, ordinal, point, 1 / point->value, &through);
}

static bool open_time(const void *of, struct incident *out)
{
	struct incident open;
	bool is_open = throughput_open(of, &open);

	*out = turn_incident(&open);
	return is_open;
}

const struct detector_kind step_time_kind = {
	.bytes = sizeof(struct throughput),
	.roles = 1u << ROLE_STEP_TIME,
	.since_format = 1,
	.feed = feed_time,
	.pack = throughput_pack,
	.unpack = throughput_unpack,
	.done = throughput_done,
	.open = open_time,
};
