#include "goodput_script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TEST(statuses_and_their_messages_are_start_up_by_cause)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, phase_of("Starting", "Insufficient capacity error from EC2 while launching instances, retrying!",
			      false, 0, 100));
	add_phase(&s, phase_of("Starting", "Launched instance was unhealthy, replacing it!", false, 100, 130));
	add_phase(&s, phase_of("Starting", "Preparing the instances for training.", false, 130, 150));
	add_phase(&s, phase_of("Downloading", "Downloading input data", false, 150, 160));
	add_phase(&s, phase_of("Downloading", "Downloading the training image", false, 160, 190));
	add_phase(&s, training(190, 300));
	add_phase(&s, phase_of("Uploading", "Uploading generated training model", false, 300, 305));
	add_steps(&s, 1, 1, 10, 205, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_CAPACITY) == 100 && seconds(&s, GOODPUT_UNHEALTHY) == 30);
	CHECK(seconds(&s, GOODPUT_LAUNCH) == 20 && seconds(&s, GOODPUT_DATA) == 10 && seconds(&s, GOODPUT_IMAGE) == 30);
	CHECK(seconds(&s, GOODPUT_FIRST_STEP) == 5); /* step 1 itself took ten of the fifteen seconds */
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 100 && seconds(&s, GOODPUT_IDLE) == 10);
	CHECK(s.out.steps == 10 && s.out.step_ms == 10 * SECOND && s.out.break_count == 0);
	arena_free(s.arena);
}

/* Training 0..130: ten seconds of start-up, twelve steps of ten, and an end: 120 of 130 seconds, wherever the count begins. */
TEST(steps_that_count_from_0_are_as_many)
{
	for (int64_t first = 0; first <= 1; first++) {
		static struct script s;
		begin(&s, GOODPUT_COMPLETED);
		add_phase(&s, training(0, 130));
		add_steps(&s, 1, first, first + 11, 20, 10);
		run(&s);
		CHECK_INT(s.out.steps, 12);
		CHECK(seconds(&s, GOODPUT_FIRST_STEP) == 10 && seconds(&s, GOODPUT_PRODUCTIVE) == 120);
		arena_free(s.arena);
	}
}

/* Steps 0..6 are made, then all of them again, up to 9. */
TEST(a_restart_at_step_0_makes_step_0_again)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 200));
	add_steps(&s, 1, 0, 6, 10, 10);
	add_steps(&s, 2, 0, 9, 100, 10);
	run(&s);
	CHECK_INT(s.out.steps, 10);
	CHECK_INT(s.out.lost_steps, 7);
	CHECK(seconds(&s, GOODPUT_REDONE) == 70 && seconds(&s, GOODPUT_PRODUCTIVE) == 100);
	CHECK(seconds(&s, GOODPUT_RESTART) == 20 && seconds(&s, GOODPUT_IDLE) == 10);
	arena_free(s.arena);
}

TEST(a_restart_is_its_gap_and_the_steps_made_again)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 400));
	add_steps(&s, 1, 1, 10, 20, 10); /* to 110 */
	add_steps(&s, 2, 8, 20, 200, 10); /* from the checkpoint at 7 */
	run(&s);
	CHECK(seconds(&s, GOODPUT_REDONE) == 30 && seconds(&s, GOODPUT_RESTART) == 80);
	CHECK(seconds(&s, GOODPUT_FIRST_STEP) == 10 && seconds(&s, GOODPUT_PRODUCTIVE) == 200);
	CHECK(s.out.steps == 20 && s.out.lost_steps == 3 && s.out.break_count == 1);
	CHECK(s.out.breaks[0].step == 10 && s.out.breaks[0].from_step == 7 && s.out.breaks[0].lost_steps == 3);
	CHECK(s.out.breaks[0].redone_ms == 30 * SECOND && s.out.breaks[0].restart_ms == 80 * SECOND);
	CHECK(s.out.breaks[0].from_ms == 110 * SECOND && s.out.breaks[0].to_ms == 200 * SECOND);
	arena_free(s.arena);
}

TEST(a_second_restart_that_goes_back_further_takes_from_both_attempts)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 1000));
	add_steps(&s, 1, 1, 10, 10, 10); /* to 100 */
	add_steps(&s, 2, 9, 12, 210, 10); /* from 8, to 240 */
	add_steps(&s, 3, 6, 20, 310, 10); /* from 5 */
	run(&s);
	CHECK(s.out.breaks[0].lost_steps == 2 && s.out.breaks[1].lost_steps == 7);
	CHECK(s.out.breaks[0].redone_ms == 20 * SECOND); /* 9 and 10; 6 to 8 went with the second */
	CHECK(s.out.breaks[1].redone_ms == (3 + 4) * 10 * SECOND);
	CHECK(seconds(&s, GOODPUT_REDONE) == 90 && seconds(&s, GOODPUT_PRODUCTIVE) == 200 && s.out.steps == 20);
	arena_free(s.arena);
}

TEST(evaluation_checkpoint_and_stall_lie_between_steps)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 510));
	add_steps(&s, 1, 1, 10, 10, 10); /* to 100 */
	add_steps(&s, 1, 11, 20, 150, 10); /* 40 s of evaluation and checkpoint, to 240 */
	add_steps(&s, 1, 21, 30, 420, 10); /* 170 s of nothing, to 510 */
	s.marks[0] = (struct goodput_mark){125 * SECOND, GOODPUT_EVALUATION, -1};
	s.marks[1] = (struct goodput_mark){138 * SECOND, GOODPUT_CHECKPOINT, 10};
	s.facts.mark_count = 2;
	run(&s);
	CHECK(seconds(&s, GOODPUT_EVALUATION) == 25 && seconds(&s, GOODPUT_CHECKPOINT) == 15);
	CHECK(seconds(&s, GOODPUT_STALLED) == 170 && seconds(&s, GOODPUT_PRODUCTIVE) == 300);
	arena_free(s.arena);
}

/* Ten steps of ten seconds, save_s with a line of a checkpoint done_s after the last step, ten steps …; the hang_th save takes hang_s more. */
static void add_saves(struct script *s, int saves, int64_t save_s, int64_t done_s, int hang_th, int64_t hang_s)
{
	int64_t at_s = 0;

	for (int i = 0; i <= saves; i++) {
		add_steps(s, 1, 10 * i + 1, 10 * i + 10, at_s + 10, 10);
		at_s += 100;
		if (i == saves)
			break;
		s->marks[s->facts.mark_count++] =
			(struct goodput_mark){(at_s + done_s) * SECOND, GOODPUT_CHECKPOINT, 10 * i + 10};
		at_s += save_s + (i + 1 == hang_th ? hang_s : 0);
	}
}

/* The log says when a save was done; by hand: at most a quarter of an hour, or twice the second longest of what lies behind the job's other lines. */
TEST(a_hang_behind_a_checkpoint_s_line_is_a_stall)
{
	static const struct {
		int64_t save_s, done_s, hang_s;
		int saves;
		bool is_hang;
	} cases[] = {{90, 90, 2400, 5, true}, {90, 90, 900, 5, false}, {90, 90, 901, 5, true}, {501, 1, 500, 5, false},
		{501, 1, 501, 5, true}, /* 1000 behind the line, twice the others' 500 */
		{600, 600, 1100, 5, true}, {1001, 1, 0, 1, true}, {1001, 1, 0, 2, false}, {90, 90, 2400, 1, true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		int64_t all_s = cases[i].saves * cases[i].save_s + cases[i].hang_s;
		int64_t behind_s = cases[i].save_s - cases[i].done_s + cases[i].hang_s;
		begin(&s, GOODPUT_COMPLETED);
		add_saves(&s, cases[i].saves, cases[i].save_s, cases[i].done_s, 1, cases[i].hang_s);
		add_phase(&s, training(0, 100 * (cases[i].saves + 1) + all_s));
		run(&s);
		CHECK_INT(seconds(&s, GOODPUT_PRODUCTIVE), 100 * (cases[i].saves + 1));
		CHECK_INT(seconds(&s, GOODPUT_STALLED), cases[i].is_hang ? behind_s : 0);
		CHECK_INT(seconds(&s, GOODPUT_CHECKPOINT), cases[i].is_hang ? all_s - behind_s : all_s);
		arena_free(s.arena);
	}
}

/* Of each epoch's three saves the last one takes 1200 s behind its line, more than a quarter of an hour; a fourth epoch's 2500, more than twice that. */
TEST(a_long_save_of_each_epoch_is_no_hang)
{
	static const int saves_s[] = {30, 30, 1200, 30, 30, 1200, 30, 30, 1200, 30, 30, 2500};
	static struct script s;
	int64_t at_s = 0;

	begin(&s, GOODPUT_COMPLETED);
	for (int i = 0; i < 12; i++) {
		add_steps(&s, 1, 10 * i + 1, 10 * i + 10, at_s + 10, 10);
		s.marks[s.facts.mark_count++] =
			(struct goodput_mark){(at_s + 101) * SECOND, GOODPUT_CHECKPOINT, 10 * i + 10};
		at_s += 101 + saves_s[i];
	}
	add_steps(&s, 1, 121, 130, at_s + 10, 10);
	add_phase(&s, training(0, at_s + 100));
	run(&s);
	CHECK_INT(seconds(&s, GOODPUT_STALLED), 2500);
	CHECK_INT(seconds(&s, GOODPUT_CHECKPOINT), 12 + 8 * 30 + 3 * 1200);
	arena_free(s.arena);
}

/* Running, with two saves of save_s between its steps; then a last save, and silence. */
static void run_behind_a_save(struct script *s, int64_t save_s, int64_t silent_s)
{
	int64_t line_s = 300 + 2 * save_s + 25;

	begin(s, GOODPUT_RUNS);
	add_phase(s, training(0, line_s + silent_s));
	add_saves(s, 2, save_s, 1, 0, 0);
	s->marks[s->facts.mark_count++] = (struct goodput_mark){line_s * SECOND, GOODPUT_CHECKPOINT, 30};
	run(s);
}

/* By the same measure: 40 s behind the others' lines allow a quarter of an hour, 999 s allow 1998. */
/* Put aside for a day behind a save: that day is no part of the wall clock, so nothing hangs, there or at the saves behind it. */
TEST(a_pause_behind_a_checkpoint_is_no_hang)
{
	static struct script s;
	struct goodput_phase away = {
		.from_ms = 710 * SECOND, .to_ms = 90710 * SECOND, .bucket = GOODPUT_IDLE, .is_away = true};

	begin(&s, GOODPUT_RUNS);
	add_phase(&s, training(0, 710));
	add_phase(&s, away);
	add_phase(&s, training(90710, 90960));
	add_steps(&s, 1, 1, 60, 10, 10); /* to 600 */
	s.marks[s.facts.mark_count++] = (struct goodput_mark){700 * SECOND, GOODPUT_CHECKPOINT, 60};
	add_steps(&s, 1, 61, 80, 90770, 10); /* to 90960 */
	CHECK_OK(goodput_derive(&s.facts, s.arena, &s.out, &err));
	CHECK(seconds(&s, GOODPUT_CHECKPOINT) == 100 + 10 + 50 && seconds(&s, GOODPUT_STALLED) == 0);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 800 && s.out.total_ms == 960 * SECOND);
	s.facts.point_count = 60; /* it has begun again, and made no step yet */
	CHECK_OK(goodput_derive(&s.facts, s.arena, &s.out, &err));
	CHECK(seconds(&s, GOODPUT_CHECKPOINT) == 100 + 10 + 250 && seconds(&s, GOODPUT_STALLED) == 0);
	arena_free(s.arena);
}

TEST(silence_behind_a_checkpoint_is_a_stall_where_no_save_took_so_long)
{
	static const struct {
		int64_t save_s, silent_s, checkpoint_s, stalled_s;
	} cases[] = {{40, 10 + 900, 80 + 25 + 910, 0}, {40, 10 + 901, 80 + 25, 911},
		{1000, 10 + 1998, 2000 + 25 + 2008, 0}, {1000, 10 + 1999, 2000 + 25, 2009}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		run_behind_a_save(&s, cases[i].save_s, cases[i].silent_s);
		CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 300);
		CHECK(seconds(&s, GOODPUT_CHECKPOINT) == cases[i].checkpoint_s);
		CHECK(seconds(&s, GOODPUT_STALLED) == cases[i].stalled_s);
		arena_free(s.arena);
	}
}

/* Its end was set by hand before somebody said that it restarts: of that nothing is left but its place. */
TEST(a_restart_behind_the_end_makes_no_stall)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 110));
	add_phase(&s, phase_of("Restarting", "", true, 110, 110));
	add_phase(&s, training(110, 110));
	add_steps(&s, 1, 1, 10, 10, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_IDLE) == 10 && seconds(&s, GOODPUT_STALLED) == 0 && s.out.break_count == 0);
	arena_free(s.arena);
}

TEST(a_failure_without_a_restart_stalls_and_one_that_is_continued_loses_steps)
{
	static struct script s;

	begin(&s, GOODPUT_FAILED);
	s.facts.end_cause = SPAN("AlgorithmError");
	add_phase(&s, training(0, 300));
	add_steps(&s, 1, 1, 10, 10, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_STALLED) == 200 && seconds(&s, GOODPUT_PRODUCTIVE) == 100);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].to_ms == 0 && s.out.breaks[0].from_step == -1);
	CHECK(span_equal(s.out.breaks[0].cause, SPAN("AlgorithmError")));
	s.facts.next.from_step = 6;
	run(&s);
	CHECK(seconds(&s, GOODPUT_REDONE) == 40 && s.out.lost_steps == 4 && s.out.steps == 6);
	CHECK(s.out.breaks[0].redone_ms == 40 * SECOND);
	s.facts.point_count = 0; /* it never reached one */
	run(&s);
	CHECK(seconds(&s, GOODPUT_FIRST_STEP) == 300 && !s.out.has_steps);
	s.facts.end = GOODPUT_COMPLETED;
	run(&s);
	CHECK(seconds(&s, GOODPUT_UNMEASURED) == 300);
	arena_free(s.arena);
}

/* It fails at 300 s behind step 10, which was printed at 100 s; the next one's first step, of ten seconds, is printed at 500 s. */
TEST(work_stands_until_the_first_step_of_the_job_that_goes_on)
{
	static struct script s;

	begin(&s, GOODPUT_FAILED);
	add_phase(&s, training(0, 300));
	add_steps(&s, 1, 1, 10, 10, 10);
	s.facts.next = (struct goodput_link){.from_step = 6, .step_ms = 500 * SECOND, .work_ms = 490 * SECOND};
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].is_of_next);
	CHECK(s.out.breaks[0].to_ms == 500 * SECOND && s.out.breaks[0].restart_ms == 390 * SECOND);
	CHECK(s.out.link.from_step == 0 && s.out.link.step_ms == 10 * SECOND && s.out.link.work_ms == 0);
	s.facts.next.silent_ms = 60 * SECOND; /* which a break of the next one counts */
	run(&s);
	CHECK(s.out.breaks[0].restart_ms == 330 * SECOND);
	s.facts.next.from_step = -5; /* further back than its own first step: that is the loss of those before it */
	run(&s);
	CHECK(s.out.lost_steps == 10 && s.out.steps == 0 && seconds(&s, GOODPUT_PRODUCTIVE) == 0);
	CHECK(s.out.link.from_step == -5);
	s.facts.next.from_step = 6;
	/* It printed no step: nobody knows what it lost, and it is what the next one is to those before it. */
	s.facts.point_count = 0;
	run(&s);
	CHECK(s.out.breaks[0].lost_steps == -1 && s.out.breaks[0].restart_ms == (490 - 300 - 60) * SECOND);
	s.facts.made_no_step = true; /* its log would say */
	run(&s);
	CHECK(s.out.breaks[0].lost_steps == 0 && s.out.lost_steps == 0 && s.out.steps == 0);
	CHECK(s.out.link.step_ms == 500 * SECOND && s.out.link.silent_ms == (490 - 300) * SECOND);
	arena_free(s.arena);
}

TEST(a_job_whose_first_line_is_its_first_step_worked_on_that_before)
{
	static struct script s;

	begin(&s, GOODPUT_FAILED);
	add_phase(&s, training(100, 300));
	add_steps(&s, 1, 1, 10, 100, 10);
	run(&s);
	CHECK(s.out.link.step_ms == 100 * SECOND && s.out.link.work_ms == 90 * SECOND);
	arena_free(s.arena);
	begin(&s, GOODPUT_FAILED); /* one that began four seconds before it did not */
	add_phase(&s, training(96, 300));
	add_steps(&s, 1, 1, 10, 100, 10);
	run(&s);
	CHECK(s.out.link.step_ms == 100 * SECOND && s.out.link.work_ms == 96 * SECOND);
	arena_free(s.arena);
}

TEST(an_interruption_is_a_restart_with_its_cause_though_no_step_was_lost)
{
	static struct script s;

	begin(&s, GOODPUT_RUNS);
	add_phase(&s, training(0, 105));
	add_phase(&s, phase_of("Interrupted", "", true, 105, 110));
	add_phase(&s, phase_of("Starting", "Insufficient capacity error", true, 110, 200));
	add_phase(&s, training(200, 330));
	add_steps(&s, 1, 1, 10, 10, 10); /* to 100 */
	add_steps(&s, 1, 11, 20, 230, 10); /* to 320 */
	run(&s);
	CHECK(seconds(&s, GOODPUT_RESTART) == 120 && seconds(&s, GOODPUT_CAPACITY) == 0);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 210); /* ten more seconds of step 21 are under way */
	CHECK(s.out.break_count == 1 && s.out.breaks[0].lost_steps == 0);
	CHECK(span_equal(s.out.breaks[0].cause, SPAN("spot interruption")));
	CHECK(s.out.breaks[0].restart_ms == 120 * SECOND);
	arena_free(s.arena);
}

TEST(steps_that_are_printed_while_another_status_stands_break_nothing_off)
{
	static const struct {
		const char *status;
		int64_t to_s; /* 1000: the end */
		size_t break_count;
	} cases[] = {{"Stopping", 1000, 0}, {"Uploading", 1000, 0}, {"Updating", 575, 0}, {"Restarting", 575, 1},
		{"Restarting", 1000, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		begin(&s, GOODPUT_COMPLETED);
		add_phase(&s, phase_of("Starting", "", false, 0, 5));
		add_phase(&s, training(5, 505));
		add_phase(&s, phase_of(cases[i].status, "", true, 505, cases[i].to_s));
		if (cases[i].to_s < 1000)
			add_phase(&s, training(cases[i].to_s, 1000));
		add_steps(&s, 1, 1, 90, 10, 10); /* to 900 */
		run(&s);
		CHECK(s.out.break_count == cases[i].break_count && s.out.steps == 90 && s.out.lost_steps == 0);
		CHECK(!s.out.break_count || s.out.breaks[0].to_ms == 580 * SECOND);
		arena_free(s.arena);
	}
}

/* Who states the statuses asks for them now and then: the next attempt prints its first steps while the break still stands. */
TEST(a_restart_whose_status_lags_is_one_break)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 505));
	add_phase(&s, phase_of("Restarting", "", true, 505, 575));
	add_phase(&s, training(575, 805));
	add_phase(&s, phase_of("Restarting", "", true, 805, 815));
	add_phase(&s, training(815, 1000));
	add_steps(&s, 1, 1, 50, 10, 10); /* to 500 */
	add_steps(&s, 2, 41, 66, 540, 10); /* to 790 */
	add_steps(&s, 2, 67, 70, 830, 10);
	run(&s);
	CHECK(s.out.break_count == 2 && s.out.lost_steps == 10);
	CHECK(s.out.breaks[0].from_ms == 500 * SECOND && s.out.breaks[0].to_ms == 540 * SECOND);
	CHECK(s.out.breaks[1].from_ms == 790 * SECOND && s.out.breaks[1].to_ms == 830 * SECOND);
	arena_free(s.arena);
}

/* It goes on with the next step, so that its gap alone tells of it: 50 s of the 60 until step 31. A checkpoint's line is in it. */
TEST(a_restart_that_counts_on_and_whose_status_lags_has_its_gap)
{
	static const struct {
		int64_t off_s, on_s; /* the status: in time, and behind the first step, which is at 360 */
		int64_t from_s, restart_s; /* the break's beginning; what is restart by the steps and by the status */
	} cases[] = {
		{310, 330, 300, 50}, {361, 362, 300, 51}, {401, 405, 300, 54}, {419, 422, 300, 53}, {421, 422, 420, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		begin(&s, GOODPUT_COMPLETED);
		add_phase(&s, training(0, cases[i].off_s));
		add_phase(&s, phase_of("Restarting", "unhealthy", true, cases[i].off_s, cases[i].on_s));
		add_phase(&s, training(cases[i].on_s, 650));
		add_steps(&s, 1, 1, 30, 10, 10); /* to 300 */
		s.marks[s.facts.mark_count++] = (struct goodput_mark){301 * SECOND, GOODPUT_CHECKPOINT, 30};
		add_steps(&s, 1, 31, 60, 360, 10);
		run(&s);
		CHECK_INT(s.out.break_count, 1);
		CHECK_INT(s.out.breaks[0].from_ms / SECOND, cases[i].from_s);
		CHECK(span_equal(s.out.breaks[0].cause, SPAN("unhealthy instance")));
		CHECK_INT(s.out.breaks[0].lost_steps, 0);
		CHECK_INT(seconds(&s, GOODPUT_RESTART), cases[i].restart_s);
		CHECK_INT(s.out.breaks[0].restart_ms / SECOND, cases[i].from_s == 300 ? 50 : 1);
		CHECK_INT(seconds(&s, GOODPUT_CHECKPOINT), cases[i].from_s == 300 ? 0 : 50);
		arena_free(s.arena);
	}
}

/* What lies in front of a status that has a gap of its own stays what it was, and so does a gap that another restart lies behind. */
TEST(a_gap_is_no_restart_that_a_status_has_already)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 371));
	add_phase(&s, phase_of("Restarting", "", true, 371, 380));
	add_phase(&s, training(380, 800));
	add_steps(&s, 1, 1, 30, 10, 10); /* to 300 */
	add_steps(&s, 1, 31, 32, 360, 10); /* 50 s late, to 370 */
	add_steps(&s, 1, 33, 60, 420, 10);
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].from_ms == 370 * SECOND);
	CHECK(seconds(&s, GOODPUT_STALLED) == 50 && seconds(&s, GOODPUT_RESTART) == 40);
	arena_free(s.arena);

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 391));
	add_phase(&s, phase_of("Restarting", "", true, 391, 392));
	add_phase(&s, training(392, 800));
	add_steps(&s, 1, 1, 30, 10, 10);
	add_steps(&s, 2, 21, 21, 350, 10); /* went back, and its second step is late */
	add_steps(&s, 2, 22, 60, 380, 10);
	run(&s);
	CHECK(s.out.break_count == 2 && s.out.breaks[0].from_ms == 300 * SECOND &&
		s.out.breaks[1].from_ms == 390 * SECOND);
	CHECK(seconds(&s, GOODPUT_STALLED) == 20);
	arena_free(s.arena);
}

TEST(steps_before_the_first_training_break_nothing_off)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, phase_of("Starting", "", false, 0, 505));
	add_phase(&s, training(505, 1000));
	add_steps(&s, 1, 1, 90, 10, 10);
	run(&s);
	CHECK(s.out.break_count == 0 && s.out.steps == 90 && seconds(&s, GOODPUT_LAUNCH) == 505);
	arena_free(s.arena);
}

TEST(a_status_says_what_broke_the_work_off_by_its_message_first)
{
	static const struct {
		const char *status, *message, *cause;
		bool is_general;
	} rows[] = {{"Interrupted", "", "spot interruption", true},
		{"Interrupted", "we will be back", "spot interruption", true},
		{"Interrupted", "Insufficient capacity error", "spot interruption", true},
		{"Interrupted", "hardware failure on node x", "hardware failure", false},
		{"Interrupted", "NODE_FAIL: requeued by Slurm", "node failure", true},
		{"Restarting", "due to failure of node c2", "node failure", true},
		{"Interrupted", "Maintenance", "maintenance", false},
		{"Restarting", "preempted by job 9", "preempted", false}, {"Restarting", "requeued", "", false},
		{"Starting", "maintenance", "", false}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct goodput_phase phase =
			goodput_phase_of(span_from(rows[i].status), span_from(rows[i].message), true);
		CHECK_SPAN(phase.cause, span_from(rows[i].cause));
		CHECK(goodput_cause_is_general(phase.cause) == rows[i].is_general);
		CHECK(phase.bucket == GOODPUT_RESTART);
	}
	CHECK(goodput_cause_is_general(SPAN("stopped by a user")));
}

TEST(an_interruption_before_the_first_step_is_a_break_that_lost_nothing)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, phase_of("Starting", "", false, 0, 5));
	add_phase(&s, phase_of("Interrupted", "", false, 5, 10));
	add_phase(&s, phase_of("Starting", "", false, 10, 20));
	add_phase(&s, training(20, 200));
	add_steps(&s, 1, 1, 10, 40, 10);
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].lost_steps == 0 && s.out.lost_steps == 0);
	CHECK(span_equal(s.out.breaks[0].cause, SPAN("spot interruption")));
	arena_free(s.arena);
}

/* Killed in its first seconds, and gone on with; why machines were waited for before is no break. */
TEST(an_end_with_a_cause_before_the_first_step_is_a_break_that_lost_nothing)
{
	static struct script s;
	struct goodput_phase capacity = phase_of("Starting", "Insufficient capacity error", false, 0, 10);
	struct goodput_phase failed = phase_of("Failed", "", true, 30, 40);

	begin(&s, GOODPUT_COMPLETED);
	failed.cause = SPAN("OutOfMemory");
	CHECK(capacity.cause.len);
	add_phase(&s, capacity);
	add_phase(&s, training(10, 30));
	add_phase(&s, failed);
	add_phase(&s, training(40, 200));
	add_steps(&s, 1, 1, 10, 60, 10);
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].lost_steps == 0 && s.out.lost_steps == 0);
	CHECK(s.out.breaks[0].from_ms == 30 * SECOND && s.out.breaks[0].to_ms == 40 * SECOND);
	CHECK(span_equal(s.out.breaks[0].cause, SPAN("OutOfMemory")));
	arena_free(s.arena);
}

/* The failed process prints its last step while it is Failed already, and what restarts makes none. */
TEST(a_break_in_which_the_last_step_was_printed_begins_behind_it)
{
	static struct script s;
	struct goodput_phase failed = phase_of("Failed", "", true, 50, 80);

	begin(&s, GOODPUT_RUNS);
	failed.cause = SPAN("OutOfMemory");
	add_phase(&s, training(0, 50));
	add_phase(&s, failed);
	add_phase(&s, phase_of("Restarting", "", true, 80, 90));
	add_phase(&s, training(90, 200));
	add_steps(&s, 1, 1, 6, 10, 10); /* to 60 */
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].step == 6 && s.out.breaks[0].lost_steps == -1);
	CHECK(s.out.breaks[0].from_ms == 80 * SECOND && s.out.breaks[0].to_ms == 90 * SECOND);
	arena_free(s.arena);
}

TEST(a_job_that_runs_and_prints_nothing_any_more_stalls)
{
	static struct script s;

	begin(&s, GOODPUT_RUNS);
	add_phase(&s, training(0, 1100));
	add_steps(&s, 1, 1, 10, 10, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 110 && seconds(&s, GOODPUT_STALLED) == 990);
	arena_free(s.arena);
}

TEST(a_step_back_behind_a_pause_or_a_status_is_a_restart_and_any_other_made_nothing)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 105));
	add_phase(&s, phase_of("Restarting", "", true, 105, 115));
	add_phase(&s, training(115, 300));
	add_steps(&s, 1, 1, 10, 10, 10); /* to 100 */
	add_steps(&s, 1, 10, 12, 140, 10); /* from 9: step 10 is made again; to 160 */
	add_steps(&s, 1, 11, 12, 162, 2); /* late, of another rank; to 164 */
	add_steps(&s, 1, 13, 20, 170, 10); /* to 240 */
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].step == 10 && s.out.breaks[0].from_step == 9);
	CHECK(s.out.breaks[0].lost_steps == 1 && s.out.lost_steps == 1 && s.out.steps == 20);
	CHECK(seconds(&s, GOODPUT_REDONE) == 10 && seconds(&s, GOODPUT_RESTART) == 30);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 200 && seconds(&s, GOODPUT_STALLED) == 0);
	s.phases[1].is_away = true; /* it was put aside: no part of the clock, and no less a break */
	CHECK_OK(goodput_derive(&s.facts, s.arena, &s.out, &err));
	CHECK(s.out.break_count == 1 && s.out.lost_steps == 1 && seconds(&s, GOODPUT_RESTART) == 20);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 200 && seconds(&s, GOODPUT_REDONE) == 10);
	arena_free(s.arena);
}

TEST(extremes_do_not_overflow)
{
	static struct script s;

	begin(&s, GOODPUT_FAILED);
	struct goodput_phase phase = goodput_phase_of(SPAN("Training"), SPAN(""), false);
	phase.from_ms = -GOODPUT_LIMIT;
	phase.to_ms = GOODPUT_LIMIT;
	add_phase(&s, phase);
	s.points[0] = (struct goodput_point){-GOODPUT_LIMIT, GOODPUT_LIMIT, 1};
	s.points[1] = (struct goodput_point){0, -GOODPUT_LIMIT, 2};
	s.points[2] = (struct goodput_point){1, GOODPUT_LIMIT, 2};
	s.points[3] = (struct goodput_point){GOODPUT_LIMIT, -GOODPUT_LIMIT, 1};
	s.facts.point_count = 4;
	s.facts.next.from_step = -GOODPUT_LIMIT;
	run(&s);
	arena_free(s.arena);
}
