/*
 * Job: alert rules: kept, and matched with jobs.
 * Ownership: rule sets are counted and immutable. Threads: said at each verb.
 */
#pragma once

#include "alert/rule.h"

struct pipeline;

/* rule_id 0: a new one, else in its place: its expression begins anew. ERR_CONFLICT: the name; ERR_TOO_LARGE: there are `most`. */
enum status pipeline_put_rule(struct pipeline *pipeline, struct rule *rule, size_t most, struct error *err) MUST_CHECK;
enum status pipeline_delete_rule(struct pipeline *pipeline, int64_t rule_id, struct error *err) MUST_CHECK;
enum status rules_load(struct pipeline *pipeline, struct error *err) MUST_CHECK; /* at the start */
