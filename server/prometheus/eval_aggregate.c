/* Aggregations: rows in groups by their labels; topk and bottomk choose rows, the others make one of each group. */
#include "prometheus/eval.h"

#include <math.h>
#include <stdlib.h>

struct sums { /* of one group at one time */
	size_t count;
	double sum, mean, squares, extreme;
};

static void sums_add(struct sums *sums, enum promql_id id, double value)
{
	int sign = id == FN_MIN ? -1 : 1;
	double delta = value - sums->mean;

	sums->count++;
	sums->sum += value;
	sums->mean += delta / (double)sums->count;
	sums->squares += delta * (value - sums->mean);
	if (sums->count == 1 || sign * value > sign * sums->extreme || isnan(sums->extreme))
		sums->extreme = value;
}

/* As the sum is when a value is infinite. */
static double sums_value(const struct sums *sums, enum promql_id id)
{
	switch (id) {
	case FN_SUM:
		return sums->sum;
	case FN_AVG:
		return sums->sum / (double)sums->count;
	case FN_COUNT:
		return (double)sums->count;
	case FN_GROUP:
		return 1;
	case FN_STDVAR:
		return sums->squares / (double)sums->count;
	case FN_STDDEV:
		return sqrt(sums->squares / (double)sums->count);
	default: /* FN_MIN, FN_MAX */
		return sums->extreme;
	}
}

static enum status add_groups(
	struct eval *eval, const struct prom_groups *groups, struct prom_rows *out, struct error *err)
{
	struct prom_row *row;

	for (size_t i = 0; i < groups->count; i++) {
		TRY(rows_add(eval, out, &row, err));
		row->labels = groups->labels[i];
	}
	return OK;
}

static enum status fold(struct eval *eval, enum promql_id id, const struct prom_rows *rows,
	const struct prom_groups *groups, struct prom_rows *out, struct error *err)
{
	AUTO_MEM struct sums *sums = mem_alloc((groups->count + 1) * sizeof *sums);

	if (!sums)
		return error_no_memory(err);
	TRY(add_groups(eval, groups, out, err));
	for (size_t step = 0; step < eval->steps; step++) {
		memset(sums, 0, groups->count * sizeof *sums);
		for (size_t i = 0; i < rows->count; i++)
			if (rows->at[i].has[step])
				sums_add(&sums[groups->of_row[i]], id, rows->at[i].values[step]);
		for (size_t i = 0; i < groups->count; i++) {
			out->at[i].has[step] = sums[i].count != 0;
			if (sums[i].count)
				out->at[i].values[step] = sums_value(&sums[i], id);
		}
	}
	return OK;
}

static enum status fold_quantiles(struct eval *eval, const double *q, const struct prom_rows *rows,
	const struct prom_groups *groups, struct prom_rows *out, struct error *err)
{
	AUTO_MEM double *values = mem_alloc((rows->count + 1) * sizeof *values);

	if (!values)
		return error_no_memory(err);
	TRY(add_groups(eval, groups, out, err));
	for (size_t step = 0; step < eval->steps; step++)
		for (size_t group = 0; group < groups->count; group++) {
			size_t count = 0;
			for (size_t i = 0; i < rows->count; i++)
				if (groups->of_row[i] == group && rows->at[i].has[step])
					values[count++] = rows->at[i].values[step];
			out->at[group].has[step] = count != 0;
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): its caller has evaluated it */
			out->at[group].values[step] = quantile_of(q[step], values, count);
		}
	return OK;
}

/* ---- topk, bottomk ---- */

struct ranked {
	double value;
	size_t row;
};

/* The best first; NaN is the worst of both. */
static int by_rank(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (isnan(a->value) || isnan(b->value))
		return isnan(a->value) - isnan(b->value);
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Of one group at one time: the others lose their value. */
static void choose(struct prom_rows *rows, struct ranked *ranked, size_t count, double k, size_t step)
{
	qsort(ranked, count, sizeof *ranked, by_rank);
	for (size_t i = 0; i < count; i++)
		if (!((double)i < k))
			rows->at[ranked[i].row].has[step] = false;
}

static enum status rank(struct eval *eval, const struct promql_node *node, const double *k, struct prom_rows *rows,
	const struct prom_groups *groups, struct error *err)
{
	int sign = node->function->id == FN_TOPK ? 1 : -1;
	AUTO_MEM struct ranked *ranked = mem_alloc((rows->count + 1) * sizeof *ranked);

	if (!ranked)
		return error_no_memory(err);
	for (size_t step = 0; step < eval->steps; step++)
		for (size_t group = 0; group < groups->count; group++) {
			size_t count = 0;
			for (size_t i = 0; i < rows->count; i++)
				if (groups->of_row[i] == group && rows->at[i].has[step])
					ranked[count++] = (struct ranked){sign * rows->at[i].values[step], i};
			choose(rows, ranked, count, trunc(k[step]), step);
		}
	if (eval->steps == 1 && rows->count) /* one time: in their order */
		qsort(rows->at, rows->count, sizeof *rows->at, sign > 0 ? rows_by_first_down : rows_by_first);
	return OK;
}

static enum status aggregate(struct eval *eval, const struct promql_node *node, const double *parameter,
	struct prom_rows *rows, struct prom_rows *out, struct error *err)
{
	enum promql_id id = node->function->id;
	struct prom_groups groups;

	TRY(eval_node(eval, node->arguments[node->argument_count - 1], rows, err));
	TRY(rows_group(eval, rows, &node->labels, node->keeps_labels, &groups, err));
	/* by group and row at each time: that is work, too */
	if (parameter)
		TRY(budget_take(eval->reading->budget, eval->steps * groups.count * rows->count / 64, err));
	if (id == FN_QUANTILE)
		return fold_quantiles(eval, parameter, rows, &groups, out, err);
	if (!parameter)
		return fold(eval, id, rows, &groups, out, err);
	TRY(rank(eval, node, parameter, rows, &groups, err));
	*out = *rows;
	*rows = (struct prom_rows){0};
	return OK;
}

enum status eval_aggregate(struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	struct prom_rows parameter = {0}, rows = {0};
	bool has_parameter = node->argument_count == 2;

	enum status status = has_parameter ? eval_node(eval, node->arguments[0], &parameter, err) : OK;
	if (status == OK)
		status = aggregate(eval, node, has_parameter ? parameter.at[0].values : NULL, &rows, out, err);
	rows_done(&parameter);
	rows_done(&rows);
	return status;
}
