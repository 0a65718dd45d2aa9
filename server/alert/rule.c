/* Which rule takes an incident; when it may be told. */
#include "alert/rule.h"

#include "base/text/zone.h"
#include "model/incident.h"
#include "model/query.h"
#include "query/query.h"
#include "store/alerts.h"
#include "store/search.h"

enum { DAY_MIN = 24 * 60, MINUTE_MS = 60000 };

bool rule_takes(const struct rule *rule, const struct incident_row *incident, struct span job_team)
{
	const struct incident *i = &incident->incident;

	if (!rule->is_enabled || (rule->team.len && !span_equal(rule->team, job_team)))
		return false;
	if (i->severity < rule->minimum_severity)
		return false;
	if (rule->expression_text.len || i->rule_id)
		return i->rule_id == rule->rule_id;
	return !rule->kinds || rule->kinds & (uint64_t)1 << i->kind;
}

bool rule_serves(const struct rule *rule, int64_t webhook_id)
{
	for (size_t i = 0; i < rule->webhook_count; i++)
		if (rule->webhooks[i] == webhook_id)
			return true;
	return rule->has_all_webhooks;
}

bool rule_keeps(const struct rule *rule, const struct webhook_row *webhooks, size_t count)
{
	bool names_any = rule->webhook_count || rule->has_all_webhooks, is_heard = false;

	for (size_t i = 0; i < count; i++)
		is_heard = is_heard || (webhooks[i].is_enabled && rule_serves(rule, webhooks[i].webhook_id));
	return rule->is_exclusive && (is_heard || !names_any || !rule->tells);
}

bool webhook_wants(const struct webhook_row *webhook, const struct incident_row *incident, struct span job_team)
{
	if (!webhook->is_enabled || incident->incident.severity < webhook->minimum_severity)
		return false;
	return webhook->team.len == 0 || span_equal(webhook->team, job_team);
}

enum status rule_matches_job(const struct rule *rule, struct store_reader *reader, struct span job, int64_t now_ms,
	bool *is_match, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct query_value name = {.text = job};
	struct query_node both, is_named;
	struct job_search_result found;

	*is_match = true;
	if (!rule->query.len)
		return OK;
	if (!(arena = arena_new()))
		return error_no_memory(err);
	is_named = (struct query_node){.kind = QUERY_TERM,
		.term = {.family = QUERY_PROPERTY,
			.key = SPAN("name"),
			.compare = QUERY_EQUAL,
			.values = &name,
			.value_count = 1}};
	both = (struct query_node){.kind = QUERY_AND, .left = &is_named};
	TRY(query_parse(&both.right, rule->query, now_ms, arena, err));
	if (!both.right)
		return OK;
	struct job_search search = {.query = &both, .sort = SPAN(""), .cursor = SPAN(""), .limit = 1};
	TRY(store_search_jobs(reader, arena, &search, &found, err));
	*is_match = found.count != 0;
	return OK;
}

/* ---- quiet hours ---- */

struct local {
	int64_t midnight_ms; /* local */
	unsigned minute;
	unsigned weekday; /* 0: Sunday */
};

static struct local local_of(const struct zone *zone, int64_t utc_ms)
{
	int64_t local_ms = utc_ms + zone_offset_ms(zone, utc_ms), day_ms = (int64_t)DAY_MIN * MINUTE_MS;
	int64_t day = local_ms / day_ms - (local_ms % day_ms < 0);

	return (struct local){.midnight_ms = day * day_ms,
		.minute = (unsigned)((local_ms - day * day_ms) / MINUTE_MS),
		.weekday = (unsigned)(((day + 4) % 7 + 7) % 7)}; /* 1970 began on a Thursday */
}

/* Minutes after the local midnight before now at which they end; 0: it is not in them. */
static unsigned end_of(const struct quiet_hours *quiet, const struct local *now)
{
	bool is_overnight = quiet->from_min >= quiet->to_min;
	bool begins_today = quiet->days & 1u << now->weekday,
	     began_yesterday = quiet->days & 1u << (now->weekday + 6) % 7;

	if (!is_overnight)
		return begins_today && now->minute >= quiet->from_min && now->minute < quiet->to_min ? quiet->to_min
												     : 0;
	if (begins_today && now->minute >= quiet->from_min)
		return DAY_MIN + quiet->to_min;
	return began_yesterday && now->minute < quiet->to_min ? quiet->to_min : 0;
}

int64_t quiet_until_ms(const struct quiet_hours *quiet, int64_t now_ms)
{
	int64_t until_ms = 0, at_ms = now_ms;

	/* One may begin as another ends: a weekend. Never for more than a week: then it is told all the same. */
	for (int i = 0; quiet->is_set && i < 7; i++) {
		struct local local = local_of(quiet->zone, at_ms);
		unsigned end = end_of(quiet, &local);
		if (!end)
			break;
		until_ms = zone_to_utc_ms(quiet->zone, local.midnight_ms + (int64_t)end * MINUTE_MS);
		if (until_ms <= at_ms) /* in an hour that a clock change leaves out */
			until_ms = at_ms + MINUTE_MS;
		at_ms = until_ms;
	}
	return until_ms;
}
