#include "cli/http/client.h"

#include "cli/table/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
	CONNECT_TIMEOUT_MS = 5000,
	REQUEST_TIMEOUT_MS = 30000,
	MAX_REPLY_BYTES = 64 << 20,
	MAX_TOKEN_BYTES = 4096,
	MAX_HELP_BYTES = 1 << 20
};

static enum status read_token(const char *path, char token[MAX_TOKEN_BYTES], struct error *err)
{
	FILE *file = fopen(path, "rbe");

	if (!file)
		return error_set_field(
			err, ERR_INVALID, "token-file", "cannot open token file '%s': %s", path, strerror(errno));
	size_t len = fread(token, 1, MAX_TOKEN_BYTES - 1, file);
	fclose(file);
	struct span text = span_trim(span_of(token, len));
	if (text.len == 0)
		return error_set_field(err, ERR_INVALID, "token-file", "token file '%s' is empty", path);
	memmove(token, text.ptr, text.len);
	token[text.len] = 0;
	return OK;
}

enum status client_open(struct http_client **out, const struct options *options, const char *program, struct error *err)
{
	const char *token_file = options_text(options, "token-file");
	char token[MAX_TOKEN_BYTES], agent[64];

	if (options_origin(options, "token") == OPTION_FROM_FLAG)
		return error_set_field(err, ERR_INVALID, "token",
			"a token on the command line is seen by everybody on this machine; use --token-file or SMFLEET_TOKEN");
	if (!options_text(options, "tls-cert") != !options_text(options, "tls-key"))
		return error_set_field(err, ERR_INVALID, options_text(options, "tls-cert") ? "tls-key" : "tls-cert",
			"a certificate of one's own needs --tls-cert and --tls-key");
	if (token_file)
		TRY(read_token(token_file, token, err));
	else if (options_text(options, "token"))
		snprintf(token, sizeof token, "%s", options_text(options, "token"));
	snprintf(agent, sizeof agent, "%s/" SM_VERSION, program);
	return http_client_new(out,
		&(struct http_client_options){.server = options_text(options, "server"),
			.token = token_file || options_text(options, "token") ? token : NULL,
			.ca_file = options_text(options, "ca-file"),
			.cert_file = options_text(options, "tls-cert"),
			.key_file = options_text(options, "tls-key"),
			.agent = agent,
			.connect_timeout_ms = CONNECT_TIMEOUT_MS,
			.request_timeout_ms = REQUEST_TIMEOUT_MS,
			.max_reply_bytes = MAX_REPLY_BYTES},
		err);
}

static enum status status_of_code(int code)
{
	static const struct {
		int code;
		enum status status;
	} table[] = {{400, ERR_INVALID}, {401, ERR_UNAUTHORIZED}, {403, ERR_FORBIDDEN}, {404, ERR_NOT_FOUND},
		{408, ERR_BUSY}, {409, ERR_CONFLICT}, {410, ERR_GONE}, {412, ERR_PRECONDITION}, {413, ERR_TOO_LARGE},
		{415, ERR_UNSUPPORTED}, {421, ERR_MISDIRECTED}, {422, ERR_SEMANTIC}, {429, ERR_BUSY}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].code == code)
			return table[i].status;
	return code >= 500 ? ERR_UNAVAILABLE : ERR_INVALID;
}

/* The problem document's own words, else the bare number. */
static enum status read_problem(const struct http_reply *reply, struct error *err)
{
	enum status status = status_of_code(reply->status_code);
	AUTO(json) problem = NULL;
	struct span detail = {0};
	double number;

	if (reply->is_json && json_parse(&problem, buf_span(&reply->body), NULL) == OK) {
		detail = json_string_of(json_get(problem, "detail"));
		if (!detail.len)
			detail = json_string_of(json_get(problem, "title"));
		if (!detail.len) /* MLflow's form */
			detail = json_string_of(json_get(problem, "message"));
	}
	if (detail.len)
		error_set(err, status, "%.*s", SPAN_ARGS(detail));
	else
		error_set(err, status, "the server answered with status %d", reply->status_code);
	if (err && problem) {
		struct span field = json_string_of(json_get(problem, "field"));
		snprintf(err->field, sizeof err->field, "%.*s", SPAN_ARGS(field));
		if (json_number_of(json_get(problem, "column"), &number) && number >= 1 && number < 1e9)
			err->column = (int64_t)number;
	}
	if (err)
		err->retry_after_s = reply->retry_after_s;
	return status;
}

enum status client_fetch(
	struct http_client *client, const struct http_request *request, struct http_reply *reply, struct error *err)
{
	struct error local = {0};
	struct error *cause = err ? err : &local;
	enum status status = http_client_send(client, request, reply, cause);

	if (status == ERR_INVALID || status == ERR_UNSUPPORTED)
		return cause->status = ERR_UNAVAILABLE; /* something answered, but not a server of ours */
	TRY(status);
	if (reply->status_code >= 200 && reply->status_code < 300)
		return OK;
	return read_problem(reply, cause);
}

enum status client_call(
	struct http_client *client, const struct http_request *request, struct http_reply *reply, struct error *err)
{
	enum status status = client_fetch(client, request, reply, err);

	if (status != ERR_TOO_LARGE || reply->status_code >= 300) /* the server's own word */
		return status;
	if (err)
		err->status = ERR_UNAVAILABLE;
	return ERR_UNAVAILABLE;
}

enum status client_get_json(
	struct http_client *client, const struct buf *path, struct json **document, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = "GET", .path = buf_span(path)};

	*document = NULL;
	TRY(buf_status(path, err));
	TRY(client_call(client, &request, &reply, err));
	if (json_parse(document, buf_span(&reply.body), NULL) != OK)
		return error_set(err, ERR_UNAVAILABLE, "the reply is not JSON: is this an smfleet server?");
	return OK;
}

bool client_is_passing(enum status status)
{
	return status == ERR_BUSY || status == ERR_UNAVAILABLE || status == ERR_MEMORY;
}

bool client_print_help(const struct option_program *program, const struct options *options)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_HELP_BYTES);

	options_print(program, options_action(options), &text);
	fwrite(text.ptr ? text.ptr : "", 1, text.len, stdout);
	return options_action(options) != OPTIONS_RUN;
}

void client_say(const char *program, const char *format, ...)
{
	char text[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	/* The words may be the server's, or a job's name in them: what steers a terminal stays out of it. */
	AUTO_DONE(buf) safe = BUF_INIT(sizeof text);
	struct span rest = span_from(text), line;
	while (span_next(&rest, '\n', &line)) {
		if (safe.len)
			buf_append_char(&safe, '\n');
		text_put_safe(&safe, line);
	}
	/* over a line of progress, should there be one */
	fprintf(stderr, "%s%s: %.*s\n", isatty(STDERR_FILENO) ? "\r\x1b[K" : "", program, SPAN_ARGS(buf_span(&safe)));
}
