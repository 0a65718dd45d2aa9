/*
 * Job: what OTLP's logs, metrics and traces share, in both forms: the attributes of a resource as labels, points with their names.
 * Ownership and threads: as ingest.h.
 * Source: opentelemetry-proto 1.x; opentelemetry.io/docs/specs/otlp
 */
#pragma once

#include "base/json/json_write.h"
#include "base/codec/protobuf.h"
#include "ingest/json_scan.h"
#include "ingest/lines/push.h"

enum { OTLP_DEPTH = 16 }; /* of values in values: as deep as a log body is printed */

/* ---- otlp_value.c: AnyValue as text: a text as it is, all else as JSON ---- */
enum status otlp_value(struct span message, struct span body, struct buf *out, struct error *err) MUST_CHECK;
enum status otlp_value_json(struct json_scan *s, struct buf *scratch, struct buf *out, struct error *err) MUST_CHECK;
/* KeyValue: the key (in the message, or in scratch), the value appended to out, which is emptied before. */
enum status otlp_attribute(
	struct span message, struct span body, struct span *key, struct buf *out, struct error *err) MUST_CHECK;
enum status otlp_attribute_json(struct ingest_parser *parser, struct json_scan *s, struct buf *key, struct buf *out,
	struct error *err) MUST_CHECK;

/* Resource{attributes=1}: into the parser's labels, which are emptied before and finished. */
enum status otlp_resource(
	struct ingest_parser *parser, struct span message, struct span body, struct error *err) MUST_CHECK;
enum status otlp_resource_json(struct ingest_parser *parser, struct json_scan *s, struct error *err) MUST_CHECK;

/* The resource of a ResourceLogs or ResourceMetrics (its field 1) says which stream comes: the parser stands at it. */
enum status otlp_resource_of(struct ingest_parser *parser, struct batch *batch, struct span message, struct span body,
	struct error *err) MUST_CHECK;

/* The requests in JSON are alike: a list of a resource and a list of scopes with a list of items each. */
struct otlp_json {
	struct ingest_parser *parser;
	struct batch *batch;
	const char *resources, *scopes, *items; /* names of the lists */
	json_scan_take *take; /* an item; the context is this */
	enum status (*begin)(
		struct ingest_parser *parser, struct batch *batch, struct error *err); /* a resource; or NULL */
	enum status (*end)(struct ingest_parser *parser, struct batch *batch, struct error *err);
	bool is_interval; /* of metrics: the distributions at hand have delta temporality */
};
enum status otlp_request_json(struct otlp_json *request, struct error *err) MUST_CHECK;

/* ---- otlp_points.c: points of the stream at hand, one by one ---- */
void otlp_metric_begin(struct ingest_parser *parser, struct span name, struct span unit);
void otlp_point_begin(struct ingest_parser *parser); /* of the same metric */
bool otlp_is_step(struct span key, struct span value, int64_t *step); /* *step is left alone where it is none */
/* An attribute: the point's step, or a label. */
void otlp_point_label(struct ingest_parser *parser, struct span key, struct span value);
/* suffix: "", or ".count" behind the metric's name, which has no role then. Rejected with a warning: a name or time that is none, too many labels. */
enum status otlp_point_add(struct ingest_parser *parser, struct batch *batch, const char *suffix, double value,
	struct error *err) MUST_CHECK;
void otlp_point_reject(struct ingest_parser *parser, struct batch *batch, const char *why);
/* Of a histogram or a summary: of an interval, or since start_ns. */
struct otlp_distribution {
	bool is_interval, has_sum;
	uint64_t start_ns; /* 0: not known */
	double sum, count;
};
enum status otlp_point_distribution(struct ingest_parser *parser, struct batch *batch,
	const struct otlp_distribution *distribution, struct error *err) MUST_CHECK;
