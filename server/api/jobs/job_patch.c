/* PATCH of a job: what its document may still have changed, or its own limits on log text. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/jobs/checkpoints.h"
#include "api/jobs/continuity.h"
#include "api/logs/retention.h"
#include "api/machines/advice.h"
#include "api/send/session_document.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/json_form.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/job_change.h"
#include "store/retention.h"

enum { HP_MAX_BYTES = 8 << 20 };

/* As a session takes them: texts, of SageMaker's length. *hp: NULL when the body has none, else within it. */
static enum status read_settings(struct json *body, const struct json **hp, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(HP_MAX_BYTES);
	AUTO(json) settings = NULL;

	*hp = json_get(body, "hp");
	if (!*hp || json_kind(*hp) != JSON_OBJECT)
		return OK; /* who changes the job says what is wrong */
	TRY(session_write_settings(*hp, &text, err));
	TRY(json_parse(&settings, buf_span(&text), err));
	if (!json_set_copy(body, "hp", settings))
		return error_no_memory(err);
	*hp = json_get(body, "hp");
	return OK;
}

static enum status change(struct api *api, struct api_worker *worker, const struct http_request *request,
	struct json *body, struct json_writer *w, struct error *err)
{
	struct span job = http_request_segment(request, 0);
	const struct json *hp;

	AUTO(arena) arena = NULL;

	TRY(api_arena(&arena, err));
	TRY(read_settings(body, &hp, err));
	TRY(api_check_restarts(api, worker->reader, arena, job, json_get_path(body, "by_hand.restarts"), err));
	TRY(api_check_checkpoints(api, worker->reader, arena, job, json_get_path(body, "by_hand.checkpoints"), err));
	TRY(pipeline_change_job(api->options.pipeline, job, api_team(request), body, err));
	if (json_get(body, "by_hand"))
		goodput_settle(api->options.pipeline, worker->reader, job);
	return hp ? pipeline_write_kept_settings(worker->reader, job, hp, w, err) : OK;
}

enum status api_job_patch(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	struct span job = http_request_segment(request, 0);
	struct json_writer w = api_reply(response);

	TRY(api_body_object(request, &body, err));
	const struct json *retention = json_get(body, "retention");
	TRY(json_check_form(body, err));
	if (!json_count(body))
		return error_set_field(err, ERR_SEMANTIC, "body",
			"the body says nothing to change: tags, Tags, hp, notes, labels, muted_advice, by_hand, ResourceConfig, or retention");
	if (retention && json_count(body) != 1) /* two transactions: one could fail alone */
		return error_set_field(err, ERR_SEMANTIC, "retention", "retention is changed by a request of its own");
	TRY(api_check_muted(api, json_get(body, "muted_advice"), err));
	json_object(&w);
	json_put_span(&w, "job", job);
	if (retention)
		TRY(api_limit_job(api, request, retention, &w, err));
	else
		TRY(change(api, worker, request, body, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
