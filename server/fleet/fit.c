#include "fleet/fit.h"

#include <math.h>

/* Bytes of one layer that keeps what it needs, of one micro-batch. s: of one device of a context parallel group. */
static double kept_bytes(const struct fit_setup *f)
{
	double s = f->sequence / f->context, sbh = s * f->micro_batch * f->hidden, t = f->tensor;
	bool keeps_scores = f->recompute != FIT_RECOMPUTE_SELECTIVE && !f->has_flash_attention;
	double scores = keeps_scores ? 5 * f->heads * f->sequence / f->hidden : 0;

	if (f->is_sequence_parallel)
		return sbh * (34 + scores) / t;
	return sbh * (10 + 24 / t + scores / t);
}

static double layer_bytes(const struct fit_setup *f)
{
	double input = 2 * f->sequence / f->context * f->micro_batch * f->hidden, share = f->recomputed_share;

	if (f->recompute != FIT_RECOMPUTE_FULL)
		return kept_bytes(f);
	return share == 1 ? input : share * input + (1 - share) * kept_bytes(f);
}

/* The first stage of a pipeline keeps as many micro-batches as there are stages: so many layers as the model has, and more if interleaved. */
static double layers_kept(const struct fit_setup *f)
{
	return f->layers * (f->virtual_stages > 1 ? 1 + (f->pipeline - 1) / (f->pipeline * f->virtual_stages) : 1);
}

double fit_shards(const struct fit_setup *f)
{
	double ranks = f->data * f->context / f->replicas;

	return f->group == 0 || isnan(ranks) ? ranks : f->group;
}

bool fit_is_whole(double degree)
{
	return isnan(degree) || (degree >= 1 && degree == floor(degree));
}

bool fit_has_whole_copies(const struct fit_setup *f)
{
	double ranks = f->data * f->context;

	if (f->group != 0 && !fit_is_whole(ranks / f->group))
		return false;
	if (f->second_group != 0 && !fit_is_whole(fit_shards(f) / f->second_group))
		return false;
	return fit_is_whole(f->data) && fit_is_whole((f->has_groups_of_data ? f->data : ranks) / f->replicas);
}

void fit_work_out(const struct fit_setup *f, struct fit *out)
{
	double each = f->parameters / (f->tensor * f->pipeline), shards = fit_shards(f);

	out->parameters = each * f->parameter_bytes / (f->zero_stage >= 3 ? shards : 1);
	if (f->zero_stage >= 3 && f->second_group != 0)
		out->parameters += each * f->second_bytes / f->second_group;
	out->gradients = each * f->gradient_bytes / (f->zero_stage >= 2 ? shards : 1);
	out->optimizer = each * f->optimizer_bytes / (f->zero_stage >= 1 ? shards : 1);
	out->activations = f->is_16_bit ? layers_kept(f) * layer_bytes(f) : NAN;
	out->total = out->parameters + out->gradients + out->optimizer + out->activations;
}
