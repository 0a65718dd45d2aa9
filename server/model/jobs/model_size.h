/*
 * Job: how many parameters a decoder has, by what a job's settings say of its sizes: the one count of it, of /fit and of FLOPs and MFU.
 *      Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021), equation 2, is this
 *      formula for GPT; grouped keys (Ainslie et al., "GQA", 2023), gated feed-forward layers (Shazeer, "GLU Variants Improve
 *      Transformer", 2020), RMSNorm and an output layer of its own make it that of Llama.
 * Ownership: values; spans are the caller's; what is not known is NaN. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

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
/* Of these what works on each token: the embedding counts once, as a look-up costs nothing, and what is not known of the embeddings as 0. */
double model_size_count_working(const struct model_size *model);

/* ---- as settings say it ---- */

enum model_setting {
	MODEL_HIDDEN,
	MODEL_LAYERS,
	MODEL_HEADS,
	MODEL_KEY_HEADS,
	MODEL_HEAD_SIZE,
	MODEL_FEED_FORWARD,
	MODEL_FEED_FORWARD_RATIO,
	MODEL_VOCABULARY,
	MODEL_POSITIONS,
	MODEL_POSITION_KIND,
	MODEL_ROTARY,
	MODEL_ALIBI,
	MODEL_GATED,
	MODEL_ACTIVATION,
	MODEL_FAMILY,
	MODEL_TIED,
	MODEL_UNTIED,
	MODEL_BIASES,
	MODEL_NO_BIASES,
	MODEL_NORM,
	MODEL_SETTING_COUNT
};

/* What trainers call it, the best first, with spaces between. */
const char *model_setting_names(enum model_setting setting);

struct model_said {
	bool is_there;
	struct span text; /* "": it is a number alone */
	double number; /* NaN: it is none, or cannot be read */
};
typedef struct model_said model_find(void *context, enum model_setting setting);

/* What is not said is what such a model has. sequence: how long its samples are, where learned positions are not said. */
void model_size_read(struct model_size *out, double sequence, model_find *find, void *context);
