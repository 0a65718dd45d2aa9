/*
 * EventBridge, as far as events are sent: PutEvents. State changes of training jobs become changes of jobs; each other event is one that
 * failed, with its code, so that nobody takes it for delivered.
 * Source: docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
#include "aws/protocol/internal.h"
#include "base/json/json_write.h"
#include "base/text/iso8601.h"
#include "pipeline/jobs/job_event.h"

#define NEEDED(path)                                                                                                   \
	{                                                                                                              \
		path, SHAPE_NEEDED, 0, 0, NULL                                                                         \
	}

static const struct shape_rule put_events[] = {NEEDED("Entries"), {"Entries", SHAPE_ARRAY, 1, 10, NULL},
	{"Entries[]", SHAPE_OBJECT, 0, 0, NULL}, {"Entries[].Time", SHAPE_TIME, 0, 0, NULL},
	{"Entries[].Source", SHAPE_STRING, 0, INT32_MAX, NULL},
	{"Entries[].DetailType", SHAPE_STRING, 0, INT32_MAX, NULL},
	{"Entries[].Detail", SHAPE_STRING, 0, INT32_MAX, NULL}, {"Entries[].EventBusName", SHAPE_STRING, 1, 1600, NULL},
	{"EndpointId", SHAPE_STRING, 1, 50, NULL}, {NULL, SHAPE_OBJECT, 0, 0, NULL}};

static const char *code_of(enum event_verdict verdict, const struct error *why)
{
	switch (why->status) {
	case ERR_BUSY:
		return "ThrottlingException";
	case ERR_UNAVAILABLE:
	case ERR_MEMORY:
		return "InternalFailure";
	case ERR_FORBIDDEN:
		return "NotAuthorizedForDetailTypeException";
	default:
		return verdict == VERDICT_IGNORED ? "UnsupportedDetailType" : "InvalidArgument";
	}
}

static void write_entry(struct json_writer *w, enum event_verdict verdict, const char *code, const struct error *why)
{
	char id[UUID_BYTES + 1];

	json_object(w);
	if (verdict <= VERDICT_DUPLICATE) {
		crypto_uuid(id);
		json_put_text(w, "EventId", id);
	} else {
		json_put_text(w, "ErrorCode", code ? code : code_of(verdict, why));
		json_put_text(w, "ErrorMessage", why->text);
	}
	json_object_end(w);
}

static const char *check_entry(const struct json *entry, struct json **detail, struct error *why)
{
	const struct json *text = json_get(entry, "Detail");

	if (!json_string_of(json_get(entry, "Source")).len || !json_string_of(json_get(entry, "DetailType")).len ||
		!text) {
		(void)error_set(why, ERR_SEMANTIC, "Source, DetailType and Detail are required arguments");
		return "InvalidArgument";
	}
	if (json_parse(detail, json_string_of(text), why) == OK && json_kind(*detail) == JSON_OBJECT)
		return NULL;
	(void)error_set(why, ERR_SEMANTIC, "Detail is malformed: it is to be the text of a JSON object");
	return "MalformedDetail";
}

/* What failed for a while fails as its own entry: those before it are taken, and clients send again what failed. */
static bool take_entry(struct aws_call *call, const struct json *entry)
{
	enum event_verdict verdict = VERDICT_REJECTED;
	char time[ISO8601_BYTES];
	struct sent_event sent = {.type = json_string_of(json_get(entry, "DetailType")), .time = SPAN("")};
	struct error why = {0}, err = {0};
	AUTO(json) detail = NULL;
	int64_t time_ms;

	const char *code = check_entry(entry, &detail, &why);
	if (!code && aws_time(json_get(entry, "Time"), &time_ms)) {
		iso8601_format(time_ms, time);
		sent.time = span_from(time);
	}
	sent.detail = detail;
	if (!code && pipeline_judge_event(call->pipeline, &sent, call->team, call->now_ms, &verdict, &why, &err) != OK)
		why = err;
	call->options->event_judged(call->options->context, verdict);
	write_entry(&call->w, verdict, code, &why);
	return verdict <= VERDICT_DUPLICATE;
}

static enum status take_events(struct aws_call *call, struct error *err)
{
	int64_t failed = 0;

	(void)err;
	json_key(&call->w, "Entries");
	json_array(&call->w);
	for (const struct json *entry = json_first(json_get(call->input, "Entries")); entry; entry = json_next(entry))
		failed += !take_entry(call, entry);
	json_array_end(&call->w);
	json_put_i64(&call->w, "FailedEntryCount", failed);
	call->options->events_end(call->options->context);
	return OK;
}

static const struct aws_operation operations[] = {
	{.name = "PutEvents", .scope = SCOPE_WRITE, .run = take_events, .input = put_events},
	{.name = NULL},
};

const struct aws_service eventbridge_service = {.target = "AWSEvents",
	.operations = operations,
	.codes = {.invalid = "ValidationException",
		.missing = "ValidationException",
		.not_found = "ResourceNotFoundException",
		.conflict = "ValidationException",
		.busy = "ThrottlingException",
		.unavailable = "InternalException"}};
