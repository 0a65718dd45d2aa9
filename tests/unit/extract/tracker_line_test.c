#include "auto_stream.h"

/* The SDK's summary at the end; the point that was logged is the trainer's own. */
TEST(what_a_tracker_s_client_prints_is_no_point)
{
	AUTO_DONE(stream) stream = auto_stream();

	feed_text(&stream,
		"step 1 loss: 0.5\nstep 2 loss: 0.25\n"
		"\x1b[1;34mwandb\x1b[0m: Run summary:\n"
		"\x1b[1;34mwandb\x1b[0m:       loss 0.255\n"
		"wandb: train/loss 0.75\n"
		"wandb: epoch 2\n"
		"[rank0]: wandb: loss 0.255\n"
		"2026-11-29 10:00:00,123 INFO wandb: loss 0.125\n"
		"\xf0\x9f\x8f\x83 View run loss 0.5 at: http://127.0.0.1:8080/#/experiments/1/runs/abc\n"
		"2026/11/29 10:00:00 INFO mlflow.tracking._tracking_service.client: \xf0\x9f\x8f\x83 View run loss 9 at: http://h\n"
		"\xf0\x9f\xa7\xaa View experiment at: http://127.0.0.1:8080/#/experiments/1 loss: 3\n",
		false);
	check_series(&stream, "train:loss", "1=0.5 2=0.25");
	CHECK_INT(stream.points.count, 2);
}

/* Whoever defines a metric means it. */
TEST(a_user_s_definition_reads_what_a_tracker_s_client_prints)
{
	AUTO_DONE(stream) stream = stream_of("[{\"Name\":\"final\",\"Regex\":\"wandb: +loss ([0-9.]+)\"}]");

	feed_text(&stream, "wandb:       loss 0.255\n", false);
	CHECK_INT(stream.points.count, 1);
}
