#include "state/streams/told_metrics.h"
#include "test.h"

static bool have(struct told_metrics *told, const char *metric, enum role role)
{
	return told_metrics_have(told, span_from(metric), role, 1);
}

static bool is_told_by(const char *sent, enum role sent_role, const char *read, enum role role)
{
	struct told_metrics told = {0};

	told_metrics_init(&told);
	CHECK(told_metrics_add(&told, span_from(sent), sent_role, &(struct told_when){.life = 1}));
	bool is = have(&told, read, role);
	CHECK(!told_metrics_have(&told, span_from(read), role, 2));
	told_metrics_done(&told);
	return is;
}

TEST(what_is_called_alike_is_told)
{
	CHECK(is_told_by("train/mean_acc", ROLE_OTHER, "train:mean_acc", ROLE_OTHER));
	CHECK(is_told_by("eval/runtime", ROLE_OTHER, "eval_runtime", ROLE_OTHER));
	CHECK(!is_told_by("eval/runtime", ROLE_OTHER, "train_runtime", ROLE_OTHER));
	CHECK(is_told_by("loss", ROLE_LOSS, "train:lm loss", ROLE_LOSS));
}

/* Words are of ASCII: in others there would be none to tell them apart. */
TEST(names_in_other_letters_are_told_apart)
{
	CHECK(is_told_by("\xe6\x8d\x9f\xe5\xa4\xb1", ROLE_OTHER, "\xe6\x8d\x9f\xe5\xa4\xb1", ROLE_OTHER));
	CHECK(!is_told_by("\xe6\x8d\x9f\xe5\xa4\xb1", ROLE_OTHER, "\xe5\x87\x86\xe7\xa1\xae", ROLE_OTHER));
	CHECK(!is_told_by("\xce\xb1 loss", ROLE_OTHER, "\xce\xb2 loss", ROLE_OTHER));
}

/* Else the loss would be gone from the charts where somebody sends what is added to it. */
TEST(a_part_of_the_loss_is_not_the_loss)
{
	CHECK(!is_told_by("moe/aux_loss", ROLE_LOSS, "train:loss", ROLE_LOSS));
	CHECK(!is_told_by("train/loss", ROLE_LOSS, "train:z_loss", ROLE_LOSS));
	CHECK(is_told_by("aux_loss", ROLE_LOSS, "train:aux_loss", ROLE_LOSS));
}
