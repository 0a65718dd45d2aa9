/* One request: which operation it is of, in which protocol; its input checked; its output, or what went wrong, in that protocol. */
#include "aws/protocol/cbor.h"
#include "aws/protocol/internal.h"
#include "aws/protocol/query_form.h"
#include "aws/protocol/xml_write.h"
#include "base/crypto.h"
#include "base/codec/inflate.h"
#include "base/log.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "state/audit.h"

/* All services. */
static const struct aws_service *const services[] = {
	&sagemaker_service,
	&logs_service,
	&cloudwatch_service,
	&sagemaker_metrics_service,
	&sts_service,
	&eventbridge_service,
};

const struct aws_service *const *aws_services(size_t *count)
{
	*count = sizeof services / sizeof *services;
	return services;
}

static const char *const no_times[] = {NULL};

/* ---- which one ---- */

struct address {
	enum aws_protocol protocol;
	const struct aws_service *service; /* NULL: none is meant, or not known before the body is */
	struct span name; /* of the service, as the request has it */
	struct span operation;
};

static const struct aws_service *find_service(struct span target)
{
	for (size_t i = 0; i < sizeof services / sizeof *services; i++)
		if (services[i]->target && span_equal(span_from(services[i]->target), target))
			return services[i];
	return NULL;
}

static const struct aws_operation *find_operation(const struct aws_service *service, struct span name)
{
	const struct aws_operation *operation = service->operations;

	for (; operation->name; operation++)
		if (span_equal(span_from(operation->name), name))
			return operation;
	return NULL;
}

/* A path of its own names the operation. */
static void find_by_path(struct address *address, struct span path)
{
	address->protocol = AWS_REST_JSON;
	address->operation = address->name = span_skip(path, 1);
	for (size_t i = 0; i < sizeof services / sizeof *services && !address->service; i++)
		if (!services[i]->target && find_operation(services[i], address->operation))
			address->service = services[i];
}

static void find_by_target(struct address *address, struct span target, bool is_json_1_0)
{
	ptrdiff_t dot = span_find_char(target, '.');

	address->protocol = is_json_1_0 ? AWS_JSON_1_0 : AWS_JSON_1_1;
	address->name = dot < 0 ? target : span_of(target.ptr, (size_t)dot);
	address->operation = dot < 0 ? SPAN("") : span_skip(target, (size_t)dot + 1);
	address->service = find_service(address->name);
}

/* By path, header and type; a form's operation is in its body. */
static struct address find_address(const struct http_request *request)
{
	struct address address = {0};
	struct span path = http_request_path(request);
	struct span target = http_request_header(request, "X-Amz-Target");
	struct span type = http_request_header(request, "Content-Type");

	if (span_starts_with(path, SPAN("/service/"))) {
		address.protocol = AWS_CBOR;
		address.name = http_request_segment(request, 0);
		address.operation = http_request_segment(request, 1);
		address.service = find_service(address.name);
	} else if (path.len > 1) {
		find_by_path(&address, path);
	} else if (target.len || !span_starts_with(type, SPAN("application/x-www-form-urlencoded"))) {
		find_by_target(&address, target, span_starts_with(type, SPAN("application/x-amz-json-1.0")));
	} else {
		address.protocol = AWS_QUERY;
	}
	return address;
}

static enum status find_in_form(struct address *address, struct span form, struct error *err)
{
	if (!query_form_find(form, "Action", &address->operation))
		return aws_error(err, ERR_SEMANTIC, "MissingAction", "the form has no Action");
	if (!query_form_find(form, "Version", &address->name))
		address->name = SPAN("");
	for (size_t i = 0; i < sizeof services / sizeof *services; i++)
		if (services[i]->version && span_equal(span_from(services[i]->version), address->name))
			address->service = services[i];
	return OK;
}

static enum status unknown_operation(const struct address *address, struct error *err)
{
	struct span operation = span_cut(address->operation, 100), name = span_cut(address->name, 100);

	if (address->service)
		return aws_error(err, ERR_SEMANTIC, "UnknownOperationException",
			"'%.*s' of '%.*s' is no operation that this server has", SPAN_ARGS(operation), SPAN_ARGS(name));
	if (!address->name.len)
		return aws_error(err, ERR_SEMANTIC, "UnknownOperationException",
			"neither X-Amz-Target nor a form's Action says which operation is meant");
	return aws_error(err, ERR_SEMANTIC, "UnknownOperationException", "'%.*s' is no service that this server has",
		SPAN_ARGS(name));
}

/* ---- replies ---- */

static const char *content_type_of(enum aws_protocol protocol)
{
	static const char *const types[] = {[AWS_JSON_1_1] = "application/x-amz-json-1.1",
		[AWS_JSON_1_0] = "application/x-amz-json-1.0",
		[AWS_REST_JSON] = "application/json",
		[AWS_QUERY] = "text/xml",
		[AWS_CBOR] = "application/cbor"};

	return types[protocol];
}

static void put_headers(struct http_response *response, enum aws_protocol protocol, const char *request_id)
{
	response->content_type = content_type_of(protocol);
	http_response_header(response, "x-amzn-RequestId", "%s", request_id);
	if (protocol == AWS_CBOR)
		http_response_header(response, "Smithy-Protocol", "rpc-v2-cbor");
}

static void put_fault_json(struct buf *out, const char *code, const char *text)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_text(&w, "__type", code);
	json_put_text(&w, "message", text);
	json_object_end(&w);
}

static void put_fault_cbor(struct buf *out, const char *code, const char *text)
{
	AUTO(json) tree = NULL;
	AUTO_DONE(buf) json = BUF_INIT(64 << 10);

	put_fault_json(&json, code, text);
	if (json.failure == OK && json_parse(&tree, buf_span(&json), NULL) == OK)
		cbor_from_json(tree, no_times, out);
}

static void put_fault(struct http_response *response, enum aws_protocol protocol, const struct aws_service *service,
	const char *request_id, const struct error *err)
{
	const char *code = aws_code_of(service, err), *query_code = aws_query_code(service, code);
	bool is_sender = aws_http_status_of(err) < 500;

	response->status = aws_http_status_of(err);
	buf_reset(&response->body);
	put_headers(response, protocol, request_id);
	http_response_header(response, "x-amzn-errortype", "%s", code);
	if (service && service->query_codes && protocol != AWS_QUERY)
		http_response_header(
			response, "x-amzn-query-error", "%s;%s", query_code, is_sender ? "Sender" : "Receiver");
	if (protocol == AWS_QUERY) {
		struct xml_reply reply = {
			.namespace_uri = service && service->namespace_uri ? service->namespace_uri : "",
			.operation = "",
			.request_id = span_from(request_id),
			.times = no_times};
		xml_write_error(&reply, is_sender, span_from(query_code), span_from(err->text), &response->body);
	} else if (protocol == AWS_CBOR) {
		put_fault_cbor(&response->body, code, err->text);
	} else {
		put_fault_json(&response->body, code, err->text);
	}
}

void aws_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	const struct aws *aws = context;
	struct address address = find_address(request);
	char request_id[UUID_BYTES + 1];
	struct error said = *err;

	if (err->status == ERR_TOO_LARGE) /* the transport knows no option's name */
		error_set(&said, ERR_TOO_LARGE, "the body is larger than %zu bytes (--max-aws-bytes)",
			aws->options.max_body_bytes);
	crypto_uuid(request_id);
	put_fault(response, address.protocol, address.service, request_id, &said);
}

/* ---- a call ---- */

struct door_call {
	struct aws_call call;
	struct http_response *response;
	struct http_deferred *deferred;
	struct buf unpacked;
	struct json *input;
	struct buf output; /* of protocols that are not JSON, before it is made theirs */
};

static void door_call_free(struct door_call *own)
{
	if (!own)
		return;
	json_free(own->input);
	buf_done(&own->unpacked);
	buf_done(&own->output);
	batch_free(own->call.lines);
	arena_free(own->call.arena);
	mem_free(own);
}
AUTO_TYPE(door_call)

static bool is_json(enum aws_protocol protocol)
{
	return protocol == AWS_JSON_1_1 || protocol == AWS_JSON_1_0 || protocol == AWS_REST_JSON;
}

static enum status new_call(struct door_call **out, struct aws *aws, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(door_call) own = mem_zeroed(sizeof *own);

	if (!own || !(own->call.arena = arena_new()))
		return error_no_memory(err);
	own->response = response;
	own->unpacked = BUF_INIT(aws->options.max_body_bytes);
	own->output = BUF_INIT(response->body.max_bytes);
	own->call.aws = aws;
	own->call.options = &aws->options;
	own->call.pipeline = aws->options.pipeline;
	own->call.reader = aws->options.reader_of(worker);
	own->call.request = request;
	own->call.principal = http_request_principal(request);
	own->call.team = span_from(own->call.principal->team);
	own->call.now_ms = http_request_arrival_ms(request);
	own->call.body = http_request_body(request);
	crypto_uuid(own->call.request_id);
	*out = TAKE(own);
	return OK;
}

static enum status unpack(struct door_call *own, struct error *err)
{
	struct span name = http_request_header(own->call.request, "Content-Encoding"), rest = own->call.body, part;
	enum encoding encoding;
	AUTO(inflater) inflater = NULL;

	if (!encoding_parse(name, &encoding))
		return error_set(err, ERR_UNSUPPORTED, "unknown Content-Encoding '%.*s'; known are gzip, deflate, zstd",
			SPAN_ARGS(span_cut(name, 60)));
	if (encoding == ENCODING_IDENTITY)
		return OK;
	TRY(inflater_new(&inflater, encoding, 0, err));
	do {
		TRY(inflater_step(inflater, &rest, &part, err));
		buf_append_span(&own->unpacked, part);
	} while (part.len && own->unpacked.failure == OK);
	if (own->unpacked.failure == ERR_TOO_LARGE)
		return error_set(err, ERR_TOO_LARGE, "the body unpacks to more than %zu bytes (--max-aws-bytes)",
			own->unpacked.max_bytes);
	TRY(buf_status(&own->unpacked, err));
	own->call.body = buf_span(&own->unpacked);
	return inflater_end(inflater, err);
}

static enum status read_tree(struct door_call *own, struct error *err)
{
	AUTO_DONE(buf) json = BUF_INIT(4 * own->call.options->max_body_bytes);
	struct span text = own->call.body;

	if (own->call.protocol == AWS_CBOR) {
		TRY(cbor_to_json(text, &json, err));
		text = buf_span(&json);
	} else if (own->call.protocol == AWS_QUERY) {
		TRY(query_form_to_json(text, &json, err));
		text = buf_span(&json);
	} else if (!span_trim(text).len) {
		text = SPAN("{}"); /* what clients send for no members */
	}
	TRY(json_parse(&own->input, text, err));
	return json_kind(own->input) == JSON_OBJECT
		       ? OK
		       : error_set(err, ERR_SEMANTIC, "the body is no structure: an object is expected");
}

static enum status read_input(struct door_call *own, struct error *err)
{
	enum status status = read_tree(own, err);

	if (status == ERR_INVALID || status == ERR_SEMANTIC)
		err->code = "SerializationException";
	own->call.input = own->input;
	return status;
}

static enum status check_scope(const struct aws_call *call, struct error *err)
{
	enum http_scope needs = call->operation->scope;

	return http_may(call->principal, needs)
		       ? OK
		       : error_set(err, ERR_FORBIDDEN, "%s needs a token with the scope '%s'; '%s' has '%s'",
				 call->operation->name, http_scope_name(needs), call->principal->name,
				 http_scope_name(call->principal->scope));
}

/* The operation, and what it is called with. */
static enum status prepare(struct door_call *own, struct error *err)
{
	struct aws_call *call = &own->call;
	struct address address = find_address(call->request);

	call->protocol = address.protocol;
	call->service = address.service; /* already: a refusal is worded as the service's */
	TRY(aws_verify(call, err));
	TRY(unpack(own, err));
	if (address.protocol == AWS_QUERY)
		TRY(find_in_form(&address, call->body, err));
	call->service = address.service;
	call->operation = address.service ? find_operation(address.service, address.operation) : NULL;
	if (!call->operation)
		return unknown_operation(&address, err);
	TRY(check_scope(call, err));
	if (!call->operation->takes_text || !is_json(address.protocol))
		TRY(read_input(own, err));
	return call->operation->input && call->input ? aws_check(call, call->operation->input, call->input, err) : OK;
}

static void open_output(struct door_call *own)
{
	own->call.w = json_writer_on(is_json(own->call.protocol) ? &own->response->body : &own->output);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): prepare() has found it */
	if (!own->call.operation->is_void)
		json_object(&own->call.w);
}

/* What was written becomes the protocol's. */
static enum status close_output(struct door_call *own, struct error *err)
{
	struct aws_call *call = &own->call;
	const char *const *times = call->service->times ? call->service->times : no_times;
	AUTO(json) tree = NULL;

	if (!call->operation->is_void)
		json_object_end(&call->w);
	else if (is_json(call->protocol))
		json_raw(&call->w, SPAN("{}"));
	TRY(buf_status(call->w.out, err));
	put_headers(own->response, call->protocol, call->request_id);
	if (is_json(call->protocol))
		return OK;
	if (!call->operation->is_void)
		TRY(json_parse(&tree, buf_span(&own->output), err));
	if (call->protocol == AWS_CBOR) {
		if (tree)
			cbor_from_json(tree, times, &own->response->body);
		return OK;
	}
	struct xml_reply reply = {.namespace_uri = call->service->namespace_uri,
		.operation = call->operation->name,
		.request_id = span_from(call->request_id),
		.times = times,
		.maps = call->service->maps};
	xml_write_reply(&reply, tree, &own->response->body);
	return OK;
}

static void finish(struct door_call *own, enum status status, struct error *err)
{
	if (status == OK)
		status = close_output(own, err);
	if (status == OK)
		return;
	err->status = status;
	if (err->status == ERR_INTERNAL || err->status == ERR_IO)
		log_line(LOG_ERROR, "aws_failed", "operation=%s error=\"%s\"",
			own->call.operation ? own->call.operation->name : "", err->text);
	put_fault(own->response, own->call.protocol, own->call.service, own->call.request_id, err);
}

static void lines_done(void *context, const struct ingest_result *result)
{
	struct door_call *own = context;
	struct http_deferred *deferred = own->deferred;
	struct error err = result->err;

	if (result->status == OK && own->call.answer)
		own->call.answer(&own->call, result);
	finish(own, result->status, &err);
	door_call_free(own);
	err = (struct error){0};
	http_deferred_end(deferred, OK, &err);
}

/* After OK the call is the writer's. */
static enum status submit(struct door_call *own, struct error *err)
{
	struct batch *lines = TAKE(own->call.lines);
	struct http_deferred *deferred = own->deferred = http_defer(own->call.request);

	own->call.reader = NULL;
	enum status status = pipeline_submit(own->call.pipeline, lines, lines_done, own, err);
	if (status != OK) {
		http_deferred_cancel(deferred);
		own->call.lines = lines;
	}
	return status;
}

/* Of whom the audit log tells: jobs whatever is done to them, groups of logs when an admin does it. Shippers make groups, too. */
static void name_thing(const struct aws_call *call, struct actor *actor)
{
	static const char part[] = "training-job/";
	struct span arn = json_string_of(json_get(call->input, "ResourceArn"));

	actor->kind = SPAN("jobs");
	actor->id = json_string_of(json_get(call->input, "TrainingJobName"));
	for (size_t i = 0; !actor->id.len && i + sizeof part <= arn.len; i++)
		if (memcmp(arn.ptr + i, part, sizeof part - 1) == 0)
			actor->id = span_skip(arn, i + sizeof part - 1);
	if (!actor->id.len && call->operation->scope == SCOPE_ADMIN) {
		actor->kind = SPAN("log_groups");
		actor->id = json_string_of(json_get(call->input, "logGroupName"));
	}
}

static enum status run_audited(struct aws_call *call, struct error *err)
{
	struct actor actor = {.token = span_from(call->principal->name),
		.team = call->team,
		.address = http_request_address(call->request),
		.verb = span_from(call->operation->name)};
	AUTO_DONE(buf) body = BUF_INIT(1 << 20);
	enum http_scope scope = call->operation->scope;

	if (scope == SCOPE_PUBLIC || scope == SCOPE_READ || !call->input)
		return call->operation->run(call, err);
	name_thing(call, &actor);
	if (!actor.id.len)
		return call->operation->run(call, err);
	json_print(call->input, &body);
	actor.body = body.failure ? SPAN("") : buf_span(&body);
	audit_act_as(call->pipeline, &actor);
	enum status status = call->operation->run(call, err);
	audit_act_as(call->pipeline, NULL);
	return status;
}

enum status aws_door(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct door_call *own = NULL;

	TRY(new_call(&own, context, worker, request, response, err));
	enum status status = prepare(own, err);
	if (status == OK) {
		open_output(own);
		status = run_audited(&own->call, err);
	}
	if (status == OK && own->call.lines) {
		status = submit(own, err);
		if (status == OK)
			return OK; /* lines_done ends it, and may have done so */
	}
	finish(own, status, err);
	door_call_free(own);
	return OK;
}
