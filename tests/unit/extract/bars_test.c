#include "auto_stream.h"

#include "extract/line/bars.h"

TEST(a_smaller_bar_is_that_of_an_evaluation)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 1, 100));
	CHECK(bars_is_side(&bars, 1, 10));
	CHECK(bars_is_side(&bars, 10, 10));
	CHECK(!bars_is_side(&bars, 2, 100));
}

/* A check of two batches comes before the training. */
TEST(a_larger_bar_behind_a_full_one_is_the_training_s)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 2, 2));
	CHECK(!bars_is_side(&bars, 0, 100));
	CHECK(bars_is_side(&bars, 1, 2));
}

TEST(a_larger_bar_that_is_full_at_once_is_beside_the_training)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 7, 100));
	for (int i = 0; i < 10; i++)
		CHECK(bars_is_side(&bars, 500, 500));
	CHECK(!bars_is_side(&bars, 8, 100));
}

/* Its third line says that it goes on, unless the other one does. */
TEST(a_larger_bar_in_the_middle_must_come_three_times)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 7, 100));
	CHECK(bars_is_side(&bars, 1, 500));
	CHECK(bars_is_side(&bars, 1, 500)); /* the same line, asked about again */
	CHECK(bars_is_side(&bars, 2, 500));
	CHECK(!bars_is_side(&bars, 8, 100));
	CHECK(bars_is_side(&bars, 3, 500));
	CHECK(bars_is_side(&bars, 4, 500));
	CHECK(!bars_is_side(&bars, 5, 500));
	CHECK(bars_is_side(&bars, 9, 100));
}

/* ---- bars that begin anew ---- */

enum { EPOCH_BATCHES = 40, LABEL_BYTES = 64 };

/* What a bar of the training says at the batch, behind its label. */
static void put_bar(struct buf *out, const char *label, int batch, int batches)
{
	buf_printf(out, "%s%3d%%|####      | %d/%d [00:01<00:01, 15.%d0it/s, v_num=d8a2]", label, batch * 100 / batches,
		batch, batches, batch % 10);
}

/* Of one epoch, its batches from the first that is drawn on; end: between two of them. */
static void put_epoch(struct buf *out, const char *label, char end)
{
	for (int batch = 1; batch <= EPOCH_BATCHES; batch++) {
		put_bar(out, label, batch, EPOCH_BATCHES);
		buf_append_char(out, batch < EPOCH_BATCHES ? end : '\n');
	}
}

static void put_validation(struct buf *out, char end)
{
	for (int batch = 1; batch <= 10; batch++) {
		put_bar(out, "Validation DataLoader 0: ", batch, 10);
		buf_append_char(out, batch < 10 ? end : '\n');
	}
}

/* Each batch is a step of one axis, and of one attempt from the first moment on. */
static void check_epochs(int epochs, bool says_epoch, char end, bool validates)
{
	AUTO_DONE(stream) s = auto_stream();
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	char label[LABEL_BYTES] = "Training: ";

	for (int epoch = 0; epoch < epochs; epoch++) {
		if (says_epoch)
			snprintf(label, sizeof label, "Epoch %d: ", epoch);
		put_epoch(&text, label, end);
		if (validates)
			put_validation(&text, end);
	}
	buf_append_char(&text, '\0');
	feed_text(&s, text.ptr, false);
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK_INT(s.revisions, 0);
	CHECK(!extractor_is_undecided(s.extractor));
	AUTO_DONE(buf) steps = BUF_INIT(1 << 20), expected = BUF_INIT(1 << 20);
	series_points(&s, "train:steps_per_second", &steps);
	for (int step = 1; step <= epochs * EPOCH_BATCHES; step++)
		buf_printf(&expected, "%s%d=%g", step > 1 ? " " : "", step,
			15 + ((step - 1) % EPOCH_BATCHES + 1) % 10 * 0.1);
	buf_append_char(&expected, '\0');
	CHECK_TEXT(steps.ptr, expected.ptr);
}

TEST(bars_that_say_their_epoch_are_unrolled_at_once)
{
	for (int epochs = 2; epochs <= 4; epochs += 2) {
		check_epochs(epochs, true, '\r', false);
		check_epochs(epochs, true, '\n', false);
		check_epochs(epochs, true, '\r', true);
		check_epochs(epochs, true, '\n', true);
	}
}

TEST(a_bar_that_was_full_and_begins_anew_is_the_next_epoch_s)
{
	for (int epochs = 2; epochs <= 4; epochs += 2) {
		check_epochs(epochs, false, '\r', false);
		check_epochs(epochs, false, '\n', false);
		check_epochs(epochs, false, '\r', true);
		check_epochs(epochs, false, '\n', true);
	}
}

/* Where it broke off it was not full; and what starts up behind a full one is another training. */
TEST(a_bar_that_begins_anew_before_its_end_or_behind_a_start_up_line_may_be_a_restart)
{
	AUTO_DONE(stream) s = auto_stream(), again = auto_stream();
	AUTO_DONE(buf) text = BUF_INIT(1 << 20), whole = BUF_INIT(1 << 20);

	for (int from = 0; from <= 10; from += 10)
		for (int batch = from; batch < from + 20; batch++) {
			put_bar(&text, "Training: ", batch, EPOCH_BATCHES);
			buf_append_char(&text, '\n');
		}
	buf_append_char(&text, '\0');
	feed_text(&s, text.ptr, false);
	CHECK_INT(extractor_attempt(s.extractor), 2);

	put_epoch(&whole, "Training: ", '\n');
	buf_append_text(&whole, "Resuming from checkpoint out/checkpoint-0\n");
	put_epoch(&whole, "Training: ", '\n');
	buf_append_char(&whole, '\0');
	feed_text(&again, whole.ptr, false);
	CHECK_INT(extractor_attempt(again.extractor), 2);
}

/* Who is late behind a full bar is near its end, too. */
TEST(ranks_that_draw_one_bar_out_of_step_are_no_epochs)
{
	AUTO_DONE(stream) s = auto_stream();
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);

	for (int batch = 1; batch <= EPOCH_BATCHES; batch++)
		for (int late = 0; late < 3 && late < batch; late++) {
			put_bar(&text, "Training: ", batch - late, EPOCH_BATCHES);
			buf_append_char(&text, '\n');
		}
	buf_append_char(&text, '\0');
	feed_text(&s, text.ptr, false);
	CHECK(s.points.count > EPOCH_BATCHES);
	for (size_t i = 0; i < s.points.count; i++)
		CHECK(point_at(&s, i)->step <= EPOCH_BATCHES);
}

/* Bars that say their epoch have no total of the run. */
TEST(a_bar_without_an_epoch_says_the_steps_of_the_run)
{
	AUTO_DONE(stream) s = auto_stream();

	for (int batch = 1; batch <= 5; batch++) {
		AUTO_DONE(buf) text = BUF_INIT(1 << 10);
		put_bar(&text, "Training: ", batch, EPOCH_BATCHES);
		feed_at(&s, buf_span(&text), NO_TIME);
	}
	CHECK_INT(extractor_total(s.extractor), EPOCH_BATCHES);

	AUTO_DONE(stream) of_epochs = auto_stream();
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	put_epoch(&text, "Epoch 0: ", '\r');
	feed_at(&of_epochs, buf_span(&text), NO_TIME);
	CHECK(of_epochs.points.count > 0);
	CHECK_INT(extractor_total(of_epochs.extractor), 0);
}

/* Hugging Face's Trainer draws it again behind each row that it prints, and tqdm once more at the end, with another rate. */
TEST(a_bar_that_is_drawn_again_where_it_stood_says_nothing_new)
{
	for (int restarts = 0; restarts < 2; restarts++) {
		AUTO_DONE(stream) s = auto_stream();
		AUTO_DONE(buf) text = BUF_INIT(1 << 20);

		for (int batch = 1; batch <= 4; batch++) {
			char bar[2 * LABEL_BYTES];
			snprintf(bar, sizeof bar, " %d%%|####      | %d/4 [00:01<00:41,  1.%d5s/it]", batch * 25, batch,
				batch);
			buf_printf(&text,
				"\r%s\r          {'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.5}\n",
				bar);
			buf_printf(&text, "\r%s\n", bar);
		}
		buf_append_text(&text, "100%|##########| 4/4 [00:05<00:00,  1.25s/it]\n");
		buf_append_char(&text, '\0');
		feed_text(&s, text.ptr, restarts);
		check_series(&s, "train:step_time", "1=1.15 2=1.25 3=1.35 4=1.45 4=1.25");
	}
}

TEST(a_value_on_a_bar_that_is_drawn_again_is_one_point)
{
	AUTO_DONE(stream) s = auto_stream();

	feed_text(&s,
		"Training:  20%|##        | 10/50 [00:05<00:20,  2.00it/s, loss=2.5]\n"
		"Training:  20%|##        | 10/50 [00:05<00:20,  2.00it/s, loss=2.5]\n"
		"Training:  20%|##        | 10/50 [00:05<00:20,  2.00it/s, loss=2.25]\n"
		"Training:  40%|####      | 20/50 [00:10<00:15,  2.00it/s, loss=2.25]\n",
		false);
	check_series(&s, "train:loss", "10=2.5 10=2.25 20=2.25");
	check_series(&s, "train:steps_per_second", "10=2 20=2");
}
