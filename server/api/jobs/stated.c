/* GET …/stated: what a sender has to know of a job before it describes it; who may describe a job may read this. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand.h"
#include "pipeline/commit/resolve.h"
#include "read/view.h"

enum { MEMBER_MAX_BYTES = 8 << 20 };

static enum status write_member(const struct json *document, const char *key, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MEMBER_MAX_BYTES);
	const struct json *member = json_get(document, key);

	if (!member)
		return OK;
	json_print(member, &text);
	TRY(buf_status(&text, err));
	json_key(w, key);
	json_raw(w, buf_span(&text));
	return OK;
}

enum status api_job_stated(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	static const char *const members[] = {"HyperParameters", "OtherHyperParameters", "Tags",
		"AlgorithmSpecification", "ResourceConfig", "by_hand"};
	const struct api *api = context;
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	struct json_writer w = api_reply(response);
	struct job_view view;

	TRY(api_arena(&arena, err));
	TRY(view_read_job(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
		http_request_segment(request, 0), SPAN(""), SPAN(""), 0, &view, err));
	TRY(check_team(view.row.team, view.row.name, api_team(request), err));
	TRY(json_parse(&document, view.row.document, err));
	TRY(by_hand_settle_settings(document, err));
	json_object(&w);
	json_put_span(&w, "TrainingJobName", view.row.name);
	json_put_span(&w, "TrainingJobStatus", view.row.status);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		TRY(write_member(document, members[i], &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
