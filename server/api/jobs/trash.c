/* Jobs deleted, listed in the trash, restored, and gone for good. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "pipeline/jobs/deletion.h"
#include "pipeline/jobs/trash.h"
#include "store/trash.h"

#include <inttypes.h>
#include <stdio.h>

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000, CURSOR_BYTES = 64 };

/* ---- the list ---- */

static void write_trashed(const struct api *api, const struct trashed_job *trashed, struct json_writer *w)
{
	json_object(w);
	json_put_i64(w, "id", trashed->job.job_id);
	json_put_span(w, "TrainingJobName", trashed->job.name);
	json_put_span(w, "team", trashed->job.team);
	json_put_span(w, "TrainingJobStatus", trashed->job.status);
	json_put_i64(w, "created_ms", trashed->job.created_ms);
	json_put_i64(w, "deleted_ms", trashed->deleted_ms);
	json_put_span(w, "deleted_by", trashed->deleted_by);
	json_put_i64(w, "purge_ms", trashed->deleted_ms + api->options.trash_ms);
	json_put_i64(w, "bytes", (int64_t)trashed->bytes);
	json_object_end(w);
}

/* DELETED_MS-ID of the last one that was given. */
static enum status read_place(const struct http_request *request, struct trash_place *out, struct error *err)
{
	struct span cursor = SPAN(""), ms = SPAN("");

	*out = (struct trash_place){INT64_MAX, INT64_MAX};
	if (!http_request_query(request, "cursor", &cursor))
		return OK;
	struct span rest = cursor;
	if (span_next(&rest, '-', &ms) && span_parse_i64(ms, &out->deleted_ms) && span_parse_i64(rest, &out->job_id))
		return OK;
	return error_set_field(err, ERR_INVALID, "cursor", "cursor is '%.*s'; it is next_cursor of a list of the trash",
		SPAN_ARGS(span_cut(cursor, 60)));
}

enum status api_trash_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	const struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct trash_place place;
	struct trashed_job *rows;
	uint64_t all, bytes;
	size_t limit, count;
	char cursor[CURSOR_BYTES];

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(read_place(request, &place, err));
	TRY(store_read_trash(reader, arena, &place, limit + 1, &rows, &count, err));
	TRY(store_weigh_trash(reader, &all, &bytes, err));
	json_object(&w);
	json_key(&w, "jobs");
	json_array(&w);
	for (size_t i = 0; i < count && i < limit; i++)
		write_trashed(api, &rows[i], &w);
	json_array_end(&w);
	json_put_i64(&w, "count", (int64_t)all);
	json_put_i64(&w, "bytes", (int64_t)bytes);
	json_put_i64(&w, "kept_ms", api->options.trash_ms);
	if (count > limit) {
		snprintf(cursor, sizeof cursor, "%" PRId64 "-%" PRId64, rows[limit - 1].deleted_ms,
			rows[limit - 1].job.job_id);
		json_put_text(&w, "next_cursor", cursor);
	}
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- into it, out of it ---- */

static enum status read_choice(const struct http_request *request, struct trash_choice *out, struct error *err)
{
	*out = (struct trash_choice){.job = http_request_segment(request, 0), .team = api_team(request)};
	return http_query_i64(request, "id", 1, INT64_MAX, &out->job_id, err);
}

/* One that is there before one in the trash, unless that is meant by its id. */
static enum status purge(struct api *api, struct api_worker *worker, const struct job_deletion *deletion,
	const struct trash_choice *choice, struct error *err)
{
	enum status status = ERR_NOT_FOUND;

	if (!choice->job_id)
		status = pipeline_delete_job(api->options.pipeline, worker->reader, deletion, err);
	if (status == ERR_NOT_FOUND)
		status = pipeline_purge_job(api->options.pipeline, choice, err);
	return status;
}

enum status api_job_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct trash_choice choice;
	struct job_deletion deletion = {.job = http_request_segment(request, 0),
		.team = api_team(request),
		.now_ms = http_request_arrival_ms(request)};

	TRY(http_query_bool(request, "purge", &deletion.is_for_good, err));
	TRY(read_choice(request, &choice, err));
	if (choice.job_id && !deletion.is_for_good)
		return error_set_field(err, ERR_INVALID, "id", "id is of a job in the trash: it goes with purge=true");
	response->status = 204;
	return deletion.is_for_good ? purge(api, worker, &deletion, &choice, err)
				    : pipeline_delete_job(api->options.pipeline, ((struct api_worker *)worker)->reader,
					      &deletion, err);
}

enum status api_job_restore(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct trash_choice choice;
	struct span name;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(read_choice(request, &choice, err));
	TRY(pipeline_restore_job(api->options.pipeline, arena, &choice, &name, err));
	json_object(&w);
	json_put_span(&w, "TrainingJobName", name);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
