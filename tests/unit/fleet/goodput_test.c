#include "fleet/goodput.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECOND = 1000, MANY = 64, MADE_MAX = 4096 };

static struct goodput_phase training(int64_t from_s, int64_t to_s)
{
	struct goodput_phase phase = goodput_phase_of(SPAN("Training"), SPAN(""), false);

	phase.from_ms = from_s * SECOND;
	phase.to_ms = to_s * SECOND;
	return phase;
}

static struct goodput_phase phase_of(
	const char *status, const char *message, bool has_trained, int64_t from_s, int64_t to_s)
{
	struct goodput_phase phase = goodput_phase_of(span_from(status), span_from(message), has_trained);

	phase.from_ms = from_s * SECOND;
	phase.to_ms = to_s * SECOND;
	return phase;
}

struct script {
	struct goodput_phase phases[MANY];
	struct goodput_point points[MADE_MAX];
	struct goodput_mark marks[MANY];
	struct goodput_facts facts;
	struct arena *arena;
	struct goodput out;
};

static void begin(struct script *s, enum goodput_end end)
{
	s->facts = (struct goodput_facts){.phases = s->phases,
		.points = s->points,
		.marks = s->marks,
		.end = end,
		.end_cause = SPAN(""),
		.next_from_step = INT64_MAX};
	s->arena = arena_new();
	CHECK(s->arena);
}

static void add_phase(struct script *s, struct goodput_phase phase)
{
	s->phases[s->facts.phase_count++] = phase;
}

/* Steps first..last, the first printed at from_s, one each each_s. */
static void add_steps(struct script *s, uint32_t attempt, int64_t first, int64_t last, int64_t from_s, int64_t each_s)
{
	for (int64_t step = first; step <= last; step++)
		s->points[s->facts.point_count++] =
			(struct goodput_point){(from_s + (step - first) * each_s) * SECOND, step, attempt};
}

static void run(struct script *s)
{
	CHECK_OK(goodput_derive(&s->facts, s->arena, &s->out, &err));
	int64_t sum = 0, at = s->facts.phase_count ? s->phases[0].from_ms : 0;
	for (size_t i = 0; i < s->out.segment_count; i++) {
		CHECK(s->out.segments[i].from_ms == at && s->out.segments[i].to_ms > at);
		at = s->out.segments[i].to_ms;
	}
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++)
		sum += s->out.ms[i];
	CHECK(sum == s->out.total_ms);
	if (s->facts.phase_count)
		CHECK(sum == s->phases[s->facts.phase_count - 1].to_ms - s->phases[0].from_ms);
}

static int64_t seconds(const struct script *s, enum goodput_bucket bucket)
{
	return s->out.ms[bucket] / SECOND;
}

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

/* The log says when a save was done; by hand: at most a quarter of an hour, or twice what lies behind the job's other lines. */
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
	s.facts.next_from_step = 6;
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

/* ---- random jobs against a reference that looks at every millisecond on its own ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t below(uint64_t *state, int64_t bound)
{
	return (int64_t)(next_random(state) % (uint64_t)bound);
}

struct reference {
	const struct goodput_facts *facts;
	double step_ms;
	int64_t stride;
};

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool is_any_mark(const struct goodput_facts *f, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < f->mark_count; i++)
		if (f->marks[i].ts_ms > from_ms && f->marks[i].ts_ms <= to_ms)
			return true;
	return false;
}

static bool is_any_other_phase(const struct goodput_facts *f, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < f->phase_count; i++)
		if (!f->phases[i].is_training && f->phases[i].from_ms < f->phases[i].to_ms &&
			f->phases[i].from_ms < to_ms && f->phases[i].to_ms > from_ms)
			return true;
	return false;
}

static bool opens_attempt(const struct goodput_facts *f, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (f->points[j].attempt >= f->points[i].attempt)
			return false;
	return true;
}

/* Something else than training was stated behind the point before, and training again. */
static bool is_behind_other(const struct goodput_facts *f, size_t i)
{
	for (size_t p = 0; p < f->phase_count; p++)
		for (size_t q = p + 1; q < f->phase_count; q++)
			if (!f->phases[p].is_training && f->phases[p].from_ms < f->phases[p].to_ms &&
				f->phases[p].to_ms > f->points[i - 1].ts_ms && f->phases[q].is_training &&
				f->phases[q].from_ms <= f->points[i].ts_ms)
				return true;
	return false;
}

/* What is no start and goes no further than the newest attempt did made no step. */
static void drop_unmade(const struct goodput_facts *f, struct goodput_point *points, size_t *count)
{
	int64_t highest = 0;
	uint32_t attempts = 0;

	*count = 0;
	for (size_t i = 0; i < f->point_count; i++) {
		bool is_again = i && !opens_attempt(f, i) && f->points[i].step <= highest;
		if (is_again && !is_behind_other(f, i))
			continue;
		attempts += is_again || opens_attempt(f, i);
		highest = f->points[i].step;
		points[(*count)++] = (struct goodput_point){f->points[i].ts_ms, highest, attempts};
	}
}

/* Every single step in one list. */
static double reference_pace(const struct goodput_facts *f, bool is_strict)
{
	static double all[1 << 16];
	size_t count = 0;

	for (size_t i = 0; i + 1 < f->point_count; i++) {
		const struct goodput_point *a = &f->points[i], *b = a + 1;
		bool is_disturbed = is_any_mark(f, a->ts_ms, b->ts_ms) || is_any_other_phase(f, a->ts_ms, b->ts_ms);
		if (b->attempt > a->attempt || b->ts_ms == a->ts_ms || (is_strict && is_disturbed))
			continue;
		for (int64_t step = a->step; step < b->step; step++)
			all[count++] = (double)(b->ts_ms - a->ts_ms) / (double)(b->step - a->step);
	}
	qsort(all, count, sizeof *all, by_double);
	return count ? all[(count - 1) / 2] : 0;
}

static int64_t reference_from(const struct reference *r, size_t first)
{
	int64_t step = r->facts->points[first].step, best = step > r->stride ? step - r->stride
							    : step > 0       ? 0
							    : step           ? step
									     : -1;

	for (size_t i = 0; i < r->facts->mark_count; i++)
		if (r->facts->marks[i].bucket == GOODPUT_CHECKPOINT &&
			r->facts->marks[i].ts_ms < r->facts->points[first].ts_ms && r->facts->marks[i].step > best &&
			r->facts->marks[i].step < step)
			best = r->facts->marks[i].step;
	return best;
}

/* Was the step that was made behind point i made again? */
static bool is_again(const struct reference *r, size_t i, int64_t step)
{
	if (step > r->facts->next_from_step)
		return true;
	for (size_t j = i + 1; j < r->facts->point_count; j++)
		if (opens_attempt(r->facts, j) && step > reference_from(r, j))
			return true;
	return false;
}

static int64_t expected(const struct reference *r, int64_t steps)
{
	return llround(r->step_ms * (double)steps);
}

static bool reference_is_late(const struct reference *r, int64_t ms, int64_t steps)
{
	double slack = fmax(fmax((double)expected(r, 1), (double)(expected(r, steps) / 4)), 2000);

	return (double)(ms - expected(r, steps)) > slack;
}

static enum goodput_bucket marked(const struct reference *r, int64_t from_ms, int64_t to_ms, int64_t x,
	enum goodput_bucket otherwise, bool last_takes_rest)
{
	const struct goodput_mark *last = NULL;

	for (size_t i = 0; i < r->facts->mark_count; i++) {
		const struct goodput_mark *mark = &r->facts->marks[i];
		if (mark->ts_ms <= from_ms || mark->ts_ms > to_ms)
			continue;
		if (x < mark->ts_ms)
			return mark->bucket;
		last = mark;
	}
	return last && last_takes_rest ? last->bucket : otherwise;
}

/* The millisecond x lies in front of point i, in which steps from + 1 .. that of the point were made; behind after_ms. */
static enum goodput_bucket before_point(const struct reference *r, size_t i, int64_t after_ms, int64_t from, int64_t x,
	bool is_gap, enum goodput_bucket bucket)
{
	const struct goodput_point *b = &r->facts->points[i];
	int64_t taken = b->ts_ms - after_ms, steps = b->step > from ? b->step - from : 0, work = taken;
	bool has_marks = !is_gap && is_any_mark(r->facts, after_ms, b->ts_ms);

	if (is_gap || (r->step_ms > 0 && (has_marks || reference_is_late(r, taken, steps))))
		work = expected(r, steps) < taken ? expected(r, steps) : taken;
	if (x < b->ts_ms - work)
		return has_marks ? marked(r, after_ms, b->ts_ms, x, bucket, true) : bucket;
	if (!steps)
		return is_again(r, i, from) ? GOODPUT_REDONE : GOODPUT_PRODUCTIVE;
	int64_t kept = 0;
	while (kept < steps && !is_again(r, i, from + kept + 1))
		kept++;
	return x < b->ts_ms - work + work * kept / steps ? GOODPUT_PRODUCTIVE : GOODPUT_REDONE;
}

static enum goodput_bucket after_last(const struct reference *r, int64_t end_ms, int64_t x)
{
	const struct goodput_facts *f = r->facts;
	int64_t last_ms = f->points[f->point_count - 1].ts_ms;
	bool late = r->step_ms > 0 && reference_is_late(r, end_ms - last_ms, r->stride);

	for (size_t i = 0; i < f->phase_count; i++)
		if (!f->phases[i].is_training && f->phases[i].bucket == GOODPUT_RESTART && f->phases[i].to_ms > last_ms)
			return x < f->phases[i].from_ms ? GOODPUT_STALLED : GOODPUT_RESTART;
	if (f->end == GOODPUT_RUNS && is_any_mark(f, last_ms, end_ms))
		return marked(r, last_ms, end_ms, x, GOODPUT_STALLED, true);
	if (f->end == GOODPUT_RUNS)
		return !late || x < last_ms + expected(r, r->stride) ? GOODPUT_PRODUCTIVE : GOODPUT_STALLED;
	bool is_stall = f->end == GOODPUT_FAILED || (f->end == GOODPUT_STOPPED && late);
	return marked(r, last_ms, end_ms, x, is_stall ? GOODPUT_STALLED : GOODPUT_IDLE, false);
}

static enum goodput_bucket reference_bucket(const struct reference *r, int64_t begin_ms, int64_t end_ms, int64_t x)
{
	const struct goodput_facts *f = r->facts;
	size_t i = 0;

	for (size_t p = 0; p < f->phase_count; p++)
		if (x >= f->phases[p].from_ms && x < f->phases[p].to_ms && !f->phases[p].is_training)
			return f->phases[p].bucket;
	if (!f->point_count)
		return f->end == GOODPUT_FAILED ? GOODPUT_FIRST_STEP : GOODPUT_UNMEASURED;
	while (i < f->point_count && f->points[i].ts_ms <= x)
		i++;
	if (i == f->point_count)
		return after_last(r, end_ms, x);
	if (i == 0)
		return before_point(r, 0, begin_ms, reference_from(r, 0), x, true, GOODPUT_FIRST_STEP);
	bool is_start = opens_attempt(f, i);
	int64_t highest = INT64_MIN;
	for (size_t j = i; j-- > 0;) {
		highest = f->points[j].step > highest ? f->points[j].step : highest;
		if (opens_attempt(f, j))
			break;
	}
	bool is_gap = is_start || is_any_other_phase(f, f->points[i - 1].ts_ms, f->points[i].ts_ms);
	return before_point(r, i, f->points[i - 1].ts_ms, is_start ? reference_from(r, i) : highest, x, is_gap,
		is_gap ? GOODPUT_RESTART : GOODPUT_STALLED);
}

static void make_phases(struct script *s, uint64_t *random)
{
	static const char *const statuses[] = {"Starting", "Downloading", "Training", "Training", "Training",
		"Interrupted", "Restarting", "Uploading", "Stopping"};
	static const char *const messages[] = {"", "Insufficient capacity error", "was unhealthy, replacing it!",
		"Downloading the training image", "Downloading input data"};
	int64_t at = below(random, 100), count = 1 + below(random, 7);
	bool has_trained = false;

	for (int64_t i = 0; i < count; i++) {
		const char *status = statuses[below(random, 9)];
		struct goodput_phase phase =
			goodput_phase_of(span_from(status), span_from(messages[below(random, 5)]), has_trained);
		has_trained |= phase.is_training;
		phase.from_ms = at;
		at += below(random, 10) ? below(random, 9000) : 0;
		phase.to_ms = at;
		add_phase(s, phase);
	}
}

static void make_points(struct script *s, uint64_t *random)
{
	int64_t at = below(random, 6000), step = below(random, 5), count = below(random, 24),
		each = 1 + below(random, 4);
	uint32_t attempt = 1;

	for (int64_t i = 0; i < count; i++) {
		s->points[s->facts.point_count++] = (struct goodput_point){at, step, attempt};
		at += below(random, 9) ? 200 + below(random, 30) : below(random, 7000);
		step += below(random, 12) ? each : below(random, 4);
		if (!below(random, 8)) {
			attempt += 1 + (uint32_t)below(random, 2);
			step = below(random, step + 2);
		}
	}
}

static void make_marks(struct script *s, uint64_t *random)
{
	int64_t at = below(random, 5000), count = below(random, 6);

	for (int64_t i = 0; i < count; i++) {
		bool is_checkpoint = below(random, 2);
		s->marks[s->facts.mark_count++] =
			(struct goodput_mark){at, is_checkpoint ? GOODPUT_CHECKPOINT : GOODPUT_EVALUATION,
				is_checkpoint ? below(random, 30) - 1 : -1};
		at += below(random, 4000);
	}
}

/* The stride of the reference: every interval in one list. */
static int64_t reference_stride(const struct goodput_facts *f)
{
	double all[MANY];
	size_t count = 0;

	for (size_t i = 0; i + 1 < f->point_count; i++)
		if (f->points[i + 1].attempt <= f->points[i].attempt && f->points[i + 1].step > f->points[i].step)
			all[count++] = (double)(f->points[i + 1].step - f->points[i].step);
	qsort(all, count, sizeof *all, by_double);
	return count ? (int64_t)all[(count - 1) / 2] : 1;
}

static bool is_training_at(const struct goodput_facts *f, int64_t x)
{
	for (size_t i = 0; i < f->phase_count; i++)
		if (x >= f->phases[i].from_ms && x < f->phases[i].to_ms)
			return f->phases[i].is_training;
	return false;
}

static void compare(struct script *s)
{
	struct goodput_point made[MANY];
	struct goodput_facts facts = s->facts;

	drop_unmade(&s->facts, made, &facts.point_count);
	facts.points = made;
	struct reference r = {.facts = &facts, .stride = reference_stride(&facts)};
	int64_t begin_ms = s->phases[0].from_ms, end_ms = s->phases[s->facts.phase_count - 1].to_ms;
	int64_t ms[GOODPUT_BUCKETS] = {0}, redone = 0;

	r.step_ms = reference_pace(&facts, true);
	if (r.step_ms <= 0)
		r.step_ms = reference_pace(&facts, false);
	for (int64_t x = begin_ms; x < end_ms; x++) {
		enum goodput_bucket bucket = reference_bucket(&r, begin_ms, end_ms, x);
		bool is_of_steps = facts.point_count && is_training_at(&facts, x) && bucket != GOODPUT_RESTART;
		ms[is_of_steps && r.step_ms <= 0 ? GOODPUT_UNMEASURED : bucket]++;
	}
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++) {
		if (ms[i] != s->out.ms[i])
			printf("%s: %lld, reference %lld\n", goodput_bucket_name((enum goodput_bucket)i),
				(long long)s->out.ms[i], (long long)ms[i]);
		CHECK(s->out.ms[i] >= 0 && ms[i] == s->out.ms[i]);
	}
	for (size_t i = 0; i < s->out.break_count; i++) {
		CHECK(s->out.breaks[i].lost_steps >= -1 && s->out.breaks[i].restart_ms >= 0);
		redone += s->out.breaks[i].redone_ms;
	}
	CHECK(redone == s->out.ms[GOODPUT_REDONE]); /* each lost second has a break that it is lost to */
}

TEST(random_jobs_agree_with_the_reference)
{
	static struct script s;
	uint64_t random = 88172645463325252ULL;

	for (int i = 0; i < 400; i++) {
		begin(&s, (enum goodput_end)below(&random, 4));
		s.facts.next_from_step = below(&random, 4) ? INT64_MAX : below(&random, 20);
		make_phases(&s, &random);
		make_points(&s, &random);
		make_marks(&s, &random);
		run(&s);
		compare(&s);
		arena_free(s.arena);
	}
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
	s.facts.next_from_step = -GOODPUT_LIMIT;
	run(&s);
	arena_free(s.arena);
}
