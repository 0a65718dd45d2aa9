#include "read/checkpoint_place.h"

#include "store/faults.h"

void checkpoint_write_place(struct json_writer *w, const struct checkpoint_row *row)
{
	json_key(w, "attempt");
	if (row->attempt)
		json_i64(w, row->attempt);
	else
		json_null(w);
	json_put_i64(w, "ts_ms", row->ts_ms);
	json_put_span(w, "stream", row->stream);
	json_put_i64(w, "line", (int64_t)row->line);
}
