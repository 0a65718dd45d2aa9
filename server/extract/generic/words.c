#include "extract/generic/words.h"

#include "extract/line/number.h"

enum { WORD_MAX_BYTES = 24 };

/* Lower case; false: longer than any of the words here. */
static bool fold(struct span word, char out[WORD_MAX_BYTES + 1])
{
	if (word.len == 0 || word.len > WORD_MAX_BYTES)
		return false;
	for (size_t i = 0; i < word.len; i++) {
		char c = word.ptr[i];
		out[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	out[word.len] = '\0';
	return true;
}

/* words: between blanks, with one at both ends. */
static bool is_among(struct span word, const char *words)
{
	char text[WORD_MAX_BYTES + 3];

	if (!fold(word, text + 1))
		return false;
	text[0] = text[word.len + 1] = ' ';
	text[word.len + 2] = '\0';
	return strstr(words, text) != NULL;
}

static struct span last_part(struct span word)
{
	for (size_t i = word.len; i-- > 0;)
		if (word.ptr[i] == '/')
			return span_skip(word, i + 1);
	return word;
}

enum counter_word counter_word_of(struct span word, bool *is_plural)
{
	bool has_path = span_find_char(word, '/') >= 0;
	static const struct {
		const char *words;
		enum counter_word is;
		bool is_plural;
	} counters[] = {
		{" step ", COUNTER_STEP, false},
		{" iter iteration it itr ", COUNTER_ITERATION, false},
		{" epoch ep ep. ", COUNTER_EPOCH, false},
		{" batch minibatch mb n_batch ", COUNTER_BATCH, false},
		{" global_step globalstep global_steps train_step current_step current_steps training_steps trained_steps ",
			COUNTER_GLOBAL, false},
		{" update num_updates valid_num_updates updt up. ", COUNTER_UPDATE, false},
		{" steps ", COUNTER_STEP, true},
		{" iters iterations ", COUNTER_ITERATION, true},
		{" batches ", COUNTER_BATCH, true},
		{" updates ", COUNTER_UPDATE, true},
		{" epochs ", COUNTER_EPOCH, true},
	};
	struct span text = last_part(word);

	*is_plural = false;
	if (text.len == 0 || !memchr("bcgeimnstuvBCGEIMNSTUV", text.ptr[0], 22))
		return COUNTER_NONE;
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (is_among(text, counters[i].words)) {
			*is_plural = counters[i].is_plural;
			return has_path && counters[i].is > COUNTER_STEP ? COUNTER_STEP : counters[i].is;
		}
	return COUNTER_NONE;
}

bool word_limits_counter(struct span before)
{
	return is_among(before,
		" total max maximum num number warmup warm example per every each next until remaining skipped "
		"inner sub micro mini logging log save saving saved best last previous time resume resumed from "
		"grad accumulation accum the first checkpoint seed ");
}

bool word_leads_record(struct span word)
{
	return is_among(word, " perf rollout train eval turn round generation metrics log ");
}

bool word_is_of_header(struct span word)
{
	bool is_plural;

	return counter_word_of(word, &is_plural) != COUNTER_NONE || split_of(word) != SPLIT_NONE ||
	       is_among(word,
		       " learning starting start begin global metrics metric results result summary stats of current "
		       "time rollout optimizer log eta done finished completed ");
}

enum split split_of(struct span word)
{
	if (span_equal_fold(word, SPAN("cv")))
		return SPLIT_VAL; /* alone of its letter: many words are asked for */
	if (word.len < 2 || !memchr("tvedhTVEDH", word.ptr[0], 10))
		return SPLIT_NONE;
	if (is_among(word, " train training tr trn "))
		return SPLIT_TRAIN;
	if (is_among(
		    word, " val valid validation validate validating eval evaluation evaluate evaluating dev heldout "))
		return SPLIT_VAL;
	return is_among(word, " test testing ") ? SPLIT_TEST : SPLIT_NONE;
}

struct span split_name(enum split split)
{
	static const struct span names[] = {SPAN(""), SPAN("train"), SPAN("val"), SPAN("test")};

	return names[split];
}

bool word_joins(struct span word)
{
	return is_among(word,
		" the is of at now was are with and in to a for on by from after before has have had got reached "
		"info warning warn debug error notice done finished completed ");
}

bool word_wraps(struct span word)
{
	return is_among(word, " tensor array float np.float64 np.float32 float32 float64 devicearray jnp.array ");
}

static bool is_per(struct span text, const char *first, const char *second)
{
	ptrdiff_t slash = span_find_char(text, '/');

	return slash > 0 && is_among(span_of(text.ptr, (size_t)slash), first) &&
	       is_among(span_skip(text, (size_t)slash + 1), second);
}

static double seconds_of(struct span text)
{
	char folded[WORD_MAX_BYTES + 1];

	if (!fold(text, folded))
		return 0;
	if (is_among(text, " second secs seconds sec s "))
		return 1;
	if (is_among(text, " msec msecs millisecond milliseconds "))
		return 1e-3;
	if (is_among(text, " mins minutes minute min "))
		return 60;
	return text.len > 1 || folded[0] == text.ptr[0] ? unit_seconds(span_of(folded, text.len)) : 0;
}

#define OF_STEPS " it iter iters iteration iterations step steps batch batches its update updates "
#define OF_TIME " s sec second seconds "

/* "tokens/s/gpu" */
static struct unit unit_of_device(struct span text)
{
	size_t last = text.len;

	while (text.ptr[last - 1] != '/')
		last--;
	struct unit whole = unit_of(span_of(text.ptr, last - 1));
	bool is_device = is_among(span_skip(text, last), " gpu device npu tpu chip rank worker node ");
	return is_device && whole.kind > UNIT_TIME && whole.kind < UNIT_STEP_TIME ? (struct unit){UNIT_DEVICE_RATE, 0}
										  : (struct unit){UNIT_OTHER, 0};
}

struct unit unit_of(struct span text)
{
	ptrdiff_t slash = span_find_char(text, '/');
	double seconds = slash < 0 ? seconds_of(text) : seconds_of(span_of(text.ptr, (size_t)slash));

	if (text.len == 0 || text.len > WORD_MAX_BYTES)
		return (struct unit){UNIT_NONE, 0};
	if (span_equal(text, SPAN("%")))
		return (struct unit){UNIT_PERCENT, 0};
	if (slash == 0)
		return (struct unit){is_among(span_skip(text, 1), OF_TIME) ? UNIT_PLAIN_RATE : UNIT_OTHER, 0};
	if (slash < 0)
		return seconds > 0 && !is_among(text, " m d ") ? (struct unit){UNIT_TIME, seconds}
							       : (struct unit){UNIT_OTHER, 0};
	if (seconds > 0 && is_among(span_skip(text, (size_t)slash + 1), OF_STEPS))
		return (struct unit){UNIT_STEP_TIME, seconds};
	if (span_find_char(span_skip(text, (size_t)slash + 1), '/') >= 0)
		return unit_of_device(text);
	if (is_per(text, " token tokens tok toks tks t word words ", OF_TIME))
		return (struct unit){UNIT_TOKENS_RATE, 0};
	if (is_per(text, " sample samples img imgs image images seq seqs sequence sequences example examples ex ",
		    OF_TIME))
		return (struct unit){UNIT_SAMPLES_RATE, 0};
	if (is_per(text, OF_STEPS, OF_TIME))
		return (struct unit){UNIT_STEPS_RATE, 0};
	return (struct unit){UNIT_OTHER, 0};
}

double unit_thousands(struct span text)
{
	static const char letters[] = "kKMGB";
	static const double factors[] = {1e3, 1e3, 1e6, 1e9, 1e9};
	const char *at = text.len == 1 ? strchr(letters, text.ptr[0]) : NULL;

	return at && *at ? factors[at - letters] : 0;
}
