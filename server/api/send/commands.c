/* Commands to those who send a job: kept in the store, told in replies to their requests, answered by them. */
#include "api/send/commands.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "pipeline/jobs/session_table.h"
#include "store/jobs.h"

struct telling {
	struct json_writer *w;
	const struct command_row *command;
	const struct command_ack_row *acks; /* to the command */
	size_t count;
};

static bool is_answered(const struct telling *telling, struct span stream)
{
	for (size_t i = 0; i < telling->count; i++)
		if (span_equal(telling->acks[i].stream, stream))
			return true;
	return false;
}

static void write_waiting(void *context, struct span stream, struct span host, int64_t delivered_ms)
{
	struct telling *telling = context;

	(void)host;
	if (is_answered(telling, stream))
		return;
	json_object(telling->w);
	json_put_span(telling->w, "stream", stream);
	json_put_text(telling->w, "state", delivered_ms ? "delivered" : "queued");
	if (delivered_ms)
		json_put_i64(telling->w, "delivered_ms", delivered_ms);
	json_object_end(telling->w);
}

static void write_answers(const struct telling *telling)
{
	for (size_t i = 0; i < telling->count; i++) {
		const struct command_ack_row *ack = &telling->acks[i];
		json_object(telling->w);
		json_put_span(telling->w, "stream", ack->stream);
		json_put_text(telling->w, "state", "acknowledged");
		if (ack->delivered_ms)
			json_put_i64(telling->w, "delivered_ms", ack->delivered_ms);
		json_put_i64(telling->w, "acknowledged_ms", ack->acknowledged_ms);
		json_put_span(telling->w, "result", ack->result);
		json_object_end(telling->w);
	}
}

static void write_command(struct api *api, struct telling *telling)
{
	const struct command_row *command = telling->command;

	json_object(telling->w);
	json_put_i64(telling->w, "id", command->command_id);
	json_put_span(telling->w, "command", command->command);
	if (command->stream.len)
		json_put_span(telling->w, "stream", command->stream);
	json_put_i64(telling->w, "created_ms", command->created_ms);
	json_key(telling->w, "streams");
	json_array(telling->w);
	write_answers(telling);
	session_each(api->sessions, command, write_waiting, telling);
	json_array_end(telling->w);
	json_object_end(telling->w);
}

enum status api_commands_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct telling telling = {.w = &w};
	struct command_ack_row *acks;
	struct command_row *rows;
	struct job_row job;
	size_t count, ack_count, at = 0;

	TRY(api_arena(&arena, err));
	TRY(store_read_job(own->reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_commands(own->reader, arena, job.job_id, &rows, &count, err));
	TRY(store_read_command_acks(own->reader, arena, job.job_id, &acks, &ack_count, err));
	json_object(&w);
	json_key(&w, "commands");
	json_array(&w);
	for (size_t i = 0; i < count; i++) {
		telling.command = &rows[i];
		telling.acks = acks ? acks + at : NULL; /* both are in the order of the commands */
		for (telling.count = 0; acks && at < ack_count && acks[at].command_id == rows[i].command_id; at++)
			telling.count++;
		write_command(api, &telling);
	}
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

static void count_session(void *context, struct span stream, struct span host, int64_t delivered_ms)
{
	(void)stream;
	(void)host;
	(void)delivered_ms;
	++*(size_t *)context;
}

void api_command_given(struct api *api, const struct command_row *command)
{
	if (!session_add_commands(api->sessions, command->job_id, command, 1))
		log_line(LOG_ERROR, "command_failed",
			"error=\"out of memory\""); /* told when the session is opened again */
}

int64_t api_lease_end_ms(struct api *api, int64_t job_id)
{
	int64_t end_ms = session_lease_end_ms(api->sessions, job_id);

	return end_ms ? clock_wall_ms() - clock_mono_ms() + end_ms : 0;
}

enum status api_commands_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct command_row row = {
		.command = SPAN(""), .stream = SPAN(""), .created_ms = http_request_arrival_ms(request)};
	AUTO(json) body = NULL;
	size_t sessions = 0;

	(void)worker;
	TRY(api_body_object(request, &body, err));
	TRY(json_want_string(body, "command", &row.command, err));
	TRY(json_want_string(body, "stream", &row.stream, err));
	bool is_stop = span_equal(row.command, SPAN("stop"));
	if (!is_stop && !span_equal(row.command, SPAN("checkpoint")))
		return error_set_field(err, ERR_SEMANTIC, "command",
			"command '%.*s' is neither \"checkpoint\" nor \"stop\"", SPAN_ARGS(row.command));
	bool ends_job = is_stop && !row.stream.len;
	TRY((ends_job ? pipeline_stop_job : pipeline_add_command)(api->options.pipeline,
		http_request_segment(request, 0), api_team(request), api->options.max_commands, &row, err));
	if (!session_add_commands(api->sessions, row.job_id, &row, 1)) /* before anything else can fail: it is stored */
		return error_no_memory(err);
	session_each(api->sessions, &row, count_session, &sessions);
	struct json_writer w = api_reply(response);
	response->status = 202;
	json_object(&w);
	json_put_i64(&w, "id", row.command_id);
	json_put_span(&w, "command", row.command);
	json_put_i64(&w, "sessions", (int64_t)sessions);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
