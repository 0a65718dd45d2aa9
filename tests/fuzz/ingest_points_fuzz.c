/* However a body is cut, the same points and the same mistake come out. */
#include "ingest/ingest.h"
#include "model/metrics/batch_points.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
	return hash * 31 + span_hash(span_of(bytes, len));
}

static uint64_t hash_batch(const struct batch *batch, uint64_t hash)
{
	for (size_t i = 0; i < batch->part_count; i++)
		for (size_t j = 0; j < batch->parts[i].series_count; j++) {
			const struct batch_series *series = &batch->parts[i].series[j];
			hash = mix(hash, series->metric.ptr, series->metric.len);
			if (!series->count)
				continue;
			hash = mix(hash, series->steps, series->count * sizeof *series->steps);
			hash = mix(hash, series->ts_ms, series->count * sizeof *series->ts_ms);
			hash = mix(hash, series->values, series->count * sizeof *series->values);
		}
	return hash + batch->rejected;
}

static uint64_t run(const struct ingest_protocol *protocol, struct span body, size_t piece)
{
	struct ingest_options options = {.job = SPAN("J"),
		.stream = SPAN("S"),
		.max_name_bytes = 16,
		.max_parts = 4,
		.max_points_bytes =
			1 << 20}; /* a limit that is hit may come earlier or later in a body cut otherwise */
	struct ingest_parser *parser = NULL;
	struct error err = {0};
	AUTO(batch) batch = batch_new(1);
	enum status status = OK;

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
	struct span warning = protocol->warning(parser);
	uint64_t hash = mix(hash_batch(batch, (uint64_t)status), err.text, strlen(err.text));
	hash = warning.len ? mix(hash, warning.ptr, warning.len) : hash;
	protocol->free(parser);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body = span_of((const char *)data, size);
	size_t piece = size ? data[size / 2] % 13 + 1 : 1;

	static const struct ingest_protocol *const protocols[] = {
		&ingest_points, &ingest_points_ndjson, &ingest_prometheus, &ingest_csv};

	for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
		if (run(protocols[i], body, size + 1) != run(protocols[i], body, piece))
			abort();
	return 0;
}
