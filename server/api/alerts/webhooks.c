#include "api/alerts/webhooks.h"

#include "alert/rule.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "pipeline/alert/notices.h"
#include "state/execute.h"
#include "store/alerts.h"
#include "store/jobs.h"

#include <stdio.h>

enum {
	LIMIT_DEFAULT = 50,
	LIMIT_MAX = 1000,
	SECRET_BYTES = 24,
	URL_MAX_BYTES = 2000,
	PER_MINUTE = 60,
	PER_MINUTE_OF_CHATS = 20, /* what WeCom's and DingTalk's robots take */
	PER_MINUTE_MAX = 100000,
	HEARTBEAT_MAX_S = 7 * 86400
};

static void write_events(struct json_writer *w, struct span events)
{
	struct span rest = events, name;

	json_key(w, "events");
	json_array(w);
	while (rest.len && span_next(&rest, ' ', &name))
		json_span(w, name);
	if (rest.len)
		json_span(w, rest);
	json_array_end(w);
}

static void write_webhook(struct json_writer *w, const struct webhook_row *row)
{
	json_object(w);
	json_put_i64(w, "id", row->webhook_id);
	json_put_span(w, "url", row->url);
	json_put_span(w, "format", row->format);
	json_put_text(w, "minimum_severity", severity_name(row->minimum_severity));
	json_put_bool(w, "enabled", row->is_enabled);
	json_put_span(w, "team", row->team);
	json_put_bool(w, "has_secret", row->sealed_secret.len != 0);
	write_events(w, row->events);
	json_put_i64(w, "heartbeat_s", row->heartbeat_ms / 1000);
	json_put_i64(w, "per_minute", row->per_minute);
	json_put_span(w, "report_at", row->report_at);
	json_put_span(w, "report_tz", row->report_tz);
	if (row->report_due_ms)
		json_put_i64(w, "next_report_ms", row->report_due_ms);
	json_put_i64(w, "created_ms", row->created_ms);
	json_object_end(w);
}

enum status api_webhooks_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span own = api_team(request);
	struct webhook_row *rows;
	size_t count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_read_webhooks(((struct api_worker *)worker)->reader, arena, &rows, &count, err));
	json_object(&w);
	json_key(&w, "webhooks");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		if (!own.len || span_equal(own, rows[i].team)) /* who has a chat's URL can write there */
			write_webhook(&w, &rows[i]);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* With stars in place of what is secret, as the audit log has it: the rest of it is not known any more. */
static enum status check_whole(struct span url, struct error *err)
{
	if (span_find(url, SPAN("***")) >= 0)
		return error_set_field(err, ERR_SEMANTIC, "url",
			"this url is masked, as the audit log shows it, and calls nobody: send the whole one, or leave url out to keep the one that is there");
	return OK;
}

static enum status check_url(struct span url, struct error *err)
{
	if (!span_starts_with(url, SPAN("http://")) && !span_starts_with(url, SPAN("https://")))
		return error_set_field(
			err, ERR_SEMANTIC, "url", "a webhook needs a url that begins with http:// or https://");
	if (url.len > URL_MAX_BYTES || memchr(url.ptr, 0, url.len))
		return error_set_field(err, ERR_SEMANTIC, "url", "a url has at most %d bytes", URL_MAX_BYTES);
	if (webhook_is_nowhere(url))
		return error_set_field(err, ERR_SEMANTIC, "url",
			"no webhook can be at this address: link-local addresses, those of metadata services, multicast and the like are never sent to, and no option allows them");
	return OK;
}

static enum status check_format(const struct api *api, struct span format, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(512);

	if (webhook_format_is_known(api->options.webhook_formats, format))
		return OK;
	webhook_format_names(api->options.webhook_formats, &names);
	return error_set_field(err, ERR_SEMANTIC, "format", "format '%.*s' is not known; there is %.*s",
		(int)(format.len < 80 ? format.len : 80), format.ptr, SPAN_ARGS(buf_span(&names)));
}

/* *events is one of eight constant texts. */
static enum status read_events(const struct json *events, struct span *out, struct error *err)
{
	static const char *const names[] = {"incident", "job_state", "restart"};
	static const char *const sets[] = {"", "incident", "job_state", "incident job_state", "restart",
		"incident restart", "job_state restart", "incident job_state restart"};
	unsigned set = 0;

	if (!events || json_kind(events) == JSON_NULL)
		return OK;
	if (json_kind(events) != JSON_ARRAY)
		return error_set_field(
			err, ERR_SEMANTIC, "events", "events is an array of incident, job_state and restart");
	for (const struct json *at = json_first(events); at; at = json_next(at)) {
		unsigned name = 0;
		while (name < 3 && !span_equal(json_string_of(at), span_from(names[name])))
			name++;
		if (name == 3)
			return error_set_field(
				err, ERR_SEMANTIC, "events", "events holds incident, job_state and restart");
		set |= 1u << name;
	}
	*out = span_from(sets[set]);
	return OK;
}

/* A job's document is for a program that checks who sent it, not for a chat. */
static enum status check_restart(const struct api *api, const struct webhook_row *row, struct error *err)
{
	bool is_signed = webhook_format_secret(api->options.webhook_formats, row->format) == WEBHOOK_SECRET_MADE;

	if (is_signed || span_find(row->events, SPAN("restart")) < 0)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "events",
		"restart is told in the formats json and cloudevents alone, which are signed: its message holds the job's document");
}

static enum status read_limits(
	const struct api *api, const struct json *body, struct webhook_row *row, struct error *err)
{
	int64_t heartbeat_s = row->heartbeat_ms / 1000;

	TRY(json_want_i64(body, "heartbeat_s", &heartbeat_s, err));
	if (row->per_minute < 0) /* new */
		row->per_minute =
			webhook_format_secret(api->options.webhook_formats, row->format) == WEBHOOK_SECRET_MADE
				? PER_MINUTE
				: PER_MINUTE_OF_CHATS;
	TRY(json_want_i64(body, "per_minute", &row->per_minute, err));
	if (heartbeat_s < 0 || heartbeat_s > HEARTBEAT_MAX_S)
		return error_set_field(err, ERR_SEMANTIC, "heartbeat_s", "heartbeat_s is 0 (none) to %d, not %lld",
			HEARTBEAT_MAX_S, (long long)heartbeat_s);
	if (row->per_minute < 0 || row->per_minute > PER_MINUTE_MAX)
		return error_set_field(err, ERR_SEMANTIC, "per_minute", "per_minute is 0 (no limit) to %d, not %lld",
			PER_MINUTE_MAX, (long long)row->per_minute);
	row->heartbeat_ms = heartbeat_s * 1000;
	return OK;
}

/* A pager would have a report as something that is wrong until it is over, which it never is. */
static enum status check_report(const struct webhook_row *row, struct error *err)
{
	if (span_equal(row->report_at, SPAN("24:00"))) /* of quiet hours it is an end */
		return error_set_field(err, ERR_SEMANTIC, "report_at",
			"report_at is a time of day as 07:30: say 00:00, when the next day begins, not '24:00'");
	if (!span_equal(row->format, SPAN("pagerduty")))
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "report_at",
		"a report is no incident: PagerDuty would keep it open; choose another format");
}

static enum status read_report(const struct json *body, struct webhook_row *row, int64_t now_ms, struct error *err)
{
	struct webhook_row planned;
	struct report_plan plan;

	TRY(json_want_string(body, "report_at", &row->report_at, err));
	TRY(json_want_string(body, "report_tz", &row->report_tz, err));
	bool is_wanted = row->report_at.len > 0;
	if (is_wanted)
		TRY(check_report(row, err));
	planned = *row;
	if (!is_wanted) /* the zone has to be one all the same: it is kept for when there is a time */
		planned.report_at = SPAN("00:00");
	TRY(report_plan(&planned, now_ms, &plan, err));
	row->report_due_ms = is_wanted ? plan.next_ms : 0;
	return OK;
}

/* Which nobody states is that of the address. What was stated for an address that is not known stays for the next one. */
static void choose_format(const struct webhook_formats *formats, struct span old_url, struct webhook_row *row)
{
	struct span known = webhook_format_of_address(formats, row->url);
	struct span before = webhook_format_of_address(formats, old_url);

	if (span_equal(old_url, row->url))
		return;
	if (known.len)
		row->format = known;
	else if (!row->format.len || (before.len && span_equal(before, row->format)))
		row->format = SPAN("json");
}

/* Into what the row is so far: what the body does not say stays. */
enum status api_read_webhook(
	const struct api *api, const struct json *body, struct webhook_row *row, struct span *secret, struct error *err)
{
	struct span severity = span_from(severity_name(row->minimum_severity)), url = row->url, format = SPAN("");

	*secret = SPAN("");
	TRY(json_want_string(body, "url", &row->url, err));
	TRY(json_want_string(body, "format", &format, err));
	if (format.len)
		row->format = format;
	else
		choose_format(api->options.webhook_formats, url, row);
	TRY(json_want_string(body, "team", &row->team, err));
	TRY(json_want_string(body, "secret", secret, err));
	TRY(json_want_string(body, "minimum_severity", &severity, err));
	TRY(json_want_bool(body, "enabled", &row->is_enabled, err));
	TRY(check_url(row->url, err));
	if (json_get(body, "url"))
		TRY(check_whole(row->url, err));
	TRY(check_format(api, row->format, err));
	if (!severity_parse(severity, &row->minimum_severity))
		return error_set_field(err, ERR_SEMANTIC, "minimum_severity",
			"severity '%.*s' is none of info, warning, critical", SPAN_ARGS(severity));
	TRY(read_events(json_get(body, "events"), &row->events, err));
	TRY(check_restart(api, row, err));
	TRY(read_report(body, row, clock_wall_ms(), err));
	return read_limits(api, body, row, err);
}

struct webhook_row api_new_webhook(int64_t now_ms)
{
	return (struct webhook_row){.url = SPAN(""),
		.format = SPAN(""),
		.sealed_secret = SPAN(""),
		.minimum_severity = SEVERITY_WARNING,
		.is_enabled = true,
		.team = SPAN(""),
		.events = SPAN("incident"),
		.per_minute = -1,
		.report_at = SPAN(""),
		.report_tz = SPAN(""),
		.created_ms = now_ms};
}

static enum status seal_whsec(struct api *api, struct buf *text, struct buf *sealed, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(256);

	TRY(buf_status(text, err));
	if (!webhook_secret_parse(buf_span(text), &key))
		return error_set_field(
			err, ERR_SEMANTIC, "secret", "a secret is whsec_ and base64 (Standard Webhooks)");
	return crypto_seal(api->options.seal_key, buf_span(&key), sealed, err);
}

/* The one given, or a new one where the format has one of ours; either way it is stored sealed and shown this once. */
static enum status take_secret(
	struct api *api, struct span format, struct span given, struct buf *text, struct buf *sealed, struct error *err)
{
	enum webhook_secret kind = webhook_format_secret(api->options.webhook_formats, format);
	unsigned char random[SECRET_BYTES];

	buf_append_span(text, given);
	if (!given.len && kind == WEBHOOK_SECRET_MADE) {
		crypto_random(random, sizeof random);
		buf_append_text(text, "whsec_");
		crypto_base64(span_of((const char *)random, sizeof random), text);
	}
	if (!text->len && kind == WEBHOOK_SECRET_REQUIRED)
		return error_set_field(err, ERR_SEMANTIC, "secret",
			"format %.*s needs the receiver's key as its secret", SPAN_ARGS(format));
	if (!text->len)
		return OK;
	if (kind != WEBHOOK_SECRET_TEXT && kind != WEBHOOK_SECRET_REQUIRED)
		return seal_whsec(api, text, sealed, err);
	TRY(buf_status(text, err));
	return crypto_seal(api->options.seal_key, buf_span(text), sealed, err);
}

static enum status write_row(void *context, struct store_tx *tx, struct error *err)
{
	struct webhook_row *row = context;

	row->webhook_id = 0; /* a new one, also when this runs again after a commit that failed */
	return store_put_webhook(tx, row, err);
}

enum status api_webhooks_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	AUTO_DONE(buf) secret = BUF_INIT(512);
	AUTO_DONE(buf) sealed = BUF_INIT(1024);
	struct webhook_row row = api_new_webhook(http_request_arrival_ms(request));
	struct span given;

	(void)worker;
	TRY(api_body_object(request, &body, err));
	TRY(api_check_members(body, WEBHOOK_MEMBERS WEBHOOK_READ_MEMBERS, err));
	TRY(api_read_webhook(api, body, &row, &given, err));
	TRY(api_own_team(request, &row.team, err));
	TRY(take_secret(api, row.format, given, &secret, &sealed, err));
	row.sealed_secret = buf_span(&sealed);
	TRY(writer_execute(api->options.pipeline, write_row, &row, err));
	struct json_writer w = api_reply(response);
	response->status = 201;
	json_object(&w);
	json_put_i64(&w, "id", row.webhook_id);
	json_put_span(&w, "url", row.url);
	json_put_span(&w, "format", row.format);
	if (secret.len)
		json_put_span(&w, "secret", buf_span(&secret));
	json_object_end(&w);
	return OK;
}

static enum status parse_number(
	const struct http_request *request, unsigned segment, const char *what, int64_t *id, struct error *err)
{
	struct span text = http_request_segment(request, segment);

	if (!span_parse_i64(text, id) || *id < 1)
		return error_set(err, ERR_NOT_FOUND, "there is no %s '%.*s'", what, SPAN_ARGS(text));
	return OK;
}

/* A token of a team has to do with that team's webhooks only. */
static enum status check_webhook(
	struct store_reader *reader, int64_t id, const struct http_request *request, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct webhook_row row;
	struct span own = api_team(request);

	TRY(api_arena(&arena, err));
	TRY(store_read_webhook(reader, arena, id, &row, err));
	if (own.len && !span_equal(own, row.team))
		return error_set(err, ERR_FORBIDDEN, "webhook %lld belongs to %s%.*s", (long long)id,
			row.team.len ? "team " : "no team", SPAN_ARGS(row.team));
	return OK;
}

/* *secret: the new one, or it keeps its own; of another kind of format it cannot. */
static enum status change_webhook(struct api *api, const struct http_request *request, struct arena *arena,
	struct store_reader *reader, const struct json *body, struct webhook_row *row, struct buf *sealed,
	struct error *err)
{
	AUTO_DONE(buf) secret = BUF_INIT(512);
	struct span given;

	TRY(store_read_webhook(reader, arena, row->webhook_id, row, err));
	enum webhook_secret kind = webhook_format_secret(api->options.webhook_formats, row->format);
	TRY(api_read_webhook(api, body, row, &given, err));
	TRY(api_own_team(request, &row->team, err));
	bool is_same = kind == webhook_format_secret(api->options.webhook_formats, row->format);
	if (!given.len && is_same)
		return OK;
	TRY(take_secret(api, row->format, given, &secret, sealed, err));
	row->sealed_secret = buf_span(sealed);
	return OK;
}

/* What the server itself notes of a webhook may have moved on since it was read. A report that is due, and not told yet, is told. */
static enum status update_row(void *context, struct store_tx *tx, struct error *err)
{
	struct webhook_row *row = context, now;
	AUTO(arena) arena = NULL;

	TRY(api_arena(&arena, err));
	TRY(store_read_webhook(store_tx_reader(tx), arena, row->webhook_id, &now, err));
	row->beat_ms = now.beat_ms;
	if (now.is_enabled && span_equal(now.report_at, row->report_at) && span_equal(now.report_tz, row->report_tz))
		row->report_due_ms = now.report_due_ms;
	return store_put_webhook(tx, row, err);
}

enum status api_webhook_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	struct api *api = context;
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;
	AUTO_DONE(buf) sealed = BUF_INIT(1024);
	struct webhook_row row = {0};

	TRY(api_arena(&arena, err));
	TRY(parse_number(request, 0, "webhook", &row.webhook_id, err));
	TRY(check_webhook(reader, row.webhook_id, request, err));
	TRY(api_body_object(request, &body, err));
	TRY(api_check_members(body, WEBHOOK_MEMBERS WEBHOOK_READ_MEMBERS, err));
	TRY(change_webhook(api, request, arena, reader, body, &row, &sealed, err));
	TRY(writer_execute(api->options.pipeline, update_row, &row, err));
	if (api->options.deliveries_due) /* it may have been off */
		api->options.deliveries_due(api->options.context);
	struct json_writer w = api_reply(response);
	write_webhook(&w, &row);
	return buf_status(&response->body, err);
}

/* It is in the webhook's log by that number. */
static void write_queued(int64_t delivery_id, struct http_response *response)
{
	struct json_writer w = api_reply(response);

	response->status = 202;
	json_object(&w);
	json_put_i64(&w, "n", delivery_id);
	json_object_end(&w);
}

enum status api_webhook_test(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	int64_t id, delivery_id = 0;

	TRY(parse_number(request, 0, "webhook", &id, err));
	TRY(check_webhook(((struct api_worker *)worker)->reader, id, request, err));
	TRY(pipeline_test_webhook(api->options.pipeline, id, &delivery_id, err));
	write_queued(delivery_id, response);
	return OK;
}

enum status api_webhook_report(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct webhook_row row;
	int64_t id, delivery_id = 0;

	TRY(api_arena(&arena, err));
	TRY(parse_number(request, 0, "webhook", &id, err));
	TRY(check_webhook(reader, id, request, err));
	TRY(store_read_webhook(reader, arena, id, &row, err));
	TRY(check_report(&row, err));
	TRY(pipeline_report_to_webhook(api->options.pipeline, &row, &delivery_id, err));
	write_queued(delivery_id, response);
	return OK;
}

static enum status remove_row(void *context, struct store_tx *tx, struct error *err)
{
	return store_delete_webhook(tx, *(int64_t *)context, err);
}

enum status api_webhook_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	int64_t id;

	TRY(parse_number(request, 0, "webhook", &id, err));
	TRY(check_webhook(((struct api_worker *)worker)->reader, id, request, err));
	TRY(writer_execute(api->options.pipeline, remove_row, &id, err));
	response->status = 204;
	return OK;
}

void api_write_delivery(struct json_writer *w, const struct delivery_row *row)
{
	static const char *const states[] = {"pending", "done", "dead"};
	char incident[48];

	snprintf(incident, sizeof incident, "%lld-%u", (long long)row->job_id, row->incident_id);
	json_object(w);
	json_put_i64(w, "n", row->delivery_id);
	json_put_i64(w, "webhook", row->webhook_id);
	json_put_text(w, "incident", incident);
	json_put_span(w, "message_id", row->message_id);
	json_put_text(w, "state", states[row->state]);
	json_put_i64(w, "attempts", row->attempts);
	json_put_i64(w, "created_ms", row->created_ms);
	if (row->state == DELIVERY_PENDING)
		json_put_i64(w, "next_ms", row->next_ms);
	if (row->done_ms)
		json_put_i64(w, "done_ms", row->done_ms);
	if (row->last_code)
		json_put_i64(w, "last_code", row->last_code);
	if (row->last_error.len)
		json_put_span(w, "last_error", row->last_error);
	json_object_end(w);
}

enum status api_job_deliveries(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct delivery_row *rows;
	struct job_row job;
	size_t count, limit;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_job_told(reader, arena, job.job_id, limit, &rows, &count, err));
	json_object(&w);
	json_key(&w, "deliveries");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		api_write_delivery(&w, &rows[i]);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_deliveries(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct delivery_row *rows;
	size_t count, limit;
	int64_t id;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(parse_number(request, 0, "webhook", &id, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(check_webhook(reader, id, request, err));
	TRY(store_read_deliveries(reader, arena, id, limit, &rows, &count, err));
	json_object(&w);
	json_key(&w, "deliveries");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		api_write_delivery(&w, &rows[i]);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

struct retry {
	int64_t webhook_id, delivery_id, now_ms;
};

static enum status write_retry(void *context, struct store_tx *tx, struct error *err)
{
	struct retry *retry = context;
	AUTO(arena) arena = NULL;
	struct delivery_row row;

	TRY(api_arena(&arena, err));
	TRY(store_read_delivery(store_tx_reader(tx), arena, retry->webhook_id, retry->delivery_id, &row, err));
	row.state = DELIVERY_PENDING;
	row.next_ms = row.created_ms = retry->now_ms; /* a day of retries anew */
	row.done_ms = 0;
	return store_put_delivery(tx, &row, err);
}

enum status api_delivery_retry(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct retry retry = {.now_ms = http_request_arrival_ms(request)};

	TRY(parse_number(request, 0, "webhook", &retry.webhook_id, err));
	TRY(parse_number(request, 1, "delivery", &retry.delivery_id, err));
	TRY(check_webhook(((struct api_worker *)worker)->reader, retry.webhook_id, request, err));
	TRY(writer_execute(api->options.pipeline, write_retry, &retry, err));
	if (api->options.deliveries_due)
		api->options.deliveries_due(api->options.context);
	response->status = 202;
	return OK;
}
