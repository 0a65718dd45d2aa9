/*
 * Job: protocols: bytes of a body as they arrive -> lines in a batch. One protocol a file; the table is here.
 * Ownership: a parser owns its carry-over; batches are the caller's. Threads: one upload at a time. Pure: no clock.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "model/metrics/batch.h"

struct ingest_options {
	size_t max_line_bytes; /* longer lines are cut there, marked and counted: 4 MiB */
	struct span job; /* from the query; "" when the body must say it */
	struct span stream; /* from the query or the default "algo-1" */
	size_t max_name_bytes; /* of jobs and streams: 255 */
	size_t max_parts; /* streams in one slice; more is an error */
	size_t max_points_bytes; /* of one entry of a body of points; more is an error: 16 MiB */
	size_t max_push_bytes; /* of a body that is taken as a whole, unpacked; more is an error: 16 MiB */
	bool is_snappy; /* of such a body: its Content-Encoding says so */
	const struct ingest_labels *labels; /* of such a body (labels.h) */
	const struct ingest_span_names *span_names; /* of OTLP's traces (otlp/span_names.h) */
	struct span more_labels; /* of points in Prometheus' text: name="value",… that each series gets; "": none */
};

struct ingest_parser;
struct ingest_labels;
struct ingest_span_names;

struct ingest_protocol {
	const char *name;
	enum status (*open)(struct ingest_parser **out, const struct ingest_options *options, struct error *err);
	/* Appends what is complete to the batch. An error names line and column of the body; what was complete before it is in
	 * the batch. A lone bad entry of NDJSON is counted in batch->rejected with a warning (see ingest_warning), not an error. */
	enum status (*feed)(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err);
	/* The end of the body: a last line without its newline is taken (LINE_OPEN_END). */
	enum status (*finish)(struct ingest_parser *parser, struct batch *batch, struct error *err);
	/* The first few rejections in words, for the reply; "" : none. Lives as long as the parser. */
	struct span (*warning)(const struct ingest_parser *parser);
	/* Memory that it keeps between feeds: of an open line, or of a body that is taken as a whole; NULL: little. */
	size_t (*held_bytes)(const struct ingest_parser *parser);
	void (*free)(struct ingest_parser *parser);
};

extern const struct ingest_protocol ingest_plain; /* text/plain and everything that is no other's */
extern const struct ingest_protocol ingest_ndjson; /* application/x-ndjson: line|log|message, times, stream, job */
extern const struct ingest_protocol ingest_json_array; /* application/json: an array of these */

extern const struct ingest_protocol ingest_points; /* {"series":[…]} and {"points":[…]}, and the latter's array alone */
extern const struct ingest_protocol ingest_points_ndjson; /* an object of "points" a line */
extern const struct ingest_protocol ingest_prometheus, ingest_csv; /* text of points; a bad line harms itself alone */
/* Of bodies of points, as below. */
const struct ingest_protocol *ingest_points_protocol_for(struct span content_type);

/* Loki's push, and OTLP over HTTP: labels or attributes say job, stream and host. The batch is filled by finish, and may be large:
 * a body is one slice, which is stored as a whole or not at all. */
extern const struct ingest_protocol ingest_loki, ingest_loki_json;
extern const struct ingest_protocol ingest_otlp_logs, ingest_otlp_logs_json;
extern const struct ingest_protocol ingest_otlp_metrics, ingest_otlp_metrics_json;
extern const struct ingest_protocol ingest_otlp_traces, ingest_otlp_traces_json;
const struct ingest_protocol *ingest_loki_protocol_for(struct span content_type);
const struct ingest_protocol *ingest_otlp_logs_for(struct span content_type);
const struct ingest_protocol *ingest_otlp_metrics_for(struct span content_type);
const struct ingest_protocol *ingest_otlp_traces_for(struct span content_type);

/* Prometheus' remote write, 1.0 only: what is 2.0 by its type has none. Its samples make a batch that is taken in part. */
extern const struct ingest_protocol ingest_remote_write;
const struct ingest_protocol *ingest_remote_write_for(struct span content_type);
#define INGEST_MACHINES_JOB "machines" /* of series that name no training; of a team "machines/TEAM" */

/* By media type (parameters ignored); NULL: none takes it. An empty type and curl's default form type are plain. */
const struct ingest_protocol *ingest_protocol_for(struct span content_type);

/* Names of jobs, streams, metrics: 1..max UTF-8 bytes without control characters. ERR_INVALID with field. */
enum status ingest_check_name(const char *field, struct span name, size_t max_bytes, struct error *err) MUST_CHECK;
/* name{b="2",a="1"} -> name{a="1",b="2"}, appended to out: at most 24 labels of 1024 bytes, each once. ERR_INVALID. */
enum status ingest_metric_name(struct span text, struct buf *out, struct error *err) MUST_CHECK;
/* One label behind a name, {key="value" or ,key="value" without the last brace: what a label's name cannot hold becomes '_', and what
 * the value cannot gets its backslash. */
void ingest_metric_label(struct buf *out, bool is_first, struct span key, struct span value);
/* The other way round, of a name in the form that is stored. */
enum { METRIC_LABELS_MAX = 24 };
struct metric_label {
	struct span name;
	struct span value; /* with its escapes */
};
bool ingest_metric_split(
	struct span metric, struct span *name, struct metric_label labels[METRIC_LABELS_MAX], size_t *count);
void ingest_metric_unescape(struct span value, struct buf *out);
/* Numbers (s, ms, µs or ns by magnitude) and ISO 8601 -> Unix ms. */
bool ingest_parse_time(struct span text, int64_t *ts_ms);
/* Unix nanoseconds; false: not between 1990 and 2200. */
bool ingest_time_ns(uint64_t ns, int64_t *ts_ms);
