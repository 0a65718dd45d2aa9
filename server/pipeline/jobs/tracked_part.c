#include "pipeline/jobs/tracked_part.h"

#include "pipeline/commit/resolve.h"
#include "pipeline/life/life.h"
#include "state/execute.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/told.h"
#include "store/tracked_runs.h"

struct putting {
	struct arena *arena;
	struct tracked_part *part;
	struct life life;
};

static bool is_training(const struct told_row *row)
{
	return span_equal(row->status, SPAN("Training"));
}

/* Of what was stated the last up to the part's first word, and the first behind it; NULL: nothing. */
static void find_around(const struct told_row *rows, size_t count, int64_t first_ms, const struct told_row **before,
	const struct told_row **behind)
{
	*before = *behind = NULL;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].source != SOURCE_STATED)
			continue;
		if (rows[i].start_ms <= first_ms)
			*before = &rows[i];
		else if (!*behind)
			*behind = &rows[i];
	}
}

static enum status put(const struct putting *putting, struct store_tx *tx, int64_t job_id, int64_t at_ms,
	struct span status, struct span reason, struct error *err)
{
	const struct told_row told = {
		.status = status, .message = SPAN(""), .reason = reason, .start_ms = at_ms, .source = SOURCE_STATED};

	putting->part->is_new = true;
	TRY(store_put_told(tx, job_id, &told, err));
	return store_put_status_message(tx, job_id, &(struct status_message){at_ms, status, told.message}, err);
}

/* Where it was not said to train it began; where the next word is that it trains, it had ended before that. */
static enum status put_both(const struct putting *putting, struct store_tx *tx, int64_t job_id, struct error *err)
{
	const struct tracked_part *part = putting->part;
	const struct told_row *before, *behind;
	struct told_row *rows;
	size_t count;

	TRY(store_read_told_facts(store_tx_reader(tx), putting->arena, job_id, &rows, &count, err));
	find_around(rows, count, part->first_ms, &before, &behind);
	if (!before || phase_is_final(before->status)) {
		int64_t least_ms = before ? before->start_ms + 1 : part->begun_ms;
		int64_t begun_ms = part->begun_ms && part->begun_ms < part->first_ms ? part->begun_ms : part->first_ms;
		begun_ms = begun_ms > least_ms ? begun_ms : least_ms;
		TRY(put(putting, tx, job_id, begun_ms, SPAN("Training"), SPAN(""), err));
	}
	if (behind && is_training(behind) && part->last_ms < behind->start_ms)
		TRY(put(putting, tx, job_id, part->last_ms, part->secondary, part->reason, err));
	return OK;
}

static enum status write_part(void *context, struct store_tx *tx, struct error *err)
{
	struct putting *putting = context;
	struct tracked_part *part = putting->part;
	struct tracked_run_row run;
	struct job_row row;

	part->is_new = false; /* after a commit that failed this runs again */
	putting->life.failed = (struct job_failed_incident){0};
	TRY(store_read_tracked_run(store_tx_reader(tx), putting->arena, part->run_id, &run, err));
	TRY(store_read_job_by_id(store_tx_reader(tx), putting->arena, run.job_id, &row, err));
	TRY(check_team(row.team, row.name, part->team, err));
	part->job = row.name;
	TRY(put_both(putting, tx, row.job_id, err));
	return part->is_new ? life_write(&putting->life, tx, &row, false, err) : OK;
}

static void say_part(void *context)
{
	const struct putting *putting = context;

	if (putting->part->is_new)
		life_say(&putting->life);
}

enum status pipeline_put_part(
	struct pipeline *pipeline, struct arena *arena, struct tracked_part *part, struct error *err)
{
	struct putting putting = {
		.arena = arena, .part = part, .life = {.pipeline = pipeline, .arena = arena, .now_ms = part->now_ms}};

	return writer_execute_then(pipeline, write_part, say_part, &putting, err);
}
