/* Numbers that srun --label puts in front of lines: ranks, where they can be nothing else. */
#include "auto_stream.h"

static void feed_ranks(struct stream *s, const char *form, int ranks, bool restarts)
{
	char line[128];

	for (int rank = 0; rank < ranks; rank++) {
		snprintf(line, sizeof line, "%d: loads the model", rank);
		feed(s, line);
	}
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

/* No line is without one; a counter begins anew with each epoch, be it behind an evaluation that began with it, too, or goes on. */
TEST(numbers_in_front_that_count_the_batches_of_epochs_are_no_ranks)
{
	static const char *const forms[] = {
		"%d: loss %d.5 epoch %d", "%d: loss=%d.5 epoch=%d", "%d: {\"loss\": %d.5, \"epoch\": %d}"};
	enum { ANEW, BEHIND_EVALUATION, GOING_ON, TWICE, WAYS };

	for (size_t i = 0; i < WAYS * (sizeof forms / sizeof *forms); i++) {
		AUTO_DONE(stream) s = auto_stream();
		size_t way = i % WAYS;
		for (int line = 0; line < 24; line++) {
			char text[80];
			int number = way == GOING_ON ? line : way == TWICE ? line / 2 : line % 6;
			snprintf(text, sizeof text, forms[i / WAYS], number, line, line / 6);
			feed(&s, text);
			if (way == BEHIND_EVALUATION && line % 6 == 5)
				feed(&s, "0: evaluated");
		}
		for (int rank = 0; rank < 12; rank++) {
			char name[40];
			snprintf(name, sizeof name, "train:loss{rank=\"%d\"}", rank);
			check_series(&s, name, "");
		}
	}
}

/* Ranks are as quick as they are. */
TEST(numbers_in_front_that_fall_within_an_epoch_are_ranks)
{
	AUTO_DONE(stream) s = auto_stream();

	feed(&s, "begins");
	for (int line = 0; line < 9; line++) {
		char text[64];
		snprintf(text, sizeof text, "%d: loss %d.5 epoch %d", 2 - line % 3, 10 * (line / 3) + 2 - line % 3,
			line / 3);
		feed(&s, text);
		restart_stream(&s);
	}
	check_series(&s, "train:loss", "0=2.5 1=12.5 2=22.5");
	check_series(&s, "train:loss{rank=\"0\"}", "0=0.5 1=10.5 2=20.5");
	check_series(&s, "train:loss{rank=\"1\"}", "0=1.5 1=11.5 2=21.5");
}

static void feed_losses(struct stream *s, const int (*said)[3], size_t count)
{
	char line[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(line, sizeof line, "%d: step %d loss %d.5", said[i][0], said[i][1], said[i][2]);
		feed(s, line);
	}
}

/* Python's output into a pipe comes in blocks. */
TEST(a_ranks_first_point_is_its_own_where_another_is_further_on)
{
	static const int said[][3] = {{0, 1, 10}, {0, 2, 20}, {0, 3, 30}, {0, 4, 40}, {0, 5, 50}, {0, 6, 60},
		{1, 1, 11}, {1, 2, 21}, {1, 3, 31}, {0, 7, 70}};
	AUTO_DONE(stream) s = auto_stream();

	feed(&s, "0: loads the model");
	feed(&s, "1: loads the model");
	feed_losses(&s, said, sizeof said / sizeof *said);
	check_series(&s, "train:loss", "1=10.5 2=20.5 3=30.5 4=40.5 5=50.5 6=60.5 7=70.5");
	check_series(&s, "train:loss{rank=\"1\"}", "1=11.5 2=21.5 3=31.5");
}

/* The first loss is that of all; then the one comes first that came second before. */
TEST(a_ranks_first_point_is_its_own_where_all_said_the_same_before)
{
	static const int said[][3] = {{0, 1, 9}, {1, 1, 9}, {2, 1, 9}, {1, 2, 21}, {0, 2, 20}, {2, 2, 22}, {0, 3, 30},
		{2, 3, 32}, {1, 3, 31}};
	AUTO_DONE(stream) s = auto_stream();

	feed_losses(&s, said, sizeof said / sizeof *said);
	check_series(&s, "train:loss", "1=9.5 2=21.5 3=31.5");
	check_series(&s, "train:loss{rank=\"0\"}", "2=20.5 3=30.5");
	check_series(&s, "train:loss{rank=\"2\"}", "2=22.5 3=32.5");
}

TEST(a_ranks_first_point_is_its_own_where_it_was_silent_at_first)
{
	static const int said[][3] = {{0, 1, 10}, {1, 1, 11}, {2, 2, 22}, {0, 2, 20}, {1, 2, 21}};
	AUTO_DONE(stream) s = auto_stream();

	feed(&s, "0: loads the model");
	feed(&s, "0: reads the data");
	feed_losses(&s, said, sizeof said / sizeof *said);
	check_series(&s, "train:loss", "1=10.5 2=20.5");
	check_series(&s, "train:loss{rank=\"1\"}", "1=11.5 2=21.5");
	check_series(&s, "train:loss{rank=\"2\"}", "2=22.5");
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

/* Of lines that are counted, as by nl or a console's archive: the first ones have a number, too, and an epoch, a step or both come again. */
TEST(numbers_in_front_of_all_lines_are_no_ranks)
{
	static const char *const forms[] = {"%d: epoch %d loss: %d.5", "%d: step %d loss: %d.5"};

	for (size_t i = 0; i < 4; i++) {
		AUTO_DONE(stream) s = auto_stream();
		feed(&s, "1: loading config");
		feed(&s, "2: building model");
		for (int line = 3; line < 60; line++) {
			char text[64];
			int step = i / 2 == 0 ? line / 6 : line < 40 ? line : line - 20;
			snprintf(text, sizeof text, forms[i / 2], line, step, line);
			feed(&s, text);
			if (i % 2)
				restart_stream(&s);
		}
		for (int rank = 0; rank < 60; rank++) {
			char name[40];
			snprintf(name, sizeof name, "train:loss{rank=\"%d\"}", rank);
			check_series(&s, name, "");
		}
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

/* Ranks that rise once, and say their first step behind that: several said the same, as processes do that begin. */
TEST(numbers_that_rise_once_are_ranks_where_several_say_the_same)
{
	static const char *const starts[] = {"%d: loads the model", "%d: shard %d"};

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		AUTO_DONE(stream) s = auto_stream();
		char line[64];
		for (int rank = 0; rank < 4; rank++) {
			snprintf(line, sizeof line, starts[i], rank, 10 + rank);
			feed(&s, line);
		}
		for (int rank = 0; rank < 4; rank++) {
			snprintf(line, sizeof line, "%d: epoch 1 loss: %d.5", rank, 10 + rank);
			feed(&s, line);
		}
		check_series(&s, "train:loss", i ? "1=10.5 1=11.5 1=12.5 1=13.5" : "1=10.5");
		check_series(&s, "train:loss{rank=\"3\"}", i ? "" : "1=13.5");
	}
}
