/* One call from its body to its reply, and what went wrong in MLflow's words. */
#include "base/log.h"
#include "mlflow/internal.h"
#include "pipeline/pipeline.h"

/* ---- faults ---- */

struct fault {
	int http_status;
	const char *code;
};

static const struct fault faults[STATUS_COUNT] = {
	[ERR_INVALID] = {400, MLFLOW_INVALID},
	[ERR_SEMANTIC] = {400, MLFLOW_INVALID},
	[ERR_UNAUTHORIZED] = {401, "UNAUTHENTICATED"},
	[ERR_FORBIDDEN] = {403, "PERMISSION_DENIED"},
	[ERR_NOT_FOUND] = {404, "RESOURCE_DOES_NOT_EXIST"},
	[ERR_CONFLICT] = {400, "RESOURCE_ALREADY_EXISTS"},
	[ERR_PRECONDITION] = {400, MLFLOW_INVALID},
	[ERR_GONE] = {404, "RESOURCE_DOES_NOT_EXIST"},
	[ERR_TOO_LARGE] = {400, "RESOURCE_LIMIT_EXCEEDED"},
	[ERR_UNSUPPORTED] = {501, MLFLOW_NOT_IMPLEMENTED},
	[ERR_MISDIRECTED] = {421, "BAD_REQUEST"},
	[ERR_BUSY] = {429, "REQUEST_LIMIT_EXCEEDED"},
	[ERR_UNAVAILABLE] = {503, "TEMPORARILY_UNAVAILABLE"},
	[ERR_IO] = {500, "INTERNAL_ERROR"},
	[ERR_MEMORY] = {503, "TEMPORARILY_UNAVAILABLE"},
	[ERR_INTERNAL] = {500, "INTERNAL_ERROR"},
};

static void put_fault(const struct error *err, struct http_response *response)
{
	const struct fault *fault = &faults[err->status];
	struct json_writer w;

	response->status = fault->http_status;
	response->content_type = "application/json";
	buf_reset(&response->body);
	w = json_writer_on(&response->body);
	json_object(&w);
	json_put_text(&w, "error_code", err->code ? err->code : fault->code);
	json_put_text(&w, "message", err->text);
	json_object_end(&w);
	http_response_explain(response, err, "Basic realm=\"smfleet\"");
}

void mlflow_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	const struct mlflow *mlflow = context;
	struct error said = *err;

	if (err->status == ERR_TOO_LARGE && span_starts_with(http_request_path(request), SPAN(MLFLOW_ARTIFACTS_PATH)))
		mlflow_say_too_large(&mlflow->options, &said);
	else if (err->status == ERR_TOO_LARGE) /* the transport knows no option's name */
		error_set(&said, ERR_TOO_LARGE, "the body is larger than %zu bytes (--max-mlflow-bytes)",
			mlflow->options.max_body_bytes);
	put_fault(&said, response);
}

/* ---- a call ---- */

struct door_call {
	struct mlflow_call call;
	struct http_response *response;
	struct http_deferred *deferred;
	struct json *body;
};

static void door_call_free(struct door_call *own)
{
	if (!own)
		return;
	json_free(own->body);
	batch_free(own->call.points);
	arena_free(own->call.arena);
	mem_free(own);
}
AUTO_TYPE(door_call)

static enum status new_call(struct door_call **out, struct mlflow *mlflow, void *worker,
	const struct http_request *request, struct http_response *response, struct error *err)
{
	AUTO(door_call) own = mem_zeroed(sizeof *own);

	if (!own || !(own->call.arena = arena_new()))
		return error_no_memory(err);
	own->response = response;
	own->call.options = &mlflow->options;
	own->call.pipeline = mlflow->options.pipeline;
	own->call.reader = mlflow->options.reader_of(worker);
	own->call.request = request;
	own->call.worker = worker;
	own->call.response = response;
	own->call.team = span_from(http_request_principal(request)->team);
	own->call.now_ms = http_request_arrival_ms(request);
	*out = TAKE(own);
	return OK;
}

static enum status check_use(const struct http_request *request, enum mlflow_use use, struct error *err)
{
	const struct principal *principal = http_request_principal(request);
	enum http_scope needs = use == MLFLOW_READS ? SCOPE_READ : SCOPE_WRITE;

	if ((use == MLFLOW_BY_SENDERS || use == MLFLOW_ABSENT) && http_may(principal, SCOPE_READ))
		return OK;
	return http_check_scope(principal, needs, err);
}

static enum status read_body(struct door_call *own, struct error *err)
{
	struct span text = http_request_body(own->call.request);

	if (http_request_method(own->call.request) == HTTP_GET)
		return OK;
	TRY(json_parse(&own->body, span_trim(text).len ? text : SPAN("{}"), err));
	own->call.body = own->body;
	return json_kind(own->body) == JSON_OBJECT ? OK : error_set(err, ERR_SEMANTIC, "the body must be an object");
}

static void finish(struct door_call *own, enum status status, struct error *err)
{
	if (!own->call.has_own_reply)
		json_object_end(&own->call.w);
	if (status == OK)
		status = buf_status(&own->response->body, err);
	if (status == OK)
		return;
	err->status = status;
	if (status == ERR_INTERNAL || status == ERR_IO)
		log_line(LOG_ERROR, "mlflow_failed", "path=%.*s error=\"%s\"",
			SPAN_ARGS(http_request_path(own->call.request)), err->text);
	put_fault(err, own->response);
}

/* Points that were not stored are never passed over. */
static void points_done(void *context, const struct ingest_result *result)
{
	struct door_call *own = context;
	struct http_deferred *deferred = own->deferred;
	struct error err = result->err;
	enum status status = result->status;

	if (status == OK && result->refused)
		status = error_set(&err, ERR_TOO_LARGE,
			"%zu points are of more metrics than a run may have (--max-series); the others are stored",
			result->refused);
	finish(own, status, &err);
	door_call_free(own);
	err = (struct error){0};
	http_deferred_end(deferred, OK, &err);
}

/* After OK the call is the writer's. */
static enum status submit(struct door_call *own, struct error *err)
{
	struct batch *points = TAKE(own->call.points);
	struct http_deferred *deferred = own->deferred = http_defer(own->call.request);

	own->call.reader = NULL;
	own->call.body = NULL;
	json_free(TAKE(own->body)); /* here: who ends the call is the writer, for whom all wait */
	enum status status = pipeline_submit(own->call.pipeline, points, points_done, own, err);
	if (status != OK) {
		http_deferred_cancel(deferred);
		own->call.points = points;
	}
	return status;
}

static enum status run(struct door_call *own, enum mlflow_use use, mlflow_handler *handler, struct error *err)
{
	TRY(check_use(own->call.request, use, err));
	if (use != MLFLOW_ABSENT && use != MLFLOW_FILE)
		TRY(read_body(own, err));
	enum status status = handler(&own->call, err);
	return status == ERR_NOT_FOUND ? mlflow_explain_absence(&own->call, err) : status;
}

enum status mlflow_run_call(struct mlflow *mlflow, void *worker, const struct http_request *request,
	struct http_response *response, enum mlflow_use use, mlflow_handler *handler, struct error *err)
{
	struct door_call *own = NULL;

	TRY(new_call(&own, mlflow, worker, request, response, err));
	own->call.w = json_writer_on(&response->body);
	json_object(&own->call.w);
	enum status status = run(own, use, handler, err);
	if (status == OK && own->call.points) {
		status = submit(own, err);
		if (status == OK)
			return OK; /* points_done ends it, and may have done so */
	}
	finish(own, status, err);
	door_call_free(own);
	return OK;
}
