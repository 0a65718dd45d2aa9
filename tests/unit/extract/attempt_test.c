#include "extract/attempt.h"
#include "auto_stream.h"

TEST(a_restart_from_a_checkpoint_opens_an_attempt)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_steps(&s, 10, 200, 10);
	feed_steps(&s, 100, 130, 10);
	CHECK(extractor_is_undecided(s.extractor));
	CHECK_INT(newest(&s)->attempt, 2);
	feed_steps(&s, 140, 140, 10);
	CHECK(!extractor_is_undecided(s.extractor));
	feed_steps(&s, 150, 400, 10);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	CHECK_INT(newest(&s)->attempt, 2);
	CHECK_INT(point_at(&s, 19)->attempt, 1);
	CHECK_INT(point_at(&s, 20)->attempt, 2);
	CHECK_INT(s.revisions, 0);
	check_starts(&s, 2, (int64_t[]){10, 100});
}

TEST(behind_a_start_up_line_one_step_is_enough)
{
	static const char *const lines[] = {"loading checkpoint from /ckpt/iter_90", "INFO Resuming from step 90",
		"[01/23 17:57:13] detectron2 INFO: Starting training from iteration 90",
		" successfully loaded checkpoint from x", "Resuming training from out",
		"Checkpoint successfully loaded"};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		feed_steps(&s, 10, 100, 10);
		feed(&s, "something else");
		feed(&s, lines[i]);
		feed(&s, "something else");
		feed_steps(&s, 90, 90, 10); /* so near that the five points would have said nothing */
		CHECK_INT(newest(&s)->attempt, 2);
		feed_steps(&s, 100, 200, 10);
		CHECK_INT(extractor_attempt(s.extractor), 2);
		CHECK(!extractor_is_undecided(s.extractor));
		CHECK_INT(s.revisions, 0);
	}
}

static const char two_metrics[] =
	"[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"},"
	"{\"Name\":\"lr\",\"Regex\":\"step (?<step>\\\\d+) (?:loss \\\\S+ )?lr (?<value>\\\\S+)\"}]";

static void feed_both(struct stream *s, int from, int to)
{
	char text[64];

	for (int step = from; step <= to; step += 10) {
		snprintf(text, sizeof text, "step %d loss 1 lr 0.5", step);
		CHECK_INT(feed(s, text), 2);
		CHECK_INT(newest(s)->step, step);
	}
}

/* A caught exception, a teacher's checkpoint: training goes on where it was. */
TEST(a_stray_step_behind_a_start_up_line_is_no_restart)
{
	static const char *const strays[] = {
		"step 3 loss 9", "step 3 lr 9", "step 3 loss 9 lr 9", "step 100 loss 9", "step 170 loss 9"};

	for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
		AUTO_DONE(stream) s = stream_of(two_metrics);
		feed_both(&s, 10, 200);
		feed(&s, "Traceback (most recent call last):");
		CHECK(feed(&s, strays[i]) > 0);
		CHECK_INT(newest(&s)->attempt, 2);
		feed_both(&s, 210, 400);
		CHECK_INT(s.revisions, 1);
		CHECK_INT(extractor_attempt(s.extractor), 1);
		CHECK(!extractor_is_undecided(s.extractor));
		for (size_t j = 0; j < s.points.count; j++)
			CHECK_INT(point_at(&s, j)->attempt, 1);
	}
}

/* One printed interval further: it may well be a restart. And steps that lead up to the old maximum are one. */
TEST(a_step_near_the_old_maximum_behind_a_start_up_line_is_a_restart)
{
	for (int first = 190; first >= 100; first -= 90) {
		AUTO_DONE(stream) s = stream_of(two_metrics);
		feed_both(&s, 10, 200);
		feed(&s, "Resuming from x");
		feed_steps(&s, first, first, 10);
		feed_both(&s, first == 190 ? 210 : 110, 400);
		CHECK_INT(s.revisions, 0);
		CHECK_INT(extractor_attempt(s.extractor), 2);
		check_starts(&s, 2, (int64_t[]){10, first});
	}
}

/* The loss says its next step first: no definition whose step fell back may take the stray line's for an epoch. */
TEST(stray_steps_shift_no_axis)
{
	for (int stray = 0; stray <= 10; stray += 5) {
		AUTO_DONE(stream) s = stream_of(two_metrics);
		char text[64];
		snprintf(text, sizeof text, "step %d lr 9", stray);
		for (int from = 10; from < 500; from += 100) {
			feed_both(&s, from, from + 90);
			feed(&s, text);
		}
		feed_both(&s, 510, 600);
		CHECK_INT(extractor_attempt(s.extractor), 1);
	}
}

TEST(ordinary_lines_are_no_start)
{
	static const char *const lines[] = {"saving checkpoint at step 100 to /ckpt", "consumed samples: 5", "start",
		"kp", "The sum of it all is taken", "Checkpoint saved"};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		feed_steps(&s, 10, 100, 10);
		feed(&s, lines[i]);
		feed_steps(&s, 90, 90, 10);
		CHECK(extractor_is_undecided(s.extractor));
	}
}

TEST(a_late_chunk_is_taken_back)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_steps(&s, 10, 50, 10);
	feed_steps(&s, 100, 200, 10);
	feed_steps(&s, 60, 90, 10); /* four points */
	CHECK_INT(newest(&s)->attempt, 2);
	feed_steps(&s, 210, 300, 10);
	CHECK_INT(s.revisions, 1);
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK(!extractor_is_undecided(s.extractor));
	for (size_t i = 0; i < s.points.count; i++)
		CHECK_INT(point_at(&s, i)->attempt, 1);
	check_starts(&s, 1, (int64_t[]){10});
}

TEST(a_chunk_with_old_log_times_is_late_without_a_trial)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	char text[64];

	for (int step = 0; step < 100; step++) {
		int shown = step < 50 ? step : step < 80 ? step + 20 : step - 30; /* 50..69 come last */
		snprintf(text, sizeof text, "step %d loss 1", shown);
		feed_at(&s, span_from(text), noon_ms + 1000 * shown);
	}
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK_INT(s.revisions, 0);
	for (size_t i = 0; i < s.points.count; i++)
		CHECK_INT(point_at(&s, i)->attempt, 1);
}

TEST(ranks_out_of_step_are_no_restart)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	for (int step = 0; step < 50; step++)
		for (int rank = 0; rank < 8; rank++)
			feed_steps(&s, rank == 0 ? step + 1 : step, rank == 0 ? step + 1 : step, 1);
	feed_steps(&s, 51, 51, 1);
	CHECK_INT(extractor_attempt(s.extractor), 1);
	for (size_t i = 0; i < s.points.count; i++)
		CHECK_INT(point_at(&s, i)->attempt, 1);
}

static void feed_minutes(struct stream *s, int from, int to, int *minute)
{
	char text[64];

	for (int step = from; step <= to; step++) {
		snprintf(text, sizeof text, "step %d loss 1", step);
		feed_at(s, span_from(text), noon_ms + 60000LL * ++*minute);
	}
}

TEST(few_steps_that_are_made_again_behind_a_silence_are_a_restart)
{
	for (int back = 28; back <= 31; back++) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		int minute = 0;
		feed_minutes(&s, 1, 32, &minute);
		minute += 7;
		feed_minutes(&s, back, 40, &minute);
		CHECK_INT(extractor_attempt(s.extractor), 2);
		CHECK(!extractor_is_undecided(s.extractor));
		CHECK_INT(newest(&s)->attempt, 2);
		CHECK_INT(s.revisions, 0);
	}
}

/* The checkpoint is of the step before the last one that was printed: only that one is made again. */
TEST(the_last_step_alone_again_behind_a_start_up_line_and_a_silence_is_a_restart)
{
	static const struct {
		const char *line;
		int silent, attempts;
	} cases[] = {{"Resuming from checkpoint /ckpt/31", 7, 2}, {"something else", 7, 1},
		{"Resuming from checkpoint /ckpt/31", 0, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		int minute = 0;
		feed_minutes(&s, 1, 32, &minute);
		feed_at(&s, span_from(cases[i].line), noon_ms + 60000LL * minute);
		minute += cases[i].silent;
		feed_minutes(&s, 32, 40, &minute);
		CHECK_INT(extractor_attempt(s.extractor), cases[i].attempts);
		CHECK_INT(point_at(&s, 31)->attempt, 1);
		CHECK_INT(point_at(&s, 32)->attempt, cases[i].attempts);
		CHECK_INT(newest(&s)->attempt, cases[i].attempts);
		CHECK(!extractor_is_undecided(s.extractor));
		CHECK_INT(s.revisions, 0);
	}
}

/* The best one is loaded and tested: what is said of it at the last step is no training's value. */
TEST(another_metric_at_the_last_step_behind_a_start_up_line_is_no_restart)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"},"
		      "{\"Name\":\"test\",\"Regex\":\"step (?<step>\\\\d+) test (?<value>\\\\S+)\"}]");
	int minute = 0;

	feed_minutes(&s, 1, 32, &minute);
	feed(&s, "Loading checkpoint from /ckpt/best");
	CHECK_INT(feed_at(&s, SPAN("step 32 test 9"), noon_ms + 60000LL * (minute + 7)), 1);
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

TEST(without_a_silence_or_with_a_gap_they_are_late)
{
	for (int silent = 0; silent <= 7; silent += 7) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		int minute = 0;
		feed_minutes(&s, 1, 20, &minute);
		feed_minutes(&s, 24, 32, &minute);
		minute += silent;
		feed_minutes(&s, silent ? 21 : 30, silent ? 23 : 32, &minute);
		feed_minutes(&s, 33, 40, &minute);
		CHECK_INT(s.revisions, 1);
		CHECK_INT(extractor_attempt(s.extractor), 1);
		CHECK_INT(newest(&s)->attempt, 1);
	}
}

TEST(a_silence_is_measured_by_the_longest_of_late)
{
	for (int evaluations = 0; evaluations <= 1; evaluations++) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		int minute = 0;
		for (int i = 0; i < 4; i++, minute += 4 * evaluations)
			feed_minutes(&s, 1 + 8 * i, 8 + 8 * i, &minute);
		minute += 3 - 4 * evaluations; /* less than an evaluation takes, if there are any */
		feed_minutes(&s, 30, 40, &minute);
		CHECK_INT(extractor_attempt(s.extractor), evaluations ? 1 : 2);
	}
}

TEST(an_epoch_group_unrolls_the_step)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"Epoch (?<epoch>\\\\d+) batch (?<step>\\\\d+) loss "
		      "(?<value>\\\\S+)\"}]");
	char text[64];

	for (int epoch = 0; epoch < 4; epoch++)
		for (int batch = 0; batch < 50; batch += 5) {
			snprintf(text, sizeof text, "Epoch %d batch %d loss 1", epoch, batch);
			feed(&s, text);
			CHECK_INT(newest(&s)->step, epoch * 50 + batch);
		}
	CHECK_INT(extractor_attempt(s.extractor), 1);
	/* Back into an epoch that was: a restart. */
	for (int batch = 0; batch < 50; batch += 5) {
		snprintf(text, sizeof text, "Epoch 2 batch %d loss 1", batch);
		feed(&s, text);
		CHECK_INT(newest(&s)->step, 100 + batch);
		CHECK_INT(newest(&s)->attempt, 2);
	}
	CHECK(!extractor_is_undecided(s.extractor));
	feed(&s, "Epoch 3 batch 0 loss 1");
	CHECK_INT(newest(&s)->step, 150);
	check_starts(&s, 2, (int64_t[]){0, 100});
}

/* The shipped presets say where the step of these definitions is. */
static struct stream guided_stream(const char *definitions)
{
	return stream_by_presets(definitions);
}

/* The last line of an epoch need not be its last step. */
TEST(the_total_on_the_line_is_how_long_an_epoch_is)
{
	static const char *const definitions[] = {
		"[{\"Name\":\"loss\",\"Regex\":\"Epoch (?<epoch>\\\\d+) batch (?<step>\\\\d+)/(?<total>\\\\d+) loss=(?<value>\\\\S+)\"}]",
		"[{\"Name\":\"loss\",\"Regex\":\"loss=(?<value>\\\\S+)\",\"Step\":\"Epoch (?<epoch>\\\\d+) batch (?<step>\\\\d+)/(?<total>\\\\d+)\"}]",
		"[{\"Name\":\"loss\",\"Regex\":\"loss=(?<value>[0-9.]+)\"}]", "[{\"Preset\":\"gluonnlp-bert\"}]"};
	static const char *const forms[] = {"Epoch %d batch %d/57 loss=1.5", "[Epoch %d Batch %d/57] loss=1.5, lr=0.1"};
	char text[64];

	for (size_t i = 0; i < 4; i++) {
		AUTO_DONE(stream) s = guided_stream(definitions[i]);
		for (int at = 0; at < 15; at++) {
			int epoch = at / 5, batch = at % 5 * 10 + 10;
			snprintf(text, sizeof text, forms[i / 2], epoch, batch);
			feed(&s, text);
			CHECK_INT(newest(&s)->step, epoch * 57 + batch);
		}
	}
}

TEST(a_global_step_with_an_epoch_is_not_unrolled)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"epoch (?<epoch>\\\\d+) step (?<step>\\\\d+) loss "
		      "(?<value>\\\\S+)\"}]");
	char text[64];

	for (int step = 0; step < 300; step++) {
		snprintf(text, sizeof text, "epoch %d step %d loss 1", step / 100, step);
		feed(&s, text);
		CHECK_INT(newest(&s)->step, step);
	}
}

static void feed_epochs(struct stream *s, int epochs)
{
	for (int epoch = 0; epoch < epochs; epoch++)
		feed_steps(s, 1, 20, 1);
}

TEST(a_per_epoch_counter_without_an_epoch_gives_no_attempts)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_epochs(&s, 2);
	CHECK(extractor_is_undecided(s.extractor));
	feed_epochs(&s, 4);
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK(!extractor_is_undecided(s.extractor));
	CHECK_INT(s.revisions, 1);
	for (size_t i = 0; i < s.points.count; i++)
		CHECK_INT(point_at(&s, i)->attempt, 1);
	for (size_t i = 40; i < s.points.count; i++)
		CHECK_INT(point_at(&s, i)->step, i + 1);
}

TEST(several_definitions_of_one_per_epoch_counter)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"},"
		      "{\"Name\":\"again\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"}]");
	char text[64];

	for (int i = 0; i < 120; i++) {
		snprintf(text, sizeof text, "step %d loss 1", i % 20);
		CHECK_INT(feed(&s, text), 2);
	}
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK_INT(newest(&s)->step, 119);
	CHECK_INT(point_at(&s, s.points.count - 2)->step, 119);
	CHECK_INT(s.revisions, 1);
}

TEST(a_counter_beside_a_global_step_is_no_restart)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"},"
		      "{\"Name\":\"lr\",\"Regex\":\"global (?<step>\\\\d+) lr (?<value>\\\\S+)\"}]");
	char text[64];

	for (int i = 0; i < 120; i++) {
		snprintf(text, sizeof text, "step %d loss 1", i % 20);
		feed(&s, text);
		snprintf(text, sizeof text, "global %d lr 1", i);
		feed(&s, text);
	}
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK_INT(s.revisions, 1);
	CHECK_INT(newest(&s)->step, 119);
}

TEST(a_restart_from_scratch_is_known_when_it_passes_the_crash)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_steps(&s, 0, 50, 1);
	feed_steps(&s, 0, 50, 1);
	CHECK(extractor_is_undecided(s.extractor));
	CHECK_INT(newest(&s)->attempt, 2);
	feed_steps(&s, 51, 51, 1);
	CHECK(!extractor_is_undecided(s.extractor));
	CHECK_INT(extractor_attempt(s.extractor), 2);
	check_starts(&s, 2, (int64_t[]){0, 0});
}

TEST(a_trial_ends_even_when_nothing_decides_it)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_steps(&s, 0, 3000, 1);
	feed_steps(&s, 0, 1100, 1);
	CHECK(!extractor_is_undecided(s.extractor));
	CHECK_INT(newest(&s)->attempt, 2);
}

TEST(every_definition_follows_into_the_attempt)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"},"
		      "{\"Name\":\"val\",\"Regex\":\"step (?<step>\\\\d+) val (?<value>\\\\S+)\"},"
		      "{\"Name\":\"other\",\"Regex\":\"other (?<value>\\\\S+)\"}]");

	feed_steps(&s, 0, 100, 10);
	feed(&s, "step 100 val 1");
	feed_steps(&s, 50, 50, 10);
	feed(&s, "step 50 val 1");
	CHECK_INT(newest(&s)->attempt, 2);
	feed(&s, "other 1");
	CHECK_INT(newest(&s)->attempt, 2);
	CHECK_INT(newest(&s)->step, 50);
	feed_steps(&s, 60, 200, 10);
	feed(&s, "step 200 val 1");
	CHECK_INT(extractor_attempt(s.extractor), 2);
	CHECK_INT(s.revisions, 0);
}

TEST(many_restarts_are_all_counted)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	for (int i = 0; i < 10; i++) {
		feed_steps(&s, i * 100, i * 100 + 200, 10);
		feed(&s, "Resuming from checkpoint");
	}
	CHECK_INT(extractor_attempt(s.extractor), 10);
	check_starts(&s, 10, (int64_t[]){0, 100, 200, 300, 400, 500, 600, 700, 800, 900});
}

TEST(wild_steps_do_not_pile_up_attempts)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	uint32_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		seed = seed * 1664525 + 1013904223;
		feed_steps(&s, (int)(seed >> 12), (int)(seed >> 12), 1);
	}
	CHECK(extractor_attempt(s.extractor) <= 1000);
}

TEST(new_definitions_keep_steps_and_attempts)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	AUTO(definition_set) other = set_from("[{\"Name\":\"lr\",\"Regex\":\"lr (\\\\S+)\"}]");

	feed_steps(&s, 0, 100, 10);
	feed(&s, "Resuming from x");
	feed_steps(&s, 50, 100, 10);
	extractor_reset_definitions(s.extractor);
	struct definition_set *kept = s.set;
	s.set = other;
	feed(&s, "lr 0.5");
	s.set = kept;
	CHECK_INT(newest(&s)->step, 100);
	CHECK_INT(newest(&s)->attempt, 2);
	CHECK_INT(extractor_health(s.extractor, 0).tried, 1);
}

/* Definitions are changed while a training that broke off is down, as its log is read: nothing was said by the new ones yet. */
TEST(behind_new_definitions_a_start_up_line_tells_a_restart)
{
	static const struct {
		const char *line;
		int from, attempts, revisions;
	} rows[] = {{"Resuming from checkpoint", 150, 2, 0}, {"Resuming from checkpoint", 201, 1, 0},
		{"something else", 150, 1, 0}, {"Traceback (most recent call last):", 3, 1, 1}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		AUTO(definition_set)
		other = set_from("[{\"Name\":\"nll\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"}]");

		feed_steps(&s, 1, 200, 1);
		extractor_reset_definitions(s.extractor);
		struct definition_set *kept = s.set;
		s.set = other;
		feed(&s, rows[i].line);
		feed_steps(&s, rows[i].from, rows[i].from, 1);
		feed_steps(&s, rows[i].from == 150 ? 151 : 201, 300, 1);
		s.set = kept;
		CHECK_INT(extractor_attempt(s.extractor), rows[i].attempts);
		CHECK_INT(s.revisions, rows[i].revisions);
		CHECK(!extractor_is_undecided(s.extractor));
	}
}

/* As it was packed before states had versions: the preset, the steps, a track for each definition. */
TEST(a_state_without_a_version_is_still_read)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	AUTO_DONE(buf) state = BUF_INIT(1 << 16);
	enum { POSITION = 11, TRIAL_AND_REVISION = 8 };

	pack_i64(&state, -1);
	pack_i64(&state, 12);
	pack_u64(&state, 40);
	pack_i64(&state, noon_ms);
	pack_u64(&state, 1); /* one attempt, from step 0 */
	pack_i64(&state, 0);
	pack_u64(&state, true); /* has steps, and no hint at line 0 */
	pack_u64(&state, false);
	for (int i = 0; i <= TRIAL_AND_REVISION; i++)
		pack_u64(&state, 0);
	pack_u64(&state, 1); /* one track: tried, matched, and nothing else yet */
	pack_u64(&state, 7);
	pack_u64(&state, 5);
	for (int i = 0; i < 6 + POSITION; i++)
		pack_u64(&state, 0);
	extractor_free(s.extractor);
	struct unpacker in = unpacker_on(buf_span(&state));
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
	CHECK_INT(extractor_health(s.extractor, 0).tried, 7);
	CHECK_INT(feed(&s, "step 13 loss 1.0"), 1);
	CHECK_INT(extractor_health(s.extractor, 0).matched, 6);
}

/* Each start makes the steps from the first one on, as an epoch of a counter would. */
static void feed_starts(struct stream *s, int starts, const int64_t *breaks, size_t count)
{
	CHECK(extractor_set_breaks(s->extractor, breaks, count, 1));
	for (int i = 0; i < starts; i++) {
		feed_steps(s, 1, 50, 1);
		s->now_ms += 60000;
	}
}

TEST(a_crash_loop_without_a_checkpoint_is_no_epochs_where_its_breaks_are_told)
{
	AUTO_DONE(stream) untold = stream_of(STEP_LOSS);
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	int64_t began_ms = s.now_ms, breaks[4];

	feed_starts(&untold, 5, NULL, 0);
	CHECK_INT(extractor_attempt(untold.extractor), 1);
	CHECK_INT(newest(&untold)->step, 250);
	int64_t start_ms = untold.now_ms - began_ms;
	for (int i = 0; i < 4; i++)
		breaks[i] = began_ms + (i + 1) * start_ms / 5 - 1000;
	feed_starts(&s, 5, breaks, 4);
	CHECK_INT(extractor_attempt(s.extractor), 5);
	CHECK_INT(newest(&s)->step, 50);
	CHECK_INT(newest(&s)->attempt, 5);
	check_starts(&s, 5, (int64_t[]){1, 1, 1, 1, 1});
	CHECK_INT(s.revisions, 0);
	CHECK_INT(extractor_break_changes(s.extractor), 1);
}

TEST(a_break_between_two_steps_that_go_on_begins_nothing)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	int64_t break_ms;

	feed_steps(&s, 1, 50, 1);
	break_ms = s.now_ms;
	CHECK(extractor_set_breaks(s.extractor, &break_ms, 1, 7));
	s.now_ms += 60000;
	feed_steps(&s, 51, 100, 1);
	feed_steps(&s, 99, 99, 1); /* a rank that is late; the break has had its step */
	feed_steps(&s, 101, 110, 1);
	CHECK_INT(extractor_attempt(s.extractor), 1);
}
