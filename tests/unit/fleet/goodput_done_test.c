/* Jobs that were Completed and go on later: nothing broke, so nothing between the parts is lost but steps that are made again. */
#include "goodput_script.h"

enum { LAST_S = 600, DONE_S = 720, AGAIN_S = 4320 };

/* Sixty steps of ten seconds, an evaluation, a checkpoint at 700 s, and an end at 720 s. */
static void begin_done(struct script *s, enum goodput_end end)
{
	begin(s, end);
	add_phase(s, training(0, DONE_S));
	add_steps(s, 1, 1, 60, 10, 10);
	s->marks[0] = (struct goodput_mark){650 * SECOND, GOODPUT_EVALUATION, -1};
	s->marks[1] = (struct goodput_mark){700 * SECOND, GOODPUT_CHECKPOINT, 60};
	s->marks[2] = (struct goodput_mark){
		4325 * SECOND, GOODPUT_EVALUATION, -1}; /* before the first step of the second part */
	s->facts.mark_count = 3;
}

/* Each second of the first part is what it was before the job went on. */
static void check_first_part_of(const struct script *s, int64_t stalled_s)
{
	CHECK(seconds(s, GOODPUT_EVALUATION) == 50 && seconds(s, GOODPUT_CHECKPOINT) == 50);
	CHECK_INT(seconds(s, GOODPUT_STALLED), stalled_s);
}

static void check_first_part(const struct script *s)
{
	check_first_part_of(s, 0);
}

TEST(a_completed_job_that_goes_on_with_the_next_step_lost_nothing)
{
	static struct script s;

	begin_done(&s, GOODPUT_COMPLETED);
	add_phase(&s, phase_of("Completed", "", true, DONE_S, AGAIN_S));
	add_phase(&s, training(AGAIN_S, 4590));
	add_phase(&s, phase_of("Completed", "", true, 4590, 4590));
	add_steps(&s, 1, 61, 80, 4380, 10); /* to 4570 */
	run(&s);
	check_first_part(&s);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 800 && seconds(&s, GOODPUT_FIRST_STEP) == 50);
	CHECK(seconds(&s, GOODPUT_IDLE) == 20 + (AGAIN_S - DONE_S) + 20 && seconds(&s, GOODPUT_RESTART) == 0);
	CHECK(s.out.break_count == 0 && s.out.steps == 80 && s.out.lost_steps == 0);
	arena_free(s.arena);
}

TEST(steps_that_a_completed_job_makes_again_are_lost_and_no_more)
{
	static struct script s;

	begin_done(&s, GOODPUT_COMPLETED);
	add_phase(&s, phase_of("Completed", "", true, DONE_S, AGAIN_S));
	add_phase(&s, training(AGAIN_S, 4690));
	s.marks[1].step = 50;
	add_steps(&s, 2, 51, 80, 4380, 10); /* to 4670 */
	run(&s);
	check_first_part(&s);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 800 && seconds(&s, GOODPUT_REDONE) == 100);
	CHECK(seconds(&s, GOODPUT_FIRST_STEP) == 50 && seconds(&s, GOODPUT_RESTART) == 0);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].lost_steps == 10);
	CHECK(s.out.breaks[0].redone_ms == 100 * SECOND && s.out.breaks[0].restart_ms == 0);
	CHECK(s.out.breaks[0].from_ms == AGAIN_S * SECOND && s.out.breaks[0].to_ms == 4380 * SECOND);
	arena_free(s.arena);
}

TEST(what_breaks_a_job_off_behind_its_completion_is_a_restart_from_when_it_went_on)
{
	static const struct {
		const char *status;
		int64_t trained_s, idle_s, restart_s;
	} cases[] = {{"Restarting", 0, 0, 40 + 50}, {"Interrupted", 0, 0, 40 + 50}, {"Failed", 10, 30, 10 + 50}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		int64_t off_s = AGAIN_S + cases[i].trained_s;
		struct goodput_phase broken = phase_of(cases[i].status, "", false, off_s, AGAIN_S + 40);
		broken.cause = SPAN("unknown");
		begin_done(&s, GOODPUT_COMPLETED);
		add_phase(&s, phase_of("Completed", "", true, DONE_S, AGAIN_S));
		add_phase(&s, training(AGAIN_S, off_s));
		add_phase(&s, broken);
		add_phase(&s, training(AGAIN_S + 40, 4610));
		add_steps(&s, 1, 61, 80, 4420, 10); /* to 4610 */
		run(&s);
		check_first_part(&s);
		CHECK_INT(seconds(&s, GOODPUT_RESTART), cases[i].restart_s);
		CHECK_INT(seconds(&s, GOODPUT_IDLE), 20 + (AGAIN_S - DONE_S) + cases[i].idle_s);
		CHECK(s.out.break_count == 1 && s.out.breaks[0].from_ms == AGAIN_S * SECOND);
		CHECK_INT(s.out.breaks[0].restart_ms, 90 * SECOND);
		arena_free(s.arena);
	}
}

/* Its tracker says that it is done, and its scheduler a minute later that it failed. */
TEST(a_job_that_failed_after_all_was_not_done)
{
	static struct script s;
	struct goodput_phase failed = phase_of("Failed", "", true, DONE_S + 60, DONE_S + 60);

	begin_done(&s, GOODPUT_FAILED);
	add_phase(&s, phase_of("Completed", "", true, DONE_S, DONE_S + 60));
	add_phase(&s, failed);
	run(&s);
	check_first_part_of(&s, 20);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].from_ms == LAST_S * SECOND);
	s.phases[2].to_ms = AGAIN_S * SECOND; /* and goes on */
	s.phases[2].cause = SPAN("OutOfMemory");
	s.facts.end = GOODPUT_COMPLETED;
	add_phase(&s, training(AGAIN_S, 4570));
	add_steps(&s, 1, 61, 80, 4380, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_RESTART) == (DONE_S - LAST_S) + 50 && s.out.break_count == 1);
	CHECK(s.out.breaks[0].from_ms == LAST_S * SECOND && span_equal(s.out.breaks[0].cause, SPAN("OutOfMemory")));
	arena_free(s.arena);
}

/* A real failure: all from the last step to the first one is its restart, though the job was Completed before it went on. */
TEST(what_broke_off_before_a_completion_stays_a_restart)
{
	static struct script s;
	struct goodput_phase failed = phase_of("Failed", "", true, DONE_S, 800);

	failed.cause = SPAN("OutOfMemory");
	begin_done(&s, GOODPUT_COMPLETED);
	add_phase(&s, failed);
	add_phase(&s, training(800, 810));
	add_phase(&s, phase_of("Completed", "", true, 810, AGAIN_S));
	add_phase(&s, training(AGAIN_S, 4570));
	add_steps(&s, 1, 61, 80, 4380, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_RESTART) == (DONE_S - LAST_S) + 10 + 50 && s.out.break_count == 1);
	CHECK(seconds(&s, GOODPUT_EVALUATION) == 0 && s.out.breaks[0].from_ms == LAST_S * SECOND);
	CHECK(span_equal(s.out.breaks[0].cause, SPAN("OutOfMemory")));
	arena_free(s.arena);
}

TEST(its_machines_are_waited_for_as_at_a_start)
{
	static struct script s;

	begin_done(&s, GOODPUT_COMPLETED);
	add_phase(&s, phase_of("Completed", "", true, DONE_S, AGAIN_S));
	add_phase(&s, phase_of("Starting", "Insufficient capacity error", false, AGAIN_S, AGAIN_S + 30));
	add_phase(&s, training(AGAIN_S + 30, 4570));
	add_steps(&s, 1, 61, 80, 4380, 10);
	run(&s);
	check_first_part(&s);
	CHECK(seconds(&s, GOODPUT_CAPACITY) == 30 && seconds(&s, GOODPUT_FIRST_STEP) == 20);
	CHECK(seconds(&s, GOODPUT_RESTART) == 0 && s.out.break_count == 0);
	arena_free(s.arena);
}

/* It has gone on, and nothing says yet what with; FAILED: it never made a step. */
TEST(a_second_part_without_a_step)
{
	static const struct {
		enum goodput_end end;
		int64_t first_step_s, idle_s;
		size_t break_count;
	} cases[] = {{GOODPUT_RUNS, 80, 0, 0}, {GOODPUT_FAILED, 80, 0, 1}, {GOODPUT_STOPPED, 80, 0, 0},
		{GOODPUT_COMPLETED, 0, 75, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		begin_done(&s, cases[i].end);
		add_phase(&s, phase_of("Completed", "", true, DONE_S, AGAIN_S));
		add_phase(&s, training(AGAIN_S, AGAIN_S + 80));
		run(&s);
		CHECK_INT(seconds(&s, GOODPUT_FIRST_STEP), cases[i].first_step_s);
		CHECK_INT(seconds(&s, GOODPUT_IDLE), 20 + (AGAIN_S - DONE_S) + cases[i].idle_s);
		CHECK(seconds(&s, GOODPUT_CHECKPOINT) == 50 && seconds(&s, GOODPUT_STALLED) == 0);
		CHECK_INT(seconds(&s, GOODPUT_EVALUATION), cases[i].idle_s ? 55 : 50);
		CHECK_INT(s.out.break_count, cases[i].break_count);
		CHECK(!s.out.break_count || s.out.breaks[0].from_ms == AGAIN_S * SECOND);
		arena_free(s.arena);
	}
}

/* Its lines go on, and nobody said that the job does: what is behind its end is none of its time, and makes nothing in front of it late. */
TEST(steps_behind_an_end_leave_what_is_in_front_of_it)
{
	for (uint32_t attempt = 1; attempt <= 2; attempt++) {
		static struct script s;
		begin_done(&s, GOODPUT_COMPLETED);
		add_phase(&s, phase_of("Completed", "", true, DONE_S, DONE_S));
		add_steps(&s, attempt, attempt == 1 ? 61 : 51, 80, 4380, 10);
		s.marks[1].step = 50;
		run(&s);
		check_first_part(&s);
		CHECK_INT(seconds(&s, GOODPUT_REDONE), attempt == 1 ? 0 : 100);
		CHECK(seconds(&s, GOODPUT_IDLE) == 20 && seconds(&s, GOODPUT_RESTART) == 0);
		arena_free(s.arena);
	}
}

/* Its end was told a moment before its last line came. */
TEST(a_step_that_was_being_made_when_it_ended_is_productive)
{
	static struct script s;

	begin(&s, GOODPUT_COMPLETED);
	add_phase(&s, training(0, 599));
	add_phase(&s, phase_of("Completed", "", true, 599, AGAIN_S));
	add_phase(&s, training(AGAIN_S, 4570));
	add_steps(&s, 1, 1, 60, 10, 10); /* to 600 */
	add_steps(&s, 1, 61, 80, 4380, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_PRODUCTIVE) == 799 && seconds(&s, GOODPUT_FIRST_STEP) == 50);
	CHECK(seconds(&s, GOODPUT_RESTART) == 0 && s.out.break_count == 0);
	arena_free(s.arena);
}

/* Of the job whose last steps another one makes again. */
TEST(a_completed_job_does_not_stand_until_another_goes_on)
{
	static struct script s;

	begin_done(&s, GOODPUT_COMPLETED);
	s.facts.next = (struct goodput_link){.from_step = 50, .step_ms = 4380 * SECOND, .work_ms = 4370 * SECOND};
	run(&s);
	CHECK(s.out.break_count == 1 && s.out.breaks[0].is_of_next && s.out.breaks[0].lost_steps == 10);
	CHECK(s.out.breaks[0].redone_ms == 100 * SECOND && s.out.breaks[0].restart_ms == 0);
	CHECK(seconds(&s, GOODPUT_REDONE) == 100 && seconds(&s, GOODPUT_IDLE) == 20);
	arena_free(s.arena);
}

/* All steps that its settings declare are made, and nobody said that it ended: what the machines were held for is no loss. */
TEST(a_job_that_made_all_its_steps_stands_idle_until_it_goes_on)
{
	static const struct {
		int64_t declared, idle_s, stalled_s, restart_s;
		bool goes_back;
	} cases[] = {{60, 3670, 0, 0, false}, {61, 0, 3670, 0, false}, {59, 0, 3670, 0, false}, {0, 0, 3670, 0, false},
		{60, 3670, 0, 0, true}, {61, 0, 0, 3770, true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		int64_t first = cases[i].goes_back ? 51 : 61;
		begin_done(&s, GOODPUT_RUNS);
		s.facts.declared_steps = cases[i].declared;
		s.facts.mark_count = 2;
		s.marks[1].step = 50;
		s.phases[0].to_ms = (4380 + 10 * (80 - first)) * SECOND;
		add_steps(&s, first == 61 ? 1 : 2, first, 80, 4380, 10);
		run(&s);
		CHECK_INT(seconds(&s, GOODPUT_IDLE), cases[i].idle_s);
		CHECK_INT(seconds(&s, GOODPUT_STALLED), cases[i].stalled_s);
		CHECK_INT(seconds(&s, GOODPUT_RESTART), cases[i].restart_s);
		CHECK_INT(seconds(&s, GOODPUT_REDONE), cases[i].goes_back ? 100 : 0);
		CHECK_INT(s.out.break_count, cases[i].goes_back);
		arena_free(s.arena);
	}
}

TEST(behind_the_last_step_that_is_declared_nothing_is_late)
{
	static const struct {
		enum goodput_end end;
		int64_t idle_s, stalled_s;
	} cases[] = {{GOODPUT_RUNS, 3600, 0}, {GOODPUT_STOPPED, 3600, 0}, {GOODPUT_FAILED, 0, 3600}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct script s;
		begin(&s, cases[i].end);
		s.facts.declared_steps = 60;
		add_phase(&s, training(0, LAST_S + 3600));
		add_steps(&s, 1, 0, 59, 10, 10); /* counted from 0 */
		run(&s);
		CHECK_INT(seconds(&s, GOODPUT_IDLE), cases[i].idle_s);
		CHECK_INT(seconds(&s, GOODPUT_STALLED), cases[i].stalled_s);
		arena_free(s.arena);
	}
}

/* It failed in what came behind the last step: what that took is a restart, as ever. */
TEST(a_failure_behind_the_last_declared_step_is_a_break)
{
	static struct script s;
	struct goodput_phase failed = phase_of("Failed", "", true, DONE_S, AGAIN_S);

	failed.cause = SPAN("OutOfMemory");
	begin_done(&s, GOODPUT_COMPLETED);
	s.facts.declared_steps = 60;
	add_phase(&s, failed);
	add_phase(&s, training(AGAIN_S, 4570));
	add_steps(&s, 1, 61, 80, 4380, 10);
	run(&s);
	CHECK(seconds(&s, GOODPUT_RESTART) == (DONE_S - LAST_S) + 50 && s.out.break_count == 1);
	CHECK(span_equal(s.out.breaks[0].cause, SPAN("OutOfMemory")));
	arena_free(s.arena);
}

/* Of hourly steps the first two were declared, and the last of them is saved; the third one comes twenty minutes later than they did, in time. */
TEST(a_save_of_all_declared_steps_is_no_hang_behind_which_steps_go_on_in_time)
{
	static struct script s;

	begin(&s, GOODPUT_RUNS);
	add_phase(&s, training(0, 12000));
	add_steps(&s, 1, 1, 2, 3600, 3600);
	add_steps(&s, 1, 3, 3, 12000, 3600);
	s.marks[0] = (struct goodput_mark){7201 * SECOND, GOODPUT_CHECKPOINT, 2};
	s.facts.mark_count = 1;
	s.facts.declared_steps = 2;
	run(&s);
	CHECK_INT(seconds(&s, GOODPUT_STALLED), 0);
	CHECK(seconds(&s, GOODPUT_CHECKPOINT) == 1200 && seconds(&s, GOODPUT_PRODUCTIVE) == 3 * 3600);
	arena_free(s.arena);
}
