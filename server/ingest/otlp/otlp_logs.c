/*
 * OTLP logs as protobuf: ExportLogsServiceRequest{1: ResourceLogs{1: Resource, 2: ScopeLogs{2: LogRecord{1: time, 2: severity's
 * number, 3: its text, 5: body, 6: attributes, 11: observed time, 12: name of the event}}}}.
 */
#include "ingest/lines/record.h"
#include "ingest/otlp/otlp.h"

struct record {
	uint64_t time_ns, observed_ns, severity;
	struct span severity_text;
	bool has_body;
};

static enum status read_field(struct ingest_parser *parser, const struct protobuf_field *field, struct span body,
	struct record *record, struct error *err)
{
	struct span key;

	if (protobuf_is(field, 1, PROTOBUF_FIXED64)) {
		record->time_ns = field->value;
	} else if (protobuf_is(field, 11, PROTOBUF_FIXED64)) {
		record->observed_ns = field->value;
	} else if (protobuf_is(field, 2, PROTOBUF_VARINT)) {
		record->severity = field->value;
	} else if (protobuf_is(field, 3, PROTOBUF_BYTES)) {
		record->severity_text = field->bytes;
	} else if (protobuf_is(field, 5, PROTOBUF_BYTES)) {
		record->has_body = true;
		return otlp_value(field->bytes, body, &parser->text, err);
	} else if (protobuf_is(field, 6, PROTOBUF_BYTES)) {
		TRY(otlp_attribute(field->bytes, body, &key, &parser->value, err));
		record_add_attribute(parser, key, buf_span(&parser->value));
	} else if (protobuf_is(field, 12, PROTOBUF_BYTES)) {
		record_add_attribute(parser, SPAN("event.name"), field->bytes);
	}
	return OK;
}

static enum status read_record(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct record record = {.severity_text = SPAN("")};
	struct protobuf_field field;

	record_begin(parser);
	while (protobuf_next(&message, &field))
		TRY(read_field(parser, &field, body, &record, err));
	TRY(protobuf_end(message, body, "LogRecord", err));
	record_add_severity(parser, record.severity, record.severity_text);
	if (!record.has_body && record_is_empty(parser)) {
		otlp_point_reject(parser, batch, "a log record has no body");
		return OK;
	}
	return record_put_line(parser, batch, record.time_ns ? record.time_ns : record.observed_ns, err);
}

static enum status read_scope(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	return push_each(parser, batch, message, body, 2, "ScopeLogs", read_record, err);
}

static enum status read_resource(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	TRY(otlp_resource_of(parser, batch, message, body, err));
	TRY(push_each(parser, batch, message, body, 2, "ResourceLogs", read_scope, err));
	return push_end_stream(parser, batch, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	return push_each_of_body(
		parser, batch, parser->options.is_snappy, "ExportLogsServiceRequest", read_resource, err);
}

const struct ingest_protocol ingest_otlp_logs = PUSH_PROTOCOL("otlp_logs", finish);
