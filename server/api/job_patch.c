/* PATCH of a job: what its document may still have changed, or its own limits on log text. */
#include "api/advice.h"
#include "api/internal.h"

enum status api_job_patch(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	struct span job = http_request_segment(request, 0);
	struct json_writer w = api_reply(response);

	(void)worker;
	TRY(api_body_object(request, &body, err));
	const struct json *retention = json_get(body, "retention");
	if (!json_count(body))
		return error_set_field(err, ERR_SEMANTIC, "tags",
			"the body says nothing to change: tags, Tags, notes, labels, muted_advice, ResourceConfig, or retention");
	if (retention && json_count(body) != 1) /* two transactions: one could fail alone */
		return error_set_field(err, ERR_SEMANTIC, "retention", "retention is changed by a request of its own");
	TRY(api_check_muted(api, json_get(body, "muted_advice"), err));
	json_object(&w);
	json_put_span(&w, "job", job);
	if (retention)
		TRY(api_limit_job(api, request, retention, &w, err));
	else
		TRY(pipeline_change_job(api->options.pipeline, job, api_team(request), body, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
