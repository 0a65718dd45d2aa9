/* Metric definitions that would fit the lines of a job. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "pipeline/backfill/definitions_proposals.h"

enum status api_definition_proposals(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span stream;

	if (!http_request_query(request, "stream", &stream))
		stream = SPAN("");
	TRY(api_arena(&arena, err));
	TRY(pipeline_propose_definitions(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
		http_request_segment(request, 0), stream, &w, err));
	return buf_status(&response->body, err);
}
