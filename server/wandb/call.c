/* One call from its body to its reply, and what went wrong in the form that W&B's SDK reads. */
#include "base/log.h"
#include "http/guard.h"
#include "wandb/internal.h"

enum { PASSWORD_MAX_BYTES = 4096 };

/* WANDB_API_KEY comes as the password of the user "api"; newer clients can send it as a bearer token. */
enum status wandb_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	const struct wandb *wandb = context;
	struct span header = http_request_header(request, "Authorization"), token = guard_bearer(header);
	AUTO_DONE(buf) password = BUF_INIT(PASSWORD_MAX_BYTES);

	if (guard_password(header, &password))
		token = buf_span(&password);
	return wandb->options.authenticate(wandb->options.context, token, out, err);
}

/* ---- faults ---- */

/* What a client cannot better by asking again is no fault of the transport: it is told in a reply, and the client goes on. */
static bool is_told(enum status status)
{
	return status == ERR_SEMANTIC || status == ERR_NOT_FOUND || status == ERR_CONFLICT ||
	       status == ERR_UNSUPPORTED || status == ERR_GONE;
}

static void put_fault(const struct error *err, bool is_graphql, struct http_response *response)
{
	struct json_writer w;

	response->status = is_graphql && is_told(err->status) ? 200 : http_status_of(err->status);
	response->content_type = "application/json";
	buf_reset(&response->body);
	w = json_writer_on(&response->body);
	wandb_write_fault(&w, err->text, is_graphql);
	http_response_explain(response, err, "Basic realm=\"smfleet\"");
}

static bool is_graphql(const struct http_request *request)
{
	return span_equal(http_request_path(request), SPAN("/graphql"));
}

void wandb_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	const struct wandb *wandb = context;
	struct error said = *err;

	/* The transport knows no option's name, and nobody looks into what it has refused. */
	if (err->status == ERR_TOO_LARGE && http_request_method(request) == HTTP_PUT) {
		error_set(&said, ERR_TOO_LARGE, "the file is larger than %llu bytes (--max-attachment-bytes)",
			(unsigned long long)wandb->options.attachments.file_bytes);
		log_line(LOG_WARNING, "wandb_not_kept", "path=\"%.*s\" what=\"%s\"",
			SPAN_ARGS(http_request_path(request)), said.text);
	} else if (err->status == ERR_TOO_LARGE) {
		error_set(&said, ERR_TOO_LARGE, "the body is larger than %zu bytes (--max-push-bytes)",
			wandb->options.max_body_bytes);
	}
	put_fault(&said, is_graphql(request), response);
}

/* ---- operations ---- */

static const struct {
	const char *name;
	wandb_operation *run;
} operations[] = {
	{"Viewer", wandb_viewer},
	{"GetDefaultEntity", wandb_viewer},
	{"UpsertBucket", wandb_upsert_run},
	{"RunResumeStatus", wandb_resume_status},
	{"RewindRun", wandb_rewind_run},
	{"DeleteRun", wandb_delete_run},
	{"CreateRunFiles", wandb_create_files},
	{"NotifyScriptableRunAlert", wandb_alert},
	{"Run", wandb_read_run},
	{"RunState", wandb_read_state},
	{"Runs", wandb_read_runs},
	{"RunHistoryKeys", wandb_read_history_keys},
	{"HistoryPage", wandb_read_history},
	{"RunFullHistory", wandb_sample_history},
	{"RunSampledHistory", wandb_sample_history_by_keys},
	{"SampledHistoryPage", wandb_sample_history_by_keys},
	{"RunParquetHistory", wandb_read_parquet},
	{"RunFiles", wandb_read_files},
	{"CreateArtifact", wandb_create_artifact},
};

static enum status run_operation(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	if (wandb_write_fixed(&call->w, request->operation))
		return OK;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (span_equal(request->operation, span_from(operations[i].name)))
			return operations[i].run(call, request, err);
	if (span_find(request->operation, SPAN("Sweep")) >= 0)
		return error_set(err, ERR_UNSUPPORTED, WANDB_NO_SWEEPS);
	if (span_find(request->operation, SPAN("Artifact")) >= 0)
		return error_set(err, ERR_UNSUPPORTED, WANDB_NO_ARTIFACTS);
	return error_set(err, ERR_UNSUPPORTED, "this server has no operation '%.*s' (docs/wandb.md says what there is)",
		SPAN_ARGS(span_cut(request->operation, 100)));
}

static enum status answer_graphql(struct wandb_call *call, struct error *err)
{
	AUTO(json) body = NULL;
	struct graphql_request request;

	TRY(json_parse(&body, http_request_body(call->request), err));
	TRY(graphql_read(body, &request, err));
	json_key(&call->w, "data");
	json_object(&call->w);
	TRY(run_operation(call, &request, err));
	json_object_end(&call->w);
	return OK;
}

/* ---- a call ---- */

typedef enum status call_handler(struct wandb_call *call, struct error *err);

static enum status take_stream(struct wandb_call *call, struct error *err)
{
	return wandb_take_stream(call, http_request_body(call->request), err);
}

static enum status answer(struct wandb_call *call, call_handler *handle, struct error *err)
{
	TRY(http_check_scope(http_request_principal(call->request), SCOPE_WRITE, err));
	TRY(wandb_read_relayed(call, err));
	json_object(&call->w);
	TRY(handle(call, err));
	if (call->has_own_reply)
		return OK;
	json_object_end(&call->w);
	return buf_status(call->w.out, err);
}

static enum status run_call(struct wandb *wandb, void *worker, const struct http_request *request,
	struct http_response *response, call_handler *handle, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct wandb_call call = {.options = &wandb->options,
		.pipeline = wandb->options.pipeline,
		.worker = worker,
		.reader = wandb->options.reader_of(worker),
		.request = request,
		.response = response,
		.team = span_from(http_request_principal(request)->team),
		.now_ms = http_request_arrival_ms(request),
		.arena = arena,
		.w = json_writer_on(&response->body)};

	if (!arena)
		return error_no_memory(err);
	enum status status = answer(&call, handle, err);
	if (status == OK)
		return OK;
	err->status = status;
	if (status == ERR_INTERNAL || status == ERR_IO)
		log_line(LOG_ERROR, "wandb_failed", "path=%.*s error=\"%s\"", SPAN_ARGS(http_request_path(request)),
			err->text);
	put_fault(err, is_graphql(request), response);
	return OK;
}

enum status wandb_graphql(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	return run_call(context, worker, request, response, answer_graphql, err);
}

enum status wandb_file_stream(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	return run_call(context, worker, request, response, take_stream, err);
}

enum status wandb_file_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	return run_call(context, worker, request, response, wandb_put_file, err);
}

enum status wandb_file_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	return run_call(context, worker, request, response, wandb_get_file, err);
}
