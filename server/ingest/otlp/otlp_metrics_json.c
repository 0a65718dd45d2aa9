/* OTLP metrics as JSON: of each metric the list "dataPoints" below its kind. */
#include "ingest/otlp/otlp.h"

struct numbers {
	bool has_value, has_count, is_empty;
	double value;
	struct otlp_distribution of;
};

static enum status read_double(struct json_scan *s, double *value, bool *is_there, struct error *err)
{
	struct json_scan before = *s;
	struct span number;

	TRY(json_scan_number(s, &number, err));
	*is_there = number.len > 0;
	return !number.len || span_parse_double(number, value) ? OK : json_scan_expected(&before, "a number", err);
}

static enum status read_u64(struct json_scan *s, uint64_t *value, struct error *err)
{
	struct json_scan before = *s;
	struct span number;

	*value = 0;
	TRY(json_scan_number(s, &number, err));
	return !number.len || span_parse_u64(number, value) ? OK : json_scan_expected(&before, "a whole number", err);
}

static enum status take_label(void *context, struct json_scan *s, struct error *err)
{
	struct ingest_parser *parser = ((struct otlp_json *)context)->parser;

	TRY(otlp_attribute_json(parser, s, &parser->key, &parser->text, err));
	otlp_point_label(parser, buf_span(&parser->key), buf_span(&parser->text));
	return OK;
}

static enum status read_field(struct otlp_json *request, struct json_scan *s, const struct ndjson_value *key,
	struct numbers *numbers, struct error *err)
{
	uint64_t flags;

	if (json_scan_is(key, "attributes"))
		return json_scan_each(s, take_label, request, err);
	if (json_scan_is(key, "timeUnixNano"))
		return read_u64(s, &request->parser->point.time_ns, err);
	if (json_scan_is(key, "startTimeUnixNano"))
		return read_u64(s, &numbers->of.start_ns, err);
	if (json_scan_is(key, "asDouble") || json_scan_is(key, "asInt"))
		return read_double(s, &numbers->value, &numbers->has_value, err);
	if (json_scan_is(key, "count"))
		return read_double(s, &numbers->of.count, &numbers->has_count, err);
	if (json_scan_is(key, "sum"))
		return read_double(s, &numbers->of.sum, &numbers->of.has_sum, err);
	if (!json_scan_is(key, "flags"))
		return json_scan_skip(s, err);
	TRY(read_u64(s, &flags, err));
	numbers->is_empty = flags & 1; /* no recorded value */
	return OK;
}

static enum status take_point(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct numbers numbers = {.of.is_interval = request->is_interval};
	struct ndjson_value key;
	bool is_end;

	otlp_point_begin(request->parser);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		TRY(read_field(request, s, &key, &numbers, err));
	}
	if (numbers.is_empty)
		return OK;
	if (numbers.has_value)
		return otlp_point_add(request->parser, request->batch, "", numbers.value, err);
	if (numbers.has_count)
		return otlp_point_distribution(request->parser, request->batch, &numbers.of, err);
	otlp_point_reject(request->parser, request->batch, "a data point has no value");
	return OK;
}

/* A number, or the word of the protocol's definition. */
static enum status read_temporality(struct json_scan *s, bool *is_interval, struct error *err)
{
	struct span word;

	TRY(json_scan_number(s, &word, err));
	*is_interval = span_equal(word, SPAN("1")) || span_equal(word, SPAN("AGGREGATION_TEMPORALITY_DELTA"));
	return OK;
}

/* May stand behind the points. */
static enum status find_temporality(struct json_scan s, bool *is_interval, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	*is_interval = false;
	TRY(json_scan_open(&s, '{', err));
	for (;;) {
		TRY(json_scan_key(&s, &key, &is_end, err));
		if (is_end)
			return OK;
		TRY(json_scan_is(&key, "aggregationTemporality") ? read_temporality(&s, is_interval, err)
								 : json_scan_skip(&s, err));
	}
}

static enum status read_points(struct otlp_json *request, struct json_scan *s, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return OK;
		TRY(json_scan_is(&key, "dataPoints") ? json_scan_each(s, take_point, request, err)
						     : json_scan_skip(s, err));
	}
}

static bool is_kind(const struct ndjson_value *key)
{
	static const char *const kinds[] = {"gauge", "sum", "histogram", "exponentialHistogram", "summary"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (json_scan_is(key, kinds[i]))
			return true;
	return false;
}

static enum status read_text(struct json_scan *s, struct buf *scratch, struct buf *out, struct error *err)
{
	struct ndjson_value raw;
	struct span text;

	TRY(json_scan_text(s, &raw, err));
	TRY(json_scan_decode(s, &raw, scratch, &text, err));
	buf_reset(out);
	buf_append_span(out, text);
	return buf_status(out, err);
}

/* Its points may stand before its name. */
static enum status take_metric(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct ingest_parser *parser = request->parser;
	struct json_scan points = json_scan_on(SPAN("{}"));
	struct ndjson_value key;
	bool is_end;

	buf_reset(&parser->key);
	buf_reset(&parser->text);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		if (json_scan_is(&key, "name")) {
			TRY(read_text(s, &parser->scratch, &parser->key, err));
		} else if (json_scan_is(&key, "unit")) {
			TRY(read_text(s, &parser->scratch, &parser->text, err));
		} else {
			if (is_kind(&key))
				points = *s;
			TRY(json_scan_skip(s, err));
		}
	}
	otlp_metric_begin(parser, buf_span(&parser->key), buf_span(&parser->text));
	TRY(find_temporality(points, &request->is_interval, err));
	return read_points(request, &points, err);
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct otlp_json request = {.parser = parser,
		.batch = batch,
		.resources = "resourceMetrics",
		.scopes = "scopeMetrics",
		.items = "metrics",
		.take = take_metric};

	return otlp_request_json(&request, err);
}

const struct ingest_protocol ingest_otlp_metrics_json = PUSH_PROTOCOL("otlp_metrics_json", finish);
