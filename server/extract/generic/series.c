/* What a value is called decides its series. */
#include "extract/generic/series.h"

#include "extract/generic/guess.h"
#include "extract/generic/meanings.h"
#include "extract/line/number.h"

#define STEP_UNIT_S 1e-3 /* of train:step_time */

/* Of names of times of a clock; these are in seconds since 1970. */
#define TIME_WORDS "_ts_ _time_ _timestamp_ _date_ _datetime_ _clock_ _created_"
#define FIRST_S 631152000.
#define LAST_S 7258118400.

const struct metric_definition generic_definitions[GENERIC_SERIES_COUNT] = {
	[GENERIC_LOSS] = {.name = SPAN("train:loss"), .role = ROLE_LOSS, .higher = -1},
	[GENERIC_VAL_LOSS] = {.name = SPAN("val:loss"), .role = ROLE_EVAL_LOSS, .higher = -1},
	[GENERIC_LR] = {.name = SPAN("train:lr"), .role = ROLE_LEARNING_RATE},
	[GENERIC_GRAD_NORM] = {.name = SPAN("train:grad_norm"), .role = ROLE_GRAD_NORM},
	[GENERIC_TOKENS_RATE] = {.name = SPAN("train:throughput"),
		.unit = SPAN("tokens/s"),
		.role = ROLE_THROUGHPUT,
		.higher = 1},
	[GENERIC_TOKENS_RATE_BY_UNIT] = {.name = SPAN("train:throughput"),
		.unit = SPAN("tokens/s"),
		.role = ROLE_THROUGHPUT,
		.higher = 1},
	[GENERIC_STEP_TIME] = {.name = SPAN("train:step_time"),
		.unit = SPAN("ms"),
		.role = ROLE_STEP_TIME,
		.higher = -1},
	[GENERIC_OTHER] = {.name = SPAN("*")},
	[GENERIC_STEPS_RATE] = {.name = SPAN("train:steps_per_second"),
		.unit = SPAN("steps/s"),
		.role = ROLE_THROUGHPUT,
		.higher = 1},
	[GENERIC_STEP_SECONDS] = {.name = SPAN("train:step_time"),
		.unit = SPAN("s"),
		.role = ROLE_STEP_TIME,
		.higher = -1},
	[GENERIC_STEP] = {.name = SPAN("step"), .is_step_only = true},
	[GENERIC_TEST_LOSS] = {.name = SPAN("test:loss"), .role = ROLE_EVAL_LOSS, .higher = -1},
	[GENERIC_SAMPLES_RATE] = {.name = SPAN("train:samples_per_second"),
		.unit = SPAN("samples/s"),
		.role = ROLE_THROUGHPUT,
		.higher = 1},
	[GENERIC_RATE] = {.name = SPAN("*"), .role = ROLE_THROUGHPUT, .higher = 1},
	[GENERIC_TIME] = {.name = SPAN("*"), .role = ROLE_STEP_TIME, .higher = -1},
	[GENERIC_MEAN] = {.name = SPAN("*"), .keeps_role = true},
};

/* ---- names ---- */

static bool has_blank(struct span name)
{
	return span_find_char(name, ' ') >= 0 || span_find_char(name, '\t') >= 0;
}

/* In the line's own room: the split before it, and '_' for blanks. False: there is no room. */
static bool keep_name(struct generic_line *out, enum split split, struct span name, struct span *kept)
{
	struct span before = split_name(split);
	size_t len = 0, needed = before.len + 1 + name.len;
	char *at = out->names + out->names_len;

	*kept = name;
	if (!before.len && !has_blank(name))
		return true;
	if (needed > GENERIC_NAMES_BYTES - out->names_len)
		return false;
	if (before.len) {
		memcpy(at, before.ptr, before.len);
		at[before.len] = ':';
		len = before.len + 1;
	}
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i] == ' ' || name.ptr[i] == '\t' ? '_' : name.ptr[i];
		if (c != '_' || len == 0 || at[len - 1] != '_')
			at[len++] = c;
	}
	*kept = span_of(at, len);
	out->names_len += len;
	return true;
}

static enum split take_split(struct span *base)
{
	ptrdiff_t first = span_find_char(*base, '_');
	size_t last = base->len;
	enum split split = first > 0 ? split_of(span_of(base->ptr, (size_t)first)) : SPLIT_NONE;

	if (split != SPLIT_NONE) {
		*base = span_skip(*base, (size_t)first + 1);
		return split;
	}
	while (last > 0 && base->ptr[last - 1] != '_')
		last--;
	split = last ? split_of(span_skip(*base, last)) : SPLIT_NONE;
	if (split != SPLIT_NONE)
		base->len = last - 1;
	return split;
}

static size_t find_meaning(struct span base)
{
	size_t low = 0, high = sizeof meanings / sizeof *meanings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = span_compare(base, span_from(meanings[middle].name));
		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return SIZE_MAX;
}

/* ---- meanings ---- */

/* A name as it is understood. */
struct meaning {
	enum means is;
	double seconds; /* of the unit that the name says */
	uint32_t hash;
	enum split split;
	bool says_split; /* the name itself */
};

/* "validation: 440" counts samples, "validate: 1" is a setting: a loss has a fraction. */
static bool may_be_loss(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '.' || (text.ptr[i] | 0x20) >= 'a')
			return true;
	return false;
}

static struct meaning meaning_of(const struct generic_value *printed, enum split around)
{
	char text[METRIC_WORDS_MAX_BYTES];
	struct span words = metric_words(printed->name, text);
	struct span base = words.len > 2 ? span_of(words.ptr + 1, words.len - 2) : SPAN("");
	struct meaning out = {.split = take_split(&base)};
	size_t at = find_meaning(base);

	out.says_split = out.split != SPLIT_NONE;
	if (!out.says_split)
		out.split = around;
	bool is_learn = span_equal(base, SPAN("learn")); /* "10: learn: 9.01 test: 9.2" */
	if (at == SIZE_MAX && (is_learn || split_of(base) > SPLIT_TRAIN)) { /* "loss train: 1.4, val: 1.6" */
		out.split = is_learn ? SPLIT_TRAIN : split_of(base);
		out.is = may_be_loss(printed->text) ? MEANS_LOSS_ALIAS : MEANS_NOTHING;
		out.says_split = true;
	}
	if (at == SIZE_MAX)
		return out;
	out.is = meanings[at].is;
	out.seconds = meanings[at].seconds;
	out.hash = (uint32_t)span_hash(base) | 1;
	return out;
}

static bool is_evaluation(enum split split)
{
	return split == SPLIT_VAL || split == SPLIT_TEST;
}

static enum generic_series loss_of(enum split split)
{
	return split == SPLIT_VAL ? GENERIC_VAL_LOSS : split == SPLIT_TEST ? GENERIC_TEST_LOSS : GENERIC_LOSS;
}

bool series_is_known(struct span name)
{
	struct meaning means = meaning_of(&(struct generic_value){.name = name}, SPLIT_NONE);

	return means.is >= MEANS_LOSS && means.is <= MEANS_STEP_TIME;
}

bool series_is_loss(enum generic_series series)
{
	return series == GENERIC_LOSS || series == GENERIC_VAL_LOSS || series == GENERIC_TEST_LOSS;
}

static enum generic_series rate_of(struct unit unit)
{
	switch (unit.kind) {
	case UNIT_TOKENS_RATE:
		return GENERIC_TOKENS_RATE;
	case UNIT_SAMPLES_RATE:
		return GENERIC_SAMPLES_RATE;
	case UNIT_STEPS_RATE:
		return GENERIC_STEPS_RATE;
	default:
		return GENERIC_RATE;
	}
}

/* "time 0.41 (0.52)", "iter: 0.41 data: 0.01": the time of a step in seconds, though nothing says so. */
static bool is_time_by_habit(const struct meaning *means, const struct generic_value *value)
{
	return value->has_mean && (means->is == MEANS_TIME || (means->is == MEANS_COUNTER &&
								      value->value != (double)(int64_t)value->value));
}

static double to_step_unit(double value, double seconds)
{
	return number_convert(value, seconds, STEP_UNIT_S);
}

/* The time of a step: in our unit when it is known in which it is printed. */
static enum generic_series time_of(const struct meaning *means, struct unit unit, struct generic_value *value)
{
	bool is_habit = is_time_by_habit(means, value);
	double seconds = unit.kind == UNIT_TIME || unit.kind == UNIT_STEP_TIME ? unit.seconds
			 : is_habit                                            ? 1
									       : means->seconds;
	bool is_short = means->is != MEANS_TIME || seconds < 1;

	if (seconds > 0 && (is_short || is_habit)) {
		value->value = to_step_unit(value->value, seconds);
		return GENERIC_STEP_TIME;
	}
	return means->is == MEANS_STEP_TIME ? GENERIC_TIME : GENERIC_OTHER;
}

static enum generic_series series_of(const struct meaning *means, struct unit unit, struct generic_value *value)
{
	bool is_rate = means->is == MEANS_RATE || means->is == MEANS_TOKENS_RATE;
	bool is_time = means->is == MEANS_STEP_TIME || means->is == MEANS_COUNTER || means->is == MEANS_TIME;

	if (means->is == MEANS_LOSS || means->is == MEANS_LOSS_ALIAS)
		return unit.kind == UNIT_PERCENT || unit.kind == UNIT_TIME ? GENERIC_OTHER : loss_of(means->split);
	if (means->is == MEANS_LR)
		return GENERIC_LR;
	if (means->is == MEANS_GRAD_NORM)
		return GENERIC_GRAD_NORM;
	if (is_evaluation(means->split))
		return GENERIC_OTHER;
	if (is_rate && unit.kind == UNIT_STEP_TIME) {
		value->value = to_step_unit(value->value, unit.seconds);
		return GENERIC_STEP_TIME;
	}
	if (means->is == MEANS_TOKENS_RATE)
		return GENERIC_TOKENS_RATE;
	if (is_rate)
		return rate_of(unit);
	if (means->is == MEANS_LATENCY && value->has_rate && unit.kind == UNIT_TIME) {
		value->value = to_step_unit(value->value, unit.seconds);
		return GENERIC_STEP_TIME;
	}
	bool has_rate = unit.kind > UNIT_TIME && unit.kind < UNIT_STEP_TIME;
	return is_time ? time_of(means, unit, value) : has_rate ? GENERIC_RATE : GENERIC_OTHER;
}

bool series_by_name(struct span name, enum generic_series *out)
{
	struct generic_value value = {.name = name};
	struct meaning means = meaning_of(&value, SPLIT_NONE);
	bool is_plain = means.hash && means.is >= MEANS_LOSS && means.is <= MEANS_TOKENS_RATE;

	*out = is_plain ? series_of(&means, (struct unit){0}, &value) : GENERIC_OTHER;
	return *out != GENERIC_OTHER;
}

/* No name stands there: the unit tells what it is. */
static bool add_by_unit(
	struct generic_line *out, const struct generic_value *printed, enum split split, struct unit unit)
{
	struct generic_value *value = &out->values[out->count];

	*value = *printed;
	if (is_evaluation(split))
		return false;
	if (unit.kind == UNIT_STEP_TIME) {
		value->series = out->counters.is_bar ? GENERIC_STEP_SECONDS : GENERIC_STEP_TIME;
		value->value = number_convert(printed->value, unit.seconds, out->counters.is_bar ? 1 : STEP_UNIT_S);
	} else if (unit.kind == UNIT_TIME) {
		value->series = GENERIC_STEP_TIME;
		value->value = to_step_unit(printed->value, unit.seconds);
	} else if (unit.kind == UNIT_TOKENS_RATE) {
		value->series = GENERIC_TOKENS_RATE_BY_UNIT;
	} else if (unit.kind == UNIT_PLAIN_RATE) {
		value->series = GENERIC_SAMPLES_RATE;
	} else {
		value->series = rate_of(unit);
		if (value->series == GENERIC_RATE)
			return false;
	}
	out->is_known |= out->counters.has_step && !out->counters.is_bar && unit.kind > UNIT_TIME &&
			 unit.kind != UNIT_PLAIN_RATE;
	out->count++;
	return true;
}

static bool is_known_name(struct span name)
{
	return guess_points_needed(name, true) == guess_points_needed(SPAN("loss"), true);
}

/* "train/CrossEntropyLoss": nothing but a training says so, also where the step stands on another line. */
static bool is_path_of_loss(struct span name)
{
	if (span_find_char(name, '/') < 0 || !is_known_name(name))
		return false;
	enum role role = role_guess(name); /* dear: most names are no path */
	return role == ROLE_LOSS || role == ROLE_EVAL_LOSS;
}

/* By its name alone a line that has it is one of a training. */
static bool is_telling(const struct generic_line *out, const struct generic_value *value)
{
	switch (value->series) {
	case GENERIC_LOSS:
	case GENERIC_VAL_LOSS:
	case GENERIC_TEST_LOSS:
	case GENERIC_TOKENS_RATE:
	case GENERIC_SAMPLES_RATE:
	case GENERIC_STEPS_RATE:
		return true;
	case GENERIC_OTHER:
		return (out->counters.has_step && is_known_name(value->name)) ||
		       (!value->is_bare && is_path_of_loss(value->name));
	default:
		return out->counters.has_step;
	}
}

/* "ts": 1764540123.5 says when the line was written: by its size a time between 1990 and 2200, as that of an object that is sent. */
static bool is_time_of_line(struct span name, double value)
{
	static const double units[] = {1, 1e3, 1e6, 1e9}; /* in a second */
	char words[METRIC_WORDS_MAX_BYTES];
	bool may_be = false;

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		may_be |= value >= FIRST_S * units[i] && value < LAST_S * units[i];
	return may_be && metric_words_have(metric_words(name, words), TIME_WORDS);
}

bool generic_add(struct generic_line *out, const struct generic_value *printed, enum split split, struct unit unit)
{
	struct generic_value *value = &out->values[out->count];

	if (out->count == GENERIC_VALUES_MAX) {
		out->is_cut = true;
		return false;
	}
	if (!printed->name.len)
		return add_by_unit(out, printed, split, unit);
	*value = *printed;
	struct meaning means = meaning_of(printed, split);
	if (means.is == MEANS_NOTHING)
		return false;
	value->series = series_of(&means, unit, value);
	value->alias = means.is == MEANS_LOSS_ALIAS ? means.hash : 0;
	bool is_around = is_evaluation(split) && !means.says_split;
	if (!keep_name(out, is_around ? split : SPLIT_NONE, printed->name, &value->name)) {
		out->is_cut = true;
		return false;
	}
	bool has_star = span_equal(generic_definitions[value->series].name, SPAN("*"));
	if (has_star && (guess_points_needed(value->name, true) == GUESS_NEVER ||
				is_time_of_line(printed->name, printed->value)))
		return false;
	bool tells = is_telling(out, value);
	if (value->is_bare && !tells)
		return false;
	out->is_known |= tells;
	out->count++;
	return true;
}
