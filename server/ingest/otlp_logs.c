/*
 * OTLP logs as protobuf: ExportLogsServiceRequest{1: ResourceLogs{1: Resource, 2: ScopeLogs{2: LogRecord{1: time, 5: body,
 * 11: observed time}}}}. Attributes of a record are not kept.
 */
#include "ingest/otlp.h"

static enum status read_record(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;
	uint64_t time_ns = 0, observed_ns = 0;
	bool has_body = false;

	buf_reset(&parser->text);
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_FIXED64)) {
			time_ns = field.value;
		} else if (protobuf_is(&field, 11, PROTOBUF_FIXED64)) {
			observed_ns = field.value;
		} else if (protobuf_is(&field, 5, PROTOBUF_BYTES)) {
			has_body = true;
			TRY(otlp_value(field.bytes, body, &parser->text, err));
		}
	}
	TRY(protobuf_end(message, body, "LogRecord", err));
	if (has_body)
		return push_line(parser, batch, buf_span(&parser->text), time_ns ? time_ns : observed_ns, err);
	otlp_point_reject(parser, batch, "a log record has no body");
	return OK;
}

static enum status read_scope(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			TRY(read_record(parser, batch, field.bytes, body, err));
	return protobuf_end(message, body, "ScopeLogs", err);
}

static enum status read_resource(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	TRY(otlp_resource_of(parser, batch, message, body, err));
	struct protobuf_field field;
	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			TRY(read_scope(parser, batch, field.bytes, body, err));
	return push_end_stream(parser, batch, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct protobuf_field field;
	struct span body, rest;

	TRY(push_content(parser, parser->options.is_snappy, &body, err));
	rest = body;
	while (protobuf_next(&rest, &field))
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			TRY(read_resource(parser, batch, field.bytes, body, err));
	return protobuf_end(rest, body, "ExportLogsServiceRequest", err);
}

const struct ingest_protocol ingest_otlp_logs = {.name = "otlp_logs",
	.open = push_open,
	.feed = push_feed,
	.finish = finish,
	.warning = push_warning,
	.held_bytes = push_held_bytes,
	.free = push_free};
