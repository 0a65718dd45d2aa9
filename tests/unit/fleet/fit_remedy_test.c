#include "fleet/fit_remedy.h"
#include "test.h"

#include <math.h>

/* One layer, so that s b h = 1024 and, without tensor parallelism and scores, 34 bytes of each: 34816 b; 16 bytes of 1000 parameters. */
static struct fit_setup small(void)
{
	return (struct fit_setup){.parameters = 1000,
		.hidden = 16,
		.layers = 1,
		.heads = 4,
		.sequence = 64,
		.micro_batch = 4,
		.tensor = 1,
		.pipeline = 1,
		.context = 1,
		.replicas = 1,
		.recomputed_share = 1,
		.virtual_stages = 1,
		.data = 4,
		.parameter_bytes = 2,
		.gradient_bytes = 2,
		.optimizer_bytes = 12,
		.has_flash_attention = true,
		.is_16_bit = true};
}

TEST(each_change_alone_that_suffices)
{
	struct fit_setup f = small();
	struct fit_remedy got[FIT_CHANGES];

	/* 139264 + 16000 are too much for 100000: a micro batch of 2 makes 85632, full recomputation 8192 + 16000, a tensor degree of 2 only
	   4096 * (10 + 12) + 8000 = 98112; no stage takes 55264 off 16000. */
	CHECK(fit_remedies(&f, 100000, 1, 4, got) == 3);
	CHECK(got[0].changes[FIT_HALVE_MICRO_BATCH] && got[0].setup.micro_batch == 2 && got[0].total == 85632);
	CHECK(got[1].changes[FIT_FULL_RECOMPUTATION] && got[1].total == 24192);
	CHECK(got[2].changes[FIT_DOUBLE_TENSOR] && got[2].setup.tensor == 2 && got[2].setup.data == 2 &&
		got[2].total == 98112);
	/* 85632 * 1.15 = 98476.8, but 98112 * 1.15 is too much: a degree of 4, 4096 * (10 + 6) + 4000 */
	CHECK(fit_remedies(&f, 100000, 1.15, 4, got) == 3);
	CHECK(got[0].setup.micro_batch == 2 && got[2].setup.tensor == 4 && got[2].total == 69536);
	CHECK(fit_remedies(&f, 100000, 1, 1, got) == 2); /* of one rank a node, no degree fits into it */
}

TEST(copies_of_whole_ranks)
{
	struct fit_setup f = small();
	struct fit_remedy got[FIT_CHANGES];

	/* As above, of two devices of context parallelism: with a tensor degree of 2 each of four copies has one of 2 x 2 ranks. */
	f.sequence *= 2;
	f.context = 2;
	f.replicas = 4;
	CHECK(fit_remedies(&f, 100000, 1, 4, got) == 3 && got[2].setup.tensor == 2 && got[2].setup.data == 2);
	f.has_groups_of_data = true;
	CHECK(fit_remedies(&f, 100000, 1, 4, got) == 2);
}

TEST(several_where_none_alone_suffices)
{
	struct fit_setup f = small();
	struct fit_remedy got[FIT_CHANGES];

	f.heads = 1; /* no tensor parallelism */
	/* micro batch 1: 34816 + 16000; stage 3: 34816 + 4000; full recomputation: 2048 + 4000 */
	CHECK(fit_remedies(&f, 7000, 1, 4, got) == 1);
	CHECK(got[0].changes[FIT_HALVE_MICRO_BATCH] && got[0].changes[FIT_SHARD_MORE] &&
		got[0].changes[FIT_FULL_RECOMPUTATION]);
	CHECK(got[0].setup.micro_batch == 1 && got[0].setup.zero_stage == 3 && got[0].total == 6048);
	CHECK(fit_remedies(&f, 6000, 1, 4, got) == 0);
}

TEST(what_is_not_known_has_no_remedy)
{
	struct fit_setup f = small();
	struct fit_remedy got[FIT_CHANGES];

	CHECK(fit_remedies(&f, NAN, 1, 4, got) == 0);
	f.sequence = NAN;
	CHECK(fit_remedies(&f, 100000, 1, 4, got) == 0);
}

TEST(shards_of_a_group_and_layers_that_are_half_recomputed)
{
	struct fit_setup f = small();
	struct fit_remedy got[FIT_CHANGES];

	/* As in the first test, in groups of two: the micro batch, and full recomputation; no tensor degree. */
	f.group = 2;
	CHECK(fit_remedies(&f, 100000, 1, 4, got) == 2);
	CHECK(got[0].changes[FIT_HALVE_MICRO_BATCH] && got[1].changes[FIT_FULL_RECOMPUTATION]);
	/* (8192 + 139264) / 2 + 16000 = 89728; all of them leave 8192 + 16000. */
	f.recompute = FIT_RECOMPUTE_FULL;
	f.recomputed_share = 0.5;
	CHECK(fit_remedies(&f, 30000, 1, 4, got) == 1);
	CHECK(got[0].changes[FIT_FULL_RECOMPUTATION] && got[0].setup.recomputed_share == 1 && got[0].total == 24192);
}
