/* Whatever a shipper sends: lines that are whole, or an error that says why; the same however the body is cut. The first byte
 * chooses the protocol. */
#include "ingest/ingest.h"
#include "ingest/labels.h"
#include "ingest/otlp/span_names.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t run(const struct ingest_protocol *protocol, const struct ingest_labels *labels,
	const struct ingest_span_names *names, struct span body, size_t piece)
{
	struct ingest_options options = {.max_line_bytes = 32,
		.max_name_bytes = 16,
		.max_parts = 4,
		.max_push_bytes = 1 << 16,
		.span_names = names,
		.labels = labels};
	struct ingest_parser *parser = NULL;
	struct error err = {0};
	AUTO(batch) batch = batch_new(1);
	enum status status = OK;
	uint64_t hash = 0;

	if (!batch || protocol->open(&parser, &options, &err))
		abort();
	while (body.len && !status) {
		status = protocol->feed(parser, batch, span_of(body.ptr, body.len < piece ? body.len : piece), &err);
		body = span_skip(body, piece);
	}
	if (!status)
		status = protocol->finish(parser, batch, &err);
	if (status != OK && (!err.text[0] || (status != ERR_INVALID && status != ERR_TOO_LARGE)))
		abort();
	for (size_t i = 0; i < batch->part_count; i++) {
		hash += batch->parts[i].push_hash.low;
		for (size_t j = 0; j < batch->parts[i].count; j++) {
			const struct line *line = &batch->parts[i].lines[j];
			if (line->text.len > options.max_line_bytes || span_find_char(line->text, '\n') >= 0)
				abort();
			hash = hash * 31 + span_hash(line->text) + (uint64_t)line->ts_ms;
		}
	}
	protocol->free(parser);
	return hash + batch->rejected;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ingest_protocol *const protocols[] = {&ingest_loki, &ingest_loki_json, &ingest_otlp_logs,
		&ingest_otlp_logs_json, &ingest_otlp_metrics, &ingest_otlp_metrics_json, &ingest_otlp_traces,
		&ingest_otlp_traces_json};
	AUTO(ingest_labels) labels = NULL;
	AUTO(ingest_span_names) names = NULL;
	struct error err;

	if (!size)
		return 0;
	static const char *const lists[LABEL_ROLES] = {
		"training.job,job,batch.kubernetes.io/job-name,pod", "stream,index,host", "host", "namespace"};
	if (ingest_labels_new(&labels, lists, &err) || ingest_span_names_new(&names, "", &err))
		abort();
	struct span body = span_of((const char *)data + 1, size - 1);
	const struct ingest_protocol *protocol = protocols[data[0] % (sizeof protocols / sizeof *protocols)];
	if (run(protocol, labels, names, body, size) != run(protocol, labels, names, body, data[size / 2] % 13 + 1))
		abort();
	return 0;
}
