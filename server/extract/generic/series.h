/*
 * Job: the series of the preset that reads any line, and what a name and a unit say about which one a value is of. Internal to
 *      extract/.
 * Ownership: spans into the text, or into the result itself. Threads: any. Pure.
 */
#pragma once

#include "extract/generic/counters.h"
#include "extract/generic/words.h"
#include "model/metrics/metric.h"

enum {
	GENERIC_VALUES_MAX = 512, /* of one line; what is behind them is left out and counted as cut */
	GENERIC_NAMES_BYTES = 8192, /* of names that do not stand in the text as they are */
	GENERIC_NAME_MAX_BYTES = 64
};

/*
 * The series of the preset that this reads for, as its definitions: states of streams have their numbers, so new ones come at
 * the end. A name with a '*' is filled in from the text.
 */
enum generic_series {
	GENERIC_LOSS,
	GENERIC_VAL_LOSS,
	GENERIC_LR,
	GENERIC_GRAD_NORM,
	GENERIC_TOKENS_RATE, /* tokens/s, by its name */
	GENERIC_TOKENS_RATE_BY_UNIT, /* "12,345 tok/s" */
	GENERIC_STEP_TIME, /* ms */
	GENERIC_OTHER, /* any name; the role is what it tells */
	GENERIC_STEPS_RATE, /* it/s of a bar */
	GENERIC_STEP_SECONDS, /* s/it of a bar */
	GENERIC_STEP, /* a line that says the step alone */
	GENERIC_TEST_LOSS,
	GENERIC_SAMPLES_RATE,
	GENERIC_RATE, /* any name of a throughput */
	GENERIC_TIME, /* any name of a step's time */
	GENERIC_MEAN, /* of a name: the running mean beside its value; no role, whatever the name tells */
	GENERIC_SERIES_COUNT
};

extern const struct metric_definition generic_definitions[GENERIC_SERIES_COUNT];

struct generic_value {
	enum generic_series series;
	struct span name; /* as printed, with '_' for blanks; what the series is called when it has a '*' */
	struct span text; /* the number, in the line */
	double value; /* in the unit of the series */
	bool has_mean; /* "0.41 (0.52)", "0.35s, 512/s": so the time of a step is printed */
	bool has_rate; /* beside it samples or tokens per second are said */
	bool is_bare; /* nothing but blanks stands between name and number: prose has that, too */
	uint32_t alias; /* of a loss: which other name was printed; 0: its own */
};

struct generic_line {
	struct generic_counters counters;
	bool is_step_alone; /* it says the step and nothing else: what follows is of that step */
	bool is_side; /* a bar of something else than the training */
	bool is_known; /* has a value by whose name alone the line is one of a training */
	bool is_cut; /* there was more than is read */
	size_t not_numeric; /* what has a metric's name, and is no number */
	size_t count;
	size_t names_len;
	struct generic_value values[GENERIC_VALUES_MAX];
	char names[GENERIC_NAMES_BYTES];
};

/* The name alone says which metric it is. */
bool series_is_known(struct span name);
bool series_is_loss(enum generic_series series);
/* The name alone says which one, and no value of it is converted. */
bool series_by_name(struct span name, enum generic_series *out);
/*
 * Appends a value by its name as printed, blanks in it and all; the split is what stands before. False: it is no metric, or
 * there is no room.
 */
bool generic_add(struct generic_line *out, const struct generic_value *printed, enum split split, struct unit unit);
