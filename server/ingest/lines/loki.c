/*
 * Loki's push as protobuf: PushRequest{streams=1{labels=1, entries=2{timestamp=1{seconds=1, nanos=2}, line=2,
 * metadata=3{name=1, value=2}}}}, a snappy block whatever Content-Encoding says. Hashes, and what Loki makes of a line (entry 4),
 * are not kept.
 */
#include "base/codec/protobuf.h"
#include "ingest/lines/record.h"

static const uint64_t NS_A_S = 1000000000;

static enum status read_time(struct span message, struct span body, uint64_t *time_ns, struct error *err)
{
	struct protobuf_field field;
	uint64_t seconds = 0, nanos = 0;

	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_VARINT))
			seconds = field.value;
		else if (protobuf_is(&field, 2, PROTOBUF_VARINT))
			nanos = field.value;
	}
	/* seconds before 1970 or beyond 64 bits of nanoseconds are no log time, whatever they are: 1 ns says so */
	*time_ns = seconds < UINT64_MAX / NS_A_S - 1 && nanos < NS_A_S ? seconds * NS_A_S + nanos : 1;
	*time_ns += !*time_ns;
	return protobuf_end(message, body, "Timestamp", err);
}

static enum status read_metadata(struct ingest_parser *parser, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;
	struct span name = SPAN(""), value = SPAN("");

	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			name = field.bytes;
		else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			value = field.bytes;
	}
	record_add_attribute(parser, name, value);
	return protobuf_end(message, body, "LabelPair", err);
}

static enum status read_entry(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;
	struct span line = SPAN("");
	uint64_t time_ns = 0;

	record_begin(parser);
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			TRY(read_time(field.bytes, body, &time_ns, err));
		else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			line = field.bytes;
		else if (protobuf_is(&field, 3, PROTOBUF_BYTES))
			TRY(read_metadata(parser, field.bytes, body, err));
	}
	TRY(protobuf_end(message, body, "Entry", err));
	return record_put_text(parser, batch, line, time_ns, err);
}

/* The labels come first by their number, but nothing says that they must. */
static enum status read_labels(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;
	struct span labels = SPAN("{}");

	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			labels = field.bytes;
	TRY(protobuf_end(message, body, "Stream", err));
	TRY(ingest_labels_parse(labels, &parser->labels, &parser->scratch, err));
	TRY(push_begin_stream(parser, batch, err));
	push_identify(parser, batch, labels);
	return OK;
}

static enum status read_stream(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;

	TRY(read_labels(parser, batch, message, body, err));
	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			TRY(read_entry(parser, batch, field.bytes, body, err));
	return push_end_stream(parser, batch, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	return push_each_of_body(parser, batch, true, "PushRequest", read_stream, err);
}

const struct ingest_protocol ingest_loki = PUSH_PROTOCOL("loki", finish);
