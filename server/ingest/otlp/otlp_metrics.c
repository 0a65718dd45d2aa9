/*
 * OTLP metrics as protobuf: ExportMetricsServiceRequest{1: ResourceMetrics{1: Resource, 2: ScopeMetrics{2: Metric{1: name, 3: unit,
 * 5: Gauge, 7: Sum, 9: Histogram, 10: ExponentialHistogram, 11: Summary, each {1: data points, 2: temporality}}}}}. A sum is stored as
 * it is sent, cumulative or not.
 */
#include "ingest/otlp/otlp.h"

enum { GAUGE = 5, SUM = 7, HISTOGRAM = 9, EXPONENTIAL = 10, SUMMARY = 11 };
enum { NO_RECORDED_VALUE = 1, IS_INTERVAL = 1 };

/* The forms of a data point differ in where their attributes and flags are; start is 2, time is 3, count and sum are 4 and 5. */
static const struct {
	uint32_t kind, attributes, flags;
} forms[] = {{GAUGE, 7, 8}, {SUM, 7, 8}, {HISTOGRAM, 9, 10}, {EXPONENTIAL, 1, 10}, {SUMMARY, 7, 8}};

struct numbers {
	bool has_value, is_empty;
	double value;
	struct otlp_distribution of;
};

static enum status read_field(struct ingest_parser *parser, const struct protobuf_field *field, size_t form,
	struct span body, struct numbers *numbers, struct error *err)
{
	bool is_number = forms[form].kind == GAUGE || forms[form].kind == SUM;
	struct span key;

	if (protobuf_is(field, forms[form].attributes, PROTOBUF_BYTES)) {
		TRY(otlp_attribute(field->bytes, body, &key, &parser->text, err));
		otlp_point_label(parser, key, buf_span(&parser->text));
	} else if (protobuf_is(field, 2, PROTOBUF_FIXED64)) {
		numbers->of.start_ns = field->value;
	} else if (protobuf_is(field, 3, PROTOBUF_FIXED64)) {
		parser->point.time_ns = field->value;
	} else if (protobuf_is(field, forms[form].flags, PROTOBUF_VARINT)) {
		numbers->is_empty = field->value & NO_RECORDED_VALUE;
	} else if (protobuf_is(field, 4, PROTOBUF_FIXED64) && is_number) {
		numbers->has_value = true;
		numbers->value = protobuf_double(field->value);
	} else if (protobuf_is(field, 6, PROTOBUF_FIXED64) && is_number) {
		numbers->has_value = true;
		numbers->value = (double)(int64_t)field->value;
	} else if (protobuf_is(field, 4, PROTOBUF_FIXED64)) {
		numbers->of.count = (double)field->value;
	} else if (protobuf_is(field, 5, PROTOBUF_FIXED64)) {
		numbers->of.has_sum = true;
		numbers->of.sum = protobuf_double(field->value);
	}
	return OK;
}

static enum status read_point(struct ingest_parser *parser, struct batch *batch, struct span message, size_t form,
	bool is_interval, struct span body, struct error *err)
{
	struct numbers numbers = {.of.is_interval = is_interval};
	struct protobuf_field field;

	otlp_point_begin(parser);
	while (protobuf_next(&message, &field))
		TRY(read_field(parser, &field, form, body, &numbers, err));
	TRY(protobuf_end(message, body, "data point", err));
	if (numbers.is_empty)
		return OK;
	if (forms[form].kind != GAUGE && forms[form].kind != SUM)
		return otlp_point_distribution(parser, batch, &numbers.of, err);
	if (numbers.has_value)
		return otlp_point_add(parser, batch, "", numbers.value, err);
	otlp_point_reject(parser, batch, "a data point has no value");
	return OK;
}

static enum status read_points(struct ingest_parser *parser, struct batch *batch, struct span message, size_t form,
	struct span body, struct error *err)
{
	struct protobuf_field field;
	struct span rest = message;
	bool is_interval = false; /* may stand behind the points */

	while (protobuf_next(&rest, &field))
		if (protobuf_is(&field, 2, PROTOBUF_VARINT))
			is_interval = field.value == IS_INTERVAL;
	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			TRY(read_point(parser, batch, field.bytes, form, is_interval, body, err));
	return protobuf_end(message, body, "Metric", err);
}

static enum status read_metric(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;
	struct span name = SPAN(""), unit = SPAN(""), rest = message;

	while (protobuf_next(&rest, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			name = field.bytes;
		else if (protobuf_is(&field, 3, PROTOBUF_BYTES))
			unit = field.bytes;
	}
	TRY(protobuf_end(rest, body, "Metric", err));
	otlp_metric_begin(parser, name, unit);
	while (protobuf_next(&message, &field))
		for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
			if (protobuf_is(&field, forms[form].kind, PROTOBUF_BYTES))
				TRY(read_points(parser, batch, field.bytes, form, body, err));
	return OK;
}

static enum status read_scope(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	return push_each(parser, batch, message, body, 2, "ScopeMetrics", read_metric, err);
}

static enum status read_resource(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	TRY(otlp_resource_of(parser, batch, message, body, err));
	return push_each(parser, batch, message, body, 2, "ResourceMetrics", read_scope, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	return push_each_of_body(
		parser, batch, parser->options.is_snappy, "ExportMetricsServiceRequest", read_resource, err);
}

const struct ingest_protocol ingest_otlp_metrics = PUSH_PROTOCOL("otlp_metrics", finish);
