/*
 * Job: what a metric is called, how it is found in a line, and what role it plays. Plain values.
 */
#pragma once

#include "base/error.h"
#include "model/metrics/metric_words.h"

enum role {
	ROLE_OTHER,
	ROLE_LOSS,
	ROLE_EVAL_LOSS,
	ROLE_THROUGHPUT,
	ROLE_STEP_TIME,
	ROLE_LEARNING_RATE,
	ROLE_GRAD_NORM,
	ROLE_MFU,
	ROLE_REWARD,
	ROLE_KL,
	ROLE_ENTROPY,
	ROLE_RESPONSE_LENGTH,
	ROLE_CLIP_FRACTION,
	ROLE_ROLLOUT_TIME,
	ROLE_BENCHMARK, /* by what it was measured at: sizes, runs. Its steps are none of the job's */
	ROLE_COUNT /* rows and states of databases hold these numbers: append only */
};

enum { METRIC_REGEX_MAX_BYTES = 2000, METRIC_UNIT_MAX_BYTES = 32, ROLE_LIST_BYTES = 192 };

const char *role_name(enum role role); /* "loss", "eval_loss", … "other" */
bool role_parse(struct span name, enum role *out);
/* 1: higher is better, -1: lower is, 0: the role does not say. */
int role_higher(enum role role);
/* "loss, eval_loss, …, other", for whoever gave another one. */
const char *role_list(char text[ROLE_LIST_BYTES]);
/* From the metric's name alone: "val_loss" is eval_loss, "train:loss" is loss, "lr" is learning_rate; else OTHER. */
enum role role_guess(struct span metric);
/* Names an accuracy or the like: higher is better, and it is no loss wherever it is printed. */
bool metric_is_score(struct span metric);
/* Names what is measured in an evaluation, whatever it is: "validation:accuracy", "eval_runtime"; not "train:value". */
bool metric_is_evaluation(struct span metric);

/* Without its labels: name{rank="3"}. */
struct span metric_bare_name(struct span metric);
/* Is it the metric that is asked for: of that very name, or with labels (name{rank="3"}) where the name is asked without? */
bool metric_matches(struct span metric, struct span asked);

/* One entry of MetricDefinitions: Name and Regex are SageMaker's, the rest is ours and optional. Spans are borrowed. */
struct metric_definition {
	struct span name;
	struct span regex; /* value: the group named `value`, else group 1; step, epoch: the groups of these names */
	struct span step_regex; /* searched in the same line when regex has no step group; "" : none */
	struct span group; /* of regex, that the value is in; "": as said above */
	struct span unit;
	enum role role;
	int higher; /* 1: higher is better, -1: lower is, 0: not stated */
	bool is_step_only; /* its value is the stream's step, and no metric */
	bool keeps_role; /* whatever a name out of the text tells */
	bool is_sampled; /* a series of it is one of samples (model/metrics/batch_series.h): of those a stream may have more */
};
