/*
 * Job: MLflow's language for searches of runs: metrics.loss < 3 AND params."batch size" = '8' AND attributes.status = 'FINISHED',
 *      and its orders, metrics.loss DESC. Pure.
 * Ownership: spans are those of the text. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "mlflow/internal.h"

enum { FILTER_TERMS_MAX = 50, FILTER_VALUES_MAX = 500, ORDER_KEYS_MAX = 10 };

enum run_filter_entity { FILTER_METRIC, FILTER_PARAM, FILTER_TAG, FILTER_ATTRIBUTE };
enum run_filter_operator {
	FILTER_EQUAL,
	FILTER_NOT_EQUAL,
	FILTER_LESS,
	FILTER_LESS_OR_EQUAL,
	FILTER_MORE,
	FILTER_MORE_OR_EQUAL,
	FILTER_LIKE,
	FILTER_ILIKE,
	FILTER_IN,
	FILTER_NOT_IN,
	FILTER_IS_NULL,
	FILTER_IS_NOT_NULL
};

struct run_filter_field {
	enum run_filter_entity entity;
	struct span key;
};
struct run_filter_term {
	struct run_filter_field field;
	enum run_filter_operator how;
	bool is_number;
	double number;
	struct span *texts; /* one, or those of a list */
	size_t text_count;
};
struct run_filter {
	struct run_filter_term terms[FILTER_TERMS_MAX];
	size_t count;
};
/* ERR_SEMANTIC says what is not understood. "": all runs. */
enum status run_filter_parse(
	struct run_filter *out, struct arena *arena, struct span text, struct error *err) MUST_CHECK;
bool run_filter_matches(const struct run_filter *filter, const struct mlflow_run *run);

struct run_filter_order {
	struct run_filter_field field;
	bool is_descending;
};
enum status run_filter_parse_order(struct run_filter_order *out, struct span text, struct error *err) MUST_CHECK;

/* What a run has there. */
struct run_filter_value {
	bool is_there;
	bool is_number;
	double number;
	struct span text;
};
struct run_filter_value run_filter_value_of(const struct run_filter_field *field, const struct mlflow_run *run);
/* By the order: what is not there comes last. */
int run_filter_compare(
	const struct run_filter_order *order, const struct run_filter_value *a, const struct run_filter_value *b);
