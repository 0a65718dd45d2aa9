/* Files of a run: whether the server keeps any it says when it is asked where they go; while it is away they are kept for it to decide. */
#include "cli/relay/relay_wandb.h"

#include "base/crypto.h"

enum { TEXT_MAX_BYTES = 8 << 10, ADDRESS_MAX_BYTES = RELAY_HEAD_MAX_BYTES, BODY_MAX_BYTES = 32 << 20 };

/* ---- where they go ---- */

static void put_name(struct buf *out, struct span name)
{
	struct span rest = name, part;

	while (span_next(&rest, '/', &part)) {
		buf_append_char(out, '/');
		buf_append_percent_encoded(out, part);
	}
}

/* To us, who send them on. */
static void write_address(struct relay_wandb_call *call, struct span entity, struct span name)
{
	struct span project = relay_wandb_variable(call, "project");
	AUTO_DONE(buf) url = BUF_INIT(ADDRESS_MAX_BYTES);

	buf_printf(&url, "%s/%s/files/", call->core->url, call->core->token);
	buf_append_percent_encoded(&url, entity);
	buf_append_char(&url, '/');
	buf_append_percent_encoded(&url, project.len ? project : SPAN(WANDB_DEFAULT_PROJECT));
	buf_append_char(&url, '/');
	buf_append_percent_encoded(&url, relay_wandb_variable(call, "run"));
	buf_append_text(&url, "/files");
	put_name(&url, name);
	json_key(&call->w, "uploadUrl");
	if (url.failure == OK)
		json_span(&call->w, buf_span(&url));
	else
		json_null(&call->w);
}

static void write_file(struct relay_wandb_call *call, struct span entity, struct span name, bool is_taken)
{
	json_object(&call->w);
	json_put_span(&call->w, "name", name);
	if (is_taken) {
		write_address(call, entity, name);
	} else {
		json_key(&call->w, "uploadUrl");
		json_null(&call->w);
	}
	json_object_end(&call->w);
}

/* What the server takes of them; NULL: it did not say, and it takes all that is not elsewhere as far as is known. */
static void write_files(struct relay_wandb_call *call, const struct json *taken)
{
	AUTO_DONE(buf) entity = BUF_INIT(TEXT_MAX_BYTES);
	const struct json *asked = call->asked.variables ? json_get(call->asked.variables, "files") : NULL;

	relay_wandb_entity(call, &entity);
	json_key(&call->w, "files");
	json_array(&call->w);
	for (const struct json *at = json_first(taken); at; at = json_next(at))
		write_file(call, buf_span(&entity), json_string_of(json_get(at, "name")),
			json_string_of(json_get(at, "uploadUrl")).len != 0);
	for (const struct json *at = taken ? NULL : json_first(asked); at; at = json_next(at)) {
		struct span name = json_string_of(at);
		if (name.len &&
			span_is_utf8(name)) /* whose words are sent anyway stays off the spool, secrets and all */
			write_file(call, buf_span(&entity), name, !wandb_file_is_elsewhere(name));
	}
	json_array_end(&call->w);
}

enum status relay_wandb_create_files(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;
	const struct json *taken = NULL;

	if (relay_wandb_ask(call, &reply, err) == OK && json_parse(&document, buf_span(&reply.body), NULL) == OK)
		taken = json_get_path(document, "data.createRunFiles.files");
	if (!taken)
		TRY(relay_wandb_put_operation(call, err)); /* then the server says at the run what it does not keep */
	json_key(&call->w, "createRunFiles");
	json_object(&call->w);
	json_put_span(&call->w, "runID", relay_wandb_variable(call, "run"));
	json_key(&call->w, "uploadHeaders");
	json_array(&call->w);
	json_array_end(&call->w);
	write_files(call, taken);
	json_object_end(&call->w);
	return OK;
}

/* ---- one comes ---- */

enum status relay_wandb_put_file(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(BODY_MAX_BYTES);

	crypto_base64(call->request->body, &text);
	TRY(buf_status(&text, err));
	relay_wandb_put(call, call->path, buf_span(&text));
	return OK;
}
