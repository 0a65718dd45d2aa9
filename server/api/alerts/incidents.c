#include "alert/rule.h"
#include "api/alerts/webhooks.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/machines/fit_job.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "model/query.h"
#include "pipeline/commit/resolve.h"
#include "state/execute.h"
#include "state/known_fault.h"
#include "state/nccl_likely.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/jobs.h"

#include <stdio.h>

enum {
	LIKELY_BYTES = 8 << 10,
	LIMIT_DEFAULT = 100,
	LIMIT_MAX = 1000,
	STREAMS_SHOWN = 1000,
	TOLD_SHOWN = 100,
	MUTE_MAX_S = 366 * 86400
};

/* One job by its name is what a job's page asks, and is answered by its own index. */
static enum status read_job_query(struct api_worker *worker, const struct http_request *request, struct arena *arena,
	struct incident_filter *filter, struct error *err)
{
	struct query_node *query = NULL;
	struct job_row job;

	TRY(api_parse_query(worker->api, request, arena, &query, err));
	if (!query || query->kind != QUERY_TERM || query->term.family != QUERY_PROPERTY ||
		!span_equal(query->term.key, SPAN("name")) || query->term.compare != QUERY_EQUAL) {
		filter->query = query;
		return OK;
	}
	TRY(store_read_job(worker->reader, arena, query->term.values[0].text, &job, err));
	filter->job_id = job.job_id;
	return OK;
}

static enum status read_filter(struct api_worker *worker, const struct http_request *request, struct arena *arena,
	struct incident_filter *filter, struct error *err)
{
	struct span text;
	enum incident_state state;
	enum incident_kind kind;

	*filter = (struct incident_filter){.state = -1, .kind = -1, .cursor = SPAN("")};
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &filter->limit, err));
	http_request_query(request, "cursor", &filter->cursor);
	TRY(read_job_query(worker, request, arena, filter, err));
	if (http_request_query(request, "all", &text)) {
		filter->has_all = span_equal(text, SPAN("true"));
		if (!filter->has_all && !span_equal(text, SPAN("false")))
			return error_set_field(
				err, ERR_INVALID, "all", "all is true or false, not '%.*s'", SPAN_ARGS(text));
	}
	if (http_request_query(request, "state", &text)) {
		if (!incident_state_parse(text, &state))
			return error_set_field(
				err, ERR_INVALID, "state", "state '%.*s' is none of open, recovered", SPAN_ARGS(text));
		filter->state = (int)state;
	}
	if (http_request_query(request, "minimum_severity", &text) && !severity_parse(text, &filter->minimum))
		return error_set_field(err, ERR_INVALID, "minimum_severity",
			"minimum_severity '%.*s' is none of info, warning, critical", SPAN_ARGS(text));
	TRY(http_query_i64(request, "from_ms", 0, INT64_MAX, &filter->from_ms, err));
	TRY(http_query_i64(request, "to_ms", 1, INT64_MAX, &filter->to_ms, err)); /* 0 is no end to the filter */
	if (http_request_query(request, "kind", &text)) {
		if (!incident_kind_parse(text, &kind))
			return error_set_field(
				err, ERR_INVALID, "kind", "kind '%.*s' is no kind of incident", SPAN_ARGS(text));
		filter->kind = (int)kind;
	}
	return OK;
}

/* What lines said of those that are made of lines, or have some beneath them. */
static enum status read_said(
	struct api_worker *worker, struct arena *arena, struct incident_row *rows, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct incident_said *said = arena_alloc(arena, sizeof *said);
		if (!said)
			return error_no_memory(err);
		TRY(store_read_said(worker->reader, arena, rows[i].job_id, rows[i].incident_id, said, err));
		rows[i].said = said->count ? said : NULL;
	}
	return OK;
}

static enum status add_facts(struct arena *arena, struct incident_row *row, struct span members, struct error *err)
{
	size_t len = row->facts.len + (row->facts.len && members.len) + members.len;
	char *text = arena_alloc(arena, len + 1);

	if (!text)
		return error_no_memory(err);
	snprintf(text, len + 1, "%.*s%s%.*s", SPAN_ARGS(row->facts), row->facts.len && members.len ? "," : "",
		SPAN_ARGS(members));
	row->facts = span_of(text, len);
	return OK;
}

/* Of a GPU out of memory: what would have fit, by the formulas. The rows are one job's. */
static enum status advise(struct api *api, struct api_worker *worker, struct arena *arena, int64_t now_ms,
	struct incident_row *rows, size_t count, struct error *err)
{
	struct span members = SPAN("");
	int64_t job_id = 0;

	for (size_t i = 0; i < count; i++) {
		if (!fit_is_out_of_memory(&rows[i]))
			continue;
		if (rows[i].job_id != job_id)
			TRY(fit_job_advise(api, worker->reader, arena, rows[i].job_id, now_ms, &members, err));
		job_id = rows[i].job_id;
		TRY(add_facts(arena, &rows[i], members, err));
	}
	return OK;
}

static bool is_of_collective(const struct incident_row *row)
{
	if (row->incident.kind != INCIDENT_LOG_SIGNATURE)
		return false;
	for (size_t i = 0; i < row->said->signature_count; i++)
		if (nccl_likely_is_asked(row->said->signatures[i]))
			return true;
	return false;
}

/* Of a collective that timed out: whose rank is behind, once all have spoken. */
static enum status add_likely(
	struct api_worker *worker, struct arena *arena, int64_t now_ms, struct incident_row *row, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LIKELY_BYTES);
	struct json_writer w = json_writer_on(&text);
	struct nccl_likely likely;

	if (!row->said || !is_of_collective(row))
		return OK;
	TRY(nccl_likely_find(worker->reader, arena, row->job_id, row->incident.opened_ms,
		row->said->last_ms + FAULT_AFTER_MS, now_ms, &likely, err));
	json_object(&w);
	nccl_likely_write(&likely, &w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	struct span members = arena_copy(arena, span_of(text.ptr + 1, text.len - 2));
	return members.ptr ? add_facts(arena, row, members, err) : error_no_memory(err);
}

/* With the streams that are shown in it. */
static enum status write_row(struct store_reader *reader, struct arena *arena, struct incident_row *row,
	struct json_writer *w, struct error *err)
{
	if (row->folded)
		TRY(store_read_fold_streams(reader, arena, row, STREAMS_SHOWN, &row->streams, &row->stream_count, err));
	incident_write_json(row, w);
	return OK;
}

enum status api_incidents(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct incident_filter filter;
	struct incident_row *rows;
	struct span next_cursor;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(read_filter(own, request, arena, &filter, err));
	TRY(store_read_incidents(own->reader, arena, &filter, &rows, &count, &next_cursor, err));
	TRY(read_said(own, arena, rows, count, err));
	for (size_t i = 0; filter.job_id && i < count; i++)
		TRY(add_likely(own, arena, http_request_arrival_ms(request), &rows[i], err));
	if (filter.job_id) /* of a page of all jobs each would look at its like */
		TRY(advise(context, own, arena, http_request_arrival_ms(request), rows, count, err));
	json_object(&w);
	json_key(&w, "incidents");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		TRY(write_row(own->reader, arena, &rows[i], &w, err));
	json_array_end(&w);
	if (next_cursor.len)
		json_put_span(&w, "next_cursor", next_cursor);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

struct acknowledgement {
	int64_t job_id;
	uint32_t incident_id;
	int64_t at_ms;
};

static enum status write_acknowledgement(void *context, struct store_tx *tx, struct error *err)
{
	struct acknowledgement *ack = context;

	return store_acknowledge_incident(tx, ack->job_id, ack->incident_id, ack->at_ms, err);
}

/* "JOB-N", as the incident's id is written. */
static enum status parse_id(struct span text, struct acknowledgement *ack, struct error *err)
{
	ptrdiff_t dash = span_find_char(text, '-');
	int64_t job_id, number;

	if (dash < 0 || !span_parse_i64(span_of(text.ptr, (size_t)dash), &job_id) ||
		!span_parse_i64(span_skip(text, (size_t)dash + 1), &number) || number < 1 || number > UINT32_MAX)
		return error_set(err, ERR_NOT_FOUND, "there is no incident '%.*s'", SPAN_ARGS(text));
	ack->job_id = job_id;
	ack->incident_id = (uint32_t)number;
	return OK;
}

enum status api_incident_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct acknowledgement id;
	struct incident_row row;
	struct delivery_row *told;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(parse_id(http_request_segment(request, 0), &id, err));
	TRY(store_read_incident(reader, arena, id.job_id, id.incident_id, &row, err));
	TRY(read_said(worker, arena, &row, 1, err));
	TRY(add_likely(worker, arena, http_request_arrival_ms(request), &row, err));
	TRY(advise(context, worker, arena, http_request_arrival_ms(request), &row, 1, err));
	TRY(store_read_told(reader, arena, id.job_id, incident_group(&row), TOLD_SHOWN, &told, &count, err));
	json_object(&w);
	json_key(&w, "incident");
	TRY(write_row(reader, arena, &row, &w, err));
	json_key(&w, "deliveries");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		api_write_delivery(&w, &told[i]);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* A team's token acknowledges its own jobs' incidents only. */
static enum status check_owner(
	struct api_worker *worker, const struct acknowledgement *ack, struct span team, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_row job;

	TRY(api_arena(&arena, err));
	TRY(store_read_job_by_id(worker->reader, arena, ack->job_id, &job, err));
	return check_team(job.team, job.name, team, err);
}

enum status api_incident_acknowledge(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct acknowledgement ack = {.at_ms = http_request_arrival_ms(request)};

	TRY(parse_id(http_request_segment(request, 0), &ack, err));
	TRY(check_owner(worker, &ack, api_team(request), err));
	TRY(writer_execute(api->options.pipeline, write_acknowledgement, &ack, err));
	response->status = 204;
	return OK;
}

static enum status write_mute(void *context, struct store_tx *tx, struct error *err)
{
	struct acknowledgement *mute = context;

	return store_mute_incident(tx, mute->job_id, mute->incident_id, mute->at_ms, err);
}

enum status api_incident_mute(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct acknowledgement mute = {.at_ms = INT64_MAX};
	AUTO(json) body = NULL;
	int64_t for_s = 0;

	TRY(parse_id(http_request_segment(request, 0), &mute, err));
	TRY(check_owner(worker, &mute, api_team(request), err));
	TRY(api_body_object(request, &body, err));
	TRY(api_check_members(body, "for_s", err));
	TRY(json_want_i64(body, "for_s", &for_s, err));
	if (for_s < 0 || for_s > MUTE_MAX_S)
		return error_set_field(err, ERR_SEMANTIC, "for_s", "for_s is 1 to %d seconds, or 0 for good; not %lld",
			MUTE_MAX_S, (long long)for_s);
	if (for_s)
		mute.at_ms = http_request_arrival_ms(request) + for_s * 1000;
	TRY(writer_execute(api->options.pipeline, write_mute, &mute, err));
	response->status = 204;
	return OK;
}
