#include "model/incident.h"

static const char *const kinds[] = {"loss_spike", "divergence", "non_finite", "retention_due", "plateau", "loss_drop",
	"grad_spike", "throughput_drop", "throughput_change", "stall", "job_failed", "straggler", "rule",
	"log_signature", "node_suspect", "deadline", "checkpoint_overdue", "definition_silent"};
static const char *const severities[] = {"info", "warning", "critical"};
static const char *const states[] = {"open", "recovered"};

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
	return kinds[kind];
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
	unsigned at;

	if (!parse(kinds, INCIDENT_KIND_COUNT, name, &at))
		return false;
	*out = (enum incident_kind)at;
	return true;
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
