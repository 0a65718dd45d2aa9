/* Quantiles of classic histograms, whose series differ by the label le; to the letter of Prometheus 2.42 (promql/quantile.go). */
#include "prometheus/eval.h"

#include <math.h>
#include <stdlib.h>

struct bucket {
	double bound, count;
};

static int by_bound(const void *left, const void *right)
{
	const struct bucket *a = left, *b = right;

	return (a->bound > b->bound) - (a->bound < b->bound);
}

/* Equal bounds are one; counts never fall from one to the next. */
static size_t tidy(struct bucket *buckets, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept && buckets[kept - 1].bound == buckets[i].bound)
			buckets[kept - 1].count += buckets[i].count;
		else
			buckets[kept++] = buckets[i];
	for (size_t i = 1; i < kept; i++)
		if (buckets[i].count < buckets[i - 1].count)
			buckets[i].count = buckets[i - 1].count;
	return kept;
}

static double quantile_of_buckets(double q, struct bucket *buckets, size_t count)
{
	size_t at = 0;

	if (isnan(q))
		return NAN;
	if (q < 0 || q > 1)
		return q < 0 ? -INFINITY : INFINITY;
	qsort(buckets, count, sizeof *buckets, by_bound);
	if (!(isinf(buckets[count - 1].bound) && buckets[count - 1].bound > 0))
		return NAN;
	count = tidy(buckets, count);
	double all = buckets[count - 1].count, rank = q * all;
	if (count < 2 || all == 0 || isnan(all))
		return NAN;
	while (at < count - 1 && buckets[at].count < rank)
		at++;
	if (at == count - 1)
		return buckets[count - 2].bound;
	if (at == 0 && buckets[0].bound <= 0)
		return buckets[0].bound;
	double start = at ? buckets[at - 1].bound : 0, below = at ? buckets[at - 1].count : 0;
	return start + (buckets[at].bound - start) * ((rank - below) / (buckets[at].count - below));
}

struct histogram_rows {
	const struct prom_rows *rows;
	const struct prom_groups *groups;
	const double *bounds; /* of each row; NaN: it is no bucket */
	struct bucket *buckets; /* at work */
};

static size_t collect(const struct histogram_rows *own, size_t group, size_t step)
{
	size_t count = 0;

	for (size_t i = 0; i < own->rows->count; i++)
		if (own->groups->of_row[i] == group && own->rows->at[i].has[step] && !isnan(own->bounds[i]))
			own->buckets[count++] = (struct bucket){own->bounds[i], own->rows->at[i].values[step]};
	return count;
}

static enum status fill(
	struct eval *eval, const struct histogram_rows *own, const double *q, struct prom_rows *out, struct error *err)
{
	for (size_t group = 0; group < own->groups->count; group++) {
		struct prom_row *row;
		TRY(rows_add(eval, out, &row, err));
		row->labels = own->groups->labels[group];
		for (size_t step = 0; step < eval->steps; step++) {
			size_t count = collect(own, group, step);
			row->has[step] = count != 0;
			if (count)
				row->values[step] = quantile_of_buckets(q[step], own->buckets, count);
		}
	}
	return OK;
}

enum status eval_histogram_quantile(
	struct eval *eval, const double *q, const struct prom_rows *rows, struct prom_rows *out, struct error *err)
{
	struct span le = SPAN("le");
	const struct promql_labels list = {&le, 1};
	struct prom_groups groups;
	AUTO_MEM double *bounds = mem_alloc((rows->count + 1) * sizeof *bounds);
	AUTO_MEM struct bucket *buckets = mem_alloc((rows->count + 1) * sizeof *buckets);

	if (!bounds || !buckets)
		return error_no_memory(err);
	for (size_t i = 0; i < rows->count; i++)
		if (!span_parse_double(labels_get(&rows->at[i].labels, le), &bounds[i]))
			bounds[i] = NAN;
	TRY(rows_group(eval, rows, &list, false, &groups, err));
	TRY(budget_take(eval->reading->budget, eval->steps * groups.count * rows->count / 64, err));
	struct histogram_rows own = {rows, &groups, bounds, buckets};
	return fill(eval, &own, q, out, err);
}
