/*
 * Job: PromQL, and LogQL's expressions of counts of lines, as far as they are answered here: text to tree. What is known and not answered, and what is a mistake, is named with its place.
 * Ownership: a tree lives in its arena, texts without escapes point into the query. Threads: values. Pure.
 * Source: prometheus.io/docs/prometheus/2.42/querying
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "prometheus/matcher.h"

enum { PROMQL_DEPTH_MAX = 64, PROMQL_NODES_MAX = 2000, PROMQL_ARGUMENTS_MAX = 3, PROMQL_LABELS_MAX = 64 };

enum promql_type { PROMQL_SCALAR, PROMQL_VECTOR, PROMQL_MATRIX, PROMQL_STRING };

enum promql_kind {
	PROMQL_NUMBER,
	PROMQL_TEXT,
	PROMQL_SELECTOR,
	PROMQL_CALL,
	PROMQL_AGGREGATE,
	PROMQL_BINARY,
	PROMQL_NEGATION
};

enum promql_operator {
	PROMQL_OR,
	PROMQL_AND,
	PROMQL_UNLESS,
	PROMQL_EQUAL,
	PROMQL_NOT_EQUAL,
	PROMQL_LESS,
	PROMQL_LESS_EQUAL,
	PROMQL_GREATER,
	PROMQL_GREATER_EQUAL,
	PROMQL_ADD,
	PROMQL_SUBTRACT,
	PROMQL_MULTIPLY,
	PROMQL_DIVIDE,
	PROMQL_MODULO,
	PROMQL_POWER,
	PROMQL_OPERATORS
};

const char *promql_operator_text(enum promql_operator op);
static inline bool promql_is_set(enum promql_operator op)
{
	return op <= PROMQL_UNLESS;
}

static inline bool promql_is_comparison(enum promql_operator op)
{
	return op >= PROMQL_EQUAL && op <= PROMQL_GREATER_EQUAL;
}

enum promql_group { PROMQL_ONE_TO_ONE, PROMQL_GROUP_LEFT, PROMQL_GROUP_RIGHT };

struct promql_labels {
	struct span *names;
	size_t count;
};

struct promql_node {
	enum promql_kind kind;
	enum promql_type type;
	size_t at; /* byte of the query, from 0 */
	unsigned brackets; /* around it, for those who print it */
	bool is_plus; /* NEGATION: it is none */
	double number; /* NUMBER */
	struct span text; /* TEXT */
	/* SELECTOR */
	struct matcher *matchers;
	size_t matcher_count;
	struct logql *lines; /* LogQL's, with matchers of its own; NULL: points */
	int64_t range_ms; /* 0: an instant vector */
	int64_t offset_ms;
	/* CALL, AGGREGATE */
	const struct promql_function *function;
	struct promql_node *arguments[PROMQL_ARGUMENTS_MAX]; /* of BINARY left and right, of NEGATION one */
	size_t argument_count;
	/* AGGREGATE: by or without these; BINARY: on or ignoring them */
	struct promql_labels labels;
	bool keeps_labels; /* by, on */
	bool has_matching; /* BINARY: on or ignoring is there */
	/* BINARY */
	enum promql_operator op;
	bool is_bool;
	enum promql_group group;
	struct promql_labels included;
};

enum promql_id {
	/* of ranges */
	FN_RATE,
	FN_INCREASE,
	FN_DELTA,
	FN_IRATE,
	FN_IDELTA,
	FN_AVG_OVER_TIME,
	FN_SUM_OVER_TIME,
	FN_MIN_OVER_TIME,
	FN_MAX_OVER_TIME,
	FN_COUNT_OVER_TIME,
	FN_LAST_OVER_TIME,
	FN_PRESENT_OVER_TIME,
	FN_STDDEV_OVER_TIME,
	FN_STDVAR_OVER_TIME,
	FN_QUANTILE_OVER_TIME,
	FN_CHANGES,
	FN_RESETS,
	FN_DERIV,
	/* of ranges of lines alone */
	FN_BYTES_OVER_TIME,
	FN_BYTES_RATE,
	/* of each value */
	FN_ABS,
	FN_CEIL,
	FN_FLOOR,
	FN_EXP,
	FN_LN,
	FN_LOG2,
	FN_LOG10,
	FN_SQRT,
	FN_SGN,
	FN_ROUND,
	FN_CLAMP,
	FN_CLAMP_MIN,
	FN_CLAMP_MAX,
	FN_TIMESTAMP,
	/* others */
	FN_ABSENT,
	FN_SCALAR,
	FN_VECTOR,
	FN_TIME,
	FN_SORT,
	FN_SORT_DESC,
	FN_HISTOGRAM_QUANTILE,
	/* aggregations */
	FN_SUM,
	FN_AVG,
	FN_MIN,
	FN_MAX,
	FN_COUNT,
	FN_GROUP,
	FN_STDDEV,
	FN_STDVAR,
	FN_TOPK,
	FN_BOTTOMK,
	FN_QUANTILE,
};

struct promql_function {
	const char *name;
	enum promql_id id;
	bool is_aggregation;
	size_t least; /* arguments */
	size_t count;
	enum promql_type takes[PROMQL_ARGUMENTS_MAX];
	enum promql_type gives;
};
const struct promql_function *promql_function_find(struct span name); /* NULL: unknown here */
bool promql_function_is_elsewhere(struct span name); /* Prometheus has it */
bool promql_function_counts_lines(const struct promql_function *function);
bool promql_function_is_of_lines(const struct promql_function *function); /* alone */

/* ERR_INVALID with the place in the text. */
enum status promql_parse(
	struct promql_node **out, struct span query, struct arena *arena, struct error *err) MUST_CHECK;
/* LogQL: selectors are of lines, and each has a range. */
enum status promql_parse_counts(
	struct promql_node **out, struct span query, struct arena *arena, struct error *err) MUST_CHECK;
/* All patterns of the tree: ERR_INVALID names one that is none. */
enum status promql_check_patterns(const struct promql_node *node, struct error *err) MUST_CHECK;
/* As text again, on lines of about a hundred bytes, as Prometheus prints it. */
void promql_print(const struct promql_node *node, struct buf *out);
/* The selector alone, as of match[]. */
enum status promql_parse_selector(
	struct promql_node **out, struct span query, struct arena *arena, struct error *err) MUST_CHECK;
