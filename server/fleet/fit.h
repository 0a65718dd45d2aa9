/*
 * Job: how many bytes of a device's memory a training takes, by published formulas. Weights, gradients and optimizer: Rajbhandari et al.,
 *      "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020), section 3; activations of a transformer: Korthikanti
 *      et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), table 2, and equation 5 of interleaved pipelines. Shards within a
 *      group: Zhang et al., "MiCS: Near-linear Scaling for Training Gigantic Model on Public Cloud" (2022), section 3.1. A second copy of the
 *      parameters: Wang et al., "ZeRO++: Extremely Efficient Collective Communication for Giant Model Training" (2023), section 3.2. What is not known is NaN.
 * Ownership: values. Threads: any. Pure.
 */
#pragma once

#include <stdbool.h>

enum fit_recompute { FIT_RECOMPUTE_NONE, FIT_RECOMPUTE_SELECTIVE, FIT_RECOMPUTE_FULL };

struct fit_setup {
	double parameters; /* of the whole model; NaN: not known, as below */
	double hidden, layers, heads, sequence, micro_batch;
	double tensor, pipeline, context, data; /* degrees */
	bool has_groups_of_data; /* a copy's ranks are of data parallelism alone; else those of context parallelism divide, too */
	double replicas; /* whole copies that data parallelism keeps of what it shards: 1, unless shards stay within a group */
	double group; /* ranks that what is sharded stays within, each of their groups a whole copy; 0: all that replicas leave */
	double second_group; /* ranks that share a second copy of the parameters, kept beside the shards of stage 3; 0: there is none */
	double second_bytes; /* of a parameter in it */
	double parameter_bytes, gradient_bytes,
		optimizer_bytes; /* of one parameter: 2, 2, 12 in mixed precision with Adam */
	int zero_stage; /* 0 to 3 */
	enum fit_recompute recompute;
	double recomputed_share; /* of the layers, with full recomputation: 1, unless only some are */
	double virtual_stages; /* of an interleaved pipeline, on each device; 1: it is none */
	bool is_sequence_parallel;
	bool has_flash_attention; /* the scores of attention are not kept */
	bool is_16_bit; /* activations; the formulas are of these alone */
};

struct fit {
	double parameters, gradients, optimizer, activations; /* bytes of one device */
	double total;
};

/* Ranks that what is sharded is spread over. Those of one context parallel group share it, too. */
double fit_shards(const struct fit_setup *setup);
/* Has each copy a whole number of ranks? As long as one of the degrees is not known, yes. */
bool fit_has_whole_copies(const struct fit_setup *setup);
bool fit_is_whole(double degree); /* 1 or more; what is not known is, too */
void fit_work_out(const struct fit_setup *setup, struct fit *out);
