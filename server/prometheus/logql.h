/*
 * Job: LogQL, as far as it is answered here: {label="value"} |= "text" != "text" |~ "pattern" !~ "pattern". All else is named.
 * Ownership: spans in the query or the arena; logql_done frees patterns. Threads: a parsed query is read-only. Pure.
 * Source: grafana.com/docs/loki/latest/query
 */
#pragma once

#include "prometheus/matcher.h"

#include <stdatomic.h>

enum { LOGQL_FILTERS_MAX = 32 };

struct logql_filter {
	bool is_pattern, is_negated;
	struct span text;
	struct regex *regex;
};

struct logql {
	struct matcher *matchers; /* prepared */
	size_t matcher_count;
	struct logql_filter filters[LOGQL_FILTERS_MAX];
	size_t filter_count;
	atomic_bool *
		gave_up; /* set where a pattern needs more steps than a line may cost: what it takes is not known. NULL: not wanted */
};

/* ERR_INVALID with the place; logql_done in either case. */
enum status logql_parse(struct logql *out, struct span query, struct arena *arena, struct error *err) MUST_CHECK;
void logql_done(struct logql *logql);
/* All filters; any thread. */
bool logql_takes(const void *logql, struct regex_scratch *scratch, struct span line);
