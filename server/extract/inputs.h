/*
 * Job: what a job's settings say of the run as a whole: global batch, sequence length, parameters, devices, their peak, how
 *      many steps there will be. Trainers name these differently; the table is in inputs.c. What cannot be known is not
 *      guessed: it is 0, and what needs it is not derived.
 * Ownership: plain values; spans are borrowed. Threads: values. Pure.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>

enum input {
	INPUT_GLOBAL_BATCH, /* sequences or samples of one step, over all devices */
	INPUT_SEQUENCE_LENGTH, /* tokens of each */
	INPUT_TOKENS_PER_STEP, /* said as such, else the product of the two */
	INPUT_PARAMETERS,
	INPUT_DEVICES,
	INPUT_PEAK_TFLOPS, /* of one device, dense, in bfloat16 */
	INPUT_TOTAL_STEPS,
	INPUT_EPOCHS,
	INPUT_TOKEN_BUDGET, /* of the whole training: said as such, else by its samples or steps */
	INPUT_COUNT
};

enum { INPUT_FROM_BYTES = 200, INPUT_NOT_UNDERSTOOD_BYTES = 256 };

struct input_value {
	double value; /* 0: not known */
	char from[INPUT_FROM_BYTES]; /* "global_batch_size, algo-1 line 12" */
};

struct inputs {
	struct input_value items[INPUT_COUNT];
	char not_understood[INPUT_NOT_UNDERSTOOD_BYTES]; /* keys of settings that are no numbers, one a line */
	bool has_counted_parameters; /* nobody stated them: they are worked out of the model's sizes */
};

/* A setting, and who says so: "HyperParameters" or "algo-1 line 12". */
struct input_setting {
	struct span key;
	struct span value;
	struct span from;
	bool is_stated; /* in the job's document: it is believed before the log */
};

/* What the job's document says of its machines, as far as the table of devices knows them. */
struct input_machines {
	double instances; /* 0: not known, as below */
	double devices_each;
	double peak_tflops;
	double cores_of_device, ranks_of_device; /* more than 1 of Trainium: world_size counts ranks, not devices */
	double memory_gib; /* of one device */
	struct span from; /* "2 x ml.p4d.24xlarge" */
};

const char *input_name(enum input input); /* "global_batch_size" */
/* Only these need to be given to inputs_resolve. */
bool input_is_wanted(struct span key);
void inputs_resolve(
	const struct input_setting *settings, size_t count, const struct input_machines *machines, struct inputs *out);
/* "124.44M", "491,520", "20_000", "7e9", "6.7 B", "20Bn", "300B tokens" */
bool input_parse_count(struct span text, double *out);
