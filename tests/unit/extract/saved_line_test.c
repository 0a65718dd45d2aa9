#include "extract/line/saved_line.h"
#include "helper.h"

#include <stdio.h>

static const char said[] = "successfully saved checkpoint from iteration     150 to /ckpt/mega";

static bool is_saved(const char *front)
{
	char line[512];

	int len = snprintf(line, sizeof line, "%s%s", front, said);
	struct span text = span_of(line, (size_t)len);
	return saved_line_is_trainers(text, span_skip(text, strlen(front)));
}

TEST(what_tells_of_a_checkpoint_of_others_saves_none)
{
	static const char *const fronts[] = {
		"[2026-11-30 03:26:00] Exception: async save timed out while waiting for: ",
		"Exception: while waiting for: ", "previous run: ", "WARNING last seen in old log: ",
		"INFO args: log_pattern=", "  ckpt_regex ............ ", "[response] ",
		"[2026-11-30 03:26:00] [response] ", "expected: ", "pattern = ", "2026-11-30 01:10:00 INFO response: "};

	for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
		if (is_saved(fronts[i]))
			CHECK_SPAN(span_from(fronts[i]), SPAN("no checkpoint"));
}

TEST(what_stands_in_front_of_a_checkpoint_that_was_saved)
{
	static const char *const fronts[] = {"  ", "[2026-11-30 03:26:00]   ",
		"[rank0]: ", "3: ", "INFO trainer: ", "2026-11-30 01:10:00,123 INFO trainer: ", "Epoch 3: ", "=> ",
		"level=info msg=", "(WorkerDict pid=4100) ", "done waiting: the barrier is passed, ",
		"deleted the old one: removed 3 files; ", "[last] [rank0] ", "[2026-11-30 03:26:00][INFO] "};

	for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
		if (!is_saved(fronts[i]))
			CHECK_SPAN(span_from(fronts[i]), SPAN("a checkpoint"));
}
