/* What earlier lines say about the counters of the next one. */
#include "auto_stream.h"

/* The series with and without a restart of the server behind each line. */
static void check_text(const char *text, const char *series, const char *points)
{
	for (int restarts = 0; restarts <= 1; restarts++) {
		AUTO_DONE(stream) stream = auto_stream();
		feed_text(&stream, text, restarts);
		check_series(&stream, series, points);
	}
}

TEST(a_second_number_that_goes_on_is_the_batch)
{
	check_text("Batch 0/100 loss 2.5\nBatch 0/110 loss 2.25\nBatch 0/120 loss 2\nBatch 0/130 loss 1.75\n"
		   "Batch 1/100 loss 1.5\nBatch 1/110 loss 1.25\n",
		"train:loss", "0=2.5 0=2.25 120=2 130=1.75 230=1.5 240=1.25");
}

TEST(a_total_that_grows_once_stays_one)
{
	check_text("Batch 5/100 loss 2.5\nBatch 5/300 loss 2.25\nBatch 6/100 loss 2\nBatch 7/100 loss 1.75\n",
		"train:loss", "5=2.5 5=2.25 6=2 7=1.75");
}

/* Once it stands still while the first one falls, it was no batch. */
TEST(a_second_number_that_falls_is_no_batch_any_more)
{
	check_text("Batch 0/100 loss 2.5\nBatch 0/110 loss 2.25\nBatch 0/120 loss 2\nBatch 0/50 loss 1.75\n"
		   "Batch 121/500 loss 1.5\nBatch 122/500 loss 1.25\n",
		"train:loss", "0=2.5 0=2.25 120=2 0=1.75 121=1.5 122=1.25");
}

TEST(a_loop_beside_the_epochs_has_no_loss_of_the_training)
{
	check_text("[Epoch 1 Batch 80/100] loss=2.5\n[Batch 10/50] loss=9.5\n[Batch 20/50] loss=9.25\n"
		   "[Epoch 2 Batch 10/100] loss=2.25\n[Epoch 2 Batch 20/100] loss=2.125\n",
		"train:loss", "80=2.5 110=2.25 120=2.125");
}

TEST(a_batch_of_an_evaluation_is_no_step)
{
	check_text("Training batch 80/100 loss 2.5\nValidation batch 10/50 loss 2.75\ndev | Batch 20/50 loss 2.5\n",
		"val:loss", "80=2.75 80=2.5");
}
