#include "pipeline/life/life_sign.h"

#include "base/text/iso8601.h"
#include "pipeline/life/run_gap.h"
#include "store/jobs.h"
#include "store/told.h"

enum { UNDONE_BYTES = 256 };

static enum status put_training(struct store_tx *tx, int64_t job_id, int64_t at_ms, struct error *err)
{
	return store_put_told(tx, job_id,
		&(struct told_row){.status = SPAN("Training"),
			.message = SPAN("the first line arrived"),
			.reason = SPAN(""),
			.start_ms = at_ms,
			.source = SOURCE_ASSUMED},
		err);
}

static bool is_assumed(const struct told_row *row, struct span status)
{
	return row->source == SOURCE_ASSUMED && span_equal(row->status, status);
}

/* All that was known when its first line made the job was that it had come: it is older than that. */
static enum status delete_beginning(struct store_tx *tx, const struct job_row *job, const struct told_row *rows,
	size_t count, int64_t first_ms, struct error *err)
{
	for (size_t i = 0; job->is_implicit && first_ms < job->announced_ms && i < count; i++)
		if (is_assumed(&rows[i], SPAN("Training")) && rows[i].start_ms == job->announced_ms)
			TRY(store_delete_told(tx, job->job_id, &rows[i], err));
	return OK;
}

/* It trains again behind what was stated last, and not only from a later line on that came before this one. */
static enum status put_after(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	int64_t after_ms, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].start_ms <= after_ms)
			continue;
		if (rows[i].source != SOURCE_ASSUMED && rows[i].source != SOURCE_SESSION)
			break;
		if (is_assumed(&rows[i], SPAN("Training")))
			TRY(store_delete_told(tx, job_id, &rows[i], err));
	}
	return put_training(tx, job_id, after_ms, err);
}

/* An earlier line takes the place of later ones, but for those after something that was stated in between. */
static enum status put_first(struct store_tx *tx, int64_t job_id, struct told_row *rows, size_t count,
	const struct life_sign *sign, struct error *err)
{
	int64_t first_ms = sign->first_ms;
	size_t at = 0;

	for (; at < count && rows[at].start_ms < sign->believed_ms; at++)
		if (is_assumed(&rows[at], SPAN("Training")))
			TRY(store_delete_told(tx, job_id, &rows[at], err));
	while (at < count && rows[at].start_ms <= first_ms)
		if (is_assumed(&rows[at++], SPAN("Training")))
			return OK; /* an earlier one is known */
	for (; at < count && (rows[at].source == SOURCE_ASSUMED || rows[at].source == SOURCE_SESSION); at++)
		if (is_assumed(&rows[at], SPAN("Training")))
			TRY(store_delete_told(tx, job_id, &rows[at], err));
	return put_training(tx, job_id, first_ms, err);
}

/* The history says that it was assumed, to whom was told of it: with the stop that was asked for, the last time alone. */
static enum status put_undone(
	struct store_tx *tx, int64_t job_id, int64_t stopped_ms, int64_t heard_ms, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(UNDONE_BYTES);
	char stopped[ISO8601_BYTES], heard[ISO8601_BYTES];

	iso8601_format(stopped_ms, stopped);
	iso8601_format(heard_ms, heard);
	buf_printf(&message, "it was taken for Stopped at %s: what is of %s took that back", stopped, heard);
	TRY(buf_status(&message, err));
	return store_put_told(tx, job_id,
		&(struct told_row){.status = SPAN("Stopping"),
			.message = buf_span(&message),
			.reason = SPAN(""),
			.start_ms = stopped_ms,
			.source = SOURCE_ASSUMED},
		err);
}

/* Whose lines are of after a stop has not stopped; those that were only delivered after it say nothing. */
static enum status undo_stop(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	int64_t heard_ms, struct error *err)
{
	int64_t stopped_ms = INT64_MIN;

	for (size_t i = 0; i < count; i++)
		if (is_assumed(&rows[i], SPAN("Stopped")) && rows[i].start_ms < heard_ms) {
			TRY(store_delete_told(tx, job_id, &rows[i], err));
			stopped_ms = rows[i].start_ms;
		}
	if (stopped_ms == INT64_MIN)
		return OK;
	for (size_t i = 0; i < count; i++)
		if (is_assumed(&rows[i], SPAN("Stopping")))
			TRY(store_delete_told(tx, job_id, &rows[i], err));
	return put_undone(tx, job_id, stopped_ms, heard_ms, err);
}

enum status life_put_sign(const struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, const struct life_sign *sign, struct error *err)
{
	struct told_row *rows;
	size_t count;

	TRY(store_read_told_facts(store_tx_reader(tx), arena, job->job_id, &rows, &count, err));
	TRY(undo_stop(tx, job->job_id, rows, count, sign->heard_ms, err));
	if (sign->first_ms != INT64_MAX) {
		TRY(delete_beginning(tx, job, rows, count, sign->first_ms, err));
		TRY(put_first(tx, job->job_id, rows, count, sign, err));
	}
	if (sign->gap_last_ms)
		TRY(run_gap_fill(pipeline, tx, arena, job->job_id, sign->gap_first_ms, sign->gap_last_ms, err));
	return sign->after_ms != INT64_MAX ? put_after(tx, job->job_id, rows, count, sign->after_ms, err) : OK;
}

enum status life_put_resumed(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	const struct life_resumed *resumed, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_assumed(&rows[i], SPAN("Training")) || rows[i].start_ms < resumed->from_ms ||
			rows[i].start_ms > resumed->to_ms)
			continue;
		if (rows[i].start_ms <= resumed->at_ms && resumed->at_ms != INT64_MAX)
			return OK; /* a line of since */
		TRY(store_delete_told(tx, job_id, &rows[i], err));
	}
	return resumed->at_ms == INT64_MAX ? OK : put_training(tx, job_id, resumed->at_ms, err);
}
