/*
 * Job: what AWS's services share: a request as a call of one operation, however it came, and its answer.
 *
 * A service is a table of operations in a file of its own and one line in aws_dispatch.c. An operation is a name, who may call it, what
 * its input may hold (a table of model/jobs/shape.h, checked before it runs) and a function. The function reads call->input, a tree
 * of JSON whatever the protocol, and writes the members of its output into call->w, whose object is open. aws_dispatch.c makes JSON, XML
 * or CBOR of that, closes it, signs nothing, and adds x-amzn-RequestId to every reply.
 *
 *   Numbers    in forms (query protocol) are texts: aws_number, aws_integer and aws_time read either.
 *   Times      in are seconds since 1970 (JSON, CBOR) or ISO 8601 (forms): aws_time gives milliseconds. Out they are json_seconds
 *              (SageMaker, CloudWatch; their names are in the service's `times`, for XML and CBOR) or milliseconds (Logs).
 *   Errors     aws_error with a code as AWS has it; an error of the pipeline's or the store's gets the service's code of its
 *              status (struct aws_codes). Either is returned: aws_dispatch.c words it in the protocol.
 *   Lines      a batch is filled and left in call->lines: the reply leaves after the commit, no worker waits for it.
 *
 * Ownership: what a call has is in its arena, and ends with its reply. Threads: a worker; call->answer the writer.
 */
#pragma once

#include "aws/protocol/aws_options.h"
#include "base/crypto.h"
#include "base/json/json_read.h"
#include "model/metrics/batch.h"
#include "model/jobs/shape.h"

enum aws_protocol { AWS_JSON_1_1, AWS_JSON_1_0, AWS_REST_JSON, AWS_QUERY, AWS_CBOR };

struct aws;
struct ingest_result;

struct aws_call {
	struct aws *aws;
	const struct aws_options *options;
	struct pipeline *pipeline;
	struct store_reader *reader; /* NULL once lines are on their way */
	const struct http_request *request;
	const struct principal *principal;
	struct span team; /* the principal's */
	int64_t now_ms; /* when the request came */
	const struct aws_service *service;
	const struct aws_operation *operation;
	enum aws_protocol protocol;
	char request_id[UUID_BYTES + 1];
	struct arena *arena;
	struct span body; /* as it was meant: unpacked */
	const struct json *input; /* an object; NULL for an operation that takes text */
	struct json_writer w; /* the output's members */
	/* Left by an operation that stores lines: the batch, and who writes its output (NULL: it has none) once they are durable. That is on
	 * the writer: quick, and without failing. */
	struct batch *lines;
	void (*answer)(struct aws_call *call, const struct ingest_result *result);
	void *own; /* the operation's, for its answer */
};

typedef enum status aws_handler(struct aws_call *call, struct error *err);

struct aws_operation {
	const char *name; /* the table ends with a row without one */
	enum http_scope scope; /* SCOPE_PUBLIC: whoever was let in */
	aws_handler *run;
	const struct shape_rule *input; /* NULL: an object of any members */
	bool is_void; /* it has no output */
	bool takes_text; /* JSON alone, which it reads from call->body: a large one costs no tree */
};

/* What a service calls the errors of a status. */
struct aws_codes {
	const char *invalid; /* of input: what a shape forbids, and ERR_INVALID and ERR_SEMANTIC */
	const char *missing; /* a member that must be there */
	const char *not_found;
	const char *conflict;
	const char *busy;
	const char *unavailable;
};

struct aws_service {
	const char *target; /* X-Amz-Target: TARGET.OPERATION, or /service/TARGET/operation/OPERATION; NULL: neither */
	const char *version; /* of its forms: Version=2010-08-01; NULL: it takes none */
	const char *namespace_uri; /* of its XML */
	const struct aws_operation *operations;
	struct aws_codes codes;
	const char *const *times; /* names of members of its output that are times, ended by NULL; NULL: it has none */
	const char *const *maps; /* and of those that are maps, for XML */
	/* What the query protocol calls an error that has another name there: shape, code, shape, code, NULL. */
	const char *const *query_codes;
};

extern const struct aws_service logs_service;
extern const struct aws_service sagemaker_service;
extern const struct aws_service cloudwatch_service, sagemaker_metrics_service, sts_service, eventbridge_service;

struct aws {
	struct aws_options options;
	struct http_route *routes;
	size_t route_count;
};

/* ---- fault.c ---- */
/* Is `status`, so that `return aws_error(err, ERR_SEMANTIC, "ResourceInUse", "…")` is the usual form. code: static. */
enum status aws_error(struct error *err, enum status status, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* "1 validation error detected: Value 'x' at 'resourceConfig.instanceCount' failed to satisfy constraint: …" */
enum status aws_check(const struct aws_call *call, const struct shape_rule *rules, const struct json *document,
	struct error *err) MUST_CHECK;
/* Of a value that no shape can refuse. path: as in the model, "SortBy". */
enum status aws_violation(const struct aws_call *call, const char *path, struct span value, const char *constraint,
	struct error *err) MUST_CHECK;
const char *aws_code_of(const struct aws_service *service, const struct error *err); /* service NULL: not known */
int aws_http_status_of(const struct error *err);
/* What the query protocol calls it. */
const char *aws_query_code(const struct aws_service *service, const char *code);

/* ---- input.c: what is absent or null leaves *out as it is ---- */
void aws_string(const struct aws_call *call, const char *member, struct span *out);
bool aws_number(const struct json *node, double *out);
bool aws_integer(const struct json *node, int64_t *out);
bool aws_time(const struct json *node, int64_t *ms);

/* ---- aws_dispatch.c ---- */
http_handler aws_door;
void aws_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

const struct aws_service *const *aws_services(size_t *count);

/* ---- describe.c ---- */
void aws_describe(const struct http_route *route, struct json_writer *w);

/* ---- s3.c ---- */
http_handler s3_list_buckets;
bool s3_is_meant(const struct http_request *request);
enum status s3_admit(
	void *context, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;
void s3_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

/* ---- admit.c: who is asking ---- */
enum status aws_admit(
	void *context, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;
/* The signature, over the body as it came. */
enum status aws_verify(const struct aws_call *call, struct error *err) MUST_CHECK;
