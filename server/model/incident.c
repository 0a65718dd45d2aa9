#include "model/incident.h"

#include "base/hash128.h"

static const struct {
	const char *name, *verb;
	enum incident_kind harm;
	enum incident_cause cause;
} kinds[] = {
#define ROW(kind, name, harm, cause, verb) [INCIDENT_##kind] = {name, verb, INCIDENT_##harm, cause},
	INCIDENT_KINDS(ROW)
#undef ROW
};
static const char *const severities[] = {"info", "warning", "critical"};
static const char *const states[] = {"open", "recovered"};
static const struct {
	const char *name, *words;
} closes[INCIDENT_CLOSE_COUNT] = {
	[INCIDENT_CLOSED_WITH_JOB] = {"job_ended", "until the job ended"},
	[INCIDENT_CLOSED_WITH_ATTEMPT] = {"attempt_ended", "until the training began again"},
	[INCIDENT_CLOSED_WITH_DELETION] = {"job_deleted", "until the job was deleted"},
	[INCIDENT_CLOSED_RULE_CHANGED] = {"rule_changed", "until the rule was changed"},
	[INCIDENT_CLOSED_RULE_DELETED] = {"rule_deleted", "until the rule was deleted"},
	[INCIDENT_CLOSED_RULE_DISABLED] = {"rule_disabled", "until the rule was disabled"},
	[INCIDENT_CLOSED_DEFINITIONS] = {"definitions_changed", "until other metric definitions did not find it"},
	[INCIDENT_CLOSED_CLEARED] = {"fault_cleared", "until its fault was set right by hand"},
	[INCIDENT_CLOSED_NEW_LEVEL] = {"new_level", "until it became the new level"},
};

static bool parse(const char *const *names, unsigned count, struct span name, unsigned *out)
{
	for (unsigned i = 0; i < count; i++)
		if (span_equal(name, span_from(names[i]))) {
			*out = i;
			return true;
		}
	return false;
}

const char *incident_kind_name(enum incident_kind kind)
{
	return kinds[kind].name;
}

enum incident_cause incident_kind_cause(enum incident_kind kind)
{
	return kinds[kind].cause;
}

enum incident_kind incident_kind_harm(enum incident_kind kind)
{
	return kinds[kind].harm;
}

const char *incident_kind_verb(enum incident_kind kind)
{
	return kinds[kind].verb;
}

const char *severity_name(enum severity severity)
{
	return severities[severity];
}

const char *incident_state_name(enum incident_state state)
{
	return states[state];
}

bool incident_kind_parse(struct span name, enum incident_kind *out)
{
	for (unsigned i = 0; i < INCIDENT_KIND_COUNT; i++)
		if (span_equal(name, span_from(kinds[i].name))) {
			*out = (enum incident_kind)i;
			return true;
		}
	return false;
}

bool severity_parse(struct span name, enum severity *out)
{
	unsigned at;

	if (!parse(severities, SEVERITY_COUNT, name, &at))
		return false;
	*out = (enum severity)at;
	return true;
}

bool incident_state_parse(struct span name, enum incident_state *out)
{
	unsigned at;

	if (!parse(states, INCIDENT_STATE_COUNT, name, &at))
		return false;
	*out = (enum incident_state)at;
	return true;
}

const char *incident_close_name(enum incident_close why)
{
	return why < INCIDENT_CLOSE_COUNT ? closes[why].name : NULL;
}

bool incident_close_parse(struct span name, enum incident_close *out)
{
	for (unsigned i = 0; i < INCIDENT_CLOSE_COUNT; i++)
		if (closes[i].name && span_equal(name, span_from(closes[i].name))) {
			*out = (enum incident_close)i;
			return true;
		}
	return false;
}

const char *incident_close_words(enum incident_close why)
{
	return why < INCIDENT_CLOSE_COUNT ? closes[why].words : NULL;
}

enum { ORDINAL_HASH_BITS = 20 };

uint64_t incident_ordinal_of(struct span what, int64_t at_ms)
{
	struct hash128 hash = {0};

	hash128_add(&hash, what);
	uint64_t time = at_ms > 0 ? (uint64_t)at_ms & ((UINT64_C(1) << INCIDENT_TIME_BITS) - 1) : 0;

	return (hash.low & ((UINT64_C(1) << ORDINAL_HASH_BITS) - 1)) << INCIDENT_TIME_BITS | time;
}
