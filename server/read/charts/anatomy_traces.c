#include "read/charts/anatomy_traces.h"

#include "base/median.h"
#include "store/gpu_traces.h"

#include <math.h>
#include <stdlib.h>

enum { PAGE_ROWS = 1000 };

static bool is_asked(const struct gpu_trace *trace, int64_t from, int64_t to)
{
	if (trace->first_step < 0)
		return from == INT64_MIN && to == INT64_MAX;
	return trace->first_step <= to && trace->last_step >= from;
}

/* What is stored was checked when it came. */
static enum status take_row(
	struct arena *arena, const struct gpu_trace_row *row, struct anatomy_trace *out, struct error *err)
{
	AUTO(json) document = NULL;

	TRY(json_parse(&document, row->document, err));
	out->received_ms = row->received_ms;
	out->author = row->author;
	return gpu_trace_read(&out->trace, document, arena, err);
}

static int by_place(const void *a, const void *b)
{
	const struct anatomy_trace *x = a, *y = b;
	int stream = span_compare(x->trace.stream, y->trace.stream);

	if (stream)
		return stream;
	if (x->trace.first_step != y->trace.first_step)
		return x->trace.first_step < y->trace.first_step ? -1 : 1;
	if (x->trace.profiled_ms != y->trace.profiled_ms)
		return x->trace.profiled_ms < y->trace.profiled_ms ? -1 : 1;
	return span_compare(x->trace.trace, y->trace.trace);
}

enum status anatomy_read_traces(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from,
	int64_t to, struct anatomy_traces *out, struct error *err)
{
	struct gpu_trace_row *rows = NULL;
	size_t count = PAGE_ROWS;
	uint64_t total;

	*out = (struct anatomy_traces){0};
	TRY(store_count_gpu_traces(reader, job_id, &total, err));
	out->traces = arena_alloc(arena, (total + 1) * sizeof *out->traces);
	if (!out->traces)
		return error_no_memory(err);
	while (count == PAGE_ROWS) {
		const struct gpu_trace_row *after = rows ? &rows[count - 1] : NULL;
		TRY(store_read_gpu_traces(reader, arena, job_id, after, PAGE_ROWS, &rows, &count, err));
		for (size_t i = 0; i < count && out->count < total; i++) {
			TRY(take_row(arena, &rows[i], &out->traces[out->count], err));
			out->count += is_asked(&out->traces[out->count].trace, from, to);
		}
	}
	if (out->count)
		qsort(out->traces, out->count, sizeof *out->traces, by_place);
	return OK;
}

static double exposed_of(const struct gpu_trace *trace)
{
	return gpu_trace_share(trace, gpu_trace_exposed_us(trace));
}

/* NULL: it is beyond the limit. */
static struct anatomy_stream *find_stream(struct anatomy *anatomy, struct span name)
{
	for (size_t i = 0; i < anatomy->count; i++)
		if (span_equal(anatomy->streams[i].name, name))
			return &anatomy->streams[i];
	if (anatomy->count == ANATOMY_STREAMS_MAX) {
		anatomy->left_out++;
		return NULL;
	}
	struct anatomy_stream *stream = &anatomy->streams[anatomy->count++];
	*stream = (struct anatomy_stream){.name = name, .exposed = NAN};
	for (int part = 0; part < ANATOMY_PARTS; part++) {
		stream->share[part] = NAN;
		stream->from[part] = SPAN("");
	}
	return stream;
}

enum status anatomy_add_traces(
	struct anatomy *anatomy, const struct anatomy_traces *traces, struct arena *arena, struct error *err)
{
	double *values = arena_alloc(arena, (traces->count + ANATOMY_STREAMS_MAX) * sizeof *values);
	size_t known = 0;

	if (!values)
		return error_no_memory(err);
	for (size_t i = 0, end; i < traces->count; i = end) {
		size_t count = 0, steps = 0;
		struct span name = traces->traces[i].trace.stream;
		for (end = i; end < traces->count && span_equal(traces->traces[end].trace.stream, name); end++) {
			values[count] = exposed_of(&traces->traces[end].trace);
			count += !isnan(values[count]);
			steps += (size_t)traces->traces[end].trace.steps;
		}
		struct anatomy_stream *stream = find_stream(anatomy, name);
		if (!stream)
			continue;
		stream->traces = end - i;
		if (!stream->steps) /* no timer tells of any */
			stream->steps = steps;
		anatomy->steps = stream->steps > anatomy->steps ? stream->steps : anatomy->steps;
		stream->exposed = median_of(values, count);
	}
	for (size_t i = 0; i < anatomy->count; i++)
		if (!isnan(anatomy->streams[i].exposed))
			values[known++] = anatomy->streams[i].exposed;
	anatomy->exposed = median_of(values, known);
	return OK;
}
