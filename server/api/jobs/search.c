/* SageMaker's Search, request and reply, over our jobs; what it answers of other resources is that there are none. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "pipeline/jobs/job_record.h"
#include "query/search_request.h"
#include "store/search.h"

enum status api_search(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	struct search_request asked;
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	TRY(search_request_read(&asked, body, arena, err));
	struct job_search search = {.query = asked.query,
		.sort = asked.sort,
		.cursor = asked.cursor,
		.limit = asked.limit,
		.wants_total = true,
		.limit_ms = api->options.job_search_ms};
	struct json_writer w = api_reply(response);
	json_object(&w);
	if (asked.is_ours) {
		TRY(job_record_search(api->options.pipeline, own->reader, arena, NULL, &search, &w, err));
	} else {
		json_key(&w, "Results");
		json_raw(&w, SPAN("[]"));
	}
	json_object_end(&w);
	return buf_status(&response->body, err);
}
