/* Sessions of senders: which name their run has, who may write a stream, where it goes on, and how it ended. */
#include "api/core/api_state.h"
#include "api/core/audit.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/send/session_document.h"
#include "base/crypto.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "ingest/ingest.h"
#include "model/jobs/job_time.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/job.h"
#include "pipeline/jobs/session_table.h"
#include "state/jobs/history.h"
#include "store/jobs.h"

#include <inttypes.h>
#include <stdio.h>

enum { RANDOM_ID_BYTES = 16, DOCUMENT_MAX_BYTES = 4 << 20, HEARTBEATS_A_LEASE = 4, RESULT_MAX_BYTES = 500 };

/* What was asked, checked. */
struct asked {
	struct span job, run_key, stream, host, source, id;
	bool resumes, is_past;
	int64_t waited_ms;
	int64_t commands_after; /* -1: not said: whoever starts now is told nothing of before */
};

static enum status want_name(const struct json *body, const char *key, size_t most, struct span *out, struct error *err)
{
	*out = SPAN("");
	TRY(json_want_string(body, key, out, err));
	return out->len ? ingest_check_name(key, *out, most, err) : OK;
}

static enum status check_id(struct span id, struct error *err)
{
	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
				c == '-' || c == '_' || c == '.';
		if (!is_plain)
			return error_set_field(err, ERR_SEMANTIC, "session",
				"session '%.*s' is not made of letters, digits, '-', '_' and '.'", SPAN_ARGS(id));
	}
	return OK;
}

static enum status want_waited(const struct json *body, int64_t now_ms, int64_t *waited_ms, struct error *err)
{
	TRY(json_want_i64(body, "waited_ms", waited_ms, err));
	if (*waited_ms < 0 || *waited_ms > now_ms - JOB_EARLIEST_MS)
		return error_set_field(err, ERR_SEMANTIC, "waited_ms",
			"waited_ms is how long the process has been at work without a session: 0 or more, and not since before 1990");
	if (*waited_ms > HISTORY_WAITED_MAX_MS)
		*waited_ms = HISTORY_WAITED_MAX_MS;
	return OK;
}

static enum status read_asked(const struct json *body, int64_t now_ms, struct asked *asked, struct error *err)
{
	*asked = (struct asked){.commands_after = -1};
	TRY(want_name(body, "job", JOB_NAME_MAX_BYTES, &asked->job, err));
	if (!asked->job.len)
		return error_set_field(
			err, ERR_SEMANTIC, "job", "a session needs a job: {\"job\":\"…\",\"stream\":\"…\"}");
	TRY(want_name(body, "run_key", JOB_NAME_MAX_BYTES, &asked->run_key, err));
	TRY(want_name(body, "stream", SESSION_NAME_BYTES - 1, &asked->stream, err));
	TRY(want_name(body, "host", SESSION_NAME_BYTES - 1, &asked->host, err));
	TRY(want_name(body, "source", SESSION_NAME_BYTES - 1, &asked->source, err));
	TRY(want_name(body, "session", SESSION_ID_MAX_BYTES, &asked->id, err));
	TRY(check_id(asked->id, err));
	TRY(json_want_bool(body, "resume", &asked->resumes, err));
	TRY(json_want_bool(body, "past", &asked->is_past, err));
	TRY(want_waited(body, now_ms, &asked->waited_ms, err));
	TRY(json_want_i64(body, "commands_after", &asked->commands_after, err));
	if (asked->commands_after < -1)
		return error_set_field(
			err, ERR_SEMANTIC, "commands_after", "commands_after is a command's number, or 0");
	return OK;
}

/* That it is there already is what most processes of a job find. */
static enum status have_job(struct api *api, const struct http_request *request, const struct json *body,
	const char *name, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) document = NULL;

	TRY(session_write_document(body, name, &text, err));
	TRY(json_parse(&document, buf_span(&text), err));
	enum status status = pipeline_create_job(
		api->options.pipeline, document, api_team(request), http_request_arrival_ms(request), false, err);
	return status == ERR_CONFLICT ? OK : status;
}

/* What is refused leaves nothing behind, not even a name. */
static enum status check_job(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct json *body, const struct asked *asked, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) document = NULL;
	char name[JOB_NAME_MAX_BYTES + 1];

	if (asked->stream.len)
		TRY(session_check_room(api->sessions, asked->id, api_team(request), err));
	snprintf(name, sizeof name, "%.*s", SPAN_ARGS(asked->job));
	TRY(session_write_document(body, name, &text, err));
	TRY(json_parse(&document, buf_span(&text), err));
	enum status status =
		pipeline_check_job(api->options.pipeline, worker->reader, document, api_team(request), err);
	return status == ERR_CONFLICT || status == ERR_FORBIDDEN ? OK : status; /* the run may have another name */
}

/* ---- opening ---- */

static void fill_facts(const struct asked *asked, const struct session_stream *stream,
	const struct http_request *request, struct session_facts *facts)
{
	unsigned char random[RANDOM_ID_BYTES];

	*facts = (struct session_facts){.is_past = asked->is_past, .commands_after = INT64_MAX};
	snprintf(facts->job, sizeof facts->job, "%.*s", SPAN_ARGS(stream->job));
	snprintf(facts->stream, sizeof facts->stream, "%.*s", SPAN_ARGS(stream->stream));
	snprintf(facts->host, sizeof facts->host, "%.*s", SPAN_ARGS(stream->host));
	snprintf(facts->team, sizeof facts->team, "%.*s", SPAN_ARGS(api_team(request)));
	if (asked->id.len) {
		snprintf(facts->id, sizeof facts->id, "%.*s", SPAN_ARGS(asked->id));
	} else {
		crypto_random(random, sizeof random);
		crypto_hex(random, sizeof random, facts->id);
	}
}

struct lease {
	struct api *api;
	struct session_facts *facts;
};

/* The writer's thread: no command is told before it is known which are new. */
static enum status take_lease(void *context, int64_t job_id, uint32_t stream_id, struct error *err)
{
	const struct lease *lease = context;

	lease->facts->job_id = job_id;
	lease->facts->stream_id = stream_id;
	return session_open(lease->api->sessions, lease->facts, err);
}

/* Commands that are given meanwhile come twice, which is harmless; the other way round they would not come at all. */
static enum status take_stream(struct api *api, struct api_worker *worker, const struct asked *asked,
	struct session_facts *facts, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct command_row *rows;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(store_read_commands(worker->reader, arena, facts->job_id, &rows, &count, err));
	facts->commands_after = asked->commands_after >= 0 ? asked->commands_after
				: count                    ? rows[count - 1].command_id
							   : 0;
	TRY(session_open(api->sessions, facts, err));
	TRY(store_read_commands(worker->reader, arena, facts->job_id, &rows, &count, err));
	return session_add_commands(api->sessions, facts->job_id, rows, count) ? OK : error_no_memory(err);
}

static void write_session(
	struct api *api, const struct session_facts *facts, uint64_t next_offset, struct http_response *response)
{
	struct json_writer w = api_reply(response);

	json_object(&w);
	json_put_text(&w, "job", facts->job);
	json_put_text(&w, "session", facts->id);
	json_put_i64(&w, "next_offset", (int64_t)next_offset);
	json_put_i64(&w, "lease_ms", api->options.lease_ms);
	json_put_i64(&w, "heartbeat_ms", api->options.lease_ms / HEARTBEATS_A_LEASE);
	json_put_i64(&w, "commands_after", facts->commands_after);
	session_write_commands(api->sessions, span_from(facts->id), &w);
	json_object_end(&w);
}

static void write_name(const char *name, struct http_response *response)
{
	struct json_writer w = api_reply(response);

	json_object(&w);
	json_put_text(&w, "job", name);
	json_object_end(&w);
}

/* A job that had ended and goes on is changed by who says so; that others of its streams are opened is none of the audit log's. */
static enum status open_stream(struct api *api, struct api_worker *worker, const struct http_request *request,
	struct session_stream *stream, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_row job = {.ended_ms = 0};

	TRY(api_arena(&arena, err));
	if (stream->resumes && !stream->is_past)
		TRY(store_read_job(worker->reader, arena, stream->job, &job, err));
	if (job.ended_ms)
		audit_enter_deed(api, worker, request,
			&(struct audit_deed){.verb = "resume", .kind = "jobs", .id = stream->job});
	enum status status = pipeline_open_stream(api->options.pipeline, stream, err);
	if (job.ended_ms)
		audit_leave(api);
	return status;
}

enum status api_sessions_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	char name[JOB_NAME_MAX_BYTES + 1];
	struct session_facts facts;
	struct asked asked;

	TRY(api_body_object(request, &body, err));
	TRY(read_asked(body, http_request_arrival_ms(request), &asked, err));
	struct run_asked run = {.job = asked.job,
		.run_key = asked.run_key,
		.team = api_team(request),
		.resumes = asked.resumes,
		.is_all = !asked.stream.len};
	TRY(check_job(api, worker, request, body, &asked, err));
	TRY(pipeline_choose_run(api->options.pipeline, &run, name, err));
	TRY(have_job(api, request, body, name, err));
	response->status = 201;
	if (!asked.stream.len) {
		write_name(name, response);
		return buf_status(&response->body, err);
	}
	struct lease lease = {api, &facts};
	struct session_stream stream = {.take = take_lease,
		.take_context = &lease,
		.job = span_from(name),
		.asked = asked.job,
		.run_key = asked.run_key,
		.team = api_team(request),
		.stream = asked.stream,
		.host = asked.host,
		.source = asked.source,
		.resumes = asked.resumes,
		.is_past = asked.is_past,
		.now_ms = http_request_arrival_ms(request),
		.waited_ms = asked.waited_ms};
	fill_facts(&asked, &stream, request, &facts);
	enum status status = open_stream(api, worker, request, &stream, err);
	if (status != OK && facts.job_id && status != ERR_CONFLICT && status != ERR_FORBIDDEN && status != ERR_BUSY)
		session_close(api->sessions, span_from(facts.id)); /* it was taken, and not written */
	TRY(status);
	TRY(take_stream(api, worker, &asked, &facts, err));
	write_session(api, &facts, stream.next_offset, response);
	return buf_status(&response->body, err);
}

/* ---- heartbeats, acknowledgements, the end ---- */

static enum status acknowledge(
	struct api *api, const struct session_facts *facts, const struct json *entry, int64_t now_ms, struct error *err)
{
	struct command_ack_row row = {.job_id = facts->job_id,
		.stream = span_from(facts->stream),
		.acknowledged_ms = now_ms,
		.result = SPAN("")};

	TRY(json_want_i64(entry, "id", &row.command_id, err));
	TRY(json_want_string(entry, "result", &row.result, err));
	if (row.command_id < 1)
		return error_set_field(err, ERR_SEMANTIC, "acks", "an entry of acks needs the id of a command");
	if (row.result.len > RESULT_MAX_BYTES)
		return error_set_field(err, ERR_SEMANTIC, "acks",
			"the result of command %lld has %zu bytes; at most %d are taken", (long long)row.command_id,
			row.result.len, RESULT_MAX_BYTES);
	row.delivered_ms = session_delivered_ms(api->sessions, span_from(facts->id), row.command_id);
	TRY(pipeline_acknowledge_command(api->options.pipeline, &row, err));
	session_acknowledge(api->sessions, span_from(facts->id), row.command_id);
	return OK;
}

static enum status take_acks(
	struct api *api, const struct session_facts *facts, const struct json *body, int64_t now_ms, struct error *err)
{
	const struct json *acks = json_get(body, "acks");

	if (acks && json_kind(acks) != JSON_ARRAY)
		return error_set_field(
			err, ERR_SEMANTIC, "acks", "acks is an array, [{\"id\":1,\"result\":\"what was done\"}]");
	for (const struct json *entry = acks ? json_first(acks) : NULL; entry; entry = json_next(entry))
		TRY(acknowledge(api, facts, entry, now_ms, err));
	return OK;
}

static enum status want_exit_number(
	const struct json *exit, const char *key, int64_t most, int64_t *out, struct error *err)
{
	TRY(json_want_i64(exit, key, out, err));
	return *out >= 0 && *out <= most
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "exit", "%s of exit is %lld, not 0 to %lld", key,
				 (long long)*out, (long long)most);
}

static enum status take_exit(
	struct api *api, const struct session_facts *facts, const struct json *exit, int64_t now_ms, struct error *err)
{
	int64_t code = 0, number = 0;
	struct session_exit ending = {
		.row = {.job_id = facts->job_id, .stream_id = facts->stream_id, .reason = SPAN("")},
		.is_past = facts->is_past,
		.job = span_from(facts->job),
		.now_ms = now_ms};
	struct exit_row *row = &ending.row;

	if (json_kind(exit) != JSON_OBJECT || (!json_get(exit, "code") == !json_get(exit, "signal")))
		return error_set_field(err, ERR_SEMANTIC, "exit",
			"exit is an object with either code or signal, {\"code\":1,\"reason\":\"…\",\"at_ms\":…}");
	TRY(want_exit_number(exit, "code", 255, &code, err));
	TRY(want_exit_number(exit, "signal", 64, &number, err));
	if (json_get(exit, "signal") && number == 0)
		return error_set_field(err, ERR_SEMANTIC, "exit", "signal 0 ends no process");
	TRY(json_want_string(exit, "reason", &row->reason, err));
	TRY(json_want_i64(exit, "at_ms", &row->at_ms, err));
	if (row->reason.len > RESULT_MAX_BYTES)
		return error_set_field(err, ERR_SEMANTIC, "exit", "the reason of exit has %zu bytes (at most %d)",
			row->reason.len, RESULT_MAX_BYTES);
	bool is_dated = json_get(exit, "at_ms") && json_kind(json_get(exit, "at_ms")) != JSON_NULL;
	if (is_dated && (row->at_ms < JOB_EARLIEST_MS || row->at_ms > now_ms + JOB_AHEAD_MS))
		return error_set_field(err, ERR_SEMANTIC, "exit",
			"at_ms of exit is not between 1990 and a day from now: %" PRId64, row->at_ms);
	row->code = (int32_t)code;
	row->signal = (int32_t)number;
	return pipeline_put_exit(api->options.pipeline, &ending, err);
}

enum status api_session_beat(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	struct span id = http_request_segment(request, 0);
	int64_t now_ms = http_request_arrival_ms(request);
	AUTO(json) body = NULL;
	struct session_facts facts;
	bool is_end = false;

	TRY(api_body_object(request, &body, err));
	TRY(session_renew(api->sessions, id, SPAN(""), SPAN(""), api_team(request), &facts, err));
	TRY(json_want_bool(body, "end", &is_end, err));
	TRY(take_acks(api, &facts, body, now_ms, err));
	const struct json *exit = json_get(body, "exit");
	if (exit) {
		TRY(take_exit(api, &facts, exit, now_ms, err));
		goodput_settle(api->options.pipeline, own->reader, span_from(facts.job));
	} else if (is_end && !facts.is_past)
		TRY(pipeline_leave_stream(api->options.pipeline, facts.job_id, facts.stream_id, err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_i64(&w, "lease_ms", api->options.lease_ms);
	if (is_end || exit)
		session_close(api->sessions, id);
	else
		session_write_commands(api->sessions, id, &w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
