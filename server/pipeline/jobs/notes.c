#include "pipeline/jobs/notes.h"

#include "pipeline/commit/resolve.h"
#include "state/execute.h"
#include "store/jobs.h"

struct writing {
	struct note_change *change;
	struct arena *arena;
	bool is_known;
	struct note_row known;
};

static enum status write_change(struct writing *w, struct store_tx *tx, int64_t job_id, struct error *err)
{
	struct note_change *change = w->change;
	struct note_row row;

	TRY(store_read_note(store_tx_reader(tx), w->arena, job_id, change->note_id, change->now_ms, &row, err));
	if (row.deleted_ms && !(change->has_deleted && !change->is_deleted))
		return error_set(err, ERR_NOT_FOUND,
			"note %lld was deleted; PATCH it with {\"deleted\": false} to take that back",
			(long long)change->note_id);
	if (change->has_text)
		row.text = change->row.text;
	if (change->has_deleted)
		row.deleted_ms = change->is_deleted ? change->now_ms : 0;
	else
		row.modified_ms = change->now_ms;
	TRY(store_put_note(tx, &row, change->most, change->now_ms, err));
	change->row = row;
	return OK;
}

static enum status write_note(void *context, struct store_tx *tx, struct error *err)
{
	struct writing *w = context;
	struct note_change *change = w->change;
	struct job_row job;

	TRY(store_read_job(store_tx_reader(tx), w->arena, change->job, &job, err));
	TRY(check_team(job.team, job.name, change->team, err));
	if (change->note_id)
		return write_change(w, tx, job.job_id, err);
	struct note_row row = {0};
	if (change->row.key.len)
		TRY(store_find_note(store_tx_reader(tx), w->arena, job.job_id, change->row.key, &row, err));
	w->is_known = row.note_id != 0;
	if (w->is_known) {
		w->known = row;
		return OK;
	}
	row = change->row; /* a transaction that fails may run again */
	row.job_id = job.job_id;
	row.note_id = 0;
	TRY(store_put_note(tx, &row, change->most, change->now_ms, err));
	change->row.job_id = row.job_id;
	change->row.note_id = row.note_id;
	return OK;
}

enum status pipeline_put_note(
	struct pipeline *pipeline, struct arena *arena, struct note_change *change, struct error *err)
{
	struct writing w = {.change = change, .arena = arena};

	TRY(writer_execute(pipeline, write_note, &w, err));
	change->is_known = w.is_known;
	if (w.is_known)
		change->row = w.known;
	return OK;
}
