/* Whatever Prometheus' remote write sends: samples of whole series, or an error that says why. An odd first byte: the rest is the message,
 * which is put into a snappy block here; else it is a block already. */
#include "ingest/ingest.h"
#include "ingest/labels.h"
#include "model/metrics/batch_points.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_BYTES = 1 << 17, LITERAL = 60 };

static void pack(struct span plain, struct buf *out)
{
	size_t left = plain.len;

	for (; left > 0x7f; left >>= 7)
		buf_append_char(out, (char)(left | 0x80));
	buf_append_char(out, (char)left);
	while (plain.len) {
		size_t piece = plain.len < LITERAL ? plain.len : LITERAL;
		buf_append_char(out, (char)((piece - 1) << 2));
		buf_append(out, plain.ptr, piece);
		plain = span_skip(plain, piece);
	}
}

static void check(const struct batch *batch)
{
	size_t points = 0;

	if (!batch->is_partial)
		abort();
	for (size_t i = 0; i < batch->part_count; i++)
		for (size_t j = 0; j < batch->parts[i].series_count; j++) {
			const struct batch_series *series = &batch->parts[i].series[j];
			points += series->count;
			if (series->form != SERIES_SAMPLES || !series->metric.len || !span_is_utf8(series->metric))
				abort();
		}
	if (points != batch->point_count || batch->line_count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const lists[LABEL_ROLES] = {"hpc_job,pod", "stream", "hostname,instance", "namespace"};
	AUTO_DONE(buf) body = BUF_INIT(BODY_BYTES);
	AUTO(ingest_labels) labels = NULL;
	AUTO(batch) batch = batch_new(1700000000000);
	struct ingest_parser *parser = NULL;
	struct error err = {0};

	if (!size || size > BODY_BYTES / 2)
		return 0;
	struct span rest = span_of((const char *)data + 1, size - 1);
	if (ingest_labels_new(&labels, lists, &err) || !batch)
		abort();
	if (data[0] & 1)
		pack(rest, &body);
	else
		buf_append_span(&body, rest);
	struct ingest_options options = {.max_line_bytes = 32,
		.max_name_bytes = 16,
		.max_parts = 4,
		.max_push_bytes = BODY_BYTES,
		.labels = labels};
	if (ingest_remote_write.open(&parser, &options, &err) ||
		ingest_remote_write.feed(parser, batch, body.len ? buf_span(&body) : SPAN(""), &err))
		abort();
	enum status status = ingest_remote_write.finish(parser, batch, &err);
	if (status != OK && (!err.text[0] || (status != ERR_INVALID && status != ERR_TOO_LARGE)))
		abort();
	check(batch);
	ingest_remote_write.free(parser);
	return 0;
}
