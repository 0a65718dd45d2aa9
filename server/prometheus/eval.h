/*
 * Job: what a PromQL expression amounts to at equally spaced times: rows of labels, with a value or none for each time. A node is worked
 *      out for all times at once, so labels are looked at once a row.
 * Ownership: rows live in the arena. Threads: a worker.
 */
#pragma once

#include "prometheus/series.h"

struct prom_row {
	struct prom_labels labels;
	double *values; /* one a time */
	bool *has;
};

struct prom_rows {
	struct prom_row *at;
	size_t count, cap;
};

struct eval;
/* Of a range of lines: a row a stream, with what the function makes of it. */
typedef enum status eval_lines(
	struct eval *eval, const struct promql_node *node, enum promql_id id, struct prom_rows *out, struct error *err);

struct eval {
	struct series_reading *reading;
	struct arena *arena;
	int64_t start_ms, step_ms;
	size_t steps;
	int64_t lookback_ms;
	eval_lines *lines; /* NULL: there are none in the expression */
	void *lines_context;
};

enum status eval_node(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err) MUST_CHECK;
void rows_done(struct prom_rows *rows);

static inline int64_t eval_time(const struct eval *eval, size_t step)
{
	return eval->start_ms + (int64_t)step * eval->step_ms;
}

/* ---- between the files of this evaluation ---- */

/* A new row without a value; its labels are the caller's to set. Valid until the next. */
enum status rows_add(struct eval *eval, struct prom_rows *rows, struct prom_row **out, struct error *err) MUST_CHECK;
/* Rows with equal labels become one; ERR_SEMANTIC where two have a value at one time. */
enum status rows_merge(struct eval *eval, struct prom_rows *rows, struct error *err) MUST_CHECK;
enum status rows_drop_names(struct eval *eval, struct prom_rows *rows, struct error *err) MUST_CHECK;

/* eval_select.c: selectors alone, and functions of their ranges */
enum status eval_selector(struct eval *eval, const struct promql_node *node, bool wants_times, struct prom_rows *out,
	struct error *err) MUST_CHECK;
/* parameter: of quantile_over_time, one a time; else NULL */
enum status eval_range(struct eval *eval, const struct promql_node *node, const struct promql_function *function,
	const double *parameter, struct prom_rows *out, struct error *err) MUST_CHECK;
/* range_function.c */
struct range_window {
	const struct prom_point *points;
	size_t count;
	int64_t from_ms, to_ms; /* of the window, both included */
	double parameter;
};
bool range_value(enum promql_id id, const struct range_window *window, double *out);
/* Of sorted values (NaN first); q may be anything. */
double quantile_of(double q, double *values, size_t count);

/* eval_aggregate.c, eval_binary.c, eval_histogram.c */
enum status eval_aggregate(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err) MUST_CHECK;
enum status eval_binary(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err) MUST_CHECK;
enum status eval_histogram_quantile(struct eval *eval, const double *q, const struct prom_rows *rows,
	struct prom_rows *out, struct error *err) MUST_CHECK;

/* Orders of rows by their value at the first time, for qsort; NaN is last, and what has none behind it. */
int rows_by_first(const void *left, const void *right);
int rows_by_first_down(const void *left, const void *right);

/* Which rows have equal labels; numbers from 0 in the order of the first of each. */
struct prom_groups {
	size_t *of_row;
	size_t count;
	struct prom_labels *labels; /* of each */
};
/* Cut to the list (labels_cut) before they are compared. */
enum status rows_group(struct eval *eval, const struct prom_rows *rows, const struct promql_labels *list, bool keeps,
	struct prom_groups *out, struct error *err) MUST_CHECK;
