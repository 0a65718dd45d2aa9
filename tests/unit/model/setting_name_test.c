#include "model/jobs/setting_name.h"
#include "test.h"

static bool is(const char *key, const char *name)
{
	return setting_name_is(span_from(key), span_from(name));
}

TEST(one_name_in_the_spellings_of_trainers_launchers_and_environments)
{
	static const char *const keys[] = {"lr_decay_style", "lr-decay-style", "--lr-decay-style", "-lr-decay-style",
		"LR_DECAY_STYLE", "optimizer.lr_decay_style", "model.optim.lr-decay-style"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		CHECK(is(keys[i], "lr_decay_style"));
}

TEST(what_ends_like_a_name_is_another_one)
{
	CHECK(!is("min_lr", "lr"));
	CHECK(!is("min-lr", "lr"));
	CHECK(!is("--min-lr", "lr"));
	CHECK(!is("optimizer.min-lr", "lr"));
	CHECK(!is("r", "lr"));
	CHECK(!is("", "lr"));
	CHECK(!is("lr.min", "lr"));
}

TEST(of_some_names_the_case_matters)
{
	CHECK(setting_name_is_exactly(SPAN("--world-size"), SPAN("world_size")));
	CHECK(!setting_name_is_exactly(SPAN("WORLD_SIZE"), SPAN("world_size")));
}
