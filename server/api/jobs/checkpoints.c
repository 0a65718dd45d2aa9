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

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 10000 };

static void write_all(struct json_writer *w, const char *name, const struct checkpoint_row *rows, size_t count)
{
	json_key(w, name);
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_i64(w, "step", rows[i].step);
		checkpoint_write_place(w, &rows[i]);
		if (rows[i].path.len)
			json_put_span(w, "path", rows[i].path);
		json_object_end(w);
	}
	json_array_end(w);
}

enum status api_job_checkpoints(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct checkpoint_row *rows, *denied;
	size_t limit, count, denied_count;
	struct job_row job;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(checkpoints_read(reader, arena, job.job_id, INT64_MAX, limit, &rows, &count, err));
	TRY(checkpoints_read_denied(reader, arena, job.job_id, &denied, &denied_count, err));
	json_object(&w);
	write_all(&w, "checkpoints", rows, count);
	write_all(&w, "denied", denied, denied_count);
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
