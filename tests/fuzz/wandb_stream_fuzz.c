/* Bodies of file_stream: whatever they are, no file goes back, the batch counts what it holds, and an error has a text. */
#include "model/metrics/batch_series.h"
#include "wandb/stream_in.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct history_axis axes[] = {{{"eval/*", 6}, {"epoch", 5}}};
	struct span label = stream_find_label(span_of((const char *)data, size));
	const struct stream_start start = {.label = label,
		.label_file = label.len ? SPAN("label w") : SPAN(""),
		.history = {3, 2, SPAN(""), SPAN("")},
		.events = {0, 0, SPAN(""), SPAN("")},
		.console = {0, 1, SPAN(""), SPAN("")},
		.axes = axes,
		.axis_count = 1,
		.job = SPAN("j"),
		.metrics_stream = SPAN("algo-1"),
		.console_stream = SPAN("console"),
		.system_stream = SPAN("system/h"),
		.max_line_bytes = 100,
		.max_series = 50,
		.now_ms = INT64_C(1700000000000)};
	AUTO(batch) batch = batch_new(start.now_ms);
	struct stream_post post;
	struct error err = {0};
	size_t points = 0, lines = 0;

	if (label.len > STREAM_LABEL_MAX_BYTES || span_find_char(label, '"') >= 0 || span_find_char(label, '/') >= 0)
		abort();
	if (!batch)
		return 0;
	if (file_stream_read(span_of((const char *)data, size), &start, batch, &post, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < batch->part_count; i++) {
		lines += batch->parts[i].count;
		for (size_t j = 0; j < batch->parts[i].series_count; j++)
			points += batch->parts[i].series[j].count;
	}
	if (points != batch->point_count || lines != batch->line_count)
		abort();
	for (size_t i = 0; i < batch->file_count; i++)
		if (batch->files[i].next_line < batch->files[i].known_line &&
			batch->files[i].origin == batch->files[i].known_origin)
			abort();
	return 0;
}
