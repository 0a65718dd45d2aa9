/* Checkpoints that a job's log tells of, and what somebody set right of them. */
#include "api/jobs/checkpoints.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand_place.h"
#include "read/checkpoint_place.h"
#include "read/checkpoints.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/jobs.h"

enum {
	LIMIT_DEFAULT = 100,
	LIMIT_MAX = 10000,
	LINES_MAX = 100 /* of a list: each is read, and a block unpacked for it */
};

/* Nothing of its line stays in RAM, however many are asked for. */
static enum status write_path(struct json_writer *w, const struct api *api, struct store_reader *reader,
	const struct job_row *job, const struct checkpoint_row *row, bool has_line, struct error *err)
{
	AUTO(arena) own = arena_new();
	struct span text = SPAN("");

	if (!own)
		return error_no_memory(err);
	if (has_line && !row->path.len)
		TRY(checkpoint_read_text(api->options.pipeline, reader, own, job->name, row, &text, err));
	struct span path = checkpoint_path(row, text);
	if (path.len)
		json_put_span(w, "path", path);
	return OK;
}

struct list {
	struct checkpoint_row *rows; /* the newest first */
	size_t count;
};

static enum status write_all(struct json_writer *w, const char *name, const struct api *api,
	struct store_reader *reader, const struct job_row *job, const struct list *list, struct error *err)
{
	json_key(w, name);
	json_array(w);
	for (size_t i = 0; i < list->count; i++) {
		json_object(w);
		json_put_i64(w, "step", list->rows[i].step);
		checkpoint_write_place(w, &list->rows[i]);
		TRY(write_path(w, api, reader, job, &list->rows[i], i < LINES_MAX, err));
		json_object_end(w);
	}
	json_array_end(w);
	return OK;
}

enum status api_job_checkpoints(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	const struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct list usable, denied;
	struct job_row job;
	size_t limit;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(checkpoints_read(reader, arena, job.job_id, INT64_MAX, limit, &usable.rows, &usable.count, err));
	TRY(checkpoints_read_denied(reader, arena, job.job_id, &denied.rows, &denied.count, err));
	json_object(&w);
	TRY(write_all(&w, "checkpoints", api, reader, &job, &usable, err));
	TRY(write_all(&w, "denied", api, reader, &job, &denied, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- what may be set right ---- */

/* One that no line tells of is of an attempt that there was, and was saved at some time. */
static enum status check_one(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t attempts,
	const struct json *value, struct error *err)
{
	char field[BY_HAND_FIELD_BYTES];
	struct checkpoint_row told;
	uint32_t attempt;
	int64_t step;
	bool is_told;

	if (json_kind(value) != JSON_OBJECT || !by_hand_read_attempt(json_key_of(value), &attempt, &step))
		return OK; /* who changes the job says what is wrong */
	TRY(store_read_checkpoint(reader, arena, job_id, attempt, step, &told, &is_told, err));
	if (is_told)
		return OK;
	by_hand_name_field(field, "checkpoints", json_key_of(value));
	if (!attempt || attempt > attempts)
		return error_set_field(err, ERR_SEMANTIC, field,
			"%s: no line tells of this checkpoint, and one that is added is of an attempt of the job: from 1 to %u",
			field, attempts);
	return json_get(value, "ts_ms")
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, field,
				 "%s: no line tells of this checkpoint (GET /api/v1/jobs/JOB/checkpoints has attempt and step of those that one does); to add it, say ts_ms, when it was saved",
				 field);
}

enum status api_check_checkpoints(const struct api *api, struct store_reader *reader, struct arena *arena,
	struct span job, const struct json *checkpoints, struct error *err)
{
	struct job_view view;

	if (!checkpoints || json_kind(checkpoints) != JSON_OBJECT || !json_count(checkpoints))
		return OK;
	TRY(view_read_job(api->options.pipeline, reader, arena, job, SPAN(""), SPAN(""), 0, &view, err));
	for (const struct json *at = json_first(checkpoints); at; at = json_next(at))
		TRY(check_one(reader, arena, view.row.job_id, job_view_attempts(&view), at, err));
	return OK;
}
