#include "test.h"

#include "pipeline/history.h"

static struct transition_row row(const char *status, int64_t start_ms, enum transition_source source)
{
	return (struct transition_row){span_from(status), SPAN(""), start_ms, 0, source};
}

static struct history merge(
	struct arena *arena, struct history old, const struct transition_row *rows, size_t count, bool is_whole)
{
	struct told told = {rows, count, is_whole};
	struct history out;
	bool has_changed;

	CHECK_OK(history_merge(arena, &old, &told, &out, &has_changed, &err));
	return out;
}

static void check_rows(struct history history, const char *wanted)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);

	for (size_t i = 0; i < history.count; i++)
		buf_printf(&text, "%s%.*s %lld-%lld", i ? ", " : "", SPAN_ARGS(history.rows[i].status),
			(long long)history.rows[i].start_ms, (long long)history.rows[i].end_ms);
	CHECK_SPAN(buf_span(&text), span_from(wanted));
}

TEST(what_is_told_out_of_order_stands_in_order)
{
	AUTO(arena) arena = arena_new();
	struct transition_row late = row("Training", 30, SOURCE_STATED), early = row("Starting", 10, SOURCE_STATED),
			      again = row("Training", 40, SOURCE_STATED);
	struct history history = merge(arena, (struct history){0}, &late, 1, false);

	history = merge(arena, history, &early, 1, false);
	check_rows(history, "Starting 10-30, Training 30-0");
	history = merge(arena, history, &again, 1, false);
	check_rows(history, "Starting 10-30, Training 30-0");
}

TEST(a_job_that_has_ended_does_not_go_on)
{
	AUTO(arena) arena = arena_new();
	struct transition_row end = row("Completed", 50, SOURCE_STATED), late = row("Uploading", 60, SOURCE_STATED);
	struct history history = merge(arena, (struct history){0}, &end, 1, false);
	struct job_row job = {.created_ms = 55};

	history = merge(arena, history, &late, 1, false);
	check_rows(history, "Uploading 60-60, Completed 50-0");
	history_to_row(&history, &job);
	CHECK_SPAN(job.status, SPAN("Completed"));
	CHECK_INT(job.ended_ms, 50);
}

TEST(the_log_is_heard_until_something_is_stated)
{
	AUTO(arena) arena = arena_new();
	struct transition_row assumed = row("Training", 100, SOURCE_ASSUMED),
			      stated = row("Training", 60, SOURCE_STATED);
	struct transition_row log[] = {
		row("Starting", 10, SOURCE_LOG), row("Training", 20, SOURCE_LOG), row("Completed", 50, SOURCE_LOG)};
	struct history history = merge(arena, (struct history){&assumed, 1}, log, 3, false);

	check_rows(history, "Starting 10-20, Training 20-50, Completed 50-0");
	history = merge(arena, history, &stated, 1, false);
	check_rows(history, "Starting 10-20, Training 20-0");
	history = merge(arena, history, &log[2], 1, false);
	check_rows(history, "Starting 10-20, Training 20-0");
}

TEST(a_whole_history_takes_the_place_of_the_logs)
{
	AUTO(arena) arena = arena_new();
	struct transition_row log[] = {row("Starting", 10, SOURCE_LOG), row("Training", 20, SOURCE_LOG)};
	struct transition_row stated[] = {row("Starting", 11, SOURCE_STATED), row("Training", 19, SOURCE_STATED)};
	struct history history = merge(arena, (struct history){0}, log, 2, false);

	history = merge(arena, history, stated, 2, true);
	check_rows(history, "Starting 11-19, Training 19-0");
}
