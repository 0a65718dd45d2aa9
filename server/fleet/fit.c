#include "fleet/fit.h"

#include <math.h>

/* Bytes of one layer, of one micro-batch. s: of one device of a context parallel group. */
static double layer_bytes(const struct fit_setup *f)
{
	double s = f->sequence / f->context, sbh = s * f->micro_batch * f->hidden, t = f->tensor;
	bool keeps_scores = f->recompute == FIT_RECOMPUTE_NONE && !f->has_flash_attention;
	double scores = keeps_scores ? 5 * f->heads * f->sequence / f->hidden : 0;

	if (f->recompute == FIT_RECOMPUTE_FULL)
		return 2 * sbh;
	if (f->is_sequence_parallel)
		return sbh * (34 + scores) / t;
	return sbh * (10 + 24 / t + scores / t);
}

double fit_shards(const struct fit_setup *f)
{
	return f->data * f->context / f->replicas;
}

bool fit_is_whole(double degree)
{
	return isnan(degree) || (degree >= 1 && degree == floor(degree));
}

bool fit_has_whole_copies(const struct fit_setup *f)
{
	return fit_is_whole(f->data) && fit_is_whole(f->has_groups_of_data ? f->data / f->replicas : fit_shards(f));
}

void fit_work_out(const struct fit_setup *f, struct fit *out)
{
	double each = f->parameters / (f->tensor * f->pipeline), shards = fit_shards(f);

	out->parameters = each * f->parameter_bytes / (f->zero_stage >= 3 ? shards : 1);
	out->gradients = each * f->gradient_bytes / (f->zero_stage >= 2 ? shards : 1);
	out->optimizer = each * f->optimizer_bytes / (f->zero_stage >= 1 ? shards : 1);
	/* The first stage of a pipeline keeps as many micro-batches as there are stages: so many layers as the model has. */
	out->activations = f->is_16_bit ? f->layers * layer_bytes(f) : NAN;
	out->total = out->parameters + out->gradients + out->optimizer + out->activations;
}
