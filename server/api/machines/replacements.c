/* Machines of a job that were replaced: docs/nodes.md. */
#include "read/replacements.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"

#include <stdio.h>

enum {
	LIMIT_DEFAULT = 100,
	LIMIT_MAX = 1000,
	WHY_BYTES = 2048,
	FACTS_BYTES = 64 * 1024,
	ID_BYTES = 48,
	MINUTE_MS = 60 * 1000
};

static void write_fault(struct json_writer *w, const char *key, const struct node_fault_row *fault)
{
	json_key(w, key);
	if (!fault) {
		json_null(w);
		return;
	}
	json_object(w);
	json_put_span(w, "host", fault->host);
	json_put_span(w, "signature", fault->signature);
	json_put_i64(w, "ts_ms", fault->ts_ms);
	json_put_i64(w, "line", (int64_t)fault->line);
	json_put_span(w, "text", fault->text);
	json_object_end(w);
}

static void write_incident(struct json_writer *w, int64_t job_id, const struct incident_row *row)
{
	char id[ID_BYTES];

	json_key(w, "incident");
	if (!row) {
		json_null(w);
		return;
	}
	snprintf(id, sizeof id, "%lld-%u", (long long)job_id, row->incident_id);
	json_object(w);
	json_put_text(w, "id", id);
	json_put_text(w, "kind", incident_kind_name(row->incident.kind));
	json_put_i64(w, "ts_ms", row->incident.opened_ms);
	json_object_end(w);
}

/* "cuda_oom on n3": which signature, and whose; of a symptom nobody knows that. A kind without both is its name alone. */
static enum status append_incident(
	struct buf *out, const struct incident_row *row, bool is_of_symptom, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES);
	AUTO(json) facts = NULL;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	TRY(buf_status(&text, err));
	TRY(json_parse(&facts, buf_span(&text), err));
	struct span fault = json_string_of(json_get(facts, "fault")), host = json_string_of(json_get(facts, "host"));
	if (!fault.len)
		fault = json_string_of(json_get(facts, "signature"));
	buf_append_span(out, fault.len ? fault : span_from(incident_kind_name(row->incident.kind)));
	if (host.len && !is_of_symptom)
		buf_printf(out, " on %.*s", SPAN_ARGS(host));
	return OK;
}

static enum status write_why(struct json_writer *w, const struct replacement *row, struct error *err)
{
	AUTO_DONE(buf) why = BUF_INIT(WHY_BYTES);

	if (row->fault) {
		buf_append_span(&why, row->fault->signature);
		buf_append_text(&why, " on ");
		buf_append_span(&why, row->fault->host);
	} else if (row->incident) {
		TRY(append_incident(&why, row->incident, row->is_of_symptom, err));
	} else {
		buf_append_text(&why, "not known");
	}
	TRY(buf_status(&why, err));
	json_put_span(w, "why", buf_span(&why));
	return OK;
}

/* It will never be known: how long the new machine was watched until then. */
static void write_unprovable(struct json_writer *w, const struct replacement *row)
{
	char text[WHY_BYTES];
	bool has_ended = row->followed == FAULT_JOB_ENDED;

	if (!has_ended && row->followed != FAULT_REPLACED_AGAIN)
		return;
	snprintf(text, sizeof text, "%s when the new machine had worked for %lld of %lld minutes",
		has_ended ? "the job ended" : "another machine took its place",
		(long long)(row->observed_ms / MINUTE_MS), (long long)(row->needed_ms / MINUTE_MS));
	json_put_text(w, "followed_why", text);
}

static void write_followed(struct json_writer *w, const struct replacement *row)
{
	const char *name = fault_followed_name(row->followed);

	json_key(w, "fault_followed");
	if (name)
		json_text(w, name);
	else
		json_null(w);
	write_unprovable(w, row);
	write_fault(w, "seen_again", row->again);
	if (row->again)
		json_put_span(w, "seen_again_job", row->again_job);
	if (row->fault) {
		json_put_i64(w, "observed_ms", row->observed_ms);
		json_put_i64(w, "needed_ms", row->needed_ms);
	}
}

static enum status write_row(struct json_writer *w, int64_t job_id, const struct replacement *row, struct error *err)
{
	json_object(w);
	json_put_span(w, "stream", row->stream);
	json_put_span(w, "to_stream", row->to_stream);
	json_put_i64(w, "moved", (int64_t)row->moved);
	if (row->from_job_id != job_id)
		json_put_span(w, "from_job", row->from_job);
	json_put_span(w, "from", row->from_host);
	json_put_span(w, "to", row->to_host);
	json_put_i64(w, "line", (int64_t)row->line);
	json_put_i64(w, "at_ms", row->at_ms);
	json_key(w, "last_ms");
	if (row->last_ms)
		json_i64(w, row->last_ms);
	else
		json_null(w);
	json_put_i64(w, "took_ms", row->took_ms);
	json_put_text(w, "took_from", row->is_by_arrival ? "arrival" : "log");
	TRY(write_why(w, row, err));
	write_fault(w, "fault", row->fault);
	write_incident(w, row->from_job_id, row->incident);
	write_followed(w, row);
	json_object_end(w);
	return OK;
}

enum status api_job_replacements(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct replacement_report report;
	size_t limit;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(replacements_read(
		api->options.pipeline, reader, arena, http_request_segment(request, 0), limit, &report, err));
	json_object(&w);
	json_put_span(&w, "job", report.job);
	json_key(&w, "replacements");
	json_array(&w);
	for (size_t i = 0; i < report.count; i++)
		TRY(write_row(&w, report.job_id, &report.rows[i], err));
	json_array_end(&w);
	json_put_i64(&w, "left_out", (int64_t)report.left_out);
	json_put_i64(&w, "shared_streams", (int64_t)report.shared);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
