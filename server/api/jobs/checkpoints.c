/* Checkpoints that a job's log tells of. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "read/checkpoint_place.h"
#include "base/json/json_write.h"
#include "store/faults.h"
#include "store/jobs.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 10000 };

static void write_one(struct json_writer *w, const struct checkpoint_row *row)
{
	json_object(w);
	json_put_i64(w, "step", row->step);
	checkpoint_write_place(w, row);
	json_object_end(w);
}

enum status api_job_checkpoints(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct checkpoint_row *rows;
	struct job_row job;
	size_t limit, count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_checkpoints(reader, arena, job.job_id, INT64_MAX, limit, &rows, &count, err));
	json_object(&w);
	json_key(&w, "checkpoints");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		write_one(&w, &rows[i]);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
