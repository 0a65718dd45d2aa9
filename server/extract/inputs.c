#include "extract/inputs.h"

#include "model/jobs/model_size.h"
#include "model/jobs/setting_name.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum thing {
	GLOBAL_BATCH,
	BATCH_EACH, /* of one data-parallel rank, in one pass */
	BATCH_DEEPSPEED, /* global where BATCH_MICRO is said too, and anything elsewhere */
	BATCH_MICRO,
	RAMP, /* the global batch grows during the run */
	ACCUMULATION,
	LENGTH,
	LENGTH_IF_PACKED, /* else only the longest that is taken */
	PACKING,
	TOKENS,
	PARAMETERS,
	TRAINABLE,
	LORA, /* few of the parameters are trained */
	WORLD,
	TENSOR,
	PIPELINE,
	CONTEXT,
	TOTAL,
	TOTAL_TOKENS,
	TOTAL_SAMPLES,
	EPOCHS,
	EXPERTS,
	DECODER, /* beside an encoder */
	THING_COUNT
};

/* What trainers call it, the best first: the whole key, or what is behind one of its dots. */
static const char *const names[THING_COUNT] = {
	[GLOBAL_BATCH] = ("global_batch_size global_train_batch_size train_global_batch_size total_train_batch_size "
			  "total_batch_size"),
	[BATCH_EACH] = "per_device_train_batch_size train_micro_batch_size_per_gpu micro_batch_size local_batch_size",
	[BATCH_DEEPSPEED] = "train_batch_size",
	[BATCH_MICRO] = "train_micro_batch_size_per_gpu",
	[RAMP] = "rampup_batch_size",
	[ACCUMULATION] = "gradient_accumulation_steps accumulate_grad_batches grad_accum_steps",
	[LENGTH] = "seq_length sequence_length seq_len max_seq_len block_size model.max_sequence_length",
	[LENGTH_IF_PACKED] = "max_seq_length max_sequence_length max_length cutoff_len",
	[PACKING] = "packing sample_packing",
	[TOKENS] = "tokens_per_step tokens_per_iteration tokens_per_iter",
	[PARAMETERS] = "num_parameters num_params n_params total_params total_parameters",
	[TRAINABLE] = "num_trainable_parameters",
	[LORA] = "lora_r lora_rank lora_alpha use_lora",
	[WORLD] = "world_size",
	[TENSOR] = "tensor_model_parallel_size tensor_parallel_degree tensor_parallel_size model_parallel_size",
	[PIPELINE] = "pipeline_model_parallel_size pipeline_parallel_degree pipeline_parallel_size pipe_parallel_size",
	[CONTEXT] = "context_parallel_size context_parallel_degree",
	[TOTAL] =
		("total_optimization_steps train_iters max_steps max_iters max_train_steps num_train_steps total_steps "
		 "num_iterations training_steps max_updates total_num_steps training.steps"),
	[TOTAL_TOKENS] =
		("train_tokens num_train_tokens max_train_tokens total_train_tokens training_tokens token_budget "
		 "target_tokens"),
	[TOTAL_SAMPLES] = "train_samples",
	[EPOCHS] = "num_train_epochs num_epochs max_epochs",
	[EXPERTS] = "num_experts num_local_experts n_routed_experts",
	[DECODER] = "num_decoder_layers decoder_layers",
};

const char *input_name(enum input input)
{
	static const char *const shown[INPUT_COUNT] = {
		[INPUT_GLOBAL_BATCH] = "global_batch_size",
		[INPUT_SEQUENCE_LENGTH] = "sequence_length",
		[INPUT_TOKENS_PER_STEP] = "tokens_per_step",
		[INPUT_PARAMETERS] = "parameters",
		[INPUT_DEVICES] = "devices",
		[INPUT_PEAK_TFLOPS] = "peak_tflops",
		[INPUT_TOTAL_STEPS] = "total_steps",
		[INPUT_EPOCHS] = "epochs",
		[INPUT_TOKEN_BUDGET] = "token_budget",
	};

	return shown[input];
}

static bool is_named(struct span key, struct span name)
{
	return span_equal(name, SPAN("world_size")) ? setting_name_is_exactly(key, name) : setting_name_is(key, name);
}

/* The settings of something else than the model that is trained. */
static bool is_aside(struct span key)
{
	static const struct span parts[] = {SPAN("eval"), SPAN("val"), SPAN("validation"), SPAN("test"),
		SPAN("teacher"), SPAN("draft"), SPAN("reward"), SPAN("critic"), SPAN("vision"), SPAN("vision_config")};
	struct span rest = key, part;

	while (span_next(&rest, '.', &part))
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (span_equal(part, parts[i]))
				return true;
	return false;
}

static bool is_any_of(struct span key, const char *these)
{
	struct span rest = span_from(these), name;

	while (span_next(&rest, ' ', &name))
		if (is_named(key, name))
			return true;
	return false;
}

bool input_is_wanted(struct span key)
{
	bool is_wanted = false;

	for (size_t i = 0; !is_wanted && i < THING_COUNT; i++)
		is_wanted = is_any_of(key, names[i]);
	for (int i = 0; !is_wanted && i < MODEL_SETTING_COUNT; i++)
		is_wanted = is_any_of(key, model_setting_names((enum model_setting)i));
	return is_wanted && !is_aside(key);
}

/* What people write behind a number: "300B tokens", "20Bn". */
static struct span without_words(struct span text)
{
	text = span_trim(text);
	if (text.len > 6 && span_equal_fold(span_skip(text, text.len - 6), SPAN("tokens")))
		text = span_trim(span_of(text.ptr, text.len - 6));
	if (text.len > 2 && span_equal_fold(span_skip(text, text.len - 2), SPAN("bn")))
		text.len--;
	return text;
}

/* "20_000", as Python writes it; "491,520". */
static bool is_separator(struct span text, size_t i)
{
	if (!i || !isdigit((unsigned char)text.ptr[i - 1]))
		return false;
	if (text.ptr[i] == '_')
		return i + 1 < text.len && isdigit((unsigned char)text.ptr[i + 1]);
	return text.ptr[i] == ',' && i + 3 < text.len && isdigit((unsigned char)text.ptr[i + 3]);
}

bool input_parse_count(struct span text, double *out)
{
	static const char suffixes[] = "KMBGT";
	static const double factors[] = {1e3, 1e6, 1e9, 1e9, 1e12};
	char digits[64];
	size_t len = 0;
	double factor = 1;

	text = without_words(text);
	const char *suffix = text.len ? strchr(suffixes, toupper((unsigned char)text.ptr[text.len - 1])) : NULL;
	if (suffix && *suffix) {
		factor = factors[suffix - suffixes];
		text.len--;
		text = span_trim(text);
	}
	for (size_t i = 0; i < text.len; i++) {
		if (is_separator(text, i))
			continue;
		if (len == sizeof digits)
			return false;
		digits[len++] = text.ptr[i];
	}
	if (!span_parse_double(span_of(digits, len), out) || !isfinite(*out))
		return false;
	*out *= factor;
	return true;
}

/* ---- finding ---- */

struct finding {
	const struct input_setting *settings;
	size_t count;
	char *not_understood; /* of struct inputs */
};

static size_t depth_of(struct span key)
{
	size_t dots = 0;

	for (size_t i = 0; i < key.len; i++)
		dots += key.ptr[i] == '.';
	return dots;
}

/* Stated before logged, then the shortest path. Two of the same rank that disagree say nothing: *is_torn. */
static const struct input_setting *find_name(const struct finding *in, struct span name, bool *is_torn)
{
	const struct input_setting *best = NULL;

	*is_torn = false;
	for (size_t i = 0; i < in->count; i++) {
		const struct input_setting *at = &in->settings[i];
		if (!is_named(at->key, name) || is_aside(at->key))
			continue;
		size_t depth = depth_of(at->key), least = best ? depth_of(best->key) : 0;
		bool is_better = !best || (at->is_stated && !best->is_stated) ||
				 (at->is_stated == best->is_stated && depth < least);
		if (is_better)
			*is_torn = false;
		else if (at->is_stated == best->is_stated && depth == least && !span_equal(at->value, best->value))
			*is_torn = true;
		best = is_better ? at : best;
	}
	return *is_torn ? NULL : best;
}

static const struct input_setting *find_any(const struct finding *in, const char *these, bool *is_torn)
{
	struct span rest = span_from(these), name;
	const struct input_setting *found = NULL;

	*is_torn = false;
	while (!found && !*is_torn && span_next(&rest, ' ', &name))
		found = find_name(in, name, is_torn);
	return found;
}

static const struct input_setting *find(const struct finding *in, enum thing thing)
{
	bool is_torn;

	return find_any(in, names[thing], &is_torn);
}

static bool is_yes(const struct input_setting *setting)
{
	return setting && (span_equal_fold(setting->value, SPAN("true")) || span_equal(setting->value, SPAN("1")));
}

/* -1 and "auto" stand for what is decided later. */
static bool is_unread(struct span text)
{
	static const char *const undecided[] = {"", "auto", "none", "null", "false", "true"};
	double value;

	text = span_trim(text);
	for (size_t i = 0; i < sizeof undecided / sizeof *undecided; i++)
		if (span_equal_fold(text, span_from(undecided[i])))
			return false;
	return !input_parse_count(text, &value);
}

static void note_unread(const struct finding *in, struct span key)
{
	size_t used = strlen(in->not_understood);
	struct span rest = span_of(in->not_understood, used), noted;

	while (span_next(&rest, '\n', &noted))
		if (span_equal(noted, key))
			return;
	if (used + key.len + 2 <= INPUT_NOT_UNDERSTOOD_BYTES)
		snprintf(in->not_understood + used, INPUT_NOT_UNDERSTOOD_BYTES - used, "%s%.*s", used ? "\n" : "",
			SPAN_ARGS(key));
}

/* Of lengths in tokens "4k" is 4096, and "128K" 131072: nobody trains with 4000. */
static double binary_of(struct span text, double value)
{
	text = without_words(text);
	return text.len && toupper((unsigned char)text.ptr[text.len - 1]) == 'K' ? value / 1000 * 1024 : value;
}

/* A number above 0. */
static double number_of(const struct finding *in, enum thing thing, const struct input_setting **by)
{
	struct span rest = span_from(names[thing]), name;
	bool is_torn = false;
	double value;

	while (!is_torn && span_next(&rest, ' ', &name)) {
		*by = find_name(in, name, &is_torn);
		if (*by && input_parse_count((*by)->value, &value) && value > 0)
			return thing == LENGTH || thing == LENGTH_IF_PACKED ? binary_of((*by)->value, value) : value;
		if (*by && is_unread((*by)->value))
			note_unread(in, (*by)->key);
	}
	*by = NULL;
	return 0;
}

static double number_or_one(const struct finding *in, enum thing thing)
{
	const struct input_setting *by;
	double value = number_of(in, thing, &by);

	return value > 0 ? value : 1;
}

__attribute__((format(printf, 3, 4))) static void set(struct input_value *out, double value, const char *format, ...)
{
	va_list arguments;

	out->value = value;
	va_start(arguments, format);
	vsnprintf(out->from, sizeof out->from, format, arguments);
	va_end(arguments);
}

static bool find_value(const struct finding *in, enum thing thing, struct input_value *out)
{
	const struct input_setting *by;
	double value = number_of(in, thing, &by);

	if (by)
		set(out, value, "%.*s, %.*s", SPAN_ARGS(by->key), SPAN_ARGS(by->from));
	return by != NULL;
}

/* ---- one input each ---- */

static void resolve_devices(const struct finding *in, const struct input_machines *machines, struct inputs *out)
{
	double counted = machines->instances * machines->devices_each;

	if (machines->cores_of_device <= 1 && find_value(in, WORLD, &out->items[INPUT_DEVICES]))
		return;
	if (counted > 0)
		set(&out->items[INPUT_DEVICES], counted, "%.*s", SPAN_ARGS(machines->from));
}

/* Processes of the trainer: one a device, or several. */
static double count_ranks(const struct finding *in, const struct input_machines *machines, const struct inputs *out)
{
	const struct input_setting *by;
	double devices = out->items[INPUT_DEVICES].value, world;

	if (machines->cores_of_device <= 1)
		return devices;
	world = number_of(in, WORLD, &by);
	return by ? world : devices * machines->ranks_of_device;
}

/* Of one rank, times those that have data of their own, times the passes of a step (1 where no trainer says otherwise). */
static void multiply_batch(const struct finding *in, const struct input_machines *machines, struct inputs *out)
{
	const struct input_setting *each, *passes;
	double batch = number_of(in, BATCH_EACH, &each), ranks = count_ranks(in, machines, out);
	double accumulation = number_of(in, ACCUMULATION, &passes);
	double shared = number_or_one(in, TENSOR) * number_or_one(in, PIPELINE) * number_or_one(in, CONTEXT);

	if (!each || ranks <= 0 || fmod(ranks, shared) != 0)
		return;
	if (!passes && find(in, ACCUMULATION)) /* "auto" */
		return;
	accumulation = passes ? accumulation : 1;
	set(&out->items[INPUT_GLOBAL_BATCH], batch * accumulation * ranks / shared,
		"%.*s %g (%.*s) x %g passes x %g data-parallel ranks", SPAN_ARGS(each->key), batch,
		SPAN_ARGS(each->from), accumulation, ranks / shared);
}

static void resolve_batch(const struct finding *in, const struct input_machines *machines, struct inputs *out)
{
	const struct input_setting *ramp = find(in, RAMP);

	if (ramp && !span_equal_fold(ramp->value, SPAN("none")) && !span_equal_fold(ramp->value, SPAN("null")))
		return; /* another one at each step: the log's consumed samples tell, or nothing does */
	if (find_value(in, GLOBAL_BATCH, &out->items[INPUT_GLOBAL_BATCH]))
		return;
	if (find(in, BATCH_MICRO) && find_value(in, BATCH_DEEPSPEED, &out->items[INPUT_GLOBAL_BATCH]))
		return;
	multiply_batch(in, machines, out);
}

static void resolve_tokens(const struct finding *in, struct inputs *out)
{
	const struct input_value *batch = &out->items[INPUT_GLOBAL_BATCH];
	struct input_value *length = &out->items[INPUT_SEQUENCE_LENGTH];

	if (!find_value(in, LENGTH, length) && is_yes(find(in, PACKING)))
		find_value(in, LENGTH_IF_PACKED, length);
	if (find_value(in, TOKENS, &out->items[INPUT_TOKENS_PER_STEP]))
		return;
	if (batch->value > 0 && length->value > 0)
		set(&out->items[INPUT_TOKENS_PER_STEP], batch->value * length->value,
			"global_batch_size * sequence_length");
}

/* Somebody said it, and it cannot be read. */
static bool is_said_unread(const struct finding *in, enum thing thing)
{
	struct span rest = span_from(names[thing]), name;
	bool is_torn = false;

	while (span_next(&rest, ' ', &name)) {
		const struct input_setting *by = find_name(in, name, &is_torn);
		if (is_torn || (by && is_unread(by->value)))
			return true;
	}
	return false;
}

/* Said as such, else by samples, else by steps. A budget that cannot be read is another one than that of the steps. */
static void resolve_budget(const struct finding *in, struct inputs *out)
{
	const struct input_value *length = &out->items[INPUT_SEQUENCE_LENGTH],
				 *each = &out->items[INPUT_TOKENS_PER_STEP], *steps = &out->items[INPUT_TOTAL_STEPS];
	struct input_value samples = {0};

	if (find_value(in, TOTAL_TOKENS, &out->items[INPUT_TOKEN_BUDGET]) || is_said_unread(in, TOTAL_TOKENS))
		return;
	if (length->value > 0 && find_value(in, TOTAL_SAMPLES, &samples))
		set(&out->items[INPUT_TOKEN_BUDGET], samples.value * length->value, "train_samples * sequence_length");
	else if (steps->value > 0 && each->value > 0)
		set(&out->items[INPUT_TOKEN_BUDGET], steps->value * each->value, "total_steps * tokens_per_step");
}

/* Two that disagree say nothing: it is there, and not known. */
static struct model_said find_said(void *context, enum model_setting setting)
{
	const struct finding *in = context;
	struct model_said said = {.text = SPAN(""), .number = NAN};
	bool is_torn;
	const struct input_setting *found = find_any(in, model_setting_names(setting), &is_torn);

	said.is_there = found || is_torn;
	if (found) {
		said.text = found->value;
		if (!input_parse_count(found->value, &said.number))
			said.number = NAN;
	}
	return said;
}

/*
 * A decoder by its sizes, as /fit counts it, but for the embedding, which counts once. Mixtures of experts have more parameters than one
 * token uses: they are not counted here. A recurrent network has a hidden_size, too, but no heads.
 */
static void count_parameters(struct finding *in, struct inputs *out)
{
	double length = out->items[INPUT_SEQUENCE_LENGTH].value;
	struct model_size model;
	bool is_torn;
	const struct input_setting *by = find_any(in, model_setting_names(MODEL_HIDDEN), &is_torn);

	if (!by || find(in, EXPERTS) || find(in, DECODER))
		return;
	model_size_read(&model, length > 0 ? length : NAN, find_said, in);
	double count = model_size_count_working(&model);
	if (isnan(count))
		return;
	set(&out->items[INPUT_PARAMETERS], count,
		"%g layers of hidden_size %g, feed-forward %g%s, vocabulary %g (%.*s)", model.layers, model.hidden,
		model.feed_forward, model.is_gated ? " gated" : "", isnan(model.vocabulary) ? 0 : model.vocabulary,
		SPAN_ARGS(by->from));
	out->has_counted_parameters = true;
}

static void resolve_parameters(struct finding *in, struct inputs *out)
{
	if (find(in, LORA) || find_value(in, PARAMETERS, &out->items[INPUT_PARAMETERS]))
		return; /* 6 N counts the gradients of all N */
	if (!find_value(in, TRAINABLE, &out->items[INPUT_PARAMETERS]))
		count_parameters(in, out);
}

void inputs_resolve(
	const struct input_setting *settings, size_t count, const struct input_machines *machines, struct inputs *out)
{
	struct finding in = {settings, count, out->not_understood};

	*out = (struct inputs){0};
	resolve_devices(&in, machines, out);
	resolve_batch(&in, machines, out);
	resolve_tokens(&in, out);
	resolve_parameters(&in, out);
	if (machines->peak_tflops > 0)
		set(&out->items[INPUT_PEAK_TFLOPS], machines->peak_tflops, "%.*s", SPAN_ARGS(machines->from));
	find_value(&in, TOTAL, &out->items[INPUT_TOTAL_STEPS]);
	find_value(&in, EPOCHS, &out->items[INPUT_EPOCHS]);
	resolve_budget(&in, out);
}
