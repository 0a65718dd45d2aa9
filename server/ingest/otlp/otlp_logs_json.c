/* OTLP logs as JSON: 64 bits are digits in quotes or a number, unknown fields are skipped. */
#include "ingest/lines/record.h"
#include "ingest/otlp/otlp.h"

static enum status read_time(struct json_scan *s, uint64_t *time_ns, struct error *err)
{
	struct json_scan before = *s;
	struct span number;

	TRY(json_scan_number(s, &number, err));
	*time_ns = 0;
	return !number.len || span_parse_u64(number, time_ns)
		       ? OK
		       : json_scan_expected(&before, "nanoseconds since 1970", err);
}

struct record {
	uint64_t time_ns, observed_ns, severity;
	struct span severity_text;
	bool has_body;
};

static enum status take_attribute(void *context, struct json_scan *s, struct error *err)
{
	struct ingest_parser *parser = context;

	TRY(otlp_attribute_json(parser, s, &parser->key, &parser->value, err));
	record_add_attribute(parser, buf_span(&parser->key), buf_span(&parser->value));
	return OK;
}

/* Plain names: one with escapes is shown as it came. Null is none. */
static enum status read_name(struct json_scan *s, struct span *out, struct error *err)
{
	struct ndjson_value raw = {.raw = SPAN("")};

	if (!json_scan_null(s))
		TRY(json_scan_text(s, &raw, err));
	*out = raw.raw;
	return OK;
}

/* A number, or the name of one: SEVERITY_NUMBER_WARN. */
static enum status read_severity(struct json_scan *s, uint64_t *severity, struct error *err)
{
	static const char *const names[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
	struct span text;

	TRY(json_scan_number(s, &text, err));
	*severity = 0;
	if (span_parse_u64(text, severity) || !span_starts_with(text, SPAN("SEVERITY_NUMBER_")))
		return OK;
	text = span_skip(text, sizeof "SEVERITY_NUMBER_" - 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_starts_with(text, span_from(names[i])))
			*severity = 4 * i + 1;
	return OK;
}

static enum status read_field(struct ingest_parser *parser, struct json_scan *s, const struct ndjson_value *key,
	struct record *record, struct error *err)
{
	struct span name;

	if (json_scan_is(key, "timeUnixNano"))
		return read_time(s, &record->time_ns, err);
	if (json_scan_is(key, "observedTimeUnixNano"))
		return read_time(s, &record->observed_ns, err);
	if (json_scan_is(key, "severityNumber"))
		return read_severity(s, &record->severity, err);
	if (json_scan_is(key, "severityText"))
		return read_name(s, &record->severity_text, err);
	if (json_scan_is(key, "attributes"))
		return json_scan_null(s) ? OK : json_scan_each(s, take_attribute, parser, err);
	if (json_scan_is(key, "eventName")) {
		TRY(read_name(s, &name, err));
		if (name.len)
			record_add_attribute(parser, SPAN("event.name"), name);
		return OK;
	}
	if (!json_scan_is(key, "body"))
		return json_scan_skip(s, err);
	record->has_body = true;
	return otlp_value_json(s, &parser->scratch, &parser->text, err);
}

static enum status take_record(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct ingest_parser *parser = request->parser;
	struct record record = {.severity_text = SPAN("")};
	struct ndjson_value key;
	bool is_end;

	record_begin(parser);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		TRY(read_field(parser, s, &key, &record, err));
	}
	record_add_severity(parser, record.severity, record.severity_text);
	if (!record.has_body && record_is_empty(parser)) {
		otlp_point_reject(parser, request->batch, "a log record has no body");
		return OK;
	}
	return record_put_line(parser, request->batch, record.time_ns ? record.time_ns : record.observed_ns, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct otlp_json request = {.parser = parser,
		.batch = batch,
		.resources = "resourceLogs",
		.scopes = "scopeLogs",
		.items = "logRecords",
		.take = take_record};

	return otlp_request_json(&request, err);
}

const struct ingest_protocol ingest_otlp_logs_json = PUSH_PROTOCOL("otlp_logs_json", finish);
