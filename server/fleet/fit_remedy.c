#include "fleet/fit_remedy.h"

#include <math.h>

static double total_of(const struct fit_setup *setup)
{
	struct fit fit;

	fit_work_out(setup, &fit);
	return fit.total;
}

/* One notch further; false: there is none. */
static bool change(struct fit_setup *f, enum fit_change change, double ranks_per_node)
{
	switch (change) {
	case FIT_HALVE_MICRO_BATCH:
		f->micro_batch /= 2;
		return f->micro_batch >= 1 && f->micro_batch == floor(f->micro_batch);
	case FIT_SELECTIVE_RECOMPUTATION:
		if (f->recompute != FIT_RECOMPUTE_NONE || f->has_flash_attention)
			return false; /* with flash attention it saves nothing */
		f->recompute = FIT_RECOMPUTE_SELECTIVE;
		return true;
	case FIT_FULL_RECOMPUTATION:
		if (f->recompute == FIT_RECOMPUTE_FULL && f->recomputed_share == 1)
			return false;
		f->recompute = FIT_RECOMPUTE_FULL;
		f->recomputed_share = 1;
		return true;
	case FIT_SEQUENCE_PARALLEL:
		if (f->is_sequence_parallel || f->tensor == 1 || f->recompute == FIT_RECOMPUTE_FULL)
			return false;
		f->is_sequence_parallel = true;
		return true;
	case FIT_SHARD_MORE:
		return fit_shards(f) > 1 && ++f->zero_stage <= 3;
	case FIT_DOUBLE_TENSOR:
		f->tensor *= 2;
		f->data /= 2; /* what a group within a node is then, nobody says */
		return f->group == 0 && f->tensor <= ranks_per_node && fit_has_whole_copies(f) &&
		       fmod(f->heads, f->tensor) == 0;
	default:
		return false;
	}
}

/* false: it cannot be made at all. Else as far as it takes, or as far as it goes. */
static bool push(struct fit_remedy *remedy, enum fit_change which, double enough, double ranks_per_node)
{
	struct fit_setup next = remedy->setup;
	bool is_changed = false;

	while (!(is_changed && remedy->total <= enough) && change(&next, which, ranks_per_node)) {
		double total = total_of(&next);
		if (!(total < remedy->total))
			return is_changed;
		remedy->setup = next;
		remedy->total = total;
		remedy->changes[which] = is_changed = true;
	}
	return is_changed;
}

size_t fit_remedies(const struct fit_setup *setup, double limit, double factor, double ranks_per_node,
	struct fit_remedy out[FIT_CHANGES])
{
	const struct fit_remedy as_is = {.setup = *setup, .total = total_of(setup)};
	struct fit_remedy all = as_is;
	double enough = limit / factor;
	size_t count = 0;

	if (isnan(as_is.total) || isnan(enough))
		return 0;
	for (int i = 0; i < FIT_CHANGES; i++) {
		out[count] = as_is;
		if (push(&out[count], (enum fit_change)i, enough, ranks_per_node) && out[count].total <= enough)
			count++;
	}
	for (int i = 0; i < FIT_CHANGES && !count && all.total > enough; i++)
		push(&all, (enum fit_change)i, enough, ranks_per_node);
	if (!count && all.total <= enough && all.total < as_is.total)
		out[count++] = all;
	return count;
}
