/* Numbers that srun --label puts in front of lines: ranks, where they can be nothing else. */
#include "auto_stream.h"

static void feed_ranks(struct stream *s, const char *form, int ranks, bool restarts)
{
	char line[128];

	for (int step = 1; step < 4; step++)
		for (int rank = 0; rank < ranks; rank++) {
			snprintf(line, sizeof line, form, rank, step, 10 * step + rank);
			feed(s, line);
			if (restarts)
				restart_stream(s);
		}
}

/* srun --label, whose ranks print by turns, so that no number comes twice in a row. */
TEST(numbers_in_front_are_ranks_where_they_say_one_metric_at_one_step)
{
	static const char *const forms[] = {"%d: step %d loss %d.5", " %d: iter %d: loss %d.5, time 100.0ms",
		"%d: {\"step\": %d, \"loss\": %d.5}", "%d: Epoch %d | loss: %d.5"};

	for (size_t i = 0; i < 2 * (sizeof forms / sizeof *forms); i++) {
		AUTO_DONE(stream) s = auto_stream();
		feed_ranks(&s, forms[i / 2], 3, i % 2);
		check_series(&s, "train:loss", "1=10.5 2=20.5 3=30.5");
		check_series(&s, "train:loss{rank=\"1\"}", "1=11.5 2=21.5 3=31.5");
		check_series(&s, "train:loss{rank=\"2\"}", "1=12.5 2=22.5 3=32.5");
	}
}

TEST(numbers_in_front_that_say_the_same_are_one_series)
{
	AUTO_DONE(stream) s = auto_stream();

	for (int line = 0; line < 12; line++) {
		char text[64];
		snprintf(text, sizeof text, "%d: step %d loss %d.5", line % 4, line / 4, line / 4);
		feed(&s, text);
	}
	check_series(&s, "train:loss", "0=0.5 1=1.5 2=2.5");
}

/* A batch of the epoch, which the line says. */
TEST(numbers_in_front_that_count_are_no_ranks)
{
	AUTO_DONE(stream) s = auto_stream();

	feed(&s, "begins");
	for (int i = 0; i < 6; i++) {
		char text[64];
		snprintf(text, sizeof text, "%d: epoch %d loss %d.5", i % 3, i / 3, i);
		feed(&s, text);
	}
	check_series(&s, "train:loss", "0=0.5 0=1.5 0=2.5 1=3.5 1=4.5 1=5.5");
}

/* Of gradients that are summed up over several lines a step: the first step may yet be one of ranks. */
TEST(numbers_in_front_that_only_rise_are_no_ranks)
{
	static const char *const forms[] = {"%d: step=%d loss=%d.5", "%d: {\"step\": %d, \"loss\": %d.5}"};

	for (size_t i = 0; i < 2 * (sizeof forms / sizeof *forms); i++) {
		AUTO_DONE(stream) s = auto_stream();
		for (int line = 0; line < 40; line++) {
			char text[64];
			snprintf(text, sizeof text, forms[i / 2], line, line / 2, line);
			feed(&s, text);
			if (i % 2)
				restart_stream(&s);
		}
		check_series(&s, "train:loss{rank=\"1\"}", "0=1.5");
		check_series(&s, "train:loss{rank=\"2\"}", "");
		check_series(&s, "train:loss{rank=\"39\"}", "");
	}
}

/* A rank may be silent at first. */
TEST(numbers_in_front_that_began_anew_are_ranks_whenever_one_comes)
{
	AUTO_DONE(stream) s = auto_stream();

	for (int line = 0; line < 12; line++) {
		char text[64];
		snprintf(text, sizeof text, "%d: step %d loss %d.5", line % 3, line / 3, line);
		if (line != 2 && line != 5)
			feed(&s, text);
	}
	check_series(&s, "train:loss{rank=\"2\"}", "2=8.5 3=11.5");
}

/* By definitions that say nothing of a step, as SageMaker's. */
TEST(numbers_in_front_are_ranks_of_a_users_definitions_too)
{
	AUTO_DONE(stream)
	s = stream_by_presets("[{\"Name\":\"train:loss\",\"Regex\":\"loss[ =]([0-9.]+)\"}]");

	feed_ranks(&s, "%d: step %d loss=%d.5", 3, false);
	check_series(&s, "train:loss", "1=10.5 2=20.5 3=30.5");
	check_series(&s, "train:loss{rank=\"2\"}", "1=12.5 2=22.5 3=32.5");
}
