#include "aws/protocol/aws.h"

#include "aws/protocol/internal.h"

static const struct http_route templates[] = {
	{HTTP_POST, "/",
		.summary =
			"The AWS protocols of SageMaker, CloudWatch Logs, CloudWatch and EventBridge: JSON with X-Amz-Target, or a form with Action"},
	{HTTP_POST, "/service/{service}/operation/{operation}",
		.summary = "The AWS protocol of CloudWatch metrics in CBOR (rpc-v2-cbor)"},
	{HTTP_PUT, "/BatchPutMetrics", SCOPE_WRITE, .summary = "SageMaker's metrics service: BatchPutMetrics"},
	{HTTP_POST, "/BatchGetMetrics", .summary = "SageMaker's metrics service: BatchGetMetrics"},
};

/* S3's, by their signature; others go to the page. */
static const struct http_route s3_templates[] = {
	{HTTP_GET, "/", SCOPE_READ, .summary = NULL},
	{HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_DELETE, "/{path...}", SCOPE_READ, .summary = NULL},
};

static bool is_slow(const struct http_request *request)
{
	return span_ends_with(http_request_header(request, "X-Amz-Target"), SPAN(".FilterLogEvents"));
}

enum {
	OWN_COUNT = sizeof templates / sizeof *templates,
	S3_COUNT = sizeof s3_templates / sizeof *s3_templates,
	ROUTE_COUNT = OWN_COUNT + S3_COUNT
};

static struct http_route route_of(struct aws *aws, const struct http_route *template)
{
	return (struct http_route){.methods = template->methods,
		.pattern = template->pattern,
		.summary = template->summary,
		/* For those who read the list; the door asks for the operation's own, which the first line may not name. */
		.scope = template->scope ? template->scope : SCOPE_READ,
		.kind = ROUTE_WORKER,
		.handler = aws_door,
		.is_slow = is_slow,
		.describe = aws_describe,
		.query = "",
		.max_body_bytes = aws->options.max_body_bytes,
		.context = aws,
		.is_raw = true,
		.admit = aws_admit,
		.refuse = aws_refuse};
}

static struct http_route s3_route_of(struct aws *aws, const struct http_route *template)
{
	return (struct http_route){.methods = template->methods,
		.pattern = template->pattern,
		.scope = template->scope,
		.kind = ROUTE_WORKER,
		.handler = s3_list_buckets,
		.query = "*",
		.context = aws,
		.is_meant = s3_is_meant,
		.admit = s3_admit,
		.refuse = s3_refuse};
}

enum status aws_new(struct aws **out, const struct aws_options *options, struct error *err)
{
	AUTO(aws) aws = mem_zeroed(sizeof *aws);

	if (!aws || !(aws->routes = mem_zeroed(ROUTE_COUNT * sizeof *aws->routes)))
		return error_no_memory(err);
	aws->options = *options;
	for (size_t i = 0; i < OWN_COUNT; i++)
		aws->routes[aws->route_count++] = route_of(aws, &templates[i]);
	for (size_t i = 0; i < S3_COUNT; i++)
		aws->routes[aws->route_count++] = s3_route_of(aws, &s3_templates[i]);
	*out = TAKE(aws);
	return OK;
}

void aws_free(struct aws *aws)
{
	if (!aws)
		return;
	mem_free(aws->routes);
	mem_free(aws);
}

const struct http_route *aws_routes(const struct aws *aws, size_t *count)
{
	*count = aws->route_count;
	return aws->routes;
}
