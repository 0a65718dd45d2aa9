#include "api/machines/fit_unfollowed.h"

static void note_states(const struct advice_facts *facts, struct fit_unread *unread)
{
	static const char *const names[FIT_NAMES_MAX] = {"fp8_param_gather", "fp8_param", "fp8_params", "load_in_8bit",
		"load_in_4bit", "bf16_master_weights_and_grads", "fp16_master_weights_and_grads",
		"fp16_master_weights_and_gradients", "unfrozen_parameters", "optimizer_in_bwd",
		"use_precision_aware_optimizer", "decoder_first_pipeline_num_layers",
		"decoder_last_pipeline_num_layers", "num_layers_in_first_pipeline_stage",
		"num_layers_in_last_pipeline_stage", "use_ema", "use_vllm", "ref_model", "reference_model", "rl",
		"autotp_size", "gpu_memory_utilization", "early_step_in_backward", "bf16_optimizer_states"};
	const struct advice_setting *setting;

	for (size_t at = 0; (setting = fit_find_next(facts, names, &at));)
		if (!fit_is_off(setting))
			fit_unread_add(unread, setting->key, FIT_HIDES_STATES);
}

/* Whatever else is called offloading, and is on: what it leaves nobody knows. */
static void note_offload(const struct advice_facts *facts, struct fit_unread *unread)
{
	static const char *const harmless[] = {"pin", "fraction", "cpu_offloading_", "size", "num", "dir", "folder",
		"path", "state_dict", "buffers", "to_cpu"};

	for (size_t i = 0; i < facts->count; i++) {
		const struct advice_setting *setting = &facts->settings[i];
		struct span rest = setting->key, part, name = SPAN("");
		if (!span_take(&rest, SPAN("hp.")))
			continue;
		while (span_next(&rest, '.', &part))
			name = part;
		bool is_known = !fit_has_word(name, "offload");
		for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
			is_known |= fit_has_word(name, harmless[k]);
		if (!is_known && (fit_is_on(setting) || fit_says(setting, "cpu") || fit_says(setting, "nvme")) &&
			!fit_unread_has(unread, setting->key))
			fit_unread_add(unread, setting->key, FIT_HIDES_STATES | FIT_HIDES_ACTIVATIONS);
	}
}

/* accelerate's launcher says by its environment what it does; how is not read there. */
static void note_launcher(const struct advice_facts *facts, int stage, struct fit_unread *unread)
{
	for (size_t i = 0; i < facts->count && stage == 0 && !unread->hides_states; i++) {
		struct span key = facts->settings[i].key;
		bool is_launcher = span_equal(key, SPAN("env.ACCELERATE_USE_FSDP")) ||
				   span_equal(key, SPAN("env.ACCELERATE_USE_DEEPSPEED"));
		if (is_launcher && fit_is_on(&facts->settings[i]))
			fit_unread_add(unread, key, FIT_HIDES_STATES);
	}
}

/* A degree under a name that nothing here follows. */
static void note_degrees(const struct advice_facts *facts, const struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const tensor[FIT_NAMES_MAX] = {"tensor_model_parallel_size", "tensor_parallel_size",
		"tensor_parallel_degree", "tensor_model_parallel_degree", "tp_size", "tp", "tp_degree"};
	static const char *const pipeline[FIT_NAMES_MAX] = {
		"pipeline_model_parallel_size", "pipeline_parallel_size", "pipeline_parallel_degree", "pp_size", "pp"};
	static const char *const context[FIT_NAMES_MAX] = {
		"context_parallel_size", "context_parallel_degree", "cp_size", "cp"};
	const struct {
		const char *const *names;
		double degree;
	} degrees[] = {{tensor, f->tensor}, {pipeline, f->pipeline}, {context, f->context}};
	const struct advice_setting *setting;

	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		for (size_t at = 0; (setting = fit_find_next(facts, degrees[i].names, &at));)
			if (degrees[i].degree == 1 && fit_number_of(setting) > 1)
				fit_unread_add(unread, setting->key, FIT_HIDES_STATES | FIT_HIDES_ACTIVATIONS);
}

void fit_unfollowed_note(
	const struct advice_facts *facts, const struct fit_setup *f, bool is_offloaded, struct fit_unread *unread)
{
	note_states(facts, unread);
	note_degrees(facts, f, unread);
	note_launcher(facts, f->zero_stage, unread);
	if (!is_offloaded)
		note_offload(facts, unread);
}
