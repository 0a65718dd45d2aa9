#include "model/jobs/model_size.h"
#include "test.h"

#include <math.h>

/* Of GPT: biases, LayerNorm, learned positions, the embedding is the output layer. */
static double count_gpt(double layers, double hidden, double positions)
{
	struct model_size m = {.layers = layers,
		.hidden = hidden,
		.vocabulary = 50257,
		.heads = hidden / 64,
		.key_heads = hidden / 64,
		.head_size = 64,
		.feed_forward = 4 * hidden,
		.positions = positions,
		.has_biases = true};

	return model_size_count(&m);
}

static double count_llama(double layers, double hidden, double key_heads, double feed_forward, double vocabulary)
{
	struct model_size m = {.layers = layers,
		.hidden = hidden,
		.vocabulary = vocabulary,
		.heads = hidden / 128,
		.key_heads = key_heads,
		.head_size = 128,
		.feed_forward = feed_forward,
		.is_gated = true,
		.has_own_output = true,
		.has_rms_norm = true};

	return model_size_count(&m);
}

/* 12 L h^2 + 13 L h + (V + s) h, and 2 h of the last norm. */
TEST(of_gpt_as_published)
{
	CHECK(count_gpt(12, 768, 1024) == 124439808); /* GPT-2 small: model.safetensors of openai-community/gpt2 */
	CHECK(count_gpt(48, 1600, 1024) == 1557611200); /* GPT-2 XL */
	double gpt3 = count_gpt(96, 12288, 2048);
	CHECK(gpt3 == 173946175488.0 + 15335424 + 617558016 + 25165824 + 24576);
	CHECK(fabs(gpt3 / 175.0e9 - 1) < 0.003); /* Brown et al. (2020), table 2.1: 175.0B */
}

/* As their model.safetensors.index.json and model cards count them. */
TEST(of_llama_as_published)
{
	CHECK(count_llama(32, 4096, 32, 11008, 32000) == 6738415616); /* Llama 2 7B */
	CHECK(count_llama(80, 8192, 8, 28672, 32000) == 68976648192); /* Llama 2 70B */
	CHECK(count_llama(32, 4096, 8, 14336, 128256) == 8030261248); /* Llama 3 8B */
}

TEST(what_is_not_known_makes_no_count)
{
	CHECK(isnan(count_llama(32, 4096, 8, 14336, NAN)));
}
