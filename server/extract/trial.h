/*
 * Job: metric definitions tried on lines: what each captures and where, how often it matches, and what is wrong with it. The
 *      same expressions, prefixes and number forms as in extract_line; one broken definition does not hide the others.
 * Ownership: new/free; hits are the caller's array, their spans point into the trial until the next line. Threads: one at a time.
 *      Pure: no clock; who wants microseconds a line runs trial_match over all lines between two looks at one.
 */
#pragma once

#include "extract/extract.h"

enum trial_warning {
	TRIAL_NEVER_MATCHED = 1,
	TRIAL_NEVER_NUMERIC = 2,
	TRIAL_SEVERAL_GROUPS = 4, /* unnamed ones: SageMaker takes the first */
	TRIAL_SHADOWED = 8, /* an earlier one of the same name matches every line that it does */
	TRIAL_NO_STEP = 16, /* matches without a step, and the rules of the presets find none on the lines either */
	TRIAL_GAVE_UP = 32, /* over the limit of match steps: catastrophic backtracking */
	TRIAL_PLACE_ODD = 64, /* on some lines something else than a number stands where the value should */
	TRIAL_WARNINGS = 7 /* how many there are */
};
/* For people: what it means and what to do. */
const char *trial_warning_text(enum trial_warning warning);
const char *trial_warning_name(enum trial_warning warning);

/* Byte columns in the line as trial_text gives it, from 0. */
struct trial_hit {
	uint32_t definition;
	size_t start, end; /* of the value */
	bool is_number;
	double value;
	bool has_step;
	size_t step_start, step_end;
	int64_t step;
	struct span name; /* of the series, out of the text; empty: the definition's */
};

struct trial_figures {
	struct span name;
	uint64_t tried, matched, numeric, with_step, limited;
	uint64_t not_numeric; /* lines where what stands in its place is no number */
	unsigned warnings; /* bits of trial_warning */
	enum status status; /* not OK: does not compile, and err says where */
	struct error err;
};

struct trial;

/*
 * `definitions`: an array as in MetricDefinitions. ERR_SEMANTIC when it is none, or has more than DEFINITIONS_MAX. `presets` say
 * where steps stand (NULL: nobody does), and live longer.
 */
enum status trial_new(struct trial **out, const struct json *definitions, const struct definition_set *presets,
	struct error *err) MUST_CHECK;
void trial_free(struct trial *trial);
size_t trial_count(const struct trial *trial);

/* The next line; counts. hits has room for `cap`; what is beyond is counted in figures but not handed out. */
enum status trial_line(struct trial *trial, struct regex_scratch *scratch, struct span text, struct trial_hit *hits,
	size_t cap, size_t *count, struct error *err) MUST_CHECK;
/* The line just tried, without its escapes. */
struct span trial_text(const struct trial *trial);
/* One definition on one line without any counting, for timing; true: it matched. */
bool trial_match(const struct trial *trial, size_t definition, struct regex_scratch *scratch, struct span text);
/* After the last line. */
struct trial_figures trial_figures(const struct trial *trial, size_t definition);

AUTO_TYPE(trial)
