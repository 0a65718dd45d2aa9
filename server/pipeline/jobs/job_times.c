/* How long a job trained, and for how long it is billed: as its document says, unless somebody set its times right. */
#include "pipeline/jobs/job_times.h"

#include "model/jobs/by_hand.h"
#include "store/jobs.h"
#include "store/transitions.h"

static bool put_stated(const struct json *document, const char *field, struct json_writer *w)
{
	double seconds;

	if (!json_number_of(json_get(document, field), &seconds))
		return false;
	json_put_double(w, field, seconds);
	return true;
}

enum status job_write_seconds(struct store_reader *reader, const struct job_row *row, const struct json *document,
	int64_t paused_ms, struct json_writer *w, struct error *err)
{
	/* What began and ended in one moment has no times but those that somebody had to make up. */
	bool has_run = row->started_ms && row->ended_ms > row->started_ms;
	struct by_hand by;
	int64_t idle_ms;

	by_hand_read(&by, document);
	const struct json *stated = by_hand_sets_times(&by, row->started_ms, row->ended_ms) ? NULL : document;
	if (!put_stated(stated, "TrainingTimeInSeconds", w) && has_run)
		json_put_i64(w, "TrainingTimeInSeconds", (row->ended_ms - row->started_ms) / 1000);
	if (put_stated(stated, "BillableTimeInSeconds", w) || !has_run)
		return OK;
	TRY(store_read_idle(reader, row->job_id, row->started_ms, row->ended_ms, &idle_ms, err));
	int64_t billable_ms = row->ended_ms - row->started_ms - idle_ms - paused_ms;
	json_put_i64(w, "BillableTimeInSeconds", billable_ms > 0 ? billable_ms / 1000 : 0);
	return OK;
}
