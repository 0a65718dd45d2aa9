/* GET …/restart: what sm-ship --on-restart is given (docs/restarts.md). */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "pipeline/commit/resolve.h"
#include "read/restart_read.h"
#include "read/view.h"
#include "state/execute.h"

static enum status do_nothing(void *context, struct store_tx *tx, struct error *err)
{
	(void)context, (void)tx, (void)err;
	return OK;
}

/* What extraction found in the last lines waits for the writer: a checkpoint that is stored a moment later would be missed. */
static enum status read_settled(struct restart *r, const struct http_request *request, struct error *err)
{
	TRY(view_read_job(r->pipeline, r->reader, r->arena, http_request_segment(request, 0), SPAN(""), SPAN(""), 0,
		&r->view, err));
	TRY(check_team(r->view.row.team, r->view.row.name, api_team(request), err));
	if (restart_is_extracted(&r->view))
		TRY(writer_execute(r->pipeline, do_nothing, NULL, err));
	return restart_read(r, err);
}

enum status api_job_restart(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);

	TRY(api_arena(&arena, err));
	struct restart r = {.pipeline = api->options.pipeline,
		.reader = ((struct api_worker *)worker)->reader,
		.arena = arena,
		.now_ms = http_request_arrival_ms(request)};
	TRY(read_settled(&r, request, err));
	json_object(&w);
	TRY(restart_write(&r, SIZE_MAX, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
