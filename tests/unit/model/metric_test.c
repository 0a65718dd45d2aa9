#include "model/metrics/metric.h"
#include "test.h"

TEST(roles_have_names)
{
	for (unsigned i = 0; i < ROLE_COUNT; i++) {
		enum role role;
		CHECK(role_parse(span_from(role_name((enum role)i)), &role));
		CHECK_INT(role, i);
	}
	enum role role = ROLE_MFU;
	CHECK(!role_parse(SPAN("Loss"), &role) && !role_parse(SPAN(""), &role));
	CHECK_INT(role, ROLE_MFU);
	CHECK_TEXT(role_name((enum role)99), "other");
	CHECK_INT(role_higher((enum role)99), 0);
}

TEST(roles_are_listed_for_whoever_gave_another_one)
{
	char text[ROLE_LIST_BYTES];

	CHECK_TEXT(role_list(text),
		"loss, eval_loss, throughput, step_time, learning_rate, grad_norm, mfu, reward, kl, entropy, "
		"response_length, clip_fraction, rollout_time, benchmark, other");
}

TEST(some_roles_say_which_way_is_better)
{
	CHECK(role_higher(ROLE_REWARD) == 1 && role_higher(ROLE_THROUGHPUT) == 1 && role_higher(ROLE_MFU) == 1);
	CHECK(role_higher(ROLE_LOSS) == -1 && role_higher(ROLE_STEP_TIME) == -1 &&
		role_higher(ROLE_ROLLOUT_TIME) == -1);
	CHECK(role_higher(ROLE_OTHER) == 0 && role_higher(ROLE_ENTROPY) == 0 && role_higher(ROLE_KL) == 0);
}

static const struct guess {
	const char *name;
	enum role role;
} cases[] = {
	{"loss", ROLE_LOSS},
	{"train:loss", ROLE_LOSS},
	{"train_loss", ROLE_LOSS},
	{"Training Loss", ROLE_LOSS},
	{"lm loss", ROLE_LOSS},
	{"train/CrossEntropyLoss", ROLE_LOSS},
	{"reduced_train_loss", ROLE_LOSS},
	{"latest_loss", ROLE_LOSS},
	{"dev_loss", ROLE_EVAL_LOSS},
	{"device_loss", ROLE_LOSS},
	{"val_loss", ROLE_EVAL_LOSS},
	{"validation:loss", ROLE_EVAL_LOSS},
	{"eval/loss", ROLE_EVAL_LOSS},
	{"test_loss", ROLE_EVAL_LOSS},
	{"valLoss", ROLE_EVAL_LOSS},
	{"loss_scale", ROLE_OTHER},
	{"perplexity", ROLE_OTHER},
	{"lr", ROLE_LEARNING_RATE},
	{"learning_rate", ROLE_LEARNING_RATE},
	{"train:lr", ROLE_LEARNING_RATE},
	{"optim/learning_rate_group0", ROLE_LEARNING_RATE},
	{"grad_norm", ROLE_GRAD_NORM},
	{"optim/total_grad_norm", ROLE_GRAD_NORM},
	{"gradient norm", ROLE_GRAD_NORM},
	{"throughput", ROLE_THROUGHPUT},
	{"throughput/total_tokens", ROLE_OTHER}, /* grows by itself */
	{"throughput/device/tokens_per_second", ROLE_THROUGHPUT},
	{"tokens_per_second", ROLE_THROUGHPUT},
	{"tokens/s", ROLE_THROUGHPUT},
	{"samples/sec", ROLE_THROUGHPUT},
	{"tps", ROLE_THROUGHPUT},
	{"train:samples_per_second", ROLE_THROUGHPUT},
	{"it/s", ROLE_THROUGHPUT},
	{"https", ROLE_OTHER},
	{"steps", ROLE_OTHER},
	{"step_time", ROLE_STEP_TIME},
	{"iter_time_ms", ROLE_STEP_TIME},
	{"elapsed time per iteration", ROLE_STEP_TIME},
	{"seconds_per_step", ROLE_STEP_TIME},
	{"s/it", ROLE_STEP_TIME},
	{"mfu", ROLE_MFU},
	{"train:mfu", ROLE_MFU},
	{"accuracy", ROLE_OTHER},
	{"", ROLE_OTHER},
	{"epoch", ROLE_OTHER},
	{"glossary", ROLE_OTHER},
	{"loss_weight", ROLE_OTHER},
	{"no_loss_count", ROLE_OTHER},
	{"reward", ROLE_REWARD},
	{"train:reward", ROLE_REWARD},
	{"critic/rewards/mean", ROLE_REWARD}, /* verl */
	{"rollout/raw_reward", ROLE_REWARD}, /* slime */
	{"objective/rlhf_reward", ROLE_REWARD}, /* TRL's PPO */
	{"rollout/ep_rew_mean", ROLE_REWARD}, /* Stable-Baselines3 */
	{"Mean reward", ROLE_REWARD}, /* rsl_rl */
	{"rollout/episodic_return", ROLE_REWARD}, /* CleanRL */
	{"critic/rewards/max", ROLE_OTHER},
	{"reward_std", ROLE_OTHER},
	{"frac_reward_zero_std", ROLE_OTHER},
	{"rewards/format_reward/mean", ROLE_OTHER}, /* one of several */
	{"rewards/chosen", ROLE_OTHER}, /* DPO's falls in a good run */
	{"objective/non_score_reward", ROLE_OTHER},
	{"val-core/openai/gsm8k/reward/mean@1", ROLE_OTHER},
	{"eval/reward", ROLE_OTHER},
	{"return", ROLE_OTHER},
	{"kl", ROLE_KL},
	{"actor/ppo_kl", ROLE_KL},
	{"objective/kl", ROLE_KL},
	{"policy/approxkl_avg", ROLE_KL},
	{"train/approx_kl", ROLE_KL},
	{"train:mismatch_kl", ROLE_KL}, /* prime-rl */
	{"Generation KL Error", ROLE_KL}, /* NeMo-RL */
	{"kl_coef", ROLE_OTHER},
	{"actor/kl_loss", ROLE_LOSS}, /* a part of it */
	{"entropy", ROLE_ENTROPY},
	{"actor/entropy", ROLE_ENTROPY},
	{"policy/entropy_avg", ROLE_ENTROPY},
	{"train/entropy_loss", ROLE_ENTROPY}, /* slime, Stable-Baselines3 */
	{"cross_entropy_loss", ROLE_LOSS},
	{"cross_entropy", ROLE_OTHER},
	{"entropy_coeff", ROLE_OTHER},
	{"router_entropy", ROLE_OTHER},
	{"response_length", ROLE_RESPONSE_LENGTH}, /* OpenRLHF */
	{"response_length/mean", ROLE_RESPONSE_LENGTH},
	{"rollout/response_len/mean", ROLE_RESPONSE_LENGTH},
	{"completions/mean_length", ROLE_RESPONSE_LENGTH},
	{"mean_gen_tokens_per_sample", ROLE_RESPONSE_LENGTH},
	{"response_length/max", ROLE_OTHER},
	{"response_length/clip_ratio", ROLE_OTHER},
	{"max_response_length", ROLE_OTHER},
	{"eval_gen_len", ROLE_OTHER},
	{"actor/pg_clipfrac", ROLE_CLIP_FRACTION},
	{"policy/clipfrac_avg", ROLE_CLIP_FRACTION},
	{"clip_ratio/region_mean", ROLE_CLIP_FRACTION},
	{"train/clip_fraction", ROLE_CLIP_FRACTION},
	{"clip_ratio/low_mean", ROLE_OTHER},
	{"completions/clipped_ratio", ROLE_OTHER},
	{"timing_s/gen", ROLE_ROLLOUT_TIME},
	{"perf/rollout_time", ROLE_ROLLOUT_TIME},
	{"time/generation", ROLE_ROLLOUT_TIME}, /* NeMo-RL */
	{"Collection time", ROLE_ROLLOUT_TIME}, /* rsl_rl */
	{"timing_per_token_ms/gen", ROLE_OTHER},
	{"timing_s/step", ROLE_STEP_TIME},
};

TEST(roles_are_guessed_from_names)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum role got = role_guess(span_from(cases[i].name));
		if (got != cases[i].role)
			test_fail(__FILE__, __LINE__, "'%s' is %s, not %s", cases[i].name, role_name(got),
				role_name(cases[i].role));
	}
}

TEST(what_is_measured_in_an_evaluation_is_named_so)
{
	static const char *const yes[] = {"validation:accuracy", "eval_accuracy", "val_acc", "valAcc", "eval/runtime",
		"test:f1", "dev/bleu", "Validation Loss", "acc/val", "valid_acc", "lm-eval/mmlu", "val_evalacc",
		"accuracy{split=\"test\"}"};
	static const char *const no[] = {"train:value", "evaluated_tokens", "interval", "latest_loss", "train:accuracy",
		"value", "device", "std_dev", "max_val", "valid_tokens", "num_valid", "contest", "eval_interval",
		"train/val", "retrieval"};

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!metric_is_evaluation(span_from(yes[i])))
			test_fail(__FILE__, __LINE__, "'%s' is of an evaluation", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (metric_is_evaluation(span_from(no[i])))
			test_fail(__FILE__, __LINE__, "'%s' is of no evaluation", no[i]);
}

TEST(what_is_printed_among_losses_may_be_a_score)
{
	CHECK(metric_is_score(SPAN("RCNNAcc")) && metric_is_score(SPAN("train_accuracy")) &&
		metric_is_score(SPAN("val/auc")));
	CHECK(!metric_is_score(SPAN("RCNNL1Loss")) && !metric_is_score(SPAN("accumulated")) &&
		!metric_is_score(SPAN("acc_loss")));
}
