/* OTLP traces as JSON: ids are hexadecimal digits, times are digits in quotes or a number. */
#include "ingest/otlp/otlp.h"
#include "ingest/otlp/otlp_spans.h"

static enum status read_id(struct json_scan *s, uint64_t *id, struct error *err)
{
	struct ndjson_value raw = {.raw = SPAN("")};

	if (!json_scan_null(s))
		TRY(json_scan_text(s, &raw, err));
	*id = otlp_span_id(raw.raw);
	return OK;
}

static enum status read_time(struct json_scan *s, uint64_t *time_ns, struct error *err)
{
	struct json_scan before = *s;
	struct span number;

	*time_ns = 0;
	TRY(json_scan_number(s, &number, err));
	return !number.len || span_parse_u64(number, time_ns)
		       ? OK
		       : json_scan_expected(&before, "nanoseconds since 1970", err);
}

struct reading {
	struct ingest_parser *parser;
	struct otlp_span span;
};

static enum status take_attribute(void *context, struct json_scan *s, struct error *err)
{
	struct reading *reading = context;
	struct ingest_parser *parser = reading->parser;

	TRY(otlp_attribute_json(parser, s, &parser->key, &parser->text, err));
	(void)otlp_is_step(buf_span(&parser->key), buf_span(&parser->text), &reading->span.step);
	return OK;
}

static enum status read_name(struct ingest_parser *parser, struct json_scan *s, struct span *name, struct error *err)
{
	struct ndjson_value raw;

	*name = SPAN("");
	if (json_scan_null(s))
		return OK;
	TRY(json_scan_text(s, &raw, err));
	return json_scan_decode(s, &raw, &parser->value, name, err);
}

static enum status read_field(struct reading *reading, struct json_scan *s, const struct ndjson_value *key,
	struct span *name, struct error *err)
{
	struct otlp_span *span = &reading->span;

	if (json_scan_is(key, "spanId"))
		return read_id(s, &span->id, err);
	if (json_scan_is(key, "parentSpanId"))
		return read_id(s, &span->parent, err);
	if (json_scan_is(key, "name"))
		return read_name(reading->parser, s, name, err);
	if (json_scan_is(key, "startTimeUnixNano"))
		return read_time(s, &span->start_ns, err);
	if (json_scan_is(key, "endTimeUnixNano"))
		return read_time(s, &span->end_ns, err);
	if (json_scan_is(key, "attributes"))
		return json_scan_each(s, take_attribute, reading, err);
	return json_scan_skip(s, err);
}

static enum status take_span(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct reading reading = {.parser = request->parser, .span.step = NO_STEP};
	struct span name = SPAN("");
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return otlp_spans_add(request->parser, request->batch, &reading.span, name, err);
		TRY(read_field(&reading, s, &key, &name, err));
	}
}

static enum status begin(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	(void)batch;
	(void)err;
	otlp_spans_begin(parser);
	return OK;
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct otlp_json request = {.parser = parser,
		.batch = batch,
		.resources = "resourceSpans",
		.scopes = "scopeSpans",
		.items = "spans",
		.take = take_span,
		.begin = begin,
		.end = otlp_spans_end};

	return otlp_request_json(&request, err);
}

const struct ingest_protocol ingest_otlp_traces_json = PUSH_PROTOCOL("otlp_traces_json", finish);
