/*
 * Job: the query's tree: what query/ parses, store/ compiles and the reference evaluator walks.
 * Ownership: nodes and spans live in the arena they were parsed into. Threads: immutable once built.
 * Language: docs/search.md.
 */
#pragma once

#include "base/arena.h"

enum query_kind {
	QUERY_AND,
	QUERY_OR,
	QUERY_NOT,
	QUERY_TERM,
	QUERY_ONE, /* one element of the list `term.key` satisfies `left`, an AND of terms on what is in it */
};

enum query_family {
	QUERY_TEXT, /* a bare word: name, tags, notes */
	QUERY_PROPERTY, /* key is a property's short name: "name", "status", "created" … */
	QUERY_METRIC, /* key is the metric's name (or the role's with is_role), aggregate says which figure */
	QUERY_HP,
	QUERY_TAG,
	QUERY_ENV,
	QUERY_LABEL, /* of labels that are KEY=VALUE */
};

enum query_compare {
	QUERY_CONTAINS, /* : */
	QUERY_EQUAL,
	QUERY_NOT_EQUAL,
	QUERY_LESS,
	QUERY_AT_MOST,
	QUERY_MORE,
	QUERY_AT_LEAST,
	QUERY_MATCHES, /* ~ */
	QUERY_MATCHES_FOLDED, /* ~* */
	QUERY_MATCHES_NOT, /* !~ */
	QUERY_IN,
	QUERY_EXISTS,
};

enum query_aggregate {
	AGGREGATE_LAST,
	AGGREGATE_MIN,
	AGGREGATE_MAX,
	AGGREGATE_MEAN,
	AGGREGATE_COUNT,
	AGGREGATE_STEP,
	AGGREGATE_BEST,
	AGGREGATE_BEST_STEP,
	AGGREGATE_FINAL,
	AGGREGATE_NUMBER /* of them */
};

struct query_value {
	struct span text; /* as written, unquoted */
	bool is_number; /* an unquoted numeric literal: compares numbers only */
	bool is_literal; /* of CONTAINS: '*' is a star */
	double number; /* units resolved: durations in seconds, sizes in bytes, times in Unix ms */
};

struct query_term {
	enum query_family family;
	struct span key;
	bool is_role;
	enum query_aggregate aggregate;
	enum query_compare compare;
	struct query_value *values; /* one; several for IN; none for EXISTS */
	size_t value_count;
	size_t column; /* 1-based, in the text */
};

struct query_node {
	enum query_kind kind;
	struct query_node *left; /* AND, OR: both; NOT, ONE: left */
	struct query_node *right;
	struct query_term term;
};

/* "last", "min", "best_step" … */
const char *query_aggregate_name(enum query_aggregate aggregate);
/* Cuts ".min" off the end; false and unchanged when no aggregate is the last dotted part, or nothing is in front of it. */
bool query_take_aggregate(struct span *name, enum query_aggregate *aggregate);
/* Terms that ask what a job's log holds (log:…), in the order of the text; at most `cap` of them are put. How many there are. */
size_t query_log_terms(const struct query_node *node, const struct query_term **out, size_t cap);
