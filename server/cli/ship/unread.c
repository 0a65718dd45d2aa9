#include "cli/ship/unread.h"

#include "cli/http/url.h"

#include <inttypes.h>

enum { PATH_BYTES_MAX = 8192, NAMES_BYTES_MAX = 400 };

/* "xent, gradmag, tok/s": what the shapes of line would give. */
static void put_names(const struct json *shapes, struct buf *out)
{
	for (const struct json *shape = json_first(shapes); shape; shape = json_next(shape)) {
		const struct json *item = json_first(json_get(shape, "definitions"));
		for (; item; item = json_next(item)) {
			struct span name = json_string_of(json_get(item, "Name"));
			if (out->len + name.len + 6 > NAMES_BYTES_MAX) {
				buf_append_text(out, ", …");
				return;
			}
			buf_append_text(out, out->len ? ", " : "");
			buf_append_span(out, name);
		}
	}
}

static enum status read_proposals(
	struct http_client *client, const char *job, struct json **document, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(PATH_BYTES_MAX);

	url_put_value(&path, "/api/v1/jobs/", span_from(job));
	buf_append_text(&path, "/definitions/proposals");
	return client_get_json(client, &path, document, err);
}

enum status unread_tell(struct http_client *client, const char *program, const char *job, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) names = BUF_INIT(2 * NAMES_BYTES_MAX);
	AUTO_DONE(buf) place = BUF_INIT(PATH_BYTES_MAX);
	int64_t lines = 0, extracted = 0;

	/* A token that may write need not read, and an older server knows nothing of this. */
	if (read_proposals(client, job, &document, err) != OK ||
		!span_equal(json_string_of(json_get(document, "missing")), SPAN("metrics")))
		return OK;
	TRY(json_want_i64(document, "lines", &lines, err));
	TRY(json_want_i64(document, "extracted_lines", &extracted, err));
	if (extracted < lines)
		return error_set(err, ERR_BUSY, "the server has not looked at all lines yet");
	put_names(json_get(document, "shapes"), &names);
	url_put_value(&place, "/jobs/", span_from(job));
	TRY(buf_status(&names, err));
	TRY(buf_status(&place, err));
	if (names.len)
		client_say(program,
			"no metric was found in the %" PRId64
			" lines of job '%s'; definitions are ready for numbers in them "
			"(%.*s): %.*s%.*s/definitions",
			lines, job, SPAN_ARGS(buf_span(&names)), SPAN_ARGS(http_client_server(client)),
			SPAN_ARGS(buf_span(&place)));
	return OK;
}
