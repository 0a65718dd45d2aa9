#include "read/checkpoint_place.h"

#include "store/faults.h"

/* worked_out: what the log has of it; null: nothing. */
static void write_by_hand(struct json_writer *w, const struct checkpoint_row *row)
{
	json_put_text(w, "from", "by_hand");
	json_put_bool(w, "usable", !row->is_denied);
	json_key(w, "worked_out");
	if (row->is_added) {
		json_null(w);
	} else {
		json_object(w);
		json_put_bool(w, "usable", true);
		json_put_i64(w, "ts_ms", row->told_ms);
		json_object_end(w);
	}
	json_put_span(w, "set_why", row->why);
	if (row->set_by.len)
		json_put_span(w, "set_by", row->set_by);
	if (row->set_ms)
		json_put_i64(w, "set_ms", row->set_ms);
}

void checkpoint_write_place(struct json_writer *w, const struct checkpoint_row *row)
{
	json_key(w, "attempt");
	if (row->attempt)
		json_i64(w, row->attempt);
	else
		json_null(w);
	json_put_i64(w, "ts_ms", row->ts_ms);
	json_key(w, "stream");
	if (row->is_added)
		json_null(w);
	else
		json_span(w, row->stream);
	json_key(w, "line");
	if (row->is_added)
		json_null(w);
	else
		json_i64(w, (int64_t)row->line);
	if (row->is_by_hand)
		write_by_hand(w, row);
}
