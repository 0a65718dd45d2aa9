/* STS, as far as tools ask it whose credentials they have: aws sts get-caller-identity, boto3, Terraform. */
#include "aws/protocol/internal.h"
#include "base/json/json_write.h"

enum { ARN_MAX_BYTES = 512 };

/* The token is the user; where nobody needs one, it is root. */
static enum status get_caller_identity(struct aws_call *call, struct error *err)
{
	AUTO_DONE(buf) arn = BUF_INIT(ARN_MAX_BYTES);
	struct span name = span_from(call->principal->name);

	buf_printf(&arn, "arn:aws:iam::%s:", call->options->account);
	if (name.len)
		buf_printf(&arn, "user/%.*s", SPAN_ARGS(name));
	else
		buf_append_text(&arn, "root");
	TRY(buf_status(&arn, err));
	json_put_span(&call->w, "UserId", name.len ? name : span_from(call->options->account));
	json_put_text(&call->w, "Account", call->options->account);
	json_put_span(&call->w, "Arn", buf_span(&arn));
	return OK;
}

static const struct aws_operation operations[] = {
	{.name = "GetCallerIdentity", .scope = SCOPE_PUBLIC, .run = get_caller_identity},
	{.name = NULL},
};

static const char *const times[] = {NULL};

const struct aws_service sts_service = {.version = "2011-06-15",
	.namespace_uri = "https://sts.amazonaws.com/doc/2011-06-15/",
	.operations = operations,
	.codes = {.invalid = "ValidationError",
		.missing = "MissingParameter",
		.not_found = "ValidationError",
		.conflict = "ValidationError",
		.busy = "Throttling",
		.unavailable = "ServiceUnavailable"},
	.times = times,
	.maps = times,
	.query_codes = times};
