/* The rules as they are, and whose they are. */
#include "pipeline/alert/rule_match.h"

#include "base/clock.h"
#include "base/log.h"
#include "state/pipeline_state.h"

#include <inttypes.h>

struct rule_set *pipeline_rules(struct pipeline *pipeline)
{
	pthread_mutex_lock(&pipeline->rules_mutex);
	struct rule_set *set = rule_set_ref(pipeline->rules);
	pthread_mutex_unlock(&pipeline->rules_mutex);
	return set;
}

enum status rules_match_job(
	const struct rule *rule, struct store_tx *tx, struct span job, bool *is_match, struct error *err)
{
	struct error why = {0};
	enum status status = rule_matches_job(rule, store_tx_reader(tx), job, clock_wall_ms(), is_match, &why);

	if (status != ERR_SEMANTIC && status != ERR_UNAVAILABLE)
		return status == OK ? OK : error_set(err, status, "%s", why.text);
	*is_match = false;
	log_line(LOG_WARNING, "rule_query_failed", "rule=%" PRId64 " job=\"%.*s\" error=\"%s\"", rule->rule_id,
		SPAN_ARGS(job), why.text);
	return OK;
}
