/*
 * Job: the rules as they are, and whose they are.
 * Ownership: rule sets are counted and immutable. Threads: any; matching: the writer.
 */
#pragma once

#include "alert/rule.h"

struct pipeline;

/* As of now, counted. */
struct rule_set *pipeline_rules(struct pipeline *pipeline);

/* Writer. A query that cannot be asked is no job's, and told in the log: it must not cost the incident. */
enum status rules_match_job(
	const struct rule *rule, struct store_tx *tx, struct span job, bool *is_match, struct error *err) MUST_CHECK;
