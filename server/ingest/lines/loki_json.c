/* Loki's push as JSON: {"streams":[{"stream":{"job":"x"},"values":[["<ns>","line",{"name":"value",…}],…]}]}. What
 * stands behind a line (structured metadata) stays in it. */
#include "ingest/json_scan.h"
#include "ingest/lines/record.h"

static enum status read_label(
	struct ingest_parser *parser, struct json_scan *s, const struct ndjson_value *key, struct error *err)
{
	struct ndjson_value raw;
	struct span name, value;

	TRY(json_scan_text(s, &raw, err));
	TRY(json_scan_decode(s, key, &parser->scratch, &name, err));
	TRY(json_scan_decode(s, &raw, &parser->text, &value, err));
	label_set_add(&parser->labels, name, value);
	return OK;
}

static enum status read_labels(struct ingest_parser *parser, struct json_scan *s, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	label_set_reset(&parser->labels);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		TRY(read_label(parser, s, &key, err));
	}
	return label_set_finish(&parser->labels, err);
}

/* Of texts; any other value is shown as it came, and null is none. */
static enum status read_pair(
	struct ingest_parser *parser, struct json_scan *s, const struct ndjson_value *key, struct error *err)
{
	struct ndjson_value raw;
	struct span name, value;

	if (json_scan_null(s))
		return OK;
	TRY(json_scan_decode(s, key, &parser->key, &name, err));
	if (json_scan_peek(s) == '"') {
		TRY(json_scan_text(s, &raw, err));
		TRY(json_scan_decode(s, &raw, &parser->value, &value, err));
	} else {
		const char *from = s->at;
		TRY(json_scan_skip(s, err));
		value = span_of(from, (size_t)(s->at - from));
	}
	record_add_attribute(parser, name, value);
	return OK;
}

static enum status read_metadata(struct ingest_parser *parser, struct json_scan *s, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return OK;
		TRY(read_pair(parser, s, &key, err));
	}
}

/* What stands behind the line: an object of metadata, and whatever else. */
static enum status read_rest(struct ingest_parser *parser, struct json_scan *s, struct error *err)
{
	bool is_end;

	for (bool is_first = true;; is_first = false) {
		TRY(json_scan_item(s, &is_end, err));
		if (is_end)
			return OK;
		bool is_metadata = is_first && json_scan_peek(s) == '{';
		TRY(is_metadata ? read_metadata(parser, s, err) : json_scan_skip(s, err));
	}
}

static enum status read_value(struct ingest_parser *parser, struct batch *batch, struct json_scan *s, struct error *err)
{
	struct json_scan before;
	struct ndjson_value raw;
	struct span number, line;
	uint64_t time_ns;
	bool is_end;

	TRY(json_scan_open(s, '[', err));
	TRY(json_scan_item(s, &is_end, err));
	before = *s;
	if (is_end || json_scan_number(s, &number, err) != OK || !span_parse_u64(number, &time_ns))
		return json_scan_expected(&before, "nanoseconds since 1970, digits in quotes", err);
	TRY(json_scan_item(s, &is_end, err));
	if (is_end)
		return json_scan_expected(s, "a line behind its time", err);
	TRY(json_scan_text(s, &raw, err));
	TRY(json_scan_decode(s, &raw, &parser->scratch, &line, err));
	time_ns += !time_ns; /* 1970 is no log time; 0 would be none at all */
	record_begin(parser);
	TRY(read_rest(parser, s, err));
	return record_put_text(parser, batch, line, time_ns, err);
}

static enum status read_values(
	struct ingest_parser *parser, struct batch *batch, struct json_scan *s, struct error *err)
{
	bool is_end;

	TRY(json_scan_open(s, '[', err));
	for (;;) {
		TRY(json_scan_item(s, &is_end, err));
		if (is_end)
			return OK;
		TRY(read_value(parser, batch, s, err));
	}
}

/* The values may stand before the labels: where they are is kept, and they are read when the object has ended. */
static enum status read_stream(
	struct ingest_parser *parser, struct batch *batch, struct json_scan *s, struct error *err)
{
	struct json_scan values = *s;
	struct span labels = SPAN("{}");
	bool has_values = false, is_end;
	struct ndjson_value key;

	label_set_reset(&parser->labels);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		const char *from = s->at;
		if (json_scan_is(&key, "stream")) {
			TRY(read_labels(parser, s, err));
			labels = span_of(from, (size_t)(s->at - from));
			continue;
		}
		if (json_scan_is(&key, "values")) {
			values = *s;
			has_values = true;
		}
		TRY(json_scan_skip(s, err));
	}
	TRY(push_begin_stream(parser, batch, err));
	push_identify(parser, batch, labels);
	if (has_values)
		TRY(read_values(parser, batch, &values, err));
	return push_end_stream(parser, batch, err);
}

static enum status read_streams(
	struct ingest_parser *parser, struct batch *batch, struct json_scan *s, struct error *err)
{
	bool is_end;

	TRY(json_scan_open(s, '[', err));
	for (;;) {
		TRY(json_scan_item(s, &is_end, err));
		if (is_end)
			return OK;
		TRY(read_stream(parser, batch, s, err));
	}
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct ndjson_value key;
	struct span body;
	bool is_end, has_streams = false;

	TRY(push_content(parser, parser->options.is_snappy, &body, err));
	struct json_scan s = json_scan_on(body);
	TRY(json_scan_open(&s, '{', err));
	for (;;) {
		TRY(json_scan_key(&s, &key, &is_end, err));
		if (is_end)
			break;
		bool is_streams = json_scan_is(&key, "streams");
		has_streams = has_streams || is_streams;
		TRY(is_streams ? read_streams(parser, batch, &s, err) : json_scan_skip(&s, err));
	}
	if (!has_streams)
		return error_set_field(err, ERR_INVALID, "streams", "the object has no \"streams\"");
	return json_scan_end(&s, err);
}

const struct ingest_protocol ingest_loki_json = PUSH_PROTOCOL("loki_json", finish);
