#include "api/machines/fit_trainers.h"

#include <math.h>

void fit_copies_read(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const copies[FIT_NAMES_MAX] = {"num_distributed_optimizer_instances"};
	static const char *const outer[FIT_NAMES_MAX] = {"outer_dp_sharding_strategy"};
	const struct advice_setting *across = fit_find(facts, outer);
	double count = fit_number_of(fit_find(facts, copies));

	if (!(count > 1))
		return;
	f->replicas = count;
	if (across && !fit_is_off(across))
		fit_unread_add(unread, across->key, FIT_HIDES_STATES);
}

/* What its own one shards without a word has changed with its versions. */
bool fit_megatron_read(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const torch[FIT_NAMES_MAX] = {"use_torch_fsdp2"},
				 *const own[FIT_NAMES_MAX] = {"use_megatron_fsdp"},
				 *const custom[FIT_NAMES_MAX] = {"use_custom_fsdp"},
				 *const strategy[FIT_NAMES_MAX] = {"data_parallel_sharding_strategy"},
				 *const frees[FIT_NAMES_MAX] = {"torch_fsdp2_reshard_after_forward"};
	static const char *const stages[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
	const struct advice_setting *said = fit_find(facts, strategy), *freed = fit_find(facts, frees);
	const struct advice_setting *flag =
		fit_is_on(fit_find(facts, own)) ? fit_find(facts, own) : fit_find(facts, custom);

	if (fit_is_on(fit_find(facts, torch))) {
		f->zero_stage = 3;
		if (freed && fit_is_off(freed))
			fit_unread_add(unread, freed->key, FIT_HIDES_STATES);
		return true;
	}
	if (!fit_is_on(flag))
		return false;
	fit_copies_read(facts, f, unread);
	for (size_t i = 0; said && i < sizeof stages / sizeof *stages; i++)
		if (span_equal_fold(span_trim(said->text), span_from(stages[i]))) {
			f->zero_stage = (int)i;
			return true;
		}
	fit_unread_add(unread, said ? said->key : flag->key, FIT_HIDES_STATES);
	return true;
}

static double degree_or(const struct advice_facts *facts, const char *name, double usual)
{
	const char *const names[FIT_NAMES_MAX] = {name};
	double value = fit_number_of(fit_find(facts, names));

	return isnan(value) ? usual : value;
}

static bool is_torchtitan(const struct advice_facts *facts)
{
	static const char *const names[FIT_NAMES_MAX] = {"parallelism.data_parallel_shard_degree",
		"parallelism.data_parallel_replicate_degree", "parallelism.tensor_parallel_degree",
		"parallelism.pipeline_parallel_degree", "parallelism.context_parallel_degree"};

	return fit_find(facts, names) != NULL;
}

/* It keeps what it trains in 32 bits, and computes in 16 where FSDP does that or nothing but data is parallel. */
static void read_titan_precision(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const kept[FIT_NAMES_MAX] = {"training.dtype"}, *const computed[FIT_NAMES_MAX] = {
										   "training.mixed_precision_param"};
	const struct advice_setting *mixed = fit_find(facts, computed);
	bool is_kept_in_16 = fit_says(fit_find(facts, kept), "16"), is_alone = f->tensor == 1 && f->pipeline == 1;
	bool is_mixed = (!mixed || fit_says(mixed, "16")) && (is_alone || (f->zero_stage == 3 && fit_shards(f) != 1));

	f->parameter_bytes = f->gradient_bytes = is_kept_in_16 ? 2 : 4;
	f->optimizer_bytes = fit_is_adam(facts) ? 2 * f->parameter_bytes : NAN;
	f->is_16_bit = is_kept_in_16 || is_mixed;
}

/* FSDP over the ranks that the other degrees leave, without a word. Gathered parameters may stay between forward and backward: a copy as it
 * computes. In its pipelines they do unless told otherwise, and what they then keep of gradients no formula here counts. */
static void shard_torchtitan(
	const struct advice_facts *facts, struct fit_setup *f, bool *is_spread, struct fit_unread *unread)
{
	static const char *const reshards[FIT_NAMES_MAX] = {"parallelism.fsdp_reshard_after_forward"};
	const struct advice_setting *said = fit_find(facts, reshards);
	double shards = degree_or(facts, "parallelism.data_parallel_shard_degree", -1);
	double replicas = degree_or(facts, "parallelism.data_parallel_replicate_degree", 1);

	if (isnan(f->data) && shards > 0)
		f->data = shards * replicas;
	*is_spread &= shards == -1 || !(f->data != shards * replicas);
	if (f->pipeline > 1)
		f->micro_batch = degree_or(facts, "parallelism.pipeline_parallel_microbatch_size", 1);
	f->zero_stage = shards == 1 && f->context == 1 ? 0 : 3;
	f->replicas = f->zero_stage ? replicas : 1;
	f->has_groups_of_data = true;
	read_titan_precision(facts, f);
	if (f->zero_stage && f->pipeline == 1 && fit_says(said, "never")) {
		f->second_group = 1;
		f->second_bytes = f->is_16_bit ? 2 : f->parameter_bytes;
	} else if (f->zero_stage && f->pipeline != 1 && !fit_says(said, "always"))
		fit_unread_add(unread, said ? said->key : span_from(*reshards), FIT_HIDES_STATES);
}

bool fit_torchtitan_read(
	const struct advice_facts *facts, struct fit_setup *f, bool *is_spread, struct fit_unread *unread)
{
	if (!is_torchtitan(facts))
		return false;
	f->has_flash_attention = true; /* its models have PyTorch's scaled_dot_product_attention */
	shard_torchtitan(facts, f, is_spread, unread);
	return true;
}

/* Its recipes for several devices shard everything by FSDP2; a copy for each of data_parallel_replicate_dim. */
bool fit_torchtune_read(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const models[FIT_NAMES_MAX] = {"model._component_"};
	static const char *const reshards[FIT_NAMES_MAX] = {"fsdp_reshard_after_forward"};
	const struct advice_setting *reshard = fit_find(facts, reshards);

	if (!fit_says(fit_find(facts, models), "torchtune"))
		return false;
	if (isnan(f->micro_batch))
		f->micro_batch = degree_or(facts, "batch_size", NAN);
	f->has_flash_attention = true; /* as above */
	f->zero_stage = reshard && fit_is_off(reshard) ? 2 : 3;
	f->replicas = degree_or(facts, "data_parallel_replicate_dim", 1);
	return true;
}
