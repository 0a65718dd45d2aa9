/* OTLP logs as JSON: 64 bits are digits in quotes or a number, unknown fields are skipped. */
#include "ingest/otlp.h"

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

static enum status take_record(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct ingest_parser *parser = request->parser;
	uint64_t time_ns = 0, observed_ns = 0;
	bool has_body = false, is_end;
	struct ndjson_value key;

	buf_reset(&parser->text);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		if (json_scan_is(&key, "timeUnixNano")) {
			TRY(read_time(s, &time_ns, err));
		} else if (json_scan_is(&key, "observedTimeUnixNano")) {
			TRY(read_time(s, &observed_ns, err));
		} else if (json_scan_is(&key, "body")) {
			has_body = true;
			TRY(otlp_value_json(s, &parser->scratch, &parser->text, err));
		} else {
			TRY(json_scan_skip(s, err));
		}
	}
	if (has_body)
		return push_line(parser, request->batch, buf_span(&parser->text), time_ns ? time_ns : observed_ns, err);
	otlp_point_reject(parser, request->batch, "a log record has no body");
	return OK;
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct otlp_json request = {parser, batch, "resourceLogs", "scopeLogs", "logRecords", take_record};

	return otlp_request_json(&request, err);
}

const struct ingest_protocol ingest_otlp_logs_json = {.name = "otlp_logs_json",
	.open = push_open,
	.feed = push_feed,
	.finish = finish,
	.warning = push_warning,
	.held_bytes = push_held_bytes,
	.free = push_free};
