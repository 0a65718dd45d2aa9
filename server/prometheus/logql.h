/*
 * Job: LogQL's selections of lines, as far as they are answered here: {label="value"} |= "text" != "text" |~ "pattern" !~ "pattern"
 *      | drop name. All else is named. Expressions of their counts are promql.h's.
 * Ownership: spans in the query or the arena; logql_prepare makes patterns that logql_done frees. Threads: a parsed query is read-only. Pure.
 * Source: grafana.com/docs/loki/latest/query
 */
#pragma once

#include "prometheus/tokens.h"
#include "prometheus/matcher.h"

#include "base/buf.h"

#include <stdatomic.h>

enum { LOGQL_FILTERS_MAX = 32, LOGQL_DROPS_MAX = 8 };

struct logql_filter {
	bool is_pattern, is_negated;
	struct span text;
	struct regex *regex;
};

struct logql {
	struct matcher *matchers;
	size_t matcher_count;
	struct logql_filter filters[LOGQL_FILTERS_MAX];
	size_t filter_count;
	struct {
		size_t behind; /* how many filters */
		struct span names;
	} drops[LOGQL_DROPS_MAX]; /* which do nothing here; for those who print the query */
	size_t drop_count;
	atomic_bool *
		gave_up; /* set where a pattern needs more steps than a line may cost: what it takes is not known. NULL: not wanted */
};

/* The selector and the filters behind it; what follows is at hand then. ERR_INVALID with the place. */
enum status logql_take(struct logql *out, struct tokens *tokens, struct error *err) MUST_CHECK;
/* Its patterns: ERR_INVALID names one that is none. logql_done in either case. */
enum status logql_prepare(struct logql *logql, struct error *err) MUST_CHECK;
/* Both. logql_done in either case. */
enum status logql_parse(struct logql *out, struct span query, struct arena *arena, struct error *err) MUST_CHECK;
void logql_done(struct logql *logql);
void logql_release(struct logql *logql); /* the patterns alone */
/* As text again; between: in front of each filter. */
void logql_print(const struct logql *logql, const char *between, struct buf *out);
/* All filters; any thread. */
bool logql_takes(const void *logql, struct regex_scratch *scratch, struct span line);
