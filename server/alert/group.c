/* One cause, one group; one harm of it, one message: what belongs to what came before it in the same job. */
#include "alert/rule.h"
#include "model/incident.h"
#include "store/alerts.h"

enum { NEAR_STEPS = 20, NEAR_MS = 60000, NAN_AGAIN_MS = 24 * 3600 * 1000, FAMILY_OF_ONE_KIND = 10 };

/* 0: it stands for itself. */
static unsigned family_of(enum incident_kind kind)
{
	enum incident_cause cause = incident_kind_cause(kind);

	return cause == INCIDENT_CAUSE_OWN ? FAMILY_OF_ONE_KIND + (unsigned)kind : (unsigned)cause;
}

uint64_t incident_harm_kinds(enum incident_kind harm)
{
	uint64_t kinds = 0;

	for (unsigned kind = 0; kind < INCIDENT_KIND_COUNT; kind++)
		if (incident_kind_harm((enum incident_kind)kind) == harm)
			kinds |= (uint64_t)1 << kind;
	return kinds;
}

bool incident_may_join(const struct incident_row *head, const struct incident_row *row)
{
	const struct incident *a = &head->incident, *b = &row->incident;
	unsigned family = family_of(b->kind);

	if (!family || family != family_of(a->kind) || a->rule_id != b->rule_id || a->is_historic != b->is_historic)
		return false;
	if (head->life != row->life) /* the job had ended between them */
		return false;
	/* what goes wrong again after a restart was not put right by it: news */
	return !head->attempt || !row->attempt || head->attempt == row->attempt;
}

/* Both ways, because streams are not told of in the order of their steps. Log time where steps are far apart from each other. */
static bool is_near(const struct incident_group *group, const struct incident *i)
{
	bool begins_before_its_end = group->is_open || i->first_step <= group->last_step + NEAR_STEPS;
	bool ends_behind_its_start = i->last_step + NEAR_STEPS >= group->first_step;

	if (begins_before_its_end && ends_behind_its_start)
		return true;
	return i->opened_ms <= group->last_opened_ms + NEAR_MS && i->opened_ms >= group->first_opened_ms - NEAR_MS;
}

/* Soon after the last of its kind, or beside it. What makes a loss NaN does so once an epoch. */
static bool is_again(const struct incident *last, const struct incident *i)
{
	int64_t last_ms = last->closed_ms > last->opened_ms ? last->closed_ms : last->opened_ms;
	int64_t within_ms = i->kind == INCIDENT_NON_FINITE ? NAN_AGAIN_MS : NEAR_MS;

	return last->state == INCIDENT_OPEN || i->first_step <= last->last_step + NEAR_STEPS ||
	       i->opened_ms <= last_ms + within_ms;
}

bool incident_joins(const struct incident_group *group, const struct incident *i)
{
	if (group->has_same_series && family_of(i->kind) >= FAMILY_OF_ONE_KIND)
		return false; /* the same again is news */
	if (group->has_same && !is_again(&group->same, i))
		return false;
	return is_near(group, i) || (group->has_same && i->kind == INCIDENT_NON_FINITE);
}
