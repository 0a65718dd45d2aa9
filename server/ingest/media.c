#include "ingest/ingest.h"

static const struct {
	const char *type;
	const struct ingest_protocol *protocol;
} types[] = {
	{"application/x-ndjson", &ingest_ndjson},
	{"application/ndjson", &ingest_ndjson},
	{"application/x-jsonlines", &ingest_ndjson},
	{"application/jsonlines", &ingest_ndjson},
	{"application/jsonl", &ingest_ndjson},
	{"application/json-lines", &ingest_ndjson},
	{"application/stream+json", &ingest_ndjson},
	{"application/json", &ingest_json_array},
	{"application/x-www-form-urlencoded", &ingest_plain}, /* what curl -d says when it is told nothing */
	{"application/octet-stream", &ingest_plain},
};

static struct span bare_type(struct span content_type)
{
	ptrdiff_t semicolon = span_find_char(content_type, ';');

	return span_trim(semicolon < 0 ? content_type : span_of(content_type.ptr, (size_t)semicolon));
}

const struct ingest_protocol *ingest_points_protocol_for(struct span content_type)
{
	struct span type = bare_type(content_type);
	const struct ingest_protocol *lines = ingest_protocol_for(content_type);

	/* what curl -d says when it is told nothing, too */
	if (!type.len || span_equal_fold(type, SPAN("application/json")) ||
		span_equal_fold(type, SPAN("application/x-www-form-urlencoded")))
		return &ingest_points;
	if (span_equal_fold(type, SPAN("text/csv")) || span_equal_fold(type, SPAN("application/csv")))
		return &ingest_csv;
	if (span_equal_fold(type, SPAN("text/plain")) || span_equal_fold(type, SPAN("application/openmetrics-text")))
		return &ingest_prometheus;
	return lines == &ingest_ndjson ? &ingest_points_ndjson : NULL;
}

const struct ingest_protocol *ingest_protocol_for(struct span content_type)
{
	struct span type = bare_type(content_type);

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (span_equal_fold(type, span_from(types[i].type)))
			return types[i].protocol;
	bool is_text = type.len >= 5 && span_equal_fold(span_of(type.ptr, 5), SPAN("text/"));
	return type.len == 0 || is_text ? &ingest_plain : NULL;
}

/* Of a protocol in two forms; no type at all is protobuf, which came first. */
static const struct ingest_protocol *choose(
	struct span content_type, const struct ingest_protocol *protobuf, const struct ingest_protocol *json)
{
	struct span type = bare_type(content_type);

	if (span_equal_fold(type, SPAN("application/json")))
		return json;
	return !type.len || span_equal_fold(type, SPAN("application/x-protobuf")) ? protobuf : NULL;
}

const struct ingest_protocol *ingest_remote_write_for(struct span content_type)
{
	bool is_protobuf = choose(content_type, &ingest_remote_write, NULL) != NULL;

	return is_protobuf && span_find(content_type, SPAN("io.prometheus.write.v2")) < 0 ? &ingest_remote_write : NULL;
}

const struct ingest_protocol *ingest_loki_protocol_for(struct span content_type)
{
	return choose(content_type, &ingest_loki, &ingest_loki_json);
}

const struct ingest_protocol *ingest_otlp_logs_for(struct span content_type)
{
	return choose(content_type, &ingest_otlp_logs, &ingest_otlp_logs_json);
}

const struct ingest_protocol *ingest_otlp_metrics_for(struct span content_type)
{
	return choose(content_type, &ingest_otlp_metrics, &ingest_otlp_metrics_json);
}

const struct ingest_protocol *ingest_otlp_traces_for(struct span content_type)
{
	return choose(content_type, &ingest_otlp_traces, &ingest_otlp_traces_json);
}
