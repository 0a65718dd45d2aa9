#include "pipeline/carry/carry_trace.h"

#include "model/jobs/gpu_trace.h"
#include "pipeline/carry/carry_want.h"

void carry_write_trace(const struct gpu_trace_row *row, struct json_writer *w)
{
	json_key(w, "document");
	json_raw(w, row->document);
	json_put_i64(w, "received_ms", row->received_ms);
	json_put_span(w, "author", row->author);
}

enum status carry_read_trace(
	const struct json *object, struct arena *arena, struct gpu_trace_row *row, struct error *err)
{
	const struct json *document;
	struct gpu_trace trace;

	*row = (struct gpu_trace_row){0};
	TRY(want_node(object, "document", &document, "an object", err));
	TRY(gpu_trace_read(&trace, document, arena, err));
	TRY(gpu_trace_print(&trace, arena, &row->document, err));
	row->stream = trace.stream;
	row->trace = trace.trace;
	TRY(want_time(object, "received_ms", &row->received_ms, err));
	return want_name(object, "author", 0, arena, &row->author, err);
}
