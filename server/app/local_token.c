#include "app/local_token.h"

#include "api/core/tokens.h"
#include "state/audit.h"

enum status local_token_create(
	struct pipeline *pipeline, struct api *api, const struct local_token *asked, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) token = BUF_INIT(256), key_id = BUF_INIT(128), secret = BUF_INIT(128);
	struct new_token wanted = {.name = asked->name, .team = asked->team};

	if (!http_scope_parse(asked->scope, &wanted.scope) || wanted.scope == SCOPE_PUBLIC)
		return error_set_field(err, ERR_SEMANTIC, "scope", "scope '%.*s' is none of read, write, admin",
			SPAN_ARGS(asked->scope));
	/* by the control socket, or where no server runs: whoever may open the files beside the database */
	const struct actor actor = {.token = SPAN("sm-server token create"),
		.team = SPAN(""),
		.address = SPAN("local"),
		.verb = SPAN("create"),
		.kind = SPAN("tokens"),
		.id = asked->name};
	audit_act_as(pipeline, &actor);
	enum status status = api_create_token(api, &wanted, &token, err);
	audit_act_as(pipeline, NULL);
	TRY(status);
	buf_append_span(out, buf_span(&token));
	if (asked->wants_aws) {
		api_print_aws_pair(api, buf_span(&token), &key_id, &secret);
		buf_printf(out, "\naws_access_key_id = %.*s\naws_secret_access_key = %.*s",
			SPAN_ARGS(buf_span(&key_id)), SPAN_ARGS(buf_span(&secret)));
	}
	return buf_status(out, err);
}
