/*
 * Job: of all scores of a job: which are of one checkpoint, which checkpoint is best by a weighted rule, and where a score fell by
 *      more than its standard error. Pure.
 * Ownership: what it makes is the arena's; scores stay the caller's. Threads: values.
 */
#pragma once

#include "model/jobs/evaluation.h"

enum { EVALUATION_WEIGHTS_MAX = 1000 };

struct evaluation_checkpoint {
	bool has_step;
	int64_t step;
	struct span path;
	const struct evaluation_score **scores; /* by task, then metric */
	size_t count;
};

/* By (has_step, step, path, task, metric). */
void evaluation_sort(struct evaluation_score *scores, size_t count);
/* Scores in the order (has_step, step, path, task, metric). Those of a step without a path go to the one path of that step. Steps that
 * are known come first, ascending. */
enum status evaluation_group(const struct evaluation_score *scores, size_t count, struct arena *arena,
	struct evaluation_checkpoint **out, size_t *out_count, struct error *err) MUST_CHECK;

struct evaluation_weight {
	struct span task, metric;
	double weight; /* above 0 */
};
/* "mmlu/acc:2,gsm8k/exact_match,strict-match:1": a part without a weight belongs to the name that follows. ERR_INVALID. */
enum status evaluation_read_weights(struct span text, struct arena *arena, struct evaluation_weight **out,
	size_t *count, struct error *err) MUST_CHECK;
/* "mmlu/acc" alone, of weight 1. */
enum status evaluation_read_weights_of(
	struct span name, struct arena *arena, struct evaluation_weight **out, struct error *err) MUST_CHECK;
/* Without a rule: each score that all checkpoints have counts 1, but those of parts of a group; where more is better of some and less of
 * others, the former alone, as they are no sum. What a trainer prints counts where nothing else is known of any checkpoint. *count 0: there is
 * none. */
enum status evaluation_usual_weights(const struct evaluation_checkpoint *checkpoints, size_t checkpoint_count,
	struct arena *arena, struct evaluation_weight **out, size_t *count, struct error *err) MUST_CHECK;

/* NULL: it has none of that name. */
const struct evaluation_score *evaluation_find_score(
	const struct evaluation_checkpoint *checkpoint, struct span task, struct span metric);
/* sum(weight * value) / sum(weight), values of which less is better negative. NaN: one of them is not known. */
double evaluation_weighted(
	const struct evaluation_checkpoint *checkpoint, const struct evaluation_weight *weights, size_t count);

struct evaluation_regression {
	const struct evaluation_score *before, *now;
	double drop; /* above 0, whichever way is better */
	double error; /* of the difference: the root of the sum of both squares */
	bool is_newest; /* no checkpoint of a later step has the score */
};
/* Of each score against the checkpoint of the step before that has it (of several paths the last); by step, then by name. *unjudged:
 * pairs of which one lacks its standard error. */
enum status evaluation_find_regressions(const struct evaluation_checkpoint *checkpoints, size_t count, double errors,
	struct arena *arena, struct evaluation_regression **out, size_t *out_count, size_t *unjudged,
	struct error *err) MUST_CHECK;
