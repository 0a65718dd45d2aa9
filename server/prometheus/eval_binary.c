/* Binary operators: scalars with scalars, with each value of a vector, and vectors matched by their labels. */
#include "prometheus/eval.h"

#include "base/map.h"

#include <math.h>

static double compute(enum promql_operator op, double left, double right)
{
	switch (op) {
	case PROMQL_ADD:
		return left + right;
	case PROMQL_SUBTRACT:
		return left - right;
	case PROMQL_MULTIPLY:
		return left * right;
	case PROMQL_DIVIDE:
		return left / right;
	case PROMQL_MODULO:
		return fmod(left, right);
	default: /* PROMQL_POWER */
		return pow(left, right);
	}
}

static bool compare(enum promql_operator op, double left, double right)
{
	switch (op) {
	case PROMQL_EQUAL:
		return left == right;
	case PROMQL_NOT_EQUAL:
		return left != right;
	case PROMQL_LESS:
		return left < right;
	case PROMQL_LESS_EQUAL:
		return left <= right;
	case PROMQL_GREATER:
		return left > right;
	default: /* PROMQL_GREATER_EQUAL */
		return left >= right;
	}
}

/* kept: what a comparison that is true leaves. False: nothing stays. */
static bool combine(const struct promql_node *node, double left, double right, double kept, double *out)
{
	if (!promql_is_comparison(node->op)) {
		*out = compute(node->op, left, right);
		return true;
	}
	bool is_true = compare(node->op, left, right);
	*out = node->is_bool ? (double)is_true : kept;
	return is_true || node->is_bool;
}

static bool drops_name(const struct promql_node *node)
{
	return !promql_is_comparison(node->op) || node->is_bool;
}

/* ---- a scalar on a side ---- */

static enum status with_scalar(struct eval *eval, const struct promql_node *node, const struct prom_rows sides[2],
	struct prom_rows *out, struct error *err)
{
	bool is_left = node->arguments[0]->type == PROMQL_SCALAR;
	const double *scalar = sides[!is_left].at[0].values;
	const struct prom_rows *vector = &sides[is_left];
	struct prom_row *row;

	for (size_t i = 0; i < vector->count; i++) {
		TRY(rows_add(eval, out, &row, err));
		row->labels = vector->at[i].labels;
		for (size_t step = 0; step < eval->steps; step++) {
			double value = vector->at[i].values[step];
			double left = is_left ? scalar[step] : value, right = is_left ? value : scalar[step];
			row->has[step] =
				vector->at[i].has[step] && combine(node, left, right, value, &row->values[step]);
		}
	}
	return drops_name(node) && node->type == PROMQL_VECTOR ? rows_drop_names(eval, out, err) : OK;
}

/* ---- vectors ---- */

/* Rows of both sides in groups of equal labels, as the operator matches them. */
struct matching {
	struct eval *eval;
	const struct promql_node *node;
	const struct prom_rows *many, *one; /* the left side and the right one, but for group_right */
	struct prom_groups groups; /* rows of `many`, then those of `one` */
	struct prom_rows *out;
	bool is_swapped;
};

static size_t group_of(const struct matching *matching, const struct prom_rows *side, size_t row)
{
	return matching->groups.of_row[row + (side == matching->one ? matching->many->count : 0)];
}

static enum status find_groups(struct matching *matching, struct error *err)
{
	struct prom_rows all = {0};
	enum status status = OK;
	size_t count = matching->many->count + matching->one->count;

	if (!(all.at = mem_alloc((count + 1) * sizeof *all.at)))
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		all.at[i] = i < matching->many->count ? matching->many->at[i]
						      : matching->one->at[i - matching->many->count];
	all.count = count;
	status = rows_group(
		matching->eval, &all, &matching->node->labels, matching->node->keeps_labels, &matching->groups, err);
	mem_free(all.at);
	return status;
}

/* Per group and time: which row of the one side is there, plus 1; 0: none. */
static enum status find_ones(const struct matching *matching, size_t step, uint32_t *ones, struct error *err)
{
	memset(ones, 0, matching->groups.count * sizeof *ones);
	for (size_t i = 0; i < matching->one->count; i++) {
		size_t group = group_of(matching, matching->one, i);
		if (!matching->one->at[i].has[step])
			continue;
		if (ones[group])
			return error_set(err, ERR_SEMANTIC,
				"found duplicate series for the match group on the %s hand-side of the operation; many-to-many matching not allowed: matching labels must be unique on one side",
				matching->is_swapped ? "left" : "right");
		ones[group] = (uint32_t)i + 1;
	}
	return OK;
}

static enum status result_labels(const struct matching *matching, const struct prom_row *many,
	const struct prom_row *one, struct prom_labels *out, struct error *err)
{
	const struct promql_node *node = matching->node;
	static const struct promql_labels no_labels = {0};
	struct arena *arena = matching->eval->arena;
	struct prom_labels cut;

	if (node->group == PROMQL_ONE_TO_ONE && node->keeps_labels)
		TRY(labels_cut(&cut, &many->labels, &node->labels, true, arena, err));
	else if (node->group == PROMQL_ONE_TO_ONE && drops_name(node))
		TRY(labels_cut(&cut, &many->labels, &node->labels, false, arena, err));
	else if (node->group != PROMQL_ONE_TO_ONE && drops_name(node))
		TRY(labels_cut(&cut, &many->labels, &no_labels, false, arena, err));
	else
		cut = many->labels;
	TRY(labels_copy(out, &cut, node->included.count, arena, err));
	/* a comparison keeps the name, and loses what is ignored */
	for (size_t i = 0; node->group == PROMQL_ONE_TO_ONE && !node->keeps_labels && i < node->labels.count; i++)
		labels_set(out, node->labels.names[i], SPAN(""));
	for (size_t i = 0; i < node->included.count; i++)
		labels_set(out, node->included.names[i], labels_get(&one->labels, node->included.names[i]));
	return OK;
}

/* One row of the many side with one of the one side: a row of the result, made when it has its first value. */
struct pair_row {
	size_t one; /* plus 1; 0: none */
	size_t row; /* of out */
};

static enum status find_pair_row(
	struct matching *matching, size_t many, size_t one, struct pair_row *last, struct error *err)
{
	struct prom_row *row;

	if (last->one == one + 1)
		return OK;
	TRY(rows_add(matching->eval, matching->out, &row, err));
	*last = (struct pair_row){one + 1, matching->out->count - 1};
	return result_labels(matching, &matching->many->at[many], &matching->one->at[one], &row->labels, err);
}

static enum status pair_up(struct matching *matching, size_t step, const uint32_t *ones, struct pair_row *pairs,
	bool *taken, struct error *err)
{
	const struct promql_node *node = matching->node;

	memset(taken, 0, matching->groups.count * sizeof *taken);
	for (size_t i = 0; i < matching->many->count; i++) {
		size_t group = group_of(matching, matching->many, i);
		if (!matching->many->at[i].has[step] || !ones[group])
			continue;
		const struct prom_row *one = &matching->one->at[ones[group] - 1];
		double many_value = matching->many->at[i].values[step], one_value = one->values[step], value;
		double left = matching->is_swapped ? one_value : many_value;
		double right = matching->is_swapped ? many_value : one_value;
		if (!combine(node, left, right, left, &value))
			continue;
		if (taken[group] && node->group == PROMQL_ONE_TO_ONE)
			return error_set(err, ERR_SEMANTIC,
				"multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)");
		taken[group] = true;
		TRY(find_pair_row(matching, i, ones[group] - 1, &pairs[i], err));
		struct prom_row *row = &matching->out->at[pairs[i].row];
		row->has[step] = true;
		row->values[step] = value;
	}
	return OK;
}

static enum status match(struct matching *matching, struct error *err)
{
	AUTO_MEM uint32_t *ones = mem_alloc((matching->groups.count + 1) * sizeof *ones);
	AUTO_MEM bool *taken = mem_alloc((matching->groups.count + 1) * sizeof *taken);
	AUTO_MEM struct pair_row *pairs = mem_zeroed((matching->many->count + 1) * sizeof *pairs);

	if (!ones || !taken || !pairs)
		return error_no_memory(err);
	for (size_t step = 0; step < matching->eval->steps; step++) {
		TRY(find_ones(matching, step, ones, err));
		TRY(pair_up(matching, step, ones, pairs, taken, err));
	}
	return rows_merge(matching->eval, matching->out, err);
}

/* ---- and, unless, or ---- */

/* Which groups have a value of that side at that time. */
static void mark(const struct matching *matching, const struct prom_rows *side, size_t step, bool *is_there)
{
	memset(is_there, 0, matching->groups.count * sizeof *is_there);
	for (size_t i = 0; i < side->count; i++)
		if (side->at[i].has[step])
			is_there[group_of(matching, side, i)] = true;
}

static enum status copy_rows(struct matching *matching, const struct prom_rows *from, struct error *err)
{
	struct prom_row *row;

	for (size_t i = 0; i < from->count; i++) {
		TRY(rows_add(matching->eval, matching->out, &row, err));
		row->labels = from->at[i].labels;
		memcpy(row->values, from->at[i].values, matching->eval->steps * sizeof *row->values);
		memcpy(row->has, from->at[i].has, matching->eval->steps * sizeof *row->has);
	}
	return OK;
}

/* `many` is the left side. */
static enum status combine_sets(struct matching *matching, struct error *err)
{
	enum promql_operator op = matching->node->op;
	size_t left = matching->many->count, right = op == PROMQL_OR ? matching->one->count : 0;
	AUTO_MEM bool *is_there = mem_alloc((matching->groups.count + 1) * sizeof *is_there);

	if (!is_there)
		return error_no_memory(err);
	TRY(copy_rows(matching, matching->many, err));
	if (right)
		TRY(copy_rows(matching, matching->one, err));
	for (size_t step = 0; step < matching->eval->steps; step++) {
		mark(matching, op == PROMQL_OR ? matching->many : matching->one, step, is_there);
		for (size_t i = 0; i < left && op != PROMQL_OR; i++) {
			bool *has = &matching->out->at[i].has[step];
			*has = *has && is_there[group_of(matching, matching->many, i)] == (op == PROMQL_AND);
		}
		for (size_t i = 0; i < right; i++) {
			bool *has = &matching->out->at[left + i].has[step];
			*has = *has && !is_there[group_of(matching, matching->one, i)];
		}
	}
	return rows_merge(matching->eval, matching->out, err);
}

static enum status with_sides(struct eval *eval, const struct promql_node *node, const struct prom_rows sides[2],
	struct prom_rows *out, struct error *err)
{
	bool is_swapped = node->group == PROMQL_GROUP_RIGHT;
	struct matching matching = {.eval = eval,
		.node = node,
		.many = &sides[is_swapped],
		.one = &sides[!is_swapped],
		.out = out,
		.is_swapped = is_swapped};

	if (node->arguments[0]->type == PROMQL_SCALAR || node->arguments[1]->type == PROMQL_SCALAR)
		return with_scalar(eval, node, sides, out, err);
	TRY(find_groups(&matching, err));
	return promql_is_set(node->op) ? combine_sets(&matching, err) : match(&matching, err);
}

enum status eval_binary(struct eval *eval, const struct promql_node *node, struct prom_rows *out, struct error *err)
{
	struct prom_rows sides[2] = {0};

	enum status status = eval_node(eval, node->arguments[0], &sides[0], err);
	if (status == OK)
		status = eval_node(eval, node->arguments[1], &sides[1], err);
	if (status == OK)
		status = with_sides(eval, node, sides, out, err);
	rows_done(&sides[0]);
	rows_done(&sides[1]);
	return status;
}
