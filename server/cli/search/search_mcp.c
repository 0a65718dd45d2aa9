#include "cli/search/search_mcp.h"

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "cli/http/client.h"

#include <errno.h>
#include <stdio.h>

enum { MAX_MESSAGE_BYTES = 64 << 10, MAX_HEADER_BYTES = 1 << 10, RPC_INTERNAL_ERROR = -32603, RPC_REQUEST = -32600 };

static enum status print_line(struct buf *out, struct error *err)
{
	buf_append_char(out, '\n');
	TRY(buf_status(out, err));
	if (fwrite(out->ptr, 1, out->len, stdout) != out->len || fflush(stdout))
		return error_set(err, ERR_IO, "cannot write the answer: %s", strerror(errno));
	return OK;
}

static enum status print_error(const struct json *id, int code, const char *text, struct error *err)
{
	AUTO_DONE(buf) out = BUF_INIT(2 * MAX_MESSAGE_BYTES);
	AUTO_DONE(buf) id_text = BUF_INIT(MAX_MESSAGE_BYTES);
	struct json_writer w = json_writer_on(&out);

	if (id)
		json_print(id, &id_text);
	json_object(&w);
	json_put_text(&w, "jsonrpc", "2.0");
	json_key(&w, "id");
	json_raw(&w, id_text.len ? buf_span(&id_text) : SPAN("null"));
	json_key(&w, "error");
	json_object(&w);
	json_put_i64(&w, "code", code);
	json_put_text(&w, "message", text);
	json_object_end(&w);
	json_object_end(&w);
	return print_line(&out, err);
}

/* What is no visible ASCII does not become a header: the server says that it is missing. */
static void put_header(struct buf *headers, const char *name, struct span value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] > '~')
			return;
	if (value.len && value.len <= 200)
		buf_printf(headers, "%s: %.*s\r\n", name, SPAN_ARGS(value));
}

static void put_headers(const struct json *message, struct buf *headers)
{
	const struct json *params = json_get(message, "params");
	const struct json *meta = params ? json_get(params, "_meta") : NULL;
	const struct json *version = meta ? json_get(meta, "io.modelcontextprotocol/protocolVersion") : NULL;

	if (!version)
		return;
	put_header(headers, "MCP-Protocol-Version", json_string_of(version));
	put_header(headers, "Mcp-Method", json_string_of(json_get(message, "method")));
	put_header(headers, "Mcp-Name", json_string_of(json_get(params, "name")));
}

static enum status relay_message(
	struct http_client *client, const struct json *message, struct span line, struct error *err)
{
	AUTO_DONE(buf) headers = BUF_INIT(MAX_HEADER_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	const struct json *id = json_get(message, "id");
	struct error failure = {0};

	put_headers(message, &headers);
	buf_append_char(&headers, 0);
	struct http_request request = {.method = "POST",
		.path = SPAN("/mcp"),
		.content_type = "application/json",
		.accept = "application/json, text/event-stream",
		.headers = headers.ptr,
		.body = line};
	enum status status = http_client_send(client, &request, &reply, &failure);
	if (!id)
		return OK; /* a notification: nobody waits for an answer */
	if (status != OK)
		return print_error(id, RPC_INTERNAL_ERROR, failure.text, err);
	if (reply.is_problem || !reply.is_json) {
		AUTO(json) problem = NULL;
		const struct json *detail = NULL;
		char text[600];
		if (json_parse(&problem, buf_span(&reply.body), NULL) == OK)
			detail = json_get(problem, "detail");
		snprintf(text, sizeof text, "the server answered with status %d: %.*s", reply.status_code,
			SPAN_ARGS(json_string_of(detail)));
		return print_error(id, RPC_INTERNAL_ERROR, text, err);
	}
	return print_line(&reply.body, err);
}

static enum status relay_line(struct http_client *client, struct span line, struct error *err)
{
	AUTO(json) message = NULL;
	struct error mistake = {0};

	if (!span_trim(line).len)
		return OK;
	if (line.len > MAX_MESSAGE_BYTES)
		return print_error(NULL, RPC_REQUEST, "a message is longer than 64 KiB", err);
	if (json_parse(&message, line, &mistake) != OK)
		return print_error(NULL, -32700, mistake.text, err);
	if (json_kind(message) != JSON_OBJECT)
		return print_error(NULL, RPC_REQUEST, "a message is an object of JSON-RPC", err);
	return relay_message(client, message, line, err);
}

/* The next line without its end, as much of it as a message may have and one byte more; what is longer is passed over. */
static bool read_line(struct buf *line)
{
	int c;

	buf_reset(line);
	while ((c = getc(stdin)) != EOF && c != '\n')
		if (line->len <= MAX_MESSAGE_BYTES)
			buf_append_char(line, (char)c);
	return c != EOF || line->len;
}

enum status search_mcp_relay(struct http_client *client, struct error *err)
{
	AUTO_DONE(buf) line = BUF_INIT(MAX_MESSAGE_BYTES + 1);

	while (read_line(&line)) {
		TRY(buf_status(&line, err));
		TRY(relay_line(client, buf_span(&line), err));
	}
	return OK;
}
