/*
 * Job: the learning rate that a job's settings declare: which schedule, and the rate at each step.
 * Source: transformers.optimization (linear, cosine, cosine_with_min_lr, constant, constant_with_warmup, inverse_sqrt,
 *         warmup_stable_decay), Megatron-LM's optimizer_param_scheduler.py (constant, linear, cosine, inverse-square-root, WSD with a linear
 *         decay), nanoGPT's get_lr, torchtitan's lr_scheduler.py, axolotl's schedulers.py, NeMo's core/optim/lr_scheduler.py (CosineAnnealing, WarmupPolicy,
 *         WarmupAnnealing).
 * Ownership: values; spans are the caller's. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

#include <stdint.h>

enum { LR_NOT_UNDERSTOOD_MAX = 8 };

enum lr_shape {
	LR_NONE,
	LR_CONSTANT,
	LR_LINEAR,
	LR_COSINE,
	LR_INVERSE_SQRT,
	LR_WSD,
	LR_WSD_COSINE, /* its decay is half a cosine */
	LR_SHAPE_COUNT
};

struct lr_settings {
	/* A setting by its name, or what is behind one of its dots; false: nobody says it. */
	bool (*find)(void *context, struct span name, struct span *key, struct span *value);
	/* The first of a group ("lr_scheduler.…") that is none of these, spaces between them; false: there is none. */
	bool (*find_other)(void *context, struct span group, struct span known, struct span *key);
	void *context;
};

struct lr_schedule {
	enum lr_shape shape; /* LR_NONE: the settings declare none */
	double initial, peak, least; /* the rates of the warm-up's beginning, of its top and its end */
	double warmup, decay,
		total; /* steps: of the warm-up, of WSD's decay (0: of all others), and until the end of the decay */
	/* keys of the settings; "": what trainers do without one */
	struct span shape_from, initial_from, peak_from, least_from, warmup_from, decay_from, total_from;
	/* keys of settings that change the rate and are not followed: with one of these nothing is declared */
	struct span not_understood[LR_NOT_UNDERSTOOD_MAX];
	size_t not_understood_count;
	/* With 16-bit floats a step whose gradients overflow is left out, and the schedule waits: which setting says so; "": none does. */
	struct span skips_from;
	bool may_skip;
};

struct lr_range {
	double low, high;
};

/* total_steps: what else says how long the training is; 0: nothing. */
void lr_schedule_declare(const struct lr_settings *settings, double total_steps, struct lr_schedule *out);
/* After so many steps. */
double lr_schedule_at(const struct lr_schedule *schedule, double step);
/* The rates that are the declared one for what was printed at one of these steps. Whether trainers print the rate of the step, of the one
 * before or of the next is not known: each counts. */
struct lr_range lr_schedule_between(const struct lr_schedule *schedule, double from_step, double to_step);
/* How many of the steps so far may have been left out at most. */
int64_t lr_schedule_skips(const struct lr_schedule *schedule, int64_t step);
/* To a hundredth. slack: so much more or less may have been printed as this. */
bool lr_range_holds(const struct lr_range *range, double printed, double slack);
const char *lr_shape_name(enum lr_shape shape);

/* The norm that gradients are clipped to; NaN: nobody says. */
double lr_find_clip(const struct lr_settings *settings, struct span *from);
