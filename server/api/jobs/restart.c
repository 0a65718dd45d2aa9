/* GET …/restart: what sm-ship --on-restart is given (docs/restarts.md). */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "pipeline/commit/resolve.h"
#include "read/restarts/restart_read.h"
#include "read/view.h"

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
	TRY(view_read_job(
		r.pipeline, r.reader, arena, http_request_segment(request, 0), SPAN(""), SPAN(""), 0, &r.view, err));
	TRY(check_team(r.view.row.team, r.view.row.name, api_team(request), err));
	TRY(restart_read(&r, err));
	json_object(&w);
	TRY(restart_write(&r, SIZE_MAX, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
