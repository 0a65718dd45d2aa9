#include "state/jobs/exits.h"
#include "state/jobs/history_by_hand.h"
#include "store/jobs.h"
#include "store/transitions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Facts as text: "past 40, ends 40, undated Completed 90, stated Starting 10, log Training 20, session 30 lifts 25, exit algo-1 40 code 1, held algo-2".
 * What is shown: "Starting 10-20, Training 20-0".
 */
enum { FACTS_MAX = 32 };

struct facts {
	struct told_row told[FACTS_MAX];
	struct held_row held[FACTS_MAX];
	size_t told_count, held_count;
	int64_t log_ms, past_ms;
};

static void add_fact(struct facts *facts, const char *text)
{
	static const char *const sources[] = {"stated", "assumed", "log", "whole"};
	char source[32], word[64];
	long long at_ms = 0, lifts_ms = 0;
	int code = 0;

	if (sscanf(text, "held %60s", word) == 1) {
		facts->held[facts->held_count++] =
			(struct held_row){.stream = span_from(strdup(word)), .host = SPAN(""), .reason = SPAN("")};
		return;
	}
	if (sscanf(text, "exit %60s %lld code %d", word, &at_ms, &code) >= 2) {
		facts->held[facts->held_count++] = (struct held_row){.stream = span_from(strdup(word)),
			.host = SPAN(""),
			.reason = span_from(strdup(word)),
			.has_exit = true,
			.code = code,
			.exit_ms = at_ms};
		return;
	}
	if (sscanf(text, "past %lld", &at_ms) == 1) {
		facts->past_ms = at_ms;
		return;
	}
	if (sscanf(text, "ends %lld", &at_ms) == 1) {
		facts->log_ms = at_ms;
		return;
	}
	struct told_row row = {.message = SPAN(""), .reason = SPAN("")};
	if (sscanf(text, "session %lld lifts %lld", &at_ms, &lifts_ms) == 2) {
		row.status = SPAN("Training");
		row.source = SOURCE_SESSION;
		row.lifts_ms = lifts_ms;
	} else {
		CHECK(sscanf(text, "%30s %60s %lld", source, word, &at_ms) == 3);
		row.status = span_from(strdup(word));
		for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
			if (strcmp(source, sources[i]) == 0)
				row.source = i == 3 ? SOURCE_STATED : (enum transition_source)i;
		row.is_whole = strcmp(source, "whole") == 0;
		row.is_undated = strcmp(source, "undated") == 0;
		if (strcmp(source, "exited") == 0)
			row.source = SOURCE_EXIT; /* an end that somebody went on from */
	}
	row.start_ms = at_ms;
	facts->told[facts->told_count++] = row;
}

static void read_facts(struct facts *facts, const char *text)
{
	char *copy = strdup(text), *at = NULL;

	*facts = (struct facts){0};
	for (char *entry = strtok_r(copy, ",", &at); entry; entry = strtok_r(NULL, ",", &at))
		add_fact(facts, entry + (*entry == ' '));
	free(copy);
}

static void free_facts(struct facts *facts)
{
	for (size_t i = 0; i < facts->told_count; i++)
		if (facts->told[i].source != SOURCE_SESSION)
			free((char *)facts->told[i].status.ptr);
	for (size_t i = 0; i < facts->held_count; i++) {
		free((char *)facts->held[i].stream.ptr);
		if (facts->held[i].reason.len)
			free((char *)facts->held[i].reason.ptr);
	}
}

static struct history decide(struct arena *arena, const struct facts *facts)
{
	struct history_facts given = {.told = facts->told,
		.told_count = facts->told_count,
		.held = facts->held,
		.held_count = facts->held_count,
		.log_ms = facts->log_ms,
		.past_ms = facts->past_ms};
	struct history out;

	CHECK_OK(history_decide(arena, &given, &out, &err));
	return out;
}

static void print(const struct history *history, struct buf *text)
{
	for (size_t i = 0; i < history->count; i++)
		buf_printf(text, "%s%.*s %lld-%lld", i ? ", " : "", SPAN_ARGS(history->rows[i].status),
			(long long)history->rows[i].start_ms, (long long)history->rows[i].end_ms);
	if (history->failure_reason.len)
		buf_printf(text, " (%.*s)", SPAN_ARGS(history->failure_reason));
}

static void shuffle(struct facts *facts, unsigned *seed)
{
	for (size_t i = facts->told_count; i > 1; i--) {
		size_t with = (size_t)rand_r(seed) % i;
		struct told_row row = facts->told[i - 1];
		facts->told[i - 1] = facts->told[with];
		facts->told[with] = row;
	}
}

/* In the order given, backwards, and in some others: always the same. */
static void check(const char *told, const char *shown)
{
	AUTO(arena) arena = arena_new();
	struct facts facts;
	unsigned seed = 7;

	read_facts(&facts, told);
	for (unsigned i = 0; i < 20; i++) {
		AUTO_DONE(buf) text = BUF_INIT(4096);
		struct history history = decide(arena, &facts);
		print(&history, &text);
		CHECK_SPAN(buf_span(&text), span_from(shown));
		shuffle(&facts, &seed);
	}
	free_facts(&facts);
}

TEST(what_is_told_out_of_order_stands_in_order)
{
	check("stated Training 30, stated Starting 10", "Starting 10-30, Training 30-0");
	check("stated Training 30, stated Starting 10, stated Training 40", "Starting 10-30, Training 30-0");
	check("stated Training 10, stated Starting 10", "Starting 10-10, Training 10-0");
	check("stated Training 30, stated Interrupted 40, stated Starting 50, stated Training 60",
		"Training 30-40, Interrupted 40-50, Starting 50-60, Training 60-0");
}

TEST(a_job_that_has_ended_goes_on_where_a_later_start_is_stated)
{
	check("stated Completed 50, stated Uploading 60", "Completed 50-0");
	check("stated Completed 50, stated Downloading 20", "Downloading 20-50, Completed 50-0");
	check("stated Completed 50, stated Training 60", "Completed 50-60, Training 60-0");
	check("stated Failed 50, stated Restarting 60, stated Training 70, stated Completed 80",
		"Failed 50-60, Restarting 60-70, Training 70-80, Completed 80-0");
	check("stated Training 10, stated Completed 50, stated Failed 40",
		"Training 10-40, Failed 40-50, Completed 50-0");
	check("log Completed 50, assumed Training 60", "Completed 50-0");
}

TEST(the_log_is_heard_until_something_is_stated)
{
	check("assumed Training 100, log Starting 10, log Training 20, log Completed 50",
		"Starting 10-20, Training 20-50, Completed 50-0");
	check("assumed Training 100, log Starting 10, log Training 20, log Completed 50, stated Training 60",
		"Starting 10-20, Training 20-0");
	check("log Starting 10, log Training 20, log Uploading 30, log Completed 50, stated Failed 60",
		"Starting 10-20, Training 20-30, Uploading 30-60, Failed 60-0");
	check("log Starting 10, log Training 20, whole Starting 11, whole Training 19",
		"Starting 11-19, Training 19-0");
}

TEST(an_announced_job_trains_from_its_first_line_on)
{
	check("assumed Starting 10", "Starting 10-0");
	check("assumed Starting 10, assumed Training 15", "Starting 10-15, Training 15-0");
	check("assumed Starting 10, assumed Training 5", "Training 5-0"); /* a log of the past */
	check("assumed Starting 10, assumed Training 15, stated Training 20", "Starting 10-20, Training 20-0");
	check("assumed Starting 10, stated Starting 12, assumed Training 15", "Starting 12-15, Training 15-0");
	check("assumed Starting 10, assumed Training 15, stated Downloading 20", "Starting 10-20, Downloading 20-0");
	check("assumed Starting 10, assumed Training 15, stated Downloading 20, assumed Training 25",
		"Starting 10-20, Downloading 20-25, Training 25-0");
	check("assumed Starting 10, assumed Training 15, stated Completed 30",
		"Starting 10-15, Training 15-30, Completed 30-0");
	check("assumed Starting 10, stated Completed 12, assumed Training 15", "Starting 10-12, Completed 12-0");
	check("stated Training 10, stated Interrupted 20, stated Starting 30, assumed Training 35",
		"Training 10-20, Interrupted 20-30, Starting 30-35, Training 35-0");
}

TEST(a_dated_end_takes_the_place_of_the_logs)
{
	check("past 40, assumed Training 10, undated Completed 90", "Training 10-40, Completed 40-0");
	check("past 40, assumed Training 10, undated Completed 90, stated Completed 95",
		"Training 10-95, Completed 95-0");
	check("past 40, assumed Training 10, undated Completed 90, stated Completed 30",
		"Training 10-30, Completed 30-0");
	check("past 40, assumed Training 10, undated Completed 90, stated Completed 95, stated Completed 97",
		"Training 10-95, Completed 95-0");
}

TEST(an_end_that_was_gone_on_from_stays)
{
	check("assumed Training 10, exited Failed 40, stated Training 60",
		"Training 10-40, Failed 40-60, Training 60-0");
	check("assumed Training 10, exited Failed 40, stated Training 60, stated Completed 80",
		"Training 10-40, Failed 40-60, Training 60-80, Completed 80-0");
	check("assumed Training 10, exited Failed 40, stated Stopped 50, stated Training 60",
		"Training 10-50, Stopped 50-60, Training 60-0");
	check("assumed Training 10, exited Failed 40, stated Stopped 30, stated Training 60",
		"Training 10-30, Stopped 30-60, Training 60-0");
}

TEST(an_end_told_again_behind_another_ends_nothing_anew)
{
	check("stated Training 10, stated Failed 70, stated Completed 80, stated Failed 100",
		"Training 10-70, Failed 70-80, Completed 80-0");
	check("stated Training 10, stated Failed 70, stated Training 80, stated Failed 100",
		"Training 10-70, Failed 70-80, Training 80-100, Failed 100-0");
}

TEST(exits_end_a_job_with_rank_0_or_the_last)
{
	check("assumed Training 10, exit algo-1 20", "Training 10-20, Completed 20-0");
	check("assumed Training 10, exit algo-1 20 code 3", "Training 10-20, Failed 20-0 (algo-1)");
	check("assumed Training 10, exit algo-2 15 code 1, held algo-1", "Training 10-0");
	check("assumed Training 10, exit algo-2 15 code 1, exit algo-3 16 code 2, exit algo-1 20",
		"Training 10-20, Failed 20-0 (algo-2)");
	check("assumed Training 10, exit algo-1 20, held algo-2", "Training 10-20, Completed 20-0");
	check("assumed Training 10, exit algo-1 20, exit algo-2 30 code 1", "Training 10-20, Completed 20-0");
	check("assumed Training 10, exit gpu-a 20, held gpu-b", "Training 10-0");
	check("assumed Training 10, exit gpu-a 20, exit gpu-b 25", "Training 10-25, Completed 25-0");
	check("assumed Training 10, exit worker-0 20, held worker-10", "Training 10-20, Completed 20-0");
	check("assumed Training 10, stated Stopping 15, exit algo-1 20 code 143",
		"Training 10-15, Stopping 15-20, Stopped 20-0");
	check("assumed Training 10, exit system/gpu1 20, held algo-1", "Training 10-0");
}

TEST(a_reason_that_says_how_a_process_ended_is_an_exits)
{
	struct held_row held[] = {
		{.stream = SPAN("algo-1"), .has_exit = true, .reason = SPAN("")},
		{.stream = SPAN("algo-2"), .has_exit = true, .code = 1, .reason = SPAN("algo-2 on n7: exit code 1")},
	};
	static const struct {
		const char *reason;
		bool is_exits;
	} cases[] = {{"algo-2 on n7: exit code 1", true}, {"algo-2 on n7 (rank 1): exit code 1", true},
		{"algo-2 on n7 (rank 1): exit code 12", false}, {"algo-3 on n7 (rank 1): exit code 1", false},
		{"algo-2 on n7 (rank 1)", false}, {"AlgorithmError: exit code 1", false}, {"exit code 1", false},
		{"(rank 1): exit code 1", false}, {"", false}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK(exits_say(held, 2, span_from(cases[i].reason)) == cases[i].is_exits);
	held[1].reason = SPAN("exit code 1"); /* the only one that has a session */
	CHECK(exits_say(held, 2, SPAN("exit code 1")) &&
		exits_say(held, 2, SPAN("algo-2 on n7 (rank 1): exit code 1")));
	held[1].code = 0;
	CHECK(!exits_say(held, 2, SPAN("exit code 1")));
}

/* What somebody says of an exit beyond its number is a reason of theirs. */
TEST(words_say_how_a_process_ended_and_no_more)
{
	static const struct {
		const char *reason;
		bool is_so;
	} cases[] = {{"exit code 1", true}, {"algo-2 on n7: exit code 137", true},
		{"algo-2 on n7 (rank 1): killed by signal 9 (SIGKILL)", true}, {"killed by signal 64", true},
		{"exit code 1 of the prolog, the node is at the vendor", false},
		{"algo-2: exit code 1, disk full", false}, {"killed by signal 9 (the cgroup's OOM killer)", false},
		{"killed by signal 15 by mia, budget is spent", false}, {"exit code ", false},
		{"exit code unknown", false}, {"exit code 1: disk full", false}, {"", false}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool is_so = exits_is_how_one_ended(span_from(cases[i].reason));
		CHECK_INT(is_so ? (int)i : -1, cases[i].is_so ? (int)i : -1);
	}
}

TEST(a_stated_end_ranks_above_exits)
{
	check("stated Training 10, exit algo-1 20, stated Completed 21", "Training 10-21, Completed 21-0");
	check("stated Training 10, exit algo-1 21, stated Completed 20", "Training 10-20, Completed 20-0");
	check("stated Training 10, exit algo-1 20, stated Failed 30", "Training 10-30, Failed 30-0");
	check("stated Training 10, exit algo-1 20, stated Completed 20, stated Training 30",
		"Training 10-20, Completed 20-30, Training 30-0"); /* the exit is the earlier run's */
	check("stated Training 10, stated Completed 20, stated Training 30, exit algo-1 40",
		"Training 10-20, Completed 20-30, Training 30-40, Completed 40-0");
}

TEST(a_session_goes_on_with_the_end_that_it_found)
{
	check("stated Training 10, stated Completed 20, session 30 lifts 20",
		"Training 10-20, Completed 20-30, Training 30-0");
	check("stated Training 10, stated Completed 20, session 30 lifts 20, stated Training 31",
		"Training 10-20, Completed 20-31, Training 31-0");
	check("stated Training 10, stated Completed 20, session 90 lifts 20, stated Training 31, stated Completed 40",
		"Training 10-20, Completed 20-31, Training 31-40, Completed 40-0"); /* an import of the past */
}

TEST(a_stop_that_nobody_answers_is_assumed)
{
	check("stated Training 10, stated Stopping 20, assumed Stopped 25",
		"Training 10-20, Stopping 20-25, Stopped 25-0");
	check("stated Training 10, stated Stopping 20, assumed Stopped 25, stated Completed 30",
		"Training 10-20, Stopping 20-30, Completed 30-0");
	check("stated Training 10, stated Stopping 20, assumed Stopped 25, exit algo-1 24",
		"Training 10-20, Stopping 20-24, Stopped 24-0");
	check("stated Training 10, stated Stopping 20, assumed Stopped 25, stated Training 30",
		"Training 10-20, Stopping 20-30, Training 30-0");
}

/* Whatever is told: times grow, an end is left only by a start, and the order of telling is nothing. */
TEST(what_was_imported_ended_where_its_log_does)
{
	check("assumed Training 10, assumed Completed 40", "Training 10-40, Completed 40-0");
	check("assumed Training 10, assumed Completed 40, ends 60",
		"Training 10-60, Completed 60-0"); /* more of it came */
	check("assumed Training 10, assumed Completed 40, ends 30",
		"Training 10-40, Completed 40-0"); /* not counted yet */
	check("assumed Training 10, assumed Completed 40, assumed Starting 90", "Training 10-40, Completed 40-0");
	check("stated Starting 5, assumed Training 10, assumed Completed 40",
		"Starting 5-10, Training 10-40, Completed 40-0");
	check("assumed Training 10, assumed Completed 40, log Completed 38", "Training 10-38, Completed 38-0");
}

TEST(who_says_how_it_ended_knows_better_than_who_imported_it)
{
	check("assumed Training 10, assumed Completed 40, stated Failed 40", "Training 10-40, Failed 40-0");
	check("assumed Training 10, assumed Completed 40, stated Failed 30", "Training 10-30, Failed 30-0");
	check("assumed Training 10, assumed Completed 40, stated Failed 60", "Training 10-60, Failed 60-0");
	check("assumed Training 10, assumed Completed 40, stated Stopping 50, stated Stopped 60",
		"Training 10-50, Stopping 50-60, Stopped 60-0");
	check("assumed Training 10, assumed Completed 40, exit algo-1 50 code 1",
		"Training 10-50, Failed 50-0 (algo-1)");
}

TEST(what_was_imported_is_gone_on_with)
{
	check("assumed Training 10, assumed Completed 40, stated Training 60, ends 90",
		"Training 10-40, Completed 40-60, Training 60-0");
	check("assumed Training 10, assumed Completed 40, stated Training 60, stated Failed 70, assumed Completed 65",
		"Training 10-40, Completed 40-60, Training 60-70, Failed 70-0");
	check("assumed Training 10, assumed Completed 40, session 60 lifts 40, ends 90",
		"Training 10-40, Completed 40-60, Training 60-0");
	check("assumed Training 10, assumed Completed 40, stated Training 20", "Training 20-40, Completed 40-0");
	check("assumed Training 10, assumed Completed 40, stated Uploading 60", "Training 10-40, Completed 40-0");
}

TEST(any_facts_in_any_order_give_one_history)
{
	static const char *const statuses[] = {"Starting", "Downloading", "Training", "Restarting", "Interrupted",
		"Uploading", "Stopping", "Stopped", "Completed", "Failed"};
	unsigned seed = 11;

	for (unsigned round = 0; round < 2000; round++) {
		AUTO(arena) arena = arena_new();
		struct facts facts = {.told_count = 1 + (size_t)rand_r(&seed) % 12};
		AUTO_DONE(buf) first = BUF_INIT(4096);
		AUTO_DONE(buf) second = BUF_INIT(4096);
		for (size_t i = 0; i < facts.told_count; i++) {
			struct told_row *row = &facts.told[i];
			*row = (struct told_row){.status = span_from(statuses[rand_r(&seed) % 10]),
				.message = SPAN(""),
				.reason = SPAN(""),
				.start_ms = 1 + rand_r(&seed) % 20,
				.source = (enum transition_source)(rand_r(&seed) % 3)};
			if (row->source == SOURCE_ASSUMED && !phase_is_resume(row->status))
				row->status = SPAN("Training");
		}
		struct history history = decide(arena, &facts);
		print(&history, &first);
		for (size_t i = 1; i < history.count; i++) {
			const struct transition_row *before = &history.rows[i - 1], *row = &history.rows[i];
			CHECK(before->start_ms <= row->start_ms && before->end_ms == row->start_ms);
			CHECK(!phase_is_final(before->status) || phase_is_final(row->status) ||
				(row->source == SOURCE_STATED && phase_is_resume(row->status)));
		}
		shuffle(&facts, &seed);
		history = decide(arena, &facts);
		print(&history, &second);
		CHECK_SPAN(buf_span(&second), buf_span(&first));
	}
}

/* ---- times that were set by hand ---- */

static struct history_by_hand set_by_hand(
	struct arena *arena, const struct history_facts *facts, const struct by_hand *by, struct job_row *row)
{
	struct history_by_hand out;
	struct history known;

	CHECK_OK(history_decide(arena, facts, &known, &err));
	history_to_row(&known, &(struct event_times){false, 0, 0}, row);
	CHECK_OK(history_set_by_hand(arena, facts, &known, by, row, &out, &err));
	return out;
}

static void check_shown(const struct history *history, const char *shown)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);

	print(history, &text);
	CHECK_SPAN(buf_span(&text), span_from(shown));
}

/* start_ms, end_ms: 0: not set. What it was set upon, told again elsewhere, shows the same. */
static void check_by_hand(const char *told, int64_t start_ms, int64_t end_ms, const char *shown, bool has_given_way)
{
	AUTO(arena) arena = arena_new();
	const struct by_hand by = {.start_ms = start_ms, .end_ms = end_ms};
	struct job_row row = {.status = SPAN("")}, other = {.status = SPAN("")};
	struct told_row carried[FACTS_MAX];
	struct facts given;

	read_facts(&given, told);
	struct history_facts facts = {.told = given.told, .told_count = given.told_count};
	struct history_by_hand out = set_by_hand(arena, &facts, &by, &row);
	check_shown(&out.shown, shown);
	CHECK(out.has_given_way == has_given_way);
	for (size_t i = 0; i < out.base.count; i++)
		carried[i] = (struct told_row){.status = out.base.rows[i].status,
			.message = SPAN(""),
			.reason = SPAN(""),
			.start_ms = out.base.rows[i].start_ms,
			.source = out.base.rows[i].source};
	facts = (struct history_facts){.told = carried, .told_count = out.base.count};
	out = set_by_hand(arena, &facts, &by, &other);
	check_shown(&out.shown, shown);
	CHECK(row.started_ms == other.started_ms && row.ended_ms == other.ended_ms);
	free_facts(&given);
}

TEST(times_by_hand_are_set_together)
{
	const char *ended = "stated Training 30, stated Completed 50";

	check_by_hand(ended, 10, 20, "Training 10-20, Completed 20-0", false);
	check_by_hand(ended, 60, 70, "Training 60-70, Completed 70-0", false);
	check_by_hand("stated Starting 5, stated Training 30, stated Completed 50", 10, 20,
		"Starting 5-10, Training 10-20, Completed 20-0", false);
	check_by_hand("stated Training 30", 10, 20, "Training 10-0", false); /* its end counts once it has ended */
	check_by_hand("stated Starting 30", 10, 20, "Starting 30-0", false);
}

TEST(what_was_before_a_start_by_hand_was_no_training)
{
	const char *broken = "stated Training 10, stated Interrupted 20, stated Training 60, stated Completed 90";

	check_by_hand(broken, 50, 0, "Interrupted 20-50, Training 50-90, Completed 90-0", false);
	check_by_hand(broken, 70, 0, "Interrupted 20-70, Training 70-90, Completed 90-0", false);
	check_by_hand(broken, 15, 0, "Training 15-20, Interrupted 20-60, Training 60-90, Completed 90-0", false);
}

TEST(an_end_by_hand_takes_in_what_came_behind_the_stated_one)
{
	check_by_hand("assumed Starting 10, stated Completed 12, assumed Training 15", 0, 30,
		"Starting 10-15, Training 15-30, Completed 30-0", false);
	check_by_hand("stated Completed 12, assumed Training 15", 14, 30, "Training 14-30, Completed 30-0", false);
	check_by_hand("stated Training 1, stated Failed 2, stated Training 5, stated Completed 12, stated Uploading 15",
		0, 30, "Training 1-2, Failed 2-5, Training 5-15, Uploading 15-30, Completed 30-0", false);
	check_by_hand("stated Completed 12, assumed Training 15", 4, 0, "Training 4-12, Completed 12-0", false);
	check_by_hand("stated Starting 3, stated Failed 12, assumed Training 15", 4, 0,
		"Starting 3-4, Training 4-12, Failed 12-0", false);
}

TEST(what_is_worked_out_gives_way_to_what_was_set)
{
	const char *ended = "stated Training 30, stated Completed 50";

	check_by_hand(ended, 60, 0, "Training 60-60, Completed 60-0", true);
	check_by_hand(ended, 0, 20, "Training 20-20, Completed 20-0", true);
	check_by_hand(ended, 50, 0, "Training 50-50, Completed 50-0", false);
	check_by_hand("stated Completed 12, assumed Training 15", 13, 0, "Training 13-13, Completed 13-0", true);
}

TEST(the_newest_breaks_are_found)
{
	static const char *const statuses[] = {"Training", "Failed"};
	struct transition_row rows[12];
	struct history history = {.rows = rows, .count = 12};
	int64_t at_ms[12];

	for (int i = 0; i < 12; i++)
		rows[i] = (struct transition_row){
			.status = span_from(statuses[i % 2]), .start_ms = 10 * i, .source = SOURCE_STATED};
	CHECK_INT(history_find_breaks(&history, at_ms, 12), 11); /* all but the first Training */
	CHECK_INT(at_ms[0], 10);
	CHECK_INT(at_ms[10], 110);
	CHECK_INT(history_find_breaks(&history, at_ms, 4), 3);
	CHECK_INT(at_ms[0], 90);
	CHECK_INT(at_ms[2], 110);
	rows[11].source = SOURCE_LOG; /* a line's word is none of these */
	CHECK_INT(history_find_breaks(&history, at_ms, 12), 10);
}
