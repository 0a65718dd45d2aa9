/* A message as its receiver will get it, by the formatter that sends it: nothing is stored and nothing is sent. */
#include "alert/format.h"
#include "api/alerts/webhooks.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "model/incident.h"
#include "pipeline/alert/report_message.h"
#include "read/restarts/restart_read.h"
#include "state/execute.h"
#include "store/run.h"

enum { MESSAGE_MAX_BYTES = 1 << 18, SUFFIX_MAX_BYTES = 4096 };

static struct incident_row example_incident(const struct webhook_row *hook, int64_t now_ms)
{
	return (struct incident_row){.job_id = 1,
		.incident_id = 1,
		.job = SPAN("example-run"),
		.metric = SPAN("train:loss"),
		.stream = SPAN("algo-1"),
		.detail = SPAN(""),
		.facts = SPAN(""),
		.incident = {.kind = INCIDENT_LOSS_SPIKE,
			.severity = hook->minimum_severity,
			.first_step = 41200,
			.last_step = 41200,
			.opened_step = 41200,
			.opened_ms = now_ms,
			.line = 82400,
			.value = 9.2,
			.expected = 2.3,
			.spread = 0.1,
			.score = 69,
			.worst = 9.2,
			.worst_step = 41200}};
}

/* Why a job failed is no part of a stored incident: the job says it. */
static enum status say_why(
	struct store_reader *reader, struct arena *arena, struct incident_row *row, struct error *err)
{
	struct job_row job;

	if (row->incident.kind != INCIDENT_JOB_FAILED)
		return OK;
	TRY(store_read_job_by_id(reader, arena, row->job_id, &job, err));
	row->detail = job.failure_reason;
	return OK;
}

/* The newest that such a webhook gets; of a team's, and where there is none, an example. *is_example says which. */
static enum status choose(struct store_reader *reader, struct arena *arena, const struct webhook_row *hook,
	int64_t now_ms, struct incident_row *out, bool *is_example, struct error *err)
{
	struct incident_filter filter = {
		.state = INCIDENT_OPEN, .kind = -1, .minimum = hook->minimum_severity, .cursor = SPAN(""), .limit = 1};
	struct incident_row *rows;
	struct span next_cursor;
	size_t count = 0;

	if (!hook->team.len)
		TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &next_cursor, err));
	*is_example = !count;
	*out = count ? rows[0] : example_incident(hook, now_ms);
	return *is_example ? OK : say_why(reader, arena, out, err);
}

static struct job_row example_job(int64_t now_ms)
{
	return (struct job_row){.job_id = 0,
		.name = SPAN("example-run"),
		.team = SPAN(""),
		.document = SPAN("{}"),
		.status = SPAN("Failed"),
		.secondary = SPAN("Failed"),
		.failure_reason = SPAN("AlgorithmError: exit code 1"),
		.created_ms = now_ms - DAY_MS,
		.started_ms = now_ms - DAY_MS,
		.ended_ms = now_ms,
		.modified_ms = now_ms};
}

static enum status write_restart(struct api *api, struct store_reader *reader, struct arena *arena, int64_t now_ms,
	struct buf *out, struct error *err)
{
	struct job_row job = example_job(now_ms);
	struct run_link link = {.job = job.name, .status = job.status, .created_ms = job.created_ms};
	struct restart restart = {.pipeline = api->options.pipeline,
		.reader = reader,
		.arena = arena,
		.now_ms = now_ms,
		.view = {.row = job},
		.links = &link,
		.link_count = 1,
		.successor = SPAN(""),
		.checkpoint = {.step = -1},
		.progress_step = -1,
		.progress_ms = -1,
		.failures = 1,
		.failures_in_row = 1};

	return restart_write_message(&restart, api->options.public_url, out, err);
}

/* Of what the webhook is told of: of incidents, else of states, else of restarts, else of days. */
static enum status write_payload(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct webhook_row *hook, int64_t now_ms, struct buf *out, bool *is_example, struct error *err)
{
	struct job_row job = example_job(now_ms);
	struct rule_place place = {SPAN("us-east-1"), SPAN("123456789012")};
	struct incident_row incident;

	*is_example = hook->events.len || !hook->report_at.len;
	if (!*is_example) {
		int64_t to_ms = writer_settled_ms(api->options.pipeline);
		return report_write_message(api->options.pipeline, hook,
			&(struct report_plan){.from_ms = to_ms - DAY_MS, .to_ms = to_ms}, out, err);
	}
	if (!hook->events.len || span_find(hook->events, SPAN("incident")) >= 0) {
		TRY(choose(reader, arena, hook, now_ms, &incident, is_example, err));
		rule_write_message(&incident, api->options.public_url, now_ms, out);
		return buf_status(out, err);
	}
	if (span_find(hook->events, SPAN("restart")) >= 0 && span_find(hook->events, SPAN("job_state")) < 0)
		return write_restart(api, reader, arena, now_ms, out, err);
	return rule_write_state_change(&job, NULL, 0, &place, "msg_example", now_ms, out, err);
}

enum status api_webhooks_preview(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	const struct webhook_formats *formats = api->options.webhook_formats;
	struct span public_url = api->options.public_url, secret;
	int64_t now_ms = http_request_arrival_ms(request);
	struct webhook_row hook = api_new_webhook(now_ms);
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;
	AUTO_DONE(buf) payload = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	AUTO_DONE(buf) suffix = BUF_INIT(SUFFIX_MAX_BYTES);
	const char *content_type;
	bool is_example;

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	TRY(api_check_members(body, WEBHOOK_MEMBERS WEBHOOK_READ_MEMBERS, err));
	TRY(api_read_webhook(api, body, &hook, &secret, err));
	TRY(api_own_team(request, &hook.team, err));
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	TRY(write_payload(api, reader, arena, &hook, now_ms, &payload, &is_example, err));
	/* A receiver's key is no business of a picture of its message. */
	bool has_key = webhook_format_secret(formats, hook.format) == WEBHOOK_SECRET_REQUIRED;
	struct webhook_shape shape = {hook.format, buf_span(&payload), SPAN("msg_example"),
		has_key ? SPAN("***") : SPAN(""), public_url, now_ms};
	TRY(webhook_render(formats, &shape, &message, &content_type, &suffix, err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_span(&w, "format", hook.format);
	json_put_bool(&w, "is_known_address", webhook_format_of_address(formats, hook.url).len != 0);
	json_put_bool(&w, "is_example", is_example);
	json_put_text(&w, "content_type", content_type);
	json_key(&w, "message");
	json_raw(&w, buf_span(&message));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
