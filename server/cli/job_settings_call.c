/* Settings that files hold beside points: added to what the job states, never over it. */
#include "base/json_write.h"
#include "cli/job_calls.h"
#include "cli/url.h"

enum { MAX_PATH_BYTES = 8192, MAX_BODY_BYTES = 16 << 20 };

/* {"hp": {…}} of all lines that hold settings; empty when none does. */
static enum status put_body(struct buf *body, struct span text, struct error *err)
{
	struct span line, word;

	while (span_next(&text, '\n', &line)) {
		struct span object = line;
		if (!span_next(&object, '\t', &word) || !span_equal(word, SPAN(JOB_POINTS_SETTING)) || object.len < 2)
			continue;
		buf_append_text(body, body->len ? "," : "{\"hp\":{");
		buf_append_span(body, span_of(object.ptr + 1, object.len - 2)); /* its one member */
	}
	if (body->len)
		buf_append_text(body, "}}");
	return buf_status(body, err);
}

static struct span text_of(const struct json *node, struct buf *out)
{
	if (json_kind(node) == JSON_STRING)
		return json_string_of(node);
	buf_reset(out);
	json_print(node, out);
	return buf_span(out);
}

static void tell_kept(const struct job_points *points, struct span asked, struct span reply)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_BODY_BYTES);
	AUTO(json) body = NULL;
	AUTO(json) document = NULL;

	if (json_parse(&body, asked, NULL) != OK || json_parse(&document, reply, NULL) != OK)
		return;
	const struct json *kept = json_get(document, "kept"), *settings = json_get(body, "hp");
	for (const struct json *at = kept ? json_first(kept) : NULL; at; at = json_next(at))
		for (const struct json *own = json_first(settings); own; own = json_next(own))
			if (span_equal(json_key_of(own), json_key_of(at))) {
				struct span value = text_of(own, &text);
				client_say(points->program,
					"job '%s' has %.*s = '%.*s', and the files of its stream '%s' '%.*s': it is left as it is",
					points->job, SPAN_ARGS(json_key_of(at)), SPAN_ARGS(json_string_of(at)),
					points->stream, SPAN_ARGS(value));
			}
}

enum status job_send_settings(struct http_client *client, const struct job_points *points, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	TRY(put_body(&body, points->text, err));
	if (body.len == 0)
		return OK;
	buf_append_text(&path, "/api/v1/jobs/");
	buf_append_percent_encoded(&path, span_from(points->job));
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "PATCH",
		.path = buf_span(&path),
		.content_type = "application/json",
		.body = buf_span(&body)};
	enum status status = client_call(client, &request, &reply, err);
	if (client_is_passing(status))
		return status;
	if (status != OK) /* no reason to keep the points from it */
		client_say(points->program, "the server did not take the hyperparameters of stream '%s': %s",
			points->stream, err->text);
	else
		tell_kept(points, buf_span(&body), buf_span(&reply.body));
	return OK;
}
