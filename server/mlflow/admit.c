/* Who is asking: MLFLOW_TRACKING_TOKEN comes as a bearer token; of MLFLOW_TRACKING_USERNAME and _PASSWORD the password is the token. */
#include "base/crypto.h"
#include "http/guard.h"
#include "mlflow/internal.h"

enum { CREDENTIALS_MAX_BYTES = 4096 };

/* What is behind the user's name. False: it is no such header. */
static bool password_of(struct span authorization, struct buf *out)
{
	const struct span scheme = SPAN("Basic ");

	if (authorization.len <= scheme.len || !span_equal_fold(span_of(authorization.ptr, scheme.len), scheme))
		return false;
	return crypto_unbase64(span_trim(span_skip(authorization, scheme.len)), out) &&
	       span_find_char(buf_span(out), ':') >= 0;
}

enum status mlflow_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	const struct mlflow *mlflow = context;
	struct span header = http_request_header(request, "Authorization"), token = guard_token(header, SPAN(""));
	AUTO_DONE(buf) credentials = BUF_INIT(CREDENTIALS_MAX_BYTES);

	if (password_of(header, &credentials)) {
		struct span text = buf_span(&credentials);
		token = span_skip(text, (size_t)span_find_char(text, ':') + 1);
	}
	return mlflow->options.authenticate(mlflow->options.context, token, out, err);
}
