/*
 * Job: how many parameters a decoder has, by its sizes. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
 *      Using Megatron-LM" (2021), equation 2, is this formula for GPT; grouped keys (Ainslie et al., "GQA", 2023), gated feed-forward
 *      layers (Shazeer, "GLU Variants Improve Transformer", 2020), RMSNorm and an output layer of its own make it that of Llama.
 *      MFU counts otherwise (extract/inputs.c): there the embedding counts once, as a look-up costs nothing.
 * Ownership: values; what is not known is NaN. Threads: any. Pure.
 */
#pragma once

#include <stdbool.h>

struct model_size {
	double layers, hidden, vocabulary;
	double heads, key_heads; /* of queries; of keys and values */
	double head_size; /* hidden / heads, in most */
	double feed_forward; /* the width within */
	double positions; /* learned ones; 0: none */
	bool is_gated; /* three matrices of a feed-forward layer, not two */
	bool has_own_output; /* the output layer is not the embedding */
	bool has_biases; /* of all linear layers */
	bool has_rms_norm; /* without an offset */
};

double model_size_count(const struct model_size *model);
