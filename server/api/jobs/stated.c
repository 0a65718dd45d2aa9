/* GET …/stated: what a sender has to know of a job before it describes it; who may describe a job may read this. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/resolve.h"
#include "read/view.h"

enum { MEMBER_MAX_BYTES = 8 << 20 };

/* What senders compare with, and no more: a token that only writes reads nothing else of a job, as its price or its image. */
static const struct stated_member {
	const char *key;
	const char *only[2]; /* of its members; none: all of it */
} members[] = {{"HyperParameters", {NULL}}, {"OtherHyperParameters", {NULL}}, {"Tags", {NULL}},
	{"ResourceConfig", {NULL}}, {"AlgorithmSpecification", {"MetricDefinitions"}},
	{"by_hand", {"instance_type", "nodes"}}};

static enum status write_value(const struct json *value, const char *key, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MEMBER_MAX_BYTES);

	if (!value)
		return OK;
	json_print(value, &text);
	TRY(buf_status(&text, err));
	json_key(w, key);
	json_raw(w, buf_span(&text));
	return OK;
}

static enum status write_member(
	const struct json *document, const struct stated_member *member, struct json_writer *w, struct error *err)
{
	const struct json *value = json_get(document, member->key);

	if (!member->only[0])
		return write_value(value, member->key, w, err);
	if (!json_get(value, member->only[0]) && !(member->only[1] && json_get(value, member->only[1])))
		return OK;
	json_key(w, member->key);
	json_object(w);
	for (size_t i = 0; i < sizeof member->only / sizeof *member->only && member->only[i]; i++)
		TRY(write_value(json_get(value, member->only[i]), member->only[i], w, err));
	json_object_end(w);
	return OK;
}

/* sm-ship's relay tells of a run that has ended before its log is sent, if sm-ship was killed: the log's sender knows by when the run began. */
static bool has_lines(const struct job_view *view)
{
	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].lines && stream_is_log(view->streams[i].name))
			return true;
	return false;
}

enum status api_job_stated(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
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
	if (view.row.ended_ms && json_get(document, "TrackedRunId") && !has_lines(&view))
		json_put_i64(&w, "log_awaited_ms", view.row.started_ms);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		TRY(write_member(document, &members[i], &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
