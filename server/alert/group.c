/* One cause, one message: what belongs to what came before it in the same job. */
#include "alert/rule.h"

enum { NEAR_STEPS = 20, NEAR_MS = 60000 };

/* What one thing leads to another of. 0: each stands for itself. */
static unsigned family_of(enum incident_kind kind)
{
	switch (kind) {
	case INCIDENT_GRAD_SPIKE:
	case INCIDENT_LOSS_SPIKE:
	case INCIDENT_DIVERGENCE:
	case INCIDENT_NON_FINITE:
		return 1;
	case INCIDENT_THROUGHPUT_DROP:
	case INCIDENT_STRAGGLER:
		return 2;
	case INCIDENT_LOSS_DROP:
	case INCIDENT_PLATEAU:
	case INCIDENT_THROUGHPUT_CHANGE:
	case INCIDENT_RULE:
		return 10 + (unsigned)kind; /* in other streams alone */
	default:
		return 0;
	}
}

/* Both ways, because streams are not told of in the order of their steps. Log time where steps are far apart from each other. */
static bool are_near(const struct incident *head, const struct incident *i)
{
	int64_t apart_ms = i->opened_ms - head->opened_ms;
	bool begins_before_its_end = head->state == INCIDENT_OPEN || i->first_step <= head->last_step + NEAR_STEPS;
	bool ends_behind_its_start = i->last_step + NEAR_STEPS >= head->first_step;

	return (begins_before_its_end && ends_behind_its_start) || (apart_ms <= NEAR_MS && apart_ms >= -NEAR_MS);
}

bool incident_joins(const struct incident_row *head, const struct incident_row *row)
{
	const struct incident *a = &head->incident, *b = &row->incident;
	unsigned family = family_of(b->kind);

	if (!family || family != family_of(a->kind) || a->rule_id != b->rule_id || a->is_historic != b->is_historic)
		return false;
	if (head->series_id == row->series_id && a->kind == b->kind)
		return false; /* the same again is news */
	return are_near(a, b);
}
