#include "model/metrics/main_metric.h"
#include "test.h"

enum { MOST = 8 };

static const char *main_of(enum role role, const char *const *names, const uint64_t *counts)
{
	struct metric_candidate candidates[MOST] = {0};
	size_t count = 0;

	for (; names[count]; count++)
		candidates[count] = (struct metric_candidate){
			span_from(names[count]), SPAN(""), role, counts ? counts[count] : 100};
	size_t found = main_metric_find(role, candidates, count);
	return found < count ? names[found] : "";
}

#define NAMES(...)                                                                                                     \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

TEST(the_loss_is_not_a_part_of_it)
{
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("moe_aux_loss", "train/loss"), NULL), "train/loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("train/loss", "router/z_loss", "lm loss"), NULL), "lm loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("policy_loss", "train/loss", "value_loss"), NULL), "train/loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("cross_entropy_loss", "distill_loss"), NULL), "cross_entropy_loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("aux_loss"), NULL), "aux_loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("a_loss", "train_loss", "loss"), NULL), "loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("loss{gpu=\"3\"}", "train:loss"), NULL), "train:loss");
	CHECK_TEXT(main_of(ROLE_EVAL_LOSS, NAMES("eval/c4/loss", "eval/loss", "test_loss"), NULL), "eval/loss");
}

TEST(one_that_is_seldom_printed_yields)
{
	static const uint64_t counts[] = {1, 1000};
	static const uint64_t nearly[] = {250, 1000};

	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("train_loss", "nll_of_tokens"), counts), "nll_of_tokens");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("train_loss", "nll_of_tokens"), nearly), "train_loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("train_loss", "moe_aux_loss"), counts), "train_loss");
}

/* log({"loss": last}) behind a training whose curve is train/loss. */
TEST(one_point_is_no_curve_whatever_it_is_called)
{
	static const uint64_t last_word[] = {1, 8}, begun[] = {1, 7}, seldom[] = {2, 1000};

	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("loss", "train/loss"), last_word), "train/loss");
	CHECK_TEXT(main_of(ROLE_EVAL_LOSS, NAMES("eval_loss", "val/loss"), last_word), "val/loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("loss", "train/loss"), begun), "loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("loss", "train/loss"), seldom), "loss");
	CHECK_TEXT(main_of(ROLE_LOSS, NAMES("loss", "moe_aux_loss"), last_word),
		"loss"); /* a part is no curve of the loss */
	CHECK_TEXT(main_of(ROLE_THROUGHPUT, NAMES("throughput", "derived:tokens_per_second"), last_word), "throughput");
}

TEST(tokens_before_samples_and_what_is_printed_before_what_is_derived)
{
	CHECK_TEXT(main_of(ROLE_THROUGHPUT, NAMES("tflops", "samples_per_second", "tokens_per_second"), NULL),
		"tokens_per_second");
	CHECK_TEXT(main_of(ROLE_THROUGHPUT, NAMES("derived:tokens_per_second", "tflops"), NULL), "tflops");
	CHECK_TEXT(main_of(ROLE_THROUGHPUT, NAMES("tokens_per_second_per_gpu", "tokens_per_second"), NULL),
		"tokens_per_second");
	CHECK_TEXT(main_of(ROLE_THROUGHPUT, NAMES("derived:steps_per_second"), NULL), "derived:steps_per_second");
	CHECK_TEXT(main_of(ROLE_THROUGHPUT, (const char *const[]){NULL}, NULL), "");
}

TEST(of_rewards_it_is_the_one_that_was_got)
{
	CHECK_TEXT(main_of(ROLE_REWARD, NAMES("rollout/rewards", "rollout/raw_reward"), NULL), "rollout/raw_reward");
	CHECK_TEXT(main_of(ROLE_REWARD, NAMES("critic/rewards/mean", "train:reward"), NULL), "train:reward");
}

TEST(a_metric_answers_for_one_role)
{
	struct metric_candidate loss = {SPAN("loss"), SPAN(""), ROLE_EVAL_LOSS, 5};

	CHECK(main_metric_find(ROLE_LOSS, &loss, 1) == 0);
	CHECK(main_metric_find(ROLE_EVAL_LOSS, &loss, 1) == 1);
}
