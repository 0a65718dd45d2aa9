#include "prometheus/eval.h"

#include "base/map.h"

#include <math.h>
#include <stdlib.h>

void rows_done(struct prom_rows *rows)
{
	mem_free(rows->at);
	*rows = (struct prom_rows){0};
}

enum status rows_add(struct eval *eval, struct prom_rows *rows, struct prom_row **out, struct error *err)
{
	struct prom_row row = {0};

	TRY(budget_take(eval->reading->budget, eval->steps, err));
	row.values = arena_alloc(eval->arena, eval->steps * sizeof *row.values);
	row.has = arena_alloc(eval->arena, eval->steps * sizeof *row.has);
	if (!row.values || !row.has || !mem_grow((void **)&rows->at, rows->count, &rows->cap, sizeof *rows->at))
		return error_no_memory(err);
	memset(row.has, 0, eval->steps * sizeof *row.has);
	memset(row.values, 0, eval->steps * sizeof *row.values);
	rows->at[rows->count] = row;
	*out = &rows->at[rows->count++];
	return OK;
}

/* ---- equal labels ---- */

static enum status find_group(struct eval *eval, struct map *map, const struct prom_labels *labels,
	struct prom_groups *groups, size_t *out, struct error *err)
{
	struct span key;

	TRY(labels_key(labels, eval->arena, &key, err));
	size_t *found = map_get(map, key);
	if (!found) {
		if (!(found = arena_alloc(eval->arena, sizeof *found)))
			return error_no_memory(err);
		*found = groups->count;
		if (!map_put(map, key, found))
			return error_no_memory(err);
		groups->labels[groups->count++] = *labels;
	}
	*out = *found;
	return OK;
}

enum status rows_group(struct eval *eval, const struct prom_rows *rows, const struct promql_labels *list, bool keeps,
	struct prom_groups *out, struct error *err)
{
	AUTO(map) map = map_new();
	struct prom_labels labels;

	*out = (struct prom_groups){.of_row = arena_alloc(eval->arena, (rows->count + 1) * sizeof *out->of_row),
		.labels = arena_alloc(eval->arena, (rows->count + 1) * sizeof *out->labels)};
	if (!map || !out->of_row || !out->labels)
		return error_no_memory(err);
	for (size_t i = 0; i < rows->count; i++) {
		labels = rows->at[i].labels;
		if (list)
			TRY(labels_cut(&labels, &rows->at[i].labels, list, keeps, eval->arena, err));
		TRY(find_group(eval, map, &labels, out, &out->of_row[i], err));
	}
	return OK;
}

enum status rows_merge(struct eval *eval, struct prom_rows *rows, struct error *err)
{
	struct prom_groups groups;

	TRY(rows_group(eval, rows, NULL, false, &groups, err));
	if (groups.count == rows->count)
		return OK;
	size_t count = 0;
	for (size_t i = 0; i < rows->count; i++) { /* groups are numbered by their first row */
		struct prom_row *from = &rows->at[i], *to = &rows->at[groups.of_row[i]];
		if (groups.of_row[i] == count) {
			rows->at[count++] = *from;
			continue;
		}
		for (size_t step = 0; step < eval->steps; step++) {
			if (from->has[step] && to->has[step])
				return error_set(
					err, ERR_SEMANTIC, "vector cannot contain metrics with the same labelset");
			if (from->has[step])
				to->values[step] = from->values[step];
			to->has[step] = to->has[step] || from->has[step];
		}
	}
	rows->count = count;
	return OK;
}

enum status rows_drop_names(struct eval *eval, struct prom_rows *rows, struct error *err)
{
	static const struct promql_labels none = {0};

	for (size_t i = 0; i < rows->count; i++) {
		struct prom_labels cut;
		TRY(labels_cut(&cut, &rows->at[i].labels, &none, false, eval->arena, err));
		rows->at[i].labels = cut;
	}
	return rows_merge(eval, rows, err);
}

/* ---- scalars, and functions of each value ---- */

static enum status add_scalar(struct eval *eval, struct prom_rows *out, double **values, struct error *err)
{
	struct prom_row *row;

	TRY(rows_add(eval, out, &row, err));
	memset(row->has, true, eval->steps);
	*values = row->values;
	return OK;
}

static enum status eval_number(struct eval *eval, double number, struct prom_rows *out, struct error *err)
{
	double *values;

	TRY(add_scalar(eval, out, &values, err));
	for (size_t step = 0; step < eval->steps; step++)
		values[step] = number;
	return OK;
}

static enum status eval_time_of(struct eval *eval, struct prom_rows *out, struct error *err)
{
	double *values;

	TRY(add_scalar(eval, out, &values, err));
	for (size_t step = 0; step < eval->steps; step++)
		values[step] = (double)eval_time(eval, step) / 1000;
	return OK;
}

/* The values of a scalar argument; one that is left out is `fallback`. */
static enum status eval_parameter(struct eval *eval, const struct promql_node *node, size_t at, double fallback,
	const double **out, struct error *err)
{
	struct prom_rows rows = {0};
	enum status status = at < node->argument_count ? eval_node(eval, node->arguments[at], &rows, err)
						       : eval_number(eval, fallback, &rows, err);

	*out = status == OK && rows.count ? rows.at[0].values : NULL;
	rows_done(&rows);
	return status;
}

static double sign_of(double value)
{
	return isnan(value) || value == 0 ? value : value < 0 ? -1 : 1;
}

static double round_to(double value, double to)
{
	double inverse = 1 / to;

	return floor(value * inverse + 0.5) / inverse;
}

/* Go's: a NaN gives way to what is infinite, and to nothing else. */
static double larger(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isinf(a) && a > 0) || (isinf(b) && b > 0) ? INFINITY : NAN;
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return -larger(-a, -b);
}

static double each_value(enum promql_id id, double value, double a, double b)
{
	switch (id) {
	case FN_ABS:
		return fabs(value);
	case FN_CEIL:
		return ceil(value);
	case FN_FLOOR:
		return floor(value);
	case FN_EXP:
		return exp(value);
	case FN_LN:
		return log(value);
	case FN_LOG2:
		return log2(value);
	case FN_LOG10:
		return log10(value);
	case FN_SQRT:
		return sqrt(value);
	case FN_SGN:
		return sign_of(value);
	case FN_ROUND:
		return round_to(value, a);
	case FN_CLAMP_MIN:
		return larger(a, value);
	case FN_CLAMP_MAX:
		return smaller(a, value);
	default: /* FN_CLAMP */
		return larger(a, smaller(b, value));
	}
}

static enum status eval_each(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	enum promql_id id = node->function->id;
	const double *a, *b;

	TRY(eval_node(eval, node->arguments[0], out, err));
	TRY(eval_parameter(eval, node, 1, 1, &a, err));
	TRY(eval_parameter(eval, node, 2, 0, &b, err));
	for (size_t i = 0; i < out->count; i++)
		for (size_t step = 0; step < eval->steps; step++) {
			struct prom_row *row = &out->at[i];
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): eval_parameter has filled it */
			row->has[step] = row->has[step] && !(id == FN_CLAMP && b[step] < a[step]);
			if (row->has[step])
				/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as above */
				row->values[step] = each_value(id, row->values[step], a[step], b[step]);
		}
	return rows_drop_names(eval, out, err);
}

static enum status eval_timestamp(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	const struct promql_node *inner = node->arguments[0];

	if (inner->kind == PROMQL_SELECTOR) {
		TRY(eval_selector(eval, inner, true, out, err));
		return rows_drop_names(eval, out, err);
	}
	TRY(eval_node(eval, inner, out, err));
	for (size_t i = 0; i < out->count; i++)
		for (size_t step = 0; step < eval->steps; step++)
			out->at[i].values[step] = (double)eval_time(eval, step) / 1000;
	return rows_drop_names(eval, out, err);
}

/* ---- the others ---- */

/* What an expression that is empty would have had: the labels that its matchers name outright, each once. */
static enum status absent_labels(
	struct eval *eval, const struct promql_node *inner, struct prom_labels *out, struct error *err)
{
	*out = (struct prom_labels){.at = arena_alloc(eval->arena, (inner->matcher_count + 1) * sizeof *out->at)};
	if (!out->at)
		return error_no_memory(err);
	for (size_t i = 0; inner->kind == PROMQL_SELECTOR && i < inner->matcher_count; i++) {
		const struct matcher *matcher = &inner->matchers[i];
		bool is_twice = false;
		for (size_t j = 0; j < inner->matcher_count; j++)
			is_twice = is_twice || (j != i && span_equal(inner->matchers[j].name, matcher->name));
		if (matcher->op == MATCHER_IS && !is_twice && !span_equal(matcher->name, SPAN(LABELS_NAME)))
			labels_set(out, matcher->name, matcher->value);
	}
	return OK;
}

static enum status eval_absent(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	struct prom_rows rows = {0};
	struct prom_row *row = NULL;

	enum status status = eval_node(eval, node->arguments[0], &rows, err);
	if (status == OK)
		status = rows_add(eval, out, &row, err);
	for (size_t step = 0; status == OK && step < eval->steps; step++) {
		row->values[step] = 1;
		row->has[step] = true;
		for (size_t i = 0; i < rows.count && row->has[step]; i++)
			row->has[step] = !rows.at[i].has[step];
	}
	rows_done(&rows);
	TRY(status);
	return absent_labels(eval, node->arguments[0], &row->labels, err);
}

static enum status eval_scalar(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	struct prom_rows rows = {0};
	double *values = NULL;

	enum status status = eval_node(eval, node->arguments[0], &rows, err);
	if (status == OK)
		status = add_scalar(eval, out, &values, err);
	for (size_t step = 0; status == OK && step < eval->steps; step++) {
		size_t count = 0;
		for (size_t i = 0; i < rows.count; i++)
			if (rows.at[i].has[step]) {
				values[step] = rows.at[i].values[step];
				count++;
			}
		values[step] = count == 1 ? values[step] : NAN;
	}
	rows_done(&rows);
	return status;
}

int rows_by_first(const void *left, const void *right)
{
	const struct prom_row *a = left, *b = right;
	double x = a->values[0], y = b->values[0];

	if (!a->has[0] || !b->has[0])
		return b->has[0] - a->has[0];
	if (isnan(x) || isnan(y)) /* at the end, whichever way */
		return isnan(x) - isnan(y);
	return (x > y) - (x < y);
}

int rows_by_first_down(const void *left, const void *right)
{
	const struct prom_row *a = left, *b = right;

	if (!a->has[0] || !b->has[0] || isnan(a->values[0]) || isnan(b->values[0]))
		return rows_by_first(left, right);
	return rows_by_first(right, left);
}

/* An order is of one time. */
static enum status eval_sort(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	TRY(eval_node(eval, node->arguments[0], out, err));
	if (eval->steps == 1 && out->count)
		qsort(out->at, out->count, sizeof *out->at,
			node->function->id == FN_SORT ? rows_by_first : rows_by_first_down);
	return OK;
}

static enum status eval_quantile_of_histogram(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	struct prom_rows rows = {0};
	const double *q;

	TRY(eval_parameter(eval, node, 0, 0, &q, err));
	enum status status = eval_node(eval, node->arguments[1], &rows, err);
	if (status == OK)
		status = eval_histogram_quantile(eval, q, &rows, out, err);
	rows_done(&rows);
	return status;
}

static enum status eval_call(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	const double *parameter = NULL;

	switch (node->function->id) {
	case FN_QUANTILE_OVER_TIME:
		TRY(eval_parameter(eval, node, 0, 0, &parameter, err));
		return eval_range(eval, node->arguments[1], node->function, parameter, out, err);
	case FN_TIMESTAMP:
		return eval_timestamp(eval, node, out, err);
	case FN_ABSENT:
		return eval_absent(eval, node, out, err);
	case FN_SCALAR:
		return eval_scalar(eval, node, out, err);
	case FN_VECTOR: /* a scalar is a row without labels here */
		return eval_node(eval, node->arguments[0], out, err);
	case FN_TIME:
		return eval_time_of(eval, out, err);
	case FN_SORT:
	case FN_SORT_DESC:
		return eval_sort(eval, node, out, err);
	case FN_HISTOGRAM_QUANTILE:
		return eval_quantile_of_histogram(eval, node, out, err);
	default:
		return node->function->takes[0] == PROMQL_MATRIX
			       ? eval_range(eval, node->arguments[0], node->function, NULL, out, err)
			       : eval_each(eval, node, out, err);
	}
}

static enum status eval_negation(
	struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	TRY(eval_node(eval, node->arguments[0], out, err));
	if (node->is_plus)
		return OK;
	for (size_t i = 0; i < out->count; i++)
		for (size_t step = 0; step < eval->steps; step++)
			out->at[i].values[step] = -out->at[i].values[step];
	return rows_drop_names(eval, out, err);
}

enum status eval_node(struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	switch (node->kind) {
	case PROMQL_NUMBER:
		return eval_number(eval, node->number, out, err);
	case PROMQL_SELECTOR:
		return eval_selector(eval, node, false, out, err);
	case PROMQL_CALL:
		return eval_call(eval, node, out, err);
	case PROMQL_AGGREGATE:
		return eval_aggregate(eval, node, out, err);
	case PROMQL_BINARY:
		return eval_binary(eval, node, out, err);
	case PROMQL_NEGATION:
		return eval_negation(eval, node, out, err);
	default:
		return error_set(err, ERR_INVALID, "a text is no result here");
	}
}
