/*
 * Job: spans of one stream, as they stand in one request, become points: of each step how long each part took (span:data, span:forward, …
 *      and span:step_time, in ms), without what ran inside it. The spans themselves are not kept.
 * Ownership and threads: as ingest.h.
 */
#pragma once

#include "ingest/lines/push.h"
#include "model/metrics/batch_series.h"

/* One span as it is read; ids are 0 where there is none. */
struct otlp_span {
	uint64_t id, parent, start_ns, end_ns;
	int64_t step; /* NO_STEP: it does not say it */
};

void otlp_spans_begin(struct ingest_parser *parser);
/* name: until the next call. Rejected with a warning: times that are none, more than fit into 4 MiB, at 56 bytes each. */
enum status otlp_spans_add(struct ingest_parser *parser, struct batch *batch, const struct otlp_span *span,
	struct span name, struct error *err) MUST_CHECK;
enum status otlp_spans_end(struct ingest_parser *parser, struct batch *batch, struct error *err) MUST_CHECK;
uint64_t otlp_span_id(struct span id); /* bytes, or their hexadecimal digits */
