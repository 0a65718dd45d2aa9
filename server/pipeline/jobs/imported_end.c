/* Whoever imports a log knows no more than that it is all there: that the job is Completed where it ends is assumed. */
#include "pipeline/jobs/imported_end.h"

#include "base/clock.h"
#include "base/text/iso8601.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/life/life.h"
#include "pipeline/life/log_end.h"
#include "read/view.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/work_times.h"
#include "store/jobs.h"
#include "store/transitions.h"

#include <stdio.h>

struct imported {
	struct span job, team;
	int64_t end_ms;
	char *ignored; /* TRANSITION_REASON_BYTES; "": the job ends by it */
	struct arena *arena;
	struct life life;
};

/* The log may have been longer, or shorter, when it was imported before; an end from which somebody went on stays. */
static enum status delete_older(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	int64_t end_ms, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		bool is_gone_on_from = !told_is_imported_end(&rows[i]);
		for (size_t j = 0; j < count && !is_gone_on_from; j++)
			is_gone_on_from = rows[j].start_ms <= end_ms && told_goes_on_from(&rows[j], &rows[i]);
		if (!is_gone_on_from)
			TRY(store_delete_told(tx, job_id, &rows[i], err));
	}
	return OK;
}

/* As far as is known: what the server refused of it is no more of it. */
static bool has_grown(const struct told_row *rows, size_t count, int64_t end_ms)
{
	for (size_t i = 0; i < count; i++)
		if (told_is_imported_end(&rows[i]) && rows[i].start_ms >= end_ms)
			return false;
	return true;
}

/* What was opened for more of the log: a stated end that is later than that has not moved. */
static enum status end_sessions(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	const struct told_row *end, bool is_moved, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].source != SOURCE_SESSION || !rows[i].is_undated)
			continue;
		if (is_moved && rows[i].lifts_ms <= end->start_ms)
			TRY(life_end_lifted(tx, job_id, rows, i, end, err));
		TRY(store_delete_told(tx, job_id, &rows[i], err));
	}
	return OK;
}

/* It ends the job only where nobody says how it ended. */
static void say_ignored(const struct imported *imported, const struct job_row *row)
{
	const struct history *history = &imported->life.history;
	const struct transition_row *last = history->count ? &history->rows[history->count - 1] : NULL;
	char since[ISO8601_BYTES];

	if (!last || (transition_is_assumed(last) && span_equal(last->status, SPAN("Completed"))))
		return;
	iso8601_format(last->start_ms, since);
	snprintf(imported->ignored, TRANSITION_REASON_BYTES,
		"the job is %.*s since %s: that it is taken for Completed changes nothing", SPAN_ARGS(row->secondary),
		since);
}

static enum status write_end(void *context, struct store_tx *tx, struct error *err)
{
	struct imported *imported = context;
	struct store_reader *reader = store_tx_reader(tx);
	struct told_row *rows, end = {.status = SPAN("Completed"),
				       .message = SPAN("its log that was imported ends here"),
				       .reason = SPAN(""),
				       .start_ms = imported->end_ms,
				       .source = SOURCE_ASSUMED,
				       .is_undated = true};
	struct job_row row;
	size_t count;

	imported->ignored[0] = 0;
	imported->life.failed = (struct job_failed_incident){0};
	TRY(store_read_job(reader, imported->arena, imported->job, &row, err));
	TRY(check_team(row.team, row.name, imported->team, err));
	TRY(store_read_told_facts(reader, imported->arena, row.job_id, &rows, &count, err));
	bool is_moved = has_grown(rows, count, end.start_ms);
	TRY(delete_older(tx, row.job_id, rows, count, end.start_ms, err));
	TRY(store_read_told_facts(reader, imported->arena, row.job_id, &rows, &count, err));
	TRY(end_sessions(tx, row.job_id, rows, count, &end, is_moved, err));
	TRY(store_put_told(tx, row.job_id, &end, err));
	TRY(life_write(&imported->life, tx, &row, false, err));
	say_ignored(imported, &row);
	return OK;
}

static void say_end(void *context)
{
	const struct imported *imported = context;

	life_say(&imported->life);
}

enum status pipeline_assume_end(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	struct span team, int64_t time_ms, char ignored[TRANSITION_REASON_BYTES], struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct imported imported = {.job = job, .team = team, .ignored = ignored, .arena = arena};
	struct job_view view;
	struct stretches work;

	if (!arena)
		return error_no_memory(err);
	TRY(log_end_await(pipeline, job, err));
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(work_times_read(reader, &view, &work, err));
	int64_t last_ms = stretches_last_ms(&work);
	imported.end_ms = last_ms ? last_ms : time_ms;
	imported.life = (struct life){.pipeline = pipeline, .arena = arena, .now_ms = clock_wall_ms()};
	return writer_execute_then(pipeline, write_end, say_end, &imported, err);
}
