#include "cli/search/search_document.h"

#include "cli/http/client.h"

#include <errno.h>
#include <stdio.h>

enum { MAX_REQUEST_BYTES = 1 << 20, PAGE_MAX_ROWS = 100 };

enum status search_read_whole(FILE *file, const char *name, struct buf *out, struct error *err)
{
	char part[4096];
	size_t len;

	while (!out->failure && (len = fread(part, 1, sizeof part, file)) > 0)
		buf_append(out, part, len);
	if (out->failure == ERR_TOO_LARGE)
		return error_set(
			err, ERR_INVALID, "%s has more than %zu bytes: that is no search", name, out->max_bytes);
	if (ferror(file))
		return error_set(err, ERR_INVALID, "cannot read %s: %s", name, strerror(errno));
	return buf_status(out, err);
}

static enum status read_text(const char *path, struct buf *out, struct error *err)
{
	bool is_input = strcmp(path, "-") == 0;
	FILE *file = is_input ? stdin : fopen(path, "rbe");

	if (!file)
		return error_set_field(
			err, ERR_INVALID, "sagemaker-json", "cannot open '%s': %s", path, strerror(errno));
	enum status status = search_read_whole(file, is_input ? "standard input" : path, out, err);
	if (!is_input)
		fclose(file);
	return status;
}

enum status search_document_read(const char *path, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_REQUEST_BYTES);
	AUTO_DONE(buf) whole = BUF_INIT(2 * MAX_REQUEST_BYTES);
	AUTO(json) document = NULL;

	TRY(read_text(path, &text, err));
	if (json_parse(&document, buf_span(&text), err) != OK) {
		error_prefix(err, "%s", path);
		return ERR_INVALID;
	}
	if (json_kind(document) != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "%s: a Search request is a JSON object", path);
	bool is_request = json_get(document, "SearchExpression") || json_get(document, "Resource");
	buf_append_text(&whole, is_request ? "" : "{\"SearchExpression\":");
	json_print(document, &whole);
	buf_append_text(&whole, is_request ? "" : "}");
	TRY(buf_status(&whole, err));
	TRY(json_parse(out, buf_span(&whole), err));
	if (!json_get(*out, "Resource") && !json_set_string(*out, "Resource", SPAN("TrainingJob")))
		return error_no_memory(err);
	return OK;
}

static enum status set_number(struct json *request, const char *name, uint64_t value, struct error *err)
{
	AUTO(json) number = NULL;
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	TRY(json_parse(&number, span_from(text), err));
	return json_set_copy(request, name, number) ? OK : error_no_memory(err);
}

enum status search_document_send(struct http_client *client, struct json *request, uint64_t rows, struct span token,
	struct json **page, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(2 * MAX_REQUEST_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	TRY(set_number(request, "MaxResults", rows < PAGE_MAX_ROWS ? rows : PAGE_MAX_ROWS, err));
	if (token.len && !json_set_string(request, "NextToken", token))
		return error_no_memory(err);
	if (!token.len)
		json_remove(request, "NextToken");
	json_print(request, &body);
	TRY(buf_status(&body, err));
	struct http_request post = {.method = "POST",
		.path = SPAN("/api/v1/search"),
		.content_type = "application/json",
		.body = buf_span(&body)};
	TRY(client_call(client, &post, &reply, err));
	if (json_parse(page, buf_span(&reply.body), err) != OK || json_kind(json_get(*page, "Results")) != JSON_ARRAY)
		return error_set(err, ERR_UNAVAILABLE, "the reply is no answer to Search: is this an smfleet server?");
	return OK;
}
