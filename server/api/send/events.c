/* EventBridge's events: "SageMaker Training Job State Change", one or an array; each is taken or refused by itself. */
#include "api/send/events.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"

struct verdict {
	enum event_verdict kind;
	struct span job, id;
	struct error err; /* of a rejected one; why, of an ignored one */
};

/* OK but for what may pass: busy, no memory, a full disk. */
static enum status take_event(struct api *api, const struct json *event, struct span team, int64_t arrival_ms,
	struct verdict *out, struct error *err)
{
	struct sent_event sent = {.type = SPAN(""), .time = SPAN("")};

	*out = (struct verdict){.kind = VERDICT_REJECTED, .job = SPAN(""), .id = SPAN("")};
	if (json_kind(event) != JSON_OBJECT) {
		(void)error_set(&out->err, ERR_SEMANTIC, "an event is a JSON object");
		return OK;
	}
	if (json_want_string(event, "id", &out->id, &out->err) != OK ||
		json_want_string(event, "detail-type", &sent.type, &out->err) != OK)
		return OK;
	sent.detail = json_get(event, "detail");
	if (sent.detail)
		out->job = json_string_of(json_get(sent.detail, "TrainingJobName"));
	if (json_want_string(event, "time", &sent.time, &out->err) != OK)
		return OK;
	return pipeline_judge_event(api->options.pipeline, &sent, team, arrival_ms, &out->kind, &out->err, err);
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

void api_event_judged(struct api *api, enum event_verdict verdict)
{
	atomic_fetch_add(&api->events[verdict], 1);
}

void api_events_end(struct api *api)
{
	if (api->options.event_taken)
		api->options.event_taken(api->options.context);
}

static enum status take_all(struct api *api, const struct http_request *request, const struct json *first,
	bool is_alone, size_t counts[VERDICT_COUNT], struct json_writer *w, struct error *err)
{
	struct verdict verdict;
	size_t index = 0;

	for (const struct json *event = first; event; event = is_alone ? NULL : json_next(event), index++) {
		TRY(take_event(api, event, api_team(request), http_request_arrival_ms(request), &verdict, err));
		api_event_judged(api, verdict.kind);
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
	api_events_end(api);
	json_array_end(&w);
	json_put_i64(&w, "accepted", (int64_t)counts[VERDICT_ACCEPTED]);
	json_put_i64(&w, "duplicate", (int64_t)counts[VERDICT_DUPLICATE]);
	json_put_i64(&w, "ignored", (int64_t)counts[VERDICT_IGNORED]);
	json_put_i64(&w, "rejected", (int64_t)counts[VERDICT_REJECTED]);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
