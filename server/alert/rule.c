#include "alert/rule.h"

bool rule_wants(const struct webhook_row *webhook, const struct incident_row *incident, struct span job_team)
{
	if (!webhook->is_enabled || incident->incident.is_historic)
		return false;
	if (incident->incident.severity < webhook->minimum_severity)
		return false;
	return webhook->team.len == 0 || span_equal(webhook->team, job_team);
}
