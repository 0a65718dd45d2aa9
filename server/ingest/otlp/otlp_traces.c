/*
 * OTLP traces as protobuf: ExportTraceServiceRequest{1: ResourceSpans{1: Resource, 2: ScopeSpans{2: Span{2: span_id, 4: parent_span_id,
 * 5: name, 7: start, 8: end, 9: attributes}}}}. What becomes of the spans: otlp_spans.h.
 */
#include "ingest/otlp/otlp.h"
#include "ingest/otlp/otlp_spans.h"

static enum status read_span(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct otlp_span span = {.step = NO_STEP};
	struct span name = SPAN(""), key;
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 2, PROTOBUF_BYTES)) {
			span.id = otlp_span_id(field.bytes);
		} else if (protobuf_is(&field, 4, PROTOBUF_BYTES)) {
			span.parent = otlp_span_id(field.bytes);
		} else if (protobuf_is(&field, 5, PROTOBUF_BYTES)) {
			name = field.bytes;
		} else if (protobuf_is(&field, 7, PROTOBUF_FIXED64)) {
			span.start_ns = field.value;
		} else if (protobuf_is(&field, 8, PROTOBUF_FIXED64)) {
			span.end_ns = field.value;
		} else if (protobuf_is(&field, 9, PROTOBUF_BYTES)) {
			TRY(otlp_attribute(field.bytes, body, &key, &parser->text, err));
			(void)otlp_is_step(key, buf_span(&parser->text), &span.step);
		}
	}
	TRY(protobuf_end(message, body, "Span", err));
	return otlp_spans_add(parser, batch, &span, name, err);
}

static enum status read_scope(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	return push_each(parser, batch, message, body, 2, "ScopeSpans", read_span, err);
}

static enum status read_resource(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	TRY(otlp_resource_of(parser, batch, message, body, err));
	otlp_spans_begin(parser);
	TRY(push_each(parser, batch, message, body, 2, "ResourceSpans", read_scope, err));
	return otlp_spans_end(parser, batch, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	return push_each_of_body(
		parser, batch, parser->options.is_snappy, "ExportTraceServiceRequest", read_resource, err);
}

const struct ingest_protocol ingest_otlp_traces = PUSH_PROTOCOL("otlp_traces", finish);
