#include "fleet/fit.h"
#include "test.h"

#include <math.h>

/* GPT-3 175B as in Korthikanti et al., table 3: h 12288, 96 layers, 96 heads, s 2048, b 1, t 8, p 8. */
static struct fit_setup gpt3(void)
{
	return (struct fit_setup){.parameters = 175e9,
		.hidden = 12288,
		.layers = 96,
		.heads = 96,
		.sequence = 2048,
		.micro_batch = 1,
		.tensor = 8,
		.pipeline = 8,
		.context = 1,
		.replicas = 1,
		.recomputed_share = 1,
		.virtual_stages = 1,
		.data = 1,
		.parameter_bytes = 2,
		.gradient_bytes = 2,
		.optimizer_bytes = 12,
		.is_16_bit = true};
}

TEST(activations_are_those_of_the_paper)
{
	struct fit_setup f = gpt3();
	struct fit got;
	const double sbh = 2048.0 * 12288; /* 25165824; 5 a s / h is 80 */

	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * sbh * (10 + 3 + 10)); /* 55.6 GB */
	f.is_sequence_parallel = true;
	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * sbh * 114 / 8);
	f.recompute = FIT_RECOMPUTE_SELECTIVE;
	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * sbh * 34 / 8);
	f.is_sequence_parallel = false;
	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * sbh * 13);
	f.recompute = FIT_RECOMPUTE_FULL;
	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * sbh * 2);
	f.recompute = FIT_RECOMPUTE_NONE;
	f.has_flash_attention = true;
	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * sbh * 13);
}

/* Rajbhandari et al., figure 1: 7.5B parameters, 64 devices, K 12: 120, 31.4, 16.6 and 1.9 GB. */
TEST(model_states_are_those_of_the_paper)
{
	static const double gigabytes[] = {120, 31.4, 16.6, 1.9};
	struct fit got;

	for (int stage = 0; stage < 4; stage++) {
		struct fit_setup f = gpt3();
		f.parameters = 7.5e9;
		f.tensor = f.pipeline = 1;
		f.data = 64;
		f.zero_stage = stage;
		fit_work_out(&f, &got);
		CHECK(fabs((got.parameters + got.gradients + got.optimizer) / 1e9 - gigabytes[stage]) < 0.05);
	}
}

TEST(what_is_not_known_stays_unknown)
{
	struct fit_setup f = gpt3();
	struct fit got;

	f.micro_batch = NAN;
	fit_work_out(&f, &got);
	CHECK(isnan(got.activations) && isnan(got.total) && got.parameters == 175e9 / 64 * 2);
	f = gpt3();
	f.data = NAN;
	fit_work_out(&f, &got);
	CHECK(!isnan(got.total)); /* nothing is sharded over it */
	f.zero_stage = 1;
	fit_work_out(&f, &got);
	CHECK(isnan(got.optimizer) && !isnan(got.gradients));
	f = gpt3();
	f.is_16_bit = false;
	fit_work_out(&f, &got);
	CHECK(isnan(got.activations));
}

/* 7.5B parameters on 64 devices, as above: within a group of 8 each has 16 / 8 bytes of each, whatever the other 56 do (MiCS). */
TEST(shards_within_a_group)
{
	struct fit_setup f = gpt3();
	struct fit got;

	f.parameters = 7.5e9;
	f.tensor = f.pipeline = 1;
	f.data = 64;
	f.zero_stage = 3;
	f.group = 8;
	fit_work_out(&f, &got);
	CHECK(fit_shards(&f) == 8 && fit_has_whole_copies(&f));
	CHECK(got.parameters == 15e9 / 8 && got.gradients == 15e9 / 8 && got.optimizer == 90e9 / 8);
	f.zero_stage = 2; /* PyTorch's _HYBRID_SHARD_ZERO2 */
	fit_work_out(&f, &got);
	CHECK(got.parameters == 15e9 && got.gradients == 15e9 / 8 && got.optimizer == 90e9 / 8);
	f.group = 24;
	CHECK(!fit_has_whole_copies(&f));
	f.group = NAN; /* a node of unknown size */
	fit_work_out(&f, &got);
	CHECK(isnan(got.optimizer) && fit_has_whole_copies(&f));
}

/* The same with hpZ: 15e9 / 64 of the shards and 15e9 / 8 of the copy within a node, in 16 bits. */
TEST(a_second_copy_of_the_parameters)
{
	struct fit_setup f = gpt3();
	struct fit got;

	f.parameters = 7.5e9;
	f.tensor = f.pipeline = 1;
	f.data = 64;
	f.zero_stage = 3;
	f.second_group = 8;
	f.second_bytes = 2;
	fit_work_out(&f, &got);
	CHECK(got.parameters == 15e9 / 64 + 15e9 / 8 && got.gradients == 15e9 / 64 && got.optimizer == 90e9 / 64);
	f.second_group = 7;
	CHECK(!fit_has_whole_copies(&f));
	f.zero_stage = 2; /* they are whole anyway */
	fit_work_out(&f, &got);
	CHECK(got.parameters == 15e9);
}

/* s b h = 25165824, t 8, p 8. Half of 96 layers keep 2, half 23; four virtual stages keep 1 + 7 / 32 of the layers. */
TEST(some_layers_recomputed_and_interleaved_pipelines)
{
	struct fit_setup f = gpt3();
	struct fit got;
	const double sbh = 2048.0 * 12288;

	f.recompute = FIT_RECOMPUTE_FULL;
	f.recomputed_share = 0.5;
	fit_work_out(&f, &got);
	CHECK(got.activations == 48 * sbh * 2 + 48 * sbh * 23);
	f.recompute = FIT_RECOMPUTE_NONE;
	f.virtual_stages = 4;
	fit_work_out(&f, &got);
	CHECK(got.activations == 96 * 1.21875 * sbh * 23);
}
