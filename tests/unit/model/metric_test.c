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
