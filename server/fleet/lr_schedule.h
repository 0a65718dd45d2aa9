/*
 * Job: the learning rate that a job's settings declare: which schedule, and the rate at each step.
 * Source: transformers.optimization (linear, cosine, cosine_with_min_lr, constant, constant_with_warmup, inverse_sqrt,
 *         warmup_stable_decay), Megatron-LM's optimizer_param_scheduler.py (constant, linear, cosine, inverse-square-root, WSD with a linear
 *         decay), nanoGPT's get_lr, torchtitan's lr_scheduler.py, NeMo's core/optim/lr_scheduler.py (CosineAnnealing, WarmupPolicy,
 *         WarmupAnnealing).
 * Ownership: values; spans are the caller's. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

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

/* A setting by its name, or what is behind one of its dots; false: nobody says it. */
struct lr_settings {
	bool (*find)(void *context, struct span name, struct span *key, struct span *value);
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
};

/* total_steps: what else says how long the training is; 0: nothing. */
void lr_schedule_declare(const struct lr_settings *settings, double total_steps, struct lr_schedule *out);
/* After so many steps. */
double lr_schedule_at(const struct lr_schedule *schedule, double step);
/* Is the rate that was printed at a step the declared one, to a hundredth? Whether trainers print the rate of the step, of the one
 * before or of the next is not known: each counts. */
bool lr_schedule_is_kept(const struct lr_schedule *schedule, double step, double printed);
const char *lr_shape_name(enum lr_shape shape);

/* The norm that gradients are clipped to; NaN: nobody says. */
double lr_find_clip(const struct lr_settings *settings, struct span *from);
