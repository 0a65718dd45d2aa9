/*
 * S3, as far as tools ask it before they do anything: GET / (ListBuckets) has no bucket. All else is answered as S3 answers for a bucket
 * that is not there, in its XML, before a body is read. Requests are told from those for the page by their signature's service.
 * Source: docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html, …/ErrorResponses.html
 */
#include "aws/protocol/internal.h"
#include "aws/protocol/sigv4.h"
#include "aws/protocol/xml_write.h"

#define XML_BEGIN "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

bool s3_is_meant(const struct http_request *request)
{
	struct span header = http_request_header(request, "Authorization");
	struct sigv4_authorization authorization;
	struct error ignored;

	return sigv4_is(header) && sigv4_parse(&authorization, header, &ignored) == OK &&
	       span_equal(authorization.service, SPAN("s3"));
}

static enum status refuse_rest(const struct http_request *request, struct error *err)
{
	struct span bucket = span_skip(http_request_path(request), 1);
	ptrdiff_t slash = span_find_char(bucket, '/');
	struct span key = slash < 0 ? SPAN("") : span_skip(bucket, (size_t)slash + 1);

	bucket = slash < 0 ? bucket : span_of(bucket.ptr, (size_t)slash);
	if (http_request_method(request) == HTTP_PUT && !key.len)
		return aws_error(err, ERR_UNSUPPORTED, "NotImplemented",
			"A header you provided implies functionality that is not implemented: smfleet keeps no buckets; small files of a job are its attachments (docs/attachments.md)");
	return aws_error(err, ERR_NOT_FOUND, "NoSuchBucket",
		"The specified bucket does not exist: smfleet keeps no buckets, also not '%.*s'",
		SPAN_ARGS(span_cut(bucket, 100)));
}

enum status s3_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	TRY(aws_admit(context, request, out, err));
	return http_request_path(request).len > 1 ? refuse_rest(request, err) : OK;
}

/* Its own names for what all of AWS's services have. */
static const struct {
	const char *code, *own;
	int status;
} codes[] = {
	{"NoSuchBucket", "NoSuchBucket", 404},
	{"NotImplemented", "NotImplemented", 501},
	{"UnrecognizedClientException", "InvalidAccessKeyId", 403},
	{"InvalidSignatureException", "SignatureDoesNotMatch", 403},
	{"IncompleteSignatureException", "AuthorizationHeaderMalformed", 400},
	{"AccessDeniedException", "AccessDenied", 403},
	{"ThrottlingException", "SlowDown", 503},
	{"RequestEntityTooLargeException", "EntityTooLarge", 400},
};

void s3_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	const char *code = aws_code_of(NULL, err), *own = code;
	char request_id[UUID_BYTES + 1];

	(void)context;
	response->status = aws_http_status_of(err);
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(codes[i].code, code) == 0) {
			own = codes[i].own;
			response->status = codes[i].status;
		}
	crypto_uuid(request_id);
	http_response_header(response, "x-amz-request-id", "%s", request_id);
	response->content_type = "application/xml";
	buf_reset(&response->body);
	buf_printf(&response->body, XML_BEGIN "<Error><Code>%s</Code><Message>", own);
	xml_write_text(span_from(err->text), &response->body);
	buf_append_text(&response->body, "</Message><Resource>");
	xml_write_text(http_request_path(request), &response->body);
	buf_printf(&response->body, "</Resource><RequestId>%s</RequestId></Error>", request_id);
}

enum status s3_list_buckets(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct aws *aws = context;
	const struct principal *principal = http_request_principal(request);
	AUTO(arena) arena = arena_new();
	const struct aws_call call = {.aws = aws,
		.options = &aws->options,
		.request = request,
		.principal = principal,
		.now_ms = http_request_arrival_ms(request),
		.arena = arena};
	struct span name = span_from(principal->name[0] ? principal->name : "root");

	(void)worker;
	if (!arena)
		return error_no_memory(err);
	TRY(aws_verify(&call, err));
	TRY(http_check_scope(principal, SCOPE_READ, err));
	response->content_type = "application/xml";
	buf_append_text(&response->body,
		XML_BEGIN "<ListAllMyBucketsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Owner><ID>");
	xml_write_text(name, &response->body);
	buf_append_text(&response->body, "</ID><DisplayName>");
	xml_write_text(name, &response->body);
	buf_append_text(&response->body, "</DisplayName></Owner><Buckets></Buckets></ListAllMyBucketsResult>");
	return OK;
}
