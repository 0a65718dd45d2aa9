/*
 * Job: the words that say something about the numbers beside them: counters, splits, units, and what joins words to a sentence.
 *      Internal to extract/.
 * Ownership: values. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* How good a counter is as the step; the greater one wins. */
enum counter_word {
	COUNTER_NONE,
	COUNTER_EPOCH,
	COUNTER_BATCH,
	COUNTER_UPDATE,
	COUNTER_ITERATION,
	COUNTER_STEP,
	COUNTER_GLOBAL
};

/* Of "step", "Epoch", "trainer/global_step"; *is_plural: "steps", which counts only where nothing else can be meant. */
enum counter_word counter_word_of(struct span word, bool *is_plural);
/* "total steps: 500" is no counter. */
bool word_limits_counter(struct span before);
/* "rollout 3: {…}" */
bool word_leads_record(struct span word);
/* Words that stand beside a step on a line that says nothing else. */
bool word_is_of_header(struct span word);

enum split { SPLIT_NONE, SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST };

enum split split_of(struct span word);
struct span split_name(enum split split); /* "train", "val", "test", "" */

/* They join words, or say how grave a line is; they name nothing. */
bool word_joins(struct span word);
/* "tensor(2.5)" is 2.5. */
bool word_wraps(struct span word);

enum unit_kind {
	UNIT_NONE,
	UNIT_PERCENT,
	UNIT_OTHER, /* GiB, W: the value is as printed */
	UNIT_TIME,
	UNIT_TOKENS_RATE,
	UNIT_SAMPLES_RATE,
	UNIT_STEPS_RATE,
	UNIT_DEVICE_RATE, /* tokens/s/gpu */
	UNIT_PLAIN_RATE, /* /s */
	UNIT_STEP_TIME /* s/it, ms/batch */
};

struct unit {
	enum unit_kind kind;
	double seconds; /* of times */
};

struct unit unit_of(struct span text);
/* k, M: 0 when it is none */
double unit_thousands(struct span text);
