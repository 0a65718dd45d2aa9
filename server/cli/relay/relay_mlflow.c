/* MLflow's dialect: which call is answered how. */
#include "cli/relay/relay_mlflow.h"

#include "base/crypto.h"

#include <stdlib.h>

enum { TEXT_MAX_BYTES = 8 << 10 };

static const char *const own_variables[] = {"MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME",
	"MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_AUTH", "MLFLOW_TRACKING_AWS_SIGV4", "MLFLOW_REGISTRY_URI",
	"MLFLOW_TRACKING_SERVER_CERT_PATH", "MLFLOW_TRACKING_CLIENT_CERT_PATH", "DATABRICKS_HOST", NULL};

/* Where the client keeps runs when it is told of no server. */
static const char *const own_files[] = {"mlruns", "mlflow.db", NULL};

static void set_environment(const struct relay_core *core, char *const *environment)
{
	(void)environment;
	setenv("MLFLOW_TRACKING_URI", core->url, 1);
	setenv("MLFLOW_TRACKING_TOKEN", core->token, 1);
	/* else models would be registered with us, who have no registry: a training that worked without us would end there. Files, because
	 * the small client (mlflow-skinny) knows no database; newer clients want to be told that they may. */
	setenv("MLFLOW_REGISTRY_URI", "file:./mlflow-registry", 1);
	setenv("MLFLOW_ALLOW_FILE_STORE", "true", 1);
	/* it would print addresses of ours, which lead nowhere when the training is over: we say those of the server (relay_mlflow_runs.c) */
	setenv("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true", 0);
}

static bool is_its(const struct relay_core *core, const struct relay_request *request)
{
	(void)core;
	(void)request;
	return true; /* what is nobody else's */
}

static bool is_admitted(const struct relay_core *core, const struct relay_request *request)
{
	struct span token = request->authorization;

	return span_take(&token, SPAN("Bearer ")) && token.len == RELAY_TOKEN_DIGITS &&
	       crypto_equal(token.ptr, core->token, token.len);
}

/* ---- what calls share ---- */

bool relay_text(const struct relay_call *call, const char *name, struct buf *out)
{
	const struct json *node = call->body ? json_get(call->body, name) : NULL;

	if (!call->body)
		return relay_request_query(call->request, name, out) && out->len;
	buf_reset(out);
	buf_append_span(out, json_string_of(node));
	return out->len && out->failure == OK;
}

void relay_mlflow_put(struct relay_core *core, const char *call, const struct json *body)
{
	AUTO_DONE(buf) text = BUF_INIT(RELAY_REPLY_MAX_BYTES);

	struct error err = {0};

	json_print(body, &text);
	if (buf_status(&text, &err) == OK)
		relay_put(core, RELAY_MLFLOW, call, relay_mlflow_is_run(span_from(call), body), buf_span(&text));
	else
		relay_lose(core, &err);
}

void relay_reply_with(struct relay_call *call, int status, struct span body)
{
	call->reply->status = status;
	buf_reset(&call->reply->body);
	buf_append_span(&call->reply->body, body);
	call->w.depth = 0; /* whole as it is */
}

enum status relay_pass(struct relay_call *call, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO_DONE(buf) path = BUF_INIT(RELAY_HEAD_MAX_BYTES);
	AUTO_DONE(buf) method = BUF_INIT(16);
	AUTO_DONE(buf) body = BUF_INIT(RELAY_REPLY_MAX_BYTES);

	buf_append_span(&path, call->request->path);
	if (call->request->query.len) {
		buf_append_char(&path, '?');
		buf_append_span(&path, call->request->query);
	}
	if (call->body)
		json_print(call->body, &body);
	buf_append_span(&method, call->request->method);
	buf_append_char(&method, 0);
	TRY(buf_status(&path, err));
	TRY(buf_status(&body, err));
	TRY(buf_status(&method, err));
	TRY(relay_ask(call->core, method.ptr, buf_span(&path), buf_span(&body), &reply, err));
	relay_reply_with(call, reply.status_code, buf_span(&reply.body));
	return OK;
}

/* ---- calls that only the server can answer ---- */

/* Nothing to be found, while it is away. */
static enum status search(struct relay_call *call, struct error *err)
{
	(void)!relay_pass(call, err);
	return OK;
}

/* Not worth a training: what is lost is a word about an experiment. */
static enum status tag_experiment(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(buf) known = BUF_INIT(TEXT_MAX_BYTES);

	if (relay_text(call, "experiment_id", &id) && relay_server_id(call, buf_span(&id), &known) &&
		!json_set_string(call->body, "experiment_id", buf_span(&known)))
		return error_no_memory(err);
	if (relay_pass(call, err) != OK)
		client_say(call->core->program, "a tag of an experiment is not kept: %s", err->text);
	return OK;
}

static enum status pass_or_refuse(struct relay_call *call, struct error *err)
{
	if (relay_pass(call, err) == OK)
		return OK;
	return error_set(err, ERR_UNSUPPORTED, "the server is away, and sm-ship's relay cannot answer this");
}

static const struct {
	const char *method, *name;
	relay_call_handler *answer;
} calls[] = {
	{"POST", "runs/create", relay_run_create},
	{"POST", "runs/update", relay_run_update},
	{"GET", "runs/get", relay_run_get},
	{"POST", "runs/search", relay_run_search},
	{"POST", "runs/outputs", relay_run_outputs},
	{"POST", "logged-models", relay_model_create},
	{"POST", "logged-models/search", search},
	{"POST", "runs/log-metric", relay_run_record},
	{"POST", "runs/log-batch", relay_run_record},
	{"POST", "runs/log-parameter", relay_run_record},
	{"POST", "runs/set-tag", relay_run_record},
	{"POST", "runs/delete-tag", relay_run_record},
	{"POST", "runs/log-inputs", relay_run_record},
	{"GET", "experiments/get", relay_experiment_get},
	{"GET", "experiments/get-by-name", relay_experiment_get_by_name},
	{"POST", "experiments/create", relay_experiment_create},
	{"GET", "experiments/search", search},
	{"POST", "experiments/search", search},
	{"POST", "experiments/set-experiment-tag", tag_experiment},
	{"GET", "metrics/get-history", search},
};

static relay_call_handler *find_call(const struct relay_request *request, struct span *name)
{
	*name = request->path;
	if (!span_take(name, SPAN(MLFLOW_PREFIX)))
		return pass_or_refuse;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (span_equal(*name, span_from(calls[i].name)) &&
			span_equal(request->method, span_from(calls[i].method)))
			return calls[i].answer;
	return span_starts_with(*name, SPAN("logged-models/")) ? relay_model_call : pass_or_refuse;
}

static enum status answer(
	struct relay_core *core, const struct relay_request *request, struct relay_reply *reply, struct error *err)
{
	AUTO(json) body = NULL;
	struct relay_call call = {.core = core, .request = request, .reply = reply};
	relay_call_handler *handler = find_call(request, &call.name);

	if (!span_equal(request->method, SPAN("GET"))) {
		TRY(json_parse(&body, request->body.len ? request->body : SPAN("{}"), err));
		if (json_kind(body) != JSON_OBJECT)
			return error_set(err, ERR_INVALID, "the body must be an object");
		call.body = body;
	}
	reply->status = 200;
	call.w = json_writer_on(&reply->body);
	json_object(&call.w);
	TRY(handler(&call, err));
	if (call.w.depth)
		json_object_end(&call.w);
	return buf_status(&reply->body, err);
}

static void refuse(const struct error *err, struct relay_reply *reply)
{
	static const struct {
		enum status status;
		int code;
		const char *name;
	} table[] = {{ERR_UNAUTHORIZED, 401, "UNAUTHENTICATED"}, {ERR_TOO_LARGE, 413, "RESOURCE_LIMIT_EXCEEDED"},
		{ERR_NOT_FOUND, 404, "RESOURCE_DOES_NOT_EXIST"}, {ERR_CONFLICT, 400, "RESOURCE_ALREADY_EXISTS"},
		{ERR_UNSUPPORTED, 501, "NOT_IMPLEMENTED"}, {ERR_MEMORY, 500, "INTERNAL_ERROR"}};
	const char *name = "INVALID_PARAMETER_VALUE";
	struct json_writer w;

	reply->status = 400;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].status == err->status) {
			reply->status = table[i].code;
			name = table[i].name;
		}
	buf_reset(&reply->body);
	w = json_writer_on(&reply->body);
	json_object(&w);
	json_put_text(&w, "error_code", name);
	json_put_text(&w, "message", err->text);
	json_object_end(&w);
}

static void *make_known(void)
{
	return known_new();
}

const struct relay_dialect relay_mlflow = {.id = RELAY_MLFLOW,
	.name = "mlflow",
	.own = own_variables,
	.own_files = own_files,
	.set_environment = set_environment,
	.is_its = is_its,
	.is_admitted = is_admitted,
	.known_new = make_known,
	.answer = answer,
	.refuse = refuse,
	.compose = relay_mlflow_compose};
