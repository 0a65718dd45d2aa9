#include "cli/sender/session_calls.h"

#include "base/json/json_write.h"
#include "cli/http/url.h"

#include <stdio.h>

enum { MAX_BODY_BYTES = 1 << 20, MAX_PATH_BYTES = 512, DEFAULT_HEARTBEAT_MS = 15000 };

static int64_t number_of(const struct json *document, const char *key, int64_t fallback)
{
	double number;

	return json_number_of(json_get(document, key), &number) && number >= 0 && number < 9e15 ? (int64_t)number
												: fallback;
}

void command_list_read(struct command_list *list, const struct json *reply)
{
	const struct json *commands = json_get(reply, "commands");

	list->count = 0;
	for (const struct json *entry = commands ? json_first(commands) : NULL; entry && list->count < MAX_COMMANDS;
		entry = json_next(entry)) {
		struct span name = json_string_of(json_get(entry, "command"));
		int64_t id = number_of(entry, "id", 0);
		if (id < 1)
			continue;
		list->items[list->count].id = id;
		snprintf(list->items[list->count++].name, sizeof list->items->name, "%.*s", SPAN_ARGS(name));
	}
}

static enum status put_asked(const struct session_asked *asked, struct buf *body, struct error *err)
{
	struct json_writer w = json_writer_on(body);

	json_object(&w);
	json_put_text(&w, "job", asked->job);
	if (asked->run_key)
		json_put_text(&w, "run_key", asked->run_key);
	if (asked->stream) {
		json_put_text(&w, "stream", asked->stream);
		json_put_text(&w, "session", asked->id);
		if (asked->source)
			json_put_text(&w, "source", asked->source);
	}
	if (asked->resumes)
		json_put_bool(&w, "resume", true);
	if (asked->is_past)
		json_put_bool(&w, "past", true);
	if (asked->waited_ms)
		json_put_i64(&w, "waited_ms", asked->waited_ms);
	if (asked->commands_after >= 0)
		json_put_i64(&w, "commands_after", asked->commands_after);
	const char *host = asked->host ? asked->host : asked->identity->host;
	if (!asked->is_bare)
		identity_put_fields(asked->identity, host, asked->metrics, &w);
	else if (host && *host)
		json_put_text(&w, "host", host);
	json_object_end(&w);
	return buf_status(body, err);
}

static void read_told(const struct json *document, struct session_told *told)
{
	snprintf(told->job, sizeof told->job, "%.*s", SPAN_ARGS(json_string_of(json_get(document, "job"))));
	told->next_offset = (uint64_t)number_of(document, "next_offset", 0);
	told->heartbeat_ms = number_of(document, "heartbeat_ms", DEFAULT_HEARTBEAT_MS);
	told->commands_after = number_of(document, "commands_after", 0);
	told->expires_in_ms = number_of(document, "expires_in_ms", 0);
	command_list_read(&told->commands, document);
}

enum status session_open(
	struct http_client *client, const struct session_asked *asked, struct session_told *told, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;
	struct http_request request = {
		.method = "POST", .path = SPAN("/api/v1/sessions"), .content_type = "application/json"};

	TRY(put_asked(asked, &body, err));
	request.body = buf_span(&body);
	enum status status = client_call(client, &request, &reply, err);
	if (reply.status_code == 404 || reply.status_code == 405)
		return error_set(err, ERR_UNSUPPORTED,
			"the server has no sessions (%s): it is older than this program and has to be upgraded first",
			reply.status_code == 404 ? "404" : "405");
	if (status != OK && status != ERR_CONFLICT)
		return status;
	if (json_parse(&document, buf_span(&reply.body), NULL) != OK)
		return error_set(err, ERR_UNAVAILABLE, "the reply is not JSON: is this an smfleet server?");
	read_told(document, told);
	if (status == OK && !told->job[0])
		return error_set(err, ERR_UNAVAILABLE, "the reply names no job: is this an smfleet server?");
	return status;
}

static enum status put_beat(const struct session_beat *beat, struct buf *body, struct error *err)
{
	struct json_writer w = json_writer_on(body);

	json_object(&w);
	if (beat->done_id) {
		json_key(&w, "acks");
		json_array(&w);
		json_object(&w);
		json_put_i64(&w, "id", beat->done_id);
		json_put_text(&w, "result", beat->result);
		json_object_end(&w);
		json_array_end(&w);
	}
	if (beat->is_end)
		json_put_bool(&w, "end", true);
	if (beat->has_exit) {
		json_key(&w, "exit");
		json_object(&w);
		json_put_i64(&w, beat->exit_signal ? "signal" : "code",
			beat->exit_signal ? beat->exit_signal : beat->exit_code);
		if (beat->exit_reason)
			json_put_text(&w, "reason", beat->exit_reason);
		if (beat->exit_ms)
			json_put_i64(&w, "at_ms", beat->exit_ms);
		json_object_end(&w);
	}
	json_object_end(&w);
	return buf_status(body, err);
}

enum status session_beat(
	struct http_client *client, const struct session_beat *beat, struct command_list *commands, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;

	url_put_value(&path, "/api/v1/sessions/", span_from(beat->id));
	TRY(buf_status(&path, err));
	TRY(put_beat(beat, &body, err));
	struct http_request request = {
		.method = "POST", .path = buf_span(&path), .content_type = "application/json", .body = buf_span(&body)};
	commands->count = 0;
	TRY(client_call(client, &request, &reply, err));
	if (json_parse(&document, buf_span(&reply.body), NULL) == OK)
		command_list_read(commands, document);
	return OK;
}
