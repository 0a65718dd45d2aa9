#include "ingest/otlp/span_names.h"

#include "test.h"

static const char *part_of(const char *names, const char *name)
{
	static const char *const parts[] = {
		"data", "forward", "backward", "communication", "optimizer", "checkpoint", "step", "none"};
	AUTO(ingest_span_names) all = NULL;

	CHECK_OK(ingest_span_names_new(&all, names, &err));
	return parts[ingest_span_part(all, span_from(name))];
}

TEST(names_of_trainers_are_known)
{
	CHECK_TEXT(part_of("", "Data-Loading"), "data");
	CHECK_TEXT(part_of("", "Trainer::forward"), "forward");
	CHECK_TEXT(part_of("", "model/bwd"), "backward");
	CHECK_TEXT(part_of("", "all reduce"), "communication");
	CHECK_TEXT(part_of("", "trainer.optimizer.step"), "optimizer");
	CHECK_TEXT(part_of("", "trainer.step"), "step");
	CHECK_TEXT(part_of("", "validation_step"), "none");
	CHECK_TEXT(part_of("", "forward_hook"), "none");
	CHECK_TEXT(part_of("", ""), "none");
	CHECK_TEXT(part_of("", "forward."), "none");
}

TEST(ones_own_names_come_first)
{
	CHECK_TEXT(part_of(" data = grab , Read Shard ; step = forward ;", "read-shard"), "data");
	CHECK_TEXT(part_of("data=grab;step=forward", "forward"), "step");
	CHECK_TEXT(part_of("data=grab;step=forward", "backward"), "backward");
}

static void refuse(const char *names, const char *words)
{
	struct ingest_span_names *all = NULL;

	CHECK_FAILS(ingest_span_names_new(&all, names, &err), ERR_INVALID, words);
	CHECK(!all);
}

TEST(wrong_names_are_named)
{
	static char many[1024] = "data=";

	refuse("data", "'data' is no PART=NAME,NAME");
	refuse("sleep=a", "'sleep=a' is no PART=NAME,NAME");
	refuse("data=a,,b", "has 0 bytes");
	memset(many + 5, 'x', 65);
	refuse(many, "has 65 bytes");
	for (size_t i = 0; i < 129; i++)
		memcpy(many + 5 + 2 * i, "a,", 2);
	refuse(many, "more than 128 names");
}
