#include "api/machines/fit_settings.h"

#include "api/machines/fit_activations.h"
#include "api/machines/fit_unfollowed.h"

#include <math.h>
#include <stddef.h>

/* ---- what the settings say ---- */

/* What one of its names says, and where; NaN: not known. */
static double take_from(const struct advice_setting *setting, struct span *from)
{
	double value = fit_number_of(setting);

	if (!(value > 0))
		return NAN;
	*from = setting->key;
	span_take(from, SPAN("hp."));
	return value;
}

static double take(const struct advice_facts *facts, const char *const names[], struct span *from)
{
	return take_from(fit_find(facts, names), from);
}

static double take_size(const struct advice_facts *facts, enum model_setting size, struct span *from)
{
	return take_from(fit_find_named(facts, model_setting_names(size)), from);
}

const struct advice_setting *fit_settings_family(const struct advice_facts *facts)
{
	static const char *const names[FIT_NAMES_MAX] = {"model_type", "model_name_or_path", "model_name", "model_id"};
	const struct advice_setting *named = fit_find(facts, names);

	return named && named->text.len ? named : NULL;
}

void fit_settings_sizes(const struct advice_facts *facts, const struct advice_setting *out[2])
{
	out[0] = fit_find_named(facts, model_setting_names(MODEL_HIDDEN));
	out[1] = fit_find_named(facts, model_setting_names(MODEL_LAYERS));
}

static void read_sizes(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const sequence[FIT_NAMES_MAX] = {"seq_length", "sequence_length", "max_seq_length",
		"max_seq_len", "seq_len", "block_size", "max_context_width", "encoder_seq_length", "sequence_len",
		"cutoff_len", "max_sequence_length"};
	/* TRL's. In a group of settings it may be what is generated; a tokenizer without a limit has 1e30 */
	static const char *const longest[FIT_NAMES_MAX] = {"max_length", "model_max_length"};
	const double sequence_max = 1e9;
	struct fit_setup *f = &out->setup;

	f->hidden = take_size(facts, MODEL_HIDDEN, &out->from[FIT_HIDDEN]);
	f->layers = take_size(facts, MODEL_LAYERS, &out->from[FIT_LAYERS]);
	f->heads = take_size(facts, MODEL_HEADS, &out->from[FIT_HEADS]);
	f->sequence = take(facts, sequence, &out->from[FIT_SEQUENCE]);
	if (isnan(f->sequence)) {
		f->sequence = take(facts, longest, &out->from[FIT_SEQUENCE]);
		if (f->sequence > sequence_max || span_find_char(out->from[FIT_SEQUENCE], '.') >= 0)
			f->sequence = NAN, out->from[FIT_SEQUENCE] = SPAN("");
	}
}

static struct model_said find_said(void *context, enum model_setting named)
{
	const struct advice_setting *setting = fit_find_named(context, model_setting_names(named));

	if (!setting)
		return (struct model_said){.text = SPAN(""), .number = NAN};
	return (struct model_said){true, setting->text, fit_number_of(setting)};
}

static void count_parameters(const struct advice_facts *facts, struct fit_settings *out)
{
	model_size_read(&out->model, out->setup.sequence, find_said, (void *)(uintptr_t)facts);
	out->setup.parameters = model_size_count(&out->model);
}

static void read_model(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const stated[FIT_NAMES_MAX] = {
		"num_parameters", "num_params", "n_params", "total_params", "total_parameters"};

	read_sizes(facts, out);
	out->setup.parameters = facts->parameters.value;
	out->from[FIT_PARAMETERS] = facts->parameters.from;
	if (isnan(out->setup.parameters)) /* LoRA's settings beside it, which may be off */
		out->setup.parameters = take(facts, stated, &out->from[FIT_PARAMETERS]);
	out->counts_parameters = facts->parameters.is_counted || isnan(out->setup.parameters);
	if (!out->counts_parameters)
		return;
	out->from[FIT_PARAMETERS] = SPAN("");
	count_parameters(facts, out);
}

/* A word for a precision, or its bits. */
static bool says_bits(const struct advice_setting *setting, const char *bits)
{
	double wanted = NAN;

	return fit_says(setting, bits) ||
	       (!setting->text.len && span_parse_double(span_from(bits), &wanted) && setting->number == wanted);
}

/* Nothing is in 32 bits: Lightning's "16-true", torchtune's recipes, a model loaded in 16 bits where accelerate mixes nothing. */
static bool is_whole_16(const struct advice_facts *facts, bool mixes_nothing)
{
	static const char *const named[FIT_NAMES_MAX] = {"precision"};
	static const char *const kept[FIT_NAMES_MAX] = {"torch_dtype", "dtype"};
	static const char *const recipe[FIT_NAMES_MAX] = {"model._component_"};
	bool is_kept = fit_says(fit_find(facts, kept), "16");

	return fit_says(fit_find(facts, named), "16-true") ||
	       (is_kept && (mixes_nothing || fit_says(fit_find(facts, recipe), "torchtune")));
}

static void read_precision(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const flags[FIT_NAMES_MAX] = {
		"bf16", "fp16", "bf16.enabled", "fp16.enabled", "bfloat16_enabled", "fp16_enabled"};
	static const char *const automatic[FIT_NAMES_MAX] = {"bf16"};
	static const char *const mixes[FIT_NAMES_MAX] = {"mixed_precision"};
	static const char *const names[FIT_NAMES_MAX] = {
		"mixed_precision", "precision", "torch_dtype", "dtype", "precision.type"};
	static const char *const wide[FIT_NAMES_MAX] = {"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32",
		"grad_accum_dtype", "accumulate_grad_in_fp32"};
	const struct advice_setting *setting, *mixed = fit_find(facts, mixes);
	bool mixes_nothing = mixed && span_equal_fold(span_trim(mixed->text), SPAN("no")); /* None: nobody says it */
	bool is_32_bit = mixes_nothing, is_wide = false;

	setting = fit_find(facts, automatic); /* axolotl's "auto" is on where a device has it */
	f->is_16_bit = setting && span_equal_fold(span_trim(setting->text), SPAN("auto"));
	for (size_t at = 0; (setting = fit_find_next(facts, flags, &at));)
		f->is_16_bit |= fit_is_on(setting);
	bool is_mixed = f->is_16_bit;
	for (size_t at = 0; (setting = fit_find_next(facts, names, &at));) {
		f->is_16_bit |= says_bits(setting, "16");
		is_32_bit |= says_bits(setting, "32");
	}
	for (size_t at = 0; (setting = fit_find_next(facts, wide, &at));)
		is_wide |= fit_is_on(setting) || fit_says(setting, "32");
	bool is_known = f->is_16_bit || is_32_bit, is_whole = !is_mixed && is_whole_16(facts, mixes_nothing);
	f->parameter_bytes = is_known ? (f->is_16_bit ? 2 : 4) : NAN;
	f->gradient_bytes = f->is_16_bit && is_wide ? 4 : f->parameter_bytes;
	f->optimizer_bytes = is_known && fit_is_adam(facts) ? (is_whole ? 4 : f->is_16_bit ? 12 : 8) : NAN;
}

static bool is_offloaded(const struct advice_facts *facts)
{
	static const char *const offload[FIT_NAMES_MAX] = {"offload_optimizer.device", "offload_param.device",
		"offload_optimizer", "offload_param", "offload_optimizer_device", "offload_param_device", "cpu_offload",
		"enable_cpu_offload", "fsdp_offload_params", "offload_parameters", "offload_params_device",
		"offload_params", "optimizer_cpu_offload", "fsdp_cpu_offload", "cpu_offload_param",
		"cpu_offload_params", "zenflow.topk_ratio", "adam_offload", "param_offload", "optimizer_offload"};
	static const char *const fully[FIT_NAMES_MAX] = {"fsdp"};
	const struct advice_setting *away;

	for (size_t at = 0; (away = fit_find_next(facts, offload, &at));)
		if (fit_is_on(away) || fit_says(away, "cpu") || fit_says(away, "nvme"))
			return true;
	for (size_t at = 0; (away = fit_find_next(facts, fit_strategy_names, &at));)
		if (fit_says(away, "offload") && !fit_says(away, "offload=false") && !fit_says(away, "offload=none"))
			return true;
	return fit_says(fit_find(facts, fully), "offload");
}

/* Numbers of an adapter are printed where a switch is off, too. */
static bool has_adapter(const struct advice_facts *facts)
{
	static const char *const switches[FIT_NAMES_MAX] = {"use_lora", "use_peft", "adapter", "finetuning_type",
		"peft_method", "peft_scheme", "peft_type", "peft", "peft_config", "lora", "use_dora"};
	static const char *const ranks[FIT_NAMES_MAX] = {
		"lora_r", "lora_rank", "lora_dim", "lora_alpha", "peft_config.r", "peft_config.lora_alpha"};
	static const char *const builders[FIT_NAMES_MAX] = {"model._component_", "model._target_"};
	const struct advice_setting *setting;
	bool is_said = false;

	for (size_t at = 0; (setting = fit_find_next(facts, switches, &at)); is_said = true)
		if (fit_is_on(setting) || fit_says(setting, "lora") || fit_says(setting, "freeze") ||
			fit_says(setting, "tuning"))
			return true;
	if (fit_says(fit_find(facts, builders), "lora"))
		return true;
	return !is_said && fit_number_of(fit_find(facts, ranks)) > 0;
}

/* What the formulas are not of; NULL: nothing that is known. */
static const char *find_other(const struct advice_facts *facts)
{
	static const char *const experts[FIT_NAMES_MAX] = {
		"num_experts", "num_moe_experts", "num_local_experts", "n_routed_experts"};
	static const char *const spread[FIT_NAMES_MAX] = {"expert_model_parallel_size",
		"parallelism.expert_parallel_degree", "expert_parallel_size", "expert_parallel_degree"};

	if (fit_number_of(fit_find(facts, experts)) > 1 || fit_number_of(fit_find(facts, spread)) > 1)
		return "a mixture of experts";
	if (has_adapter(facts))
		return "an adapter (LoRA), which trains few parameters";
	return is_offloaded(facts) ? "what is kept in the host's memory" : NULL;
}

/* ---- all of it ---- */

static const struct shown_input {
	const char *name;
	size_t offset;
} inputs[FIT_INPUTS] = {[FIT_PARAMETERS] = {"parameters", offsetof(struct fit_setup, parameters)},
	[FIT_HIDDEN] = {"hidden_size", offsetof(struct fit_setup, hidden)},
	[FIT_LAYERS] = {"layers", offsetof(struct fit_setup, layers)},
	[FIT_HEADS] = {"attention_heads", offsetof(struct fit_setup, heads)},
	[FIT_SEQUENCE] = {"sequence_length", offsetof(struct fit_setup, sequence)},
	[FIT_MICRO_BATCH] = {"micro_batch", offsetof(struct fit_setup, micro_batch)},
	[FIT_TENSOR] = {"tensor_parallel", offsetof(struct fit_setup, tensor)},
	[FIT_PIPELINE] = {"pipeline_parallel", offsetof(struct fit_setup, pipeline)},
	[FIT_CONTEXT] = {"context_parallel", offsetof(struct fit_setup, context)},
	[FIT_DATA] = {"data_parallel", offsetof(struct fit_setup, data)},
	[FIT_PARAMETER_BYTES] = {"bytes_of_a_parameter", offsetof(struct fit_setup, parameter_bytes)},
	[FIT_GRADIENT_BYTES] = {"bytes_of_a_gradient", offsetof(struct fit_setup, gradient_bytes)},
	[FIT_OPTIMIZER_BYTES] = {"bytes_of_optimizer", offsetof(struct fit_setup, optimizer_bytes)}};

const char *fit_input_name(enum fit_input input)
{
	return inputs[input].name;
}

double *fit_input_of(struct fit_setup *setup, enum fit_input input)
{
	void *at = (char *)setup + inputs[input].offset;

	return at;
}

/* A model is spread over whole devices, a whole number of times. */
static void check_degrees(struct fit_settings *out)
{
	struct fit_setup *f = &out->setup;

	out->sharding.is_spread &= fit_is_whole(f->tensor) && fit_is_whole(f->pipeline) && fit_is_whole(f->context) &&
				   fit_is_whole(f->replicas) && fit_has_whole_copies(f);
	if (!out->sharding.is_spread)
		f->data = NAN;
	for (int i = 0; i < FIT_INPUTS; i++) {
		double *value = fit_input_of(f, (enum fit_input)i);
		if (!isfinite(*value) || *value <= 0)
			*value = NAN;
	}
}

static double quantity(const struct api *api, const struct advice_facts *facts, const char *name)
{
	return advice_quantity(api->advice, span_from(name), facts->settings, facts->count);
}

void fit_settings_read(const struct api *api, const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const micro[FIT_NAMES_MAX] = {"micro_batch_size", "train_micro_batch_size_per_gpu",
		"per_device_train_batch_size", "device_train_microbatch_size", "local_batch_size"};
	struct fit_setup *f = &out->setup;

	*out = (struct fit_settings){.sharding.is_spread = true, .setup.replicas = 1};
	read_model(facts, out);
	read_precision(facts, f);
	f->micro_batch = quantity(api, facts, "micro");
	if (isnan(f->micro_batch)) /* in a group of settings that no rule of advice knows */
		f->micro_batch = fit_number_of(fit_find(facts, micro));
	f->tensor = quantity(api, facts, "tp");
	f->pipeline = quantity(api, facts, "pp");
	f->context = quantity(api, facts, "cp");
	f->data = quantity(api, facts, "data");
	double node = quantity(api, facts, "ranks_per_node");
	fit_activations_read(facts, f, &out->unread);
	fit_sharding_read(facts, node, f, &out->sharding, &out->unread);
	check_degrees(out);
	out->other = find_other(facts);
	fit_unfollowed_note(facts, f, out->other != NULL, &out->unread);
	if (out->other)
		f->parameters = f->layers = NAN;
}

void fit_settings_place(struct fit_settings *settings, double ranks, double ranks_per_node)
{
	struct fit_setup *f = &settings->setup;

	f->data = ranks / (f->tensor * f->pipeline * f->context);
	if (settings->sharding.is_within_node)
		f->group = ranks_per_node;
	settings->sharding.is_spread = true;
	check_degrees(settings);
}
