/* Who is asking: MLFLOW_TRACKING_TOKEN comes as a bearer token; of MLFLOW_TRACKING_USERNAME and _PASSWORD the password is the token. */
#include "http/guard.h"
#include "mlflow/internal.h"

enum { PASSWORD_MAX_BYTES = 4096 };

enum status mlflow_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	const struct mlflow *mlflow = context;
	struct span header = http_request_header(request, "Authorization"), token = guard_bearer(header);
	AUTO_DONE(buf) password = BUF_INIT(PASSWORD_MAX_BYTES);

	if (guard_password(header, &password))
		token = buf_span(&password);
	return mlflow->options.authenticate(mlflow->options.context, token, out, err);
}
