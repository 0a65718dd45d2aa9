#include "alert/rule.h"

bool rule_wants(const struct webhook_row *webhook, const struct incident_row *incident,
	const struct incident_news *news, struct span job_team)
{
	enum severity least = webhook->minimum_severity;

	if (!webhook->is_enabled || incident->incident.is_historic || incident->incident.severity < least)
		return false;
	/* a mark that grew into a warning is told once, when it reaches what this webhook wants to hear of */
	if (!news->is_new && !news->has_ended && !(news->is_raised && news->before < least))
		return false;
	return webhook->team.len == 0 || span_equal(webhook->team, job_team);
}
