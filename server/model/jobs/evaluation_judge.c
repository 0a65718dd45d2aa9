#include "model/jobs/evaluation_judge.h"

#include "base/map.h"

#include <math.h>
#include <stdlib.h>

static int compare_names(const struct evaluation_score *a, const struct evaluation_score *b)
{
	int order = span_compare(a->task, b->task);

	return order ? order : span_compare(a->metric, b->metric);
}

/* ---- checkpoints ---- */

static int by_place(const void *a, const void *b)
{
	const struct evaluation_score *left = a, *right = b;
	int order;

	if (left->has_step != right->has_step)
		return left->has_step ? 1 : -1;
	if (left->step != right->step)
		return left->step < right->step ? -1 : 1;
	if ((order = span_compare(left->path, right->path)))
		return order;
	return compare_names(left, right);
}

void evaluation_sort(struct evaluation_score *scores, size_t count)
{
	if (count)
		qsort(scores, count, sizeof *scores, by_place);
}

static bool are_of_one(const struct evaluation_score *a, const struct evaluation_score *b)
{
	return a->has_step == b->has_step && a->step == b->step && span_equal(a->path, b->path);
}

static int by_name(const void *a, const void *b)
{
	return compare_names(*(const struct evaluation_score *const *)a, *(const struct evaluation_score *const *)b);
}

static int by_name_then_newest(const void *a, const void *b)
{
	const struct evaluation_score *left = *(const struct evaluation_score *const *)a,
				      *right = *(const struct evaluation_score *const *)b;
	int order = compare_names(left, right);

	if (order)
		return order;
	if (!left->series.len != !right->series.len)
		return left->series.len ? 1 : -1; /* what was sent is more than what was printed */
	return (left->received_ms < right->received_ms) - (left->received_ms > right->received_ms);
}

/* Of one name the score that came last. */
static void sort_scores(struct evaluation_checkpoint *checkpoint)
{
	size_t used = 0;

	qsort(checkpoint->scores, checkpoint->count, sizeof *checkpoint->scores, by_name_then_newest);
	for (size_t i = 0; i < checkpoint->count; i++)
		if (!used || compare_names(checkpoint->scores[used - 1], checkpoint->scores[i]))
			checkpoint->scores[used++] = checkpoint->scores[i];
	checkpoint->count = used;
}

static int by_step(const void *a, const void *b)
{
	const struct evaluation_checkpoint *left = a, *right = b;

	if (left->has_step != right->has_step)
		return left->has_step ? -1 : 1;
	if (left->step != right->step)
		return left->step < right->step ? -1 : 1;
	return span_compare(left->path, right->path);
}

/* The scores lie one behind the other, so two neighbours become one by their counts. */
static size_t join_without_path(struct evaluation_checkpoint *all, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		bool has_one_path = all[i].has_step && !all[i].path.len && i + 1 < count && all[i + 1].has_step &&
				    all[i + 1].step == all[i].step &&
				    !(i + 2 < count && all[i + 2].has_step && all[i + 2].step == all[i].step);
		all[used] = all[i];
		if (has_one_path) {
			all[used].path = all[i + 1].path;
			all[used].count += all[++i].count;
		}
		used++;
	}
	return used;
}

enum status evaluation_group(const struct evaluation_score *scores, size_t count, struct arena *arena,
	struct evaluation_checkpoint **out, size_t *out_count, struct error *err)
{
	const struct evaluation_score **all = arena_alloc(arena, (count + 1) * sizeof *all);
	struct evaluation_checkpoint *checkpoints;
	size_t groups = 0;

	for (size_t i = 0; i < count; i++)
		groups += !i || !are_of_one(&scores[i - 1], &scores[i]);
	checkpoints = arena_alloc(arena, (groups + 1) * sizeof *checkpoints);
	if (!all || !checkpoints)
		return error_no_memory(err);
	groups = 0;
	for (size_t i = 0; i < count; i++) {
		const struct evaluation_score *score = all[i] = &scores[i];
		if (!i || !are_of_one(score - 1, score))
			checkpoints[groups++] =
				(struct evaluation_checkpoint){score->has_step, score->step, score->path, &all[i], 0};
		checkpoints[groups - 1].count++;
	}
	groups = join_without_path(checkpoints, groups);
	for (size_t i = 0; i < groups; i++)
		sort_scores(&checkpoints[i]);
	if (groups)
		qsort(checkpoints, groups, sizeof *checkpoints, by_step);
	*out = checkpoints;
	*out_count = groups;
	return OK;
}

/* ---- the best ---- */

static const double WEIGHT_MAX = 1e9;

static enum status refuse_weights(struct span part, struct error *err)
{
	return error_set_field(err, ERR_INVALID, "weights",
		"'%.*s' is no TASK/METRIC:WEIGHT with a weight above 0, 1e9 at most (weights=mmlu/acc:2,hellaswag/acc_norm:1)",
		SPAN_ARGS(span_cut(part, 100)));
}

/* The metric is behind the last slash. Of larger weights a sum would be no number. */
static bool take_weight(struct span name, double weight, struct evaluation_weight *out)
{
	size_t at = name.len;

	while (at && name.ptr[at - 1] != '/')
		at--;
	if (at < 2 || at == name.len || !(weight > 0) || weight > WEIGHT_MAX)
		return false;
	*out = (struct evaluation_weight){span_of(name.ptr, at - 1), span_skip(name, at), weight};
	return true;
}

static enum status add_weight(
	struct evaluation_weight *weights, size_t *count, struct span name, double weight, struct error *err)
{
	struct evaluation_weight *new = &weights[*count];

	if (*count == EVALUATION_WEIGHTS_MAX)
		return error_set_field(
			err, ERR_INVALID, "weights", "there are more than %d weights", EVALUATION_WEIGHTS_MAX);
	if (!take_weight(name, weight, new))
		return refuse_weights(name, err);
	for (size_t i = 0; i < *count; i++)
		if (span_equal(weights[i].task, new->task) && span_equal(weights[i].metric, new->metric))
			return error_set_field(
				err, ERR_INVALID, "weights", "'%.*s' has two weights", SPAN_ARGS(span_cut(name, 100)));
	++*count;
	return OK;
}

enum status evaluation_read_weights(
	struct span text, struct arena *arena, struct evaluation_weight **out, size_t *count, struct error *err)
{
	struct evaluation_weight *weights = arena_alloc(arena, (EVALUATION_WEIGHTS_MAX + 1) * sizeof *weights);
	struct span rest = text, part;
	size_t begin = 0;

	if (!weights)
		return error_no_memory(err);
	*count = 0;
	while (span_next(&rest, ',', &part)) {
		size_t end = (size_t)(part.ptr - text.ptr) + part.len, at = part.len;
		double weight;
		while (at && part.ptr[at - 1] != ':')
			at--;
		if (!at || !span_parse_double(span_skip(part, at), &weight))
			continue; /* the comma is the name's */
		TRY(add_weight(
			weights, count, span_of(text.ptr + begin, end - part.len + at - 1 - begin), weight, err));
		begin = end + 1;
	}
	if (begin <= text.len)
		return refuse_weights(span_skip(text, begin), err);
	*out = weights;
	return OK;
}

enum status evaluation_read_weights_of(
	struct span name, struct arena *arena, struct evaluation_weight **out, struct error *err)
{
	if (!(*out = arena_alloc(arena, sizeof **out)))
		return error_no_memory(err);
	if (take_weight(name, 1, *out))
		return OK;
	return error_set_field(err, ERR_INVALID, "metric", "'%.*s' is no TASK/METRIC (metric=mmlu/acc)",
		SPAN_ARGS(span_cut(name, 100)));
}

const struct evaluation_score *evaluation_find_score(
	const struct evaluation_checkpoint *checkpoint, struct span task, struct span metric)
{
	const struct evaluation_score wanted = {.task = task, .metric = metric}, *key = &wanted;
	const struct evaluation_score **found =
		bsearch(&key, checkpoint->scores, checkpoint->count, sizeof *checkpoint->scores, by_name);

	return found ? *found : NULL;
}

double evaluation_weighted(
	const struct evaluation_checkpoint *checkpoint, const struct evaluation_weight *weights, size_t count)
{
	double sum = 0, all = 0;

	for (size_t i = 0; i < count; i++) {
		const struct evaluation_score *score =
			evaluation_find_score(checkpoint, weights[i].task, weights[i].metric);
		if (!score)
			return NAN;
		sum += weights[i].weight * (score->is_lower ? -score->value : score->value);
		all += weights[i].weight;
	}
	return count ? sum / all : NAN;
}

static bool has_more_than_prints(const struct evaluation_checkpoint *checkpoint)
{
	for (size_t i = 0; i < checkpoint->count; i++)
		if (!checkpoint->scores[i]->series.len)
			return true;
	return false;
}

/* Those that take part: of which something was sent, if it was of any. The first of them stands for all: a score that it lacks, not all have. */
static enum status find_compared(const struct evaluation_checkpoint *checkpoints, size_t count, struct arena *arena,
	const struct evaluation_checkpoint ***out, size_t *out_count, bool *is_printed, struct error *err)
{
	const struct evaluation_checkpoint **found = arena_alloc(arena, (count + 1) * sizeof *found);

	if (!found)
		return error_no_memory(err);
	*is_printed = true;
	for (size_t i = 0; i < count; i++)
		*is_printed &= !has_more_than_prints(&checkpoints[i]);
	*out_count = 0;
	for (size_t i = 0; i < count; i++)
		if (*is_printed || has_more_than_prints(&checkpoints[i]))
			found[(*out_count)++] = &checkpoints[i];
	*out = found;
	return OK;
}

static bool have_all(
	const struct evaluation_checkpoint **checkpoints, size_t count, const struct evaluation_score *score)
{
	for (size_t i = 0; i < count; i++)
		if (!evaluation_find_score(checkpoints[i], score->task, score->metric))
			return false;
	return true;
}

enum status evaluation_usual_weights(const struct evaluation_checkpoint *checkpoints, size_t checkpoint_count,
	struct arena *arena, struct evaluation_weight **out, size_t *count, struct error *err)
{
	const struct evaluation_checkpoint **compared;
	bool is_printed, is_lower = true;
	size_t compared_count;

	TRY(find_compared(checkpoints, checkpoint_count, arena, &compared, &compared_count, &is_printed, err));
	size_t most = compared_count ? compared[0]->count : 0;
	struct evaluation_weight *weights = arena_alloc(arena, (most + 1) * sizeof *weights);
	if (!weights)
		return error_no_memory(err);
	*count = 0;
	for (size_t i = 0; i < most; i++) {
		const struct evaluation_score *score = compared[0]->scores[i];
		if (score->is_part || (score->series.len && !is_printed) || (score->is_lower && !is_lower) ||
			!have_all(compared, compared_count, score))
			continue;
		if (!score->is_lower && is_lower)
			*count = 0;
		is_lower &= score->is_lower;
		weights[(*count)++] = (struct evaluation_weight){score->task, score->metric, 1};
	}
	*out = weights;
	return OK;
}

/* ---- what fell ---- */

static bool has_fallen(const struct evaluation_score *before, const struct evaluation_score *now, double errors,
	struct evaluation_regression *out)
{
	double drop = now->is_lower ? now->value - before->value : before->value - now->value;
	double error = hypot(before->error, now->error);

	*out = (struct evaluation_regression){before, now, drop, error, false};
	return drop > 0 && drop > errors * error;
}

static int by_name_then_step(const void *a, const void *b)
{
	const struct evaluation_score *left = *(const struct evaluation_score *const *)a,
				      *right = *(const struct evaluation_score *const *)b;
	int order = compare_names(left, right);

	if (order)
		return order;
	if (left->step != right->step)
		return left->step < right->step ? -1 : 1;
	return span_compare(left->path, right->path);
}

static int by_when(const void *a, const void *b)
{
	const struct evaluation_regression *left = a, *right = b;

	if (left->now->step != right->now->step)
		return left->now->step < right->now->step ? -1 : 1;
	return compare_names(left->now, right->now);
}

/* Of one name those that fell lie one behind the other, as `all` does. */
static void mark_newest(
	const struct evaluation_score **all, size_t count, struct evaluation_regression *falls, size_t fall_count)
{
	const struct evaluation_score *last = NULL;

	for (size_t i = count; i-- > 0;) {
		if (i + 1 == count || compare_names(all[i], all[i + 1]))
			last = all[i];
		if (!fall_count || falls[fall_count - 1].now != all[i])
			continue;
		falls[--fall_count].is_newest = all[i]->step == last->step;
	}
}

enum status evaluation_find_regressions(const struct evaluation_checkpoint *checkpoints, size_t count, double errors,
	struct arena *arena, struct evaluation_regression **out, size_t *out_count, size_t *unjudged, struct error *err)
{
	const struct evaluation_score **all, *before = NULL;
	size_t total = 0, used = 0;

	for (size_t i = 0; i < count; i++)
		total += checkpoints[i].count;
	all = arena_alloc(arena, (total + 1) * sizeof *all);
	*out = arena_alloc(arena, (total + 1) * sizeof **out);
	if (!all || !*out)
		return error_no_memory(err);
	for (size_t i = 0; i < count && checkpoints[i].has_step; i++)
		for (size_t j = 0; j < checkpoints[i].count; j++)
			if (!checkpoints[i].scores[j]->series.len) /* a curve has detectors of its own */
				all[used++] = checkpoints[i].scores[j];
	if (used)
		qsort(all, used, sizeof *all, by_name_then_step);
	*out_count = *unjudged = 0;
	for (size_t i = 0; i < used; i++) {
		bool is_another = !i || compare_names(all[i - 1], all[i]);
		if (is_another)
			before = NULL;
		else if (all[i - 1]->step < all[i]->step)
			before = all[i - 1];
		if (before && (before->error < 0 || all[i]->error < 0))
			++*unjudged;
		else if (before && has_fallen(before, all[i], errors, &(*out)[*out_count]))
			++*out_count;
	}
	mark_newest(all, used, *out, *out_count);
	if (*out_count)
		qsort(*out, *out_count, sizeof **out, by_when);
	return OK;
}
