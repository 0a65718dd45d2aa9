#include "api/machines/fit_activations.h"

#include <math.h>

/* What they leave on the device no formula here counts. */
static void note_unread(const struct advice_facts *facts, struct fit_unread *unread)
{
	static const char *const switches[FIT_NAMES_MAX] = {"cpu_offloading", "fine_grained_activation_offloading",
		"activation_offloading", "activation_cpu_offload", "offload_activations", "sm_activation_offloading",
		"enable_activation_offloading", "cpu_checkpointing", "partition_activations",
		"distribute_saved_activations", "distribute_checkpointed_activations", "checkpoint_in_cpu", "fp8",
		"enable_fp8"};
	static const char *const degrees[FIT_NAMES_MAX] = {"sequence_parallel_size", "sequence_parallel_degree",
		"sp_size", "sp_ulysses_degree", "ulysses_degree", "ulysses_sequence_parallel_size",
		"parallelism_config_sp_size"};
	static const char *const budgets[FIT_NAMES_MAX] = {"activation_memory_budget"};
	static const char *const modules[FIT_NAMES_MAX] = {"recompute_modules"};
	const struct advice_setting *setting;

	for (size_t at = 0; (setting = fit_find_next(facts, switches, &at));)
		if (!fit_is_off(setting))
			fit_unread_add(unread, setting->key, FIT_HIDES_ACTIVATIONS);
	for (size_t at = 0; (setting = fit_find_next(facts, degrees, &at));)
		if (fit_number_of(setting) > 1)
			fit_unread_add(unread, setting->key, FIT_HIDES_ACTIVATIONS);
	setting = fit_find(facts, budgets);
	if (fit_number_of(setting) < 1) /* all of it: nothing is recomputed */
		fit_unread_add(unread, setting->key, FIT_HIDES_ACTIVATIONS);
	setting = fit_find(facts, modules); /* selective recomputation is of attention's core unless it says more */
	if (setting && !fit_is_off(setting) && (!fit_says(setting, "core_attn") || fit_says(setting, ",")))
		fit_unread_add(unread, setting->key, FIT_HIDES_ACTIVATIONS);
}

/* Megatron's: the first layers of each stage ("block"), or of groups of layers the input alone ("uniform"). */
static void read_method(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const methods[FIT_NAMES_MAX] = {"recompute_method", "activations_checkpoint_method"};
	static const char *const counts[FIT_NAMES_MAX] = {"recompute_num_layers", "activations_checkpoint_num_layers"};
	const struct advice_setting *method = fit_find(facts, methods), *said = fit_find(facts, counts);
	double count = fit_number_of(said), stage = f->layers / f->pipeline;

	if (fit_says(method, "block"))
		f->recomputed_share = count >= 0 ? fmin(1, count / stage) : NAN;
	else if (fit_says(method, "uniform") &&
		 count > 1) /* a whole group is there at once when it is computed again */
		fit_unread_add(unread, said->key, FIT_HIDES_ACTIVATIONS);
}

/* torchtitan's: each layer that its option names; "op" chooses among operations. */
static bool read_mode(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const modes[FIT_NAMES_MAX] = {"activation_checkpoint.mode"};
	static const char *const options[FIT_NAMES_MAX] = {"activation_checkpoint.selective_ac_option"};
	const struct advice_setting *mode = fit_find(facts, modes), *option = fit_find(facts, options);
	double every = fit_number_of(option);

	if (!mode)
		return false;
	if (fit_says(mode, "full") || (fit_says(mode, "selective") && every >= 1)) {
		f->recompute = FIT_RECOMPUTE_FULL;
		f->recomputed_share = fit_says(mode, "full") ? 1 : floor(f->layers / every) / f->layers;
	} else if (!fit_is_off(mode))
		fit_unread_add(unread, option ? option->key : mode->key, FIT_HIDES_ACTIVATIONS);
	return true;
}

static void read_recomputation(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const granularity[FIT_NAMES_MAX] = {
		"recompute_granularity", "activations_checkpoint_granularity"};
	static const char *const full[FIT_NAMES_MAX] = {"gradient_checkpointing", "activation_checkpointing",
		"checkpoint_activations", "enable_activation_checkpointing", "use_activation_checkpointing",
		"fsdp_activation_checkpointing", "gradient_checkpointing_enable", "activation_checkpoint",
		"enable_gradient_checkpointing"};
	static const char *const selective[FIT_NAMES_MAX] = {"recompute_activations"};
	const struct advice_setting *how = fit_find(facts, granularity), *setting;

	f->recompute = FIT_RECOMPUTE_NONE;
	if (read_mode(facts, f, unread))
		return;
	if (fit_says(how, "selective") || fit_is_on(fit_find(facts, selective)))
		f->recompute = FIT_RECOMPUTE_SELECTIVE;
	for (size_t at = 0; (setting = fit_find_next(facts, full, &at));)
		if (fit_is_on(setting) || fit_says(setting, "whole_layer"))
			f->recompute = FIT_RECOMPUTE_FULL;
		else if (!fit_is_off(setting)) /* "offload", "one_in_two" */
			fit_unread_add(unread, setting->key, FIT_HIDES_ACTIVATIONS);
	if (fit_says(how, "full")) {
		f->recompute = FIT_RECOMPUTE_FULL;
		read_method(facts, f, unread);
	}
}

/* An interleaved pipeline, by the stages of a device or the layers of one. */
static double read_virtual_stages(const struct advice_facts *facts, const struct fit_setup *f)
{
	static const char *const stages[FIT_NAMES_MAX] = {"virtual_pipeline_model_parallel_size"};
	static const char *const layers[FIT_NAMES_MAX] = {"num_layers_per_virtual_pipeline_stage"};
	double count = fit_number_of(fit_find(facts, stages)), each = fit_number_of(fit_find(facts, layers));

	if (!(f->pipeline > 1))
		return 1;
	if (count > 1)
		return count;
	return each > 0 ? f->layers / f->pipeline / each : 1;
}

void fit_activations_read(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const flash[FIT_NAMES_MAX] = {
		"use_flash_attn", "use_flash_attention", "flash_attention", "use_flash_attention_2", "flash_attn"};
	static const char *const attention[FIT_NAMES_MAX] = {
		"attn_implementation", "_attn_implementation", "attn_impl", "attention_backend"};
	static const char *const sequence[FIT_NAMES_MAX] = {"sequence_parallel"};
	const struct advice_setting *kind = fit_find(facts, attention), *setting;

	f->recomputed_share = 1;
	read_recomputation(facts, f, unread);
	f->virtual_stages = read_virtual_stages(facts, f);
	f->has_flash_attention = fit_says(kind, "flash") || fit_says(kind, "sdpa");
	for (size_t at = 0; (setting = fit_find_next(facts, flash, &at));)
		f->has_flash_attention |= fit_is_on(setting) || fit_says(setting, "fa2");
	f->is_sequence_parallel = fit_is_on(fit_find(facts, sequence));
	note_unread(facts, unread);
}
