/* EventBridge's events: "SageMaker Training Job State Change", one or an array; each is taken or refused by itself. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/text/iso8601.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "pipeline/jobs/job_event.h"

struct verdict {
	enum event_verdict kind;
	struct span job, id;
	struct error err; /* of a rejected one; why, of an ignored one */
};

static enum status check_envelope(const struct json *event, struct verdict *out)
{
	const struct json *detail;
	struct error *err = &out->err;
	struct span type = SPAN("");

	if (json_kind(event) != JSON_OBJECT)
		return error_set(err, ERR_SEMANTIC, "an event is a JSON object");
	TRY(json_want_string(event, "id", &out->id, err));
	TRY(json_want_string(event, "detail-type", &type, err));
	if (!type.len)
		return error_set_field(err, ERR_SEMANTIC, "detail-type",
			"an event needs detail-type, \"SageMaker Training Job State Change\"");
	if (!span_equal(type, SPAN("SageMaker Training Job State Change"))) {
		out->kind = VERDICT_IGNORED;
		return error_set_field(err, ERR_SEMANTIC, "detail-type",
			"'%.*s' says nothing of a training job; \"SageMaker Training Job State Change\" is taken",
			SPAN_ARGS(type));
	}
	detail = json_get(event, "detail");
	if (!detail || json_kind(detail) != JSON_OBJECT)
		return error_set_field(
			err, ERR_SEMANTIC, "detail", "an event needs detail, the document of the training job");
	return OK;
}

/* OK but for what may pass: busy, no memory, a full disk. */
static enum status take_event(struct api *api, const struct json *event, struct span team, int64_t arrival_ms,
	struct verdict *out, struct error *err)
{
	enum event_result result;
	struct span sent = SPAN("");
	int64_t sent_ms = arrival_ms, ms;

	*out = (struct verdict){.kind = VERDICT_REJECTED, .job = SPAN(""), .id = SPAN("")};
	if (check_envelope(event, out) != OK)
		return OK;
	const struct json *detail = json_get(event, "detail");
	out->job = json_string_of(json_get(detail, "TrainingJobName"));
	if (json_want_string(event, "time", &sent, &out->err) != OK)
		return OK;
	if (sent.len && iso8601_parse(sent, &ms)) {
		if (ms < 0 || ms > arrival_ms + DAY_MS) { /* it would be newer than whatever comes */
			(void)error_set_field(&out->err, ERR_SEMANTIC, "time",
				"time '%.*s' is before 1970, or more than a day from now", SPAN_ARGS(sent));
			return OK;
		}
		sent_ms = ms;
	}
	enum status status = pipeline_take_event(api->options.pipeline, detail, team, sent_ms, &result, &out->err);
	if (status == OK)
		out->kind = result == EVENT_DUPLICATE ? VERDICT_DUPLICATE : VERDICT_ACCEPTED;
	if (status < ERR_BUSY)
		return OK;
	*err = out->err;
	return status;
}

static void write_verdict(const struct verdict *verdict, size_t index, struct json_writer *w)
{
	static const char *const names[] = {"accepted", "duplicate", "ignored", "rejected"};

	json_object(w);
	json_put_i64(w, "index", (int64_t)index);
	if (verdict->id.len)
		json_put_span(w, "id", verdict->id);
	if (verdict->job.len)
		json_put_span(w, "job", verdict->job);
	json_put_text(w, "result", names[verdict->kind]);
	if (verdict->kind >= VERDICT_IGNORED)
		json_put_text(w, "reason", verdict->err.text);
	if (verdict->kind == VERDICT_REJECTED && verdict->err.field[0])
		json_put_text(w, "field", verdict->err.field);
	json_object_end(w);
}

static enum status take_all(struct api *api, const struct http_request *request, const struct json *first,
	bool is_alone, size_t counts[VERDICT_COUNT], struct json_writer *w, struct error *err)
{
	struct verdict verdict;
	size_t index = 0;

	for (const struct json *event = first; event; event = is_alone ? NULL : json_next(event), index++) {
		TRY(take_event(api, event, api_team(request), http_request_arrival_ms(request), &verdict, err));
		atomic_fetch_add(&api->events[verdict.kind], 1);
		counts[verdict.kind]++;
		if (is_alone && verdict.kind == VERDICT_REJECTED) {
			*err = verdict.err;
			return err->status;
		}
		write_verdict(&verdict, index, w);
	}
	return OK;
}

enum status api_events_take(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	size_t counts[VERDICT_COUNT] = {0};
	struct json_writer w = api_reply(response);
	AUTO(json) body = NULL;

	(void)worker;
	TRY(json_parse(&body, http_request_body(request), err));
	bool is_array = json_kind(body) == JSON_ARRAY;
	if (!is_array && json_kind(body) != JSON_OBJECT)
		return error_set(err, ERR_SEMANTIC, "the body is neither an EventBridge event nor an array of them");
	if (is_array && json_count(body) > api->options.max_events)
		return error_set(err, ERR_TOO_LARGE, "%zu events at once are more than --max-events (%zu)",
			json_count(body), api->options.max_events);
	json_object(&w);
	json_key(&w, "results");
	json_array(&w);
	TRY(take_all(api, request, is_array ? json_first(body) : body, !is_array, counts, &w, err));
	if (api->options.event_taken)
		api->options.event_taken(api->options.context);
	json_array_end(&w);
	json_put_i64(&w, "accepted", (int64_t)counts[VERDICT_ACCEPTED]);
	json_put_i64(&w, "duplicate", (int64_t)counts[VERDICT_DUPLICATE]);
	json_put_i64(&w, "ignored", (int64_t)counts[VERDICT_IGNORED]);
	json_put_i64(&w, "rejected", (int64_t)counts[VERDICT_REJECTED]);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
