#include "pipeline/carry/carry_read_note.h"

#include "pipeline/carry/carry_want.h"
#include "store/jobs.h"

enum { TEXT_MAX_BYTES = 32 << 10 }; /* what --max-note-bytes can be set to */

static enum status read_place(const struct json *object, struct arena *arena, struct note_row *row, struct error *err)
{
	struct span name;

	TRY(want_text(object, "at", STATUS_MAX_BYTES, arena, &name, err));
	for (int32_t i = 0; i < NOTE_PLACE_COUNT; i++)
		if (span_equal(name, span_from(note_places[i]))) {
			row->place = i;
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, "at", "'%.*s' is no place of a note: step, time, line or checkpoint",
		SPAN_ARGS(name));
}

static enum status read_step(const struct json *object, struct note_row *row, struct error *err)
{
	const struct json *step;

	TRY(want_node(object, "step", &step, "a whole number or null", err));
	row->has_step = json_kind(step) != JSON_NULL;
	return row->has_step ? want_i64(object, "step", INT64_MIN, INT64_MAX, &row->step, err) : OK;
}

enum status carry_read_note(const struct json *object, struct arena *arena, struct note_row *row, struct error *err)
{
	*row = (struct note_row){0};
	TRY(read_place(object, arena, row, err));
	TRY(read_step(object, row, err));
	TRY(want_time(object, "ts_ms", &row->ts_ms, err));
	TRY(want_name(object, "stream", 0, arena, &row->stream, err));
	TRY(want_count(object, "line", &row->line, err));
	TRY(want_text(object, "text", TEXT_MAX_BYTES, arena, &row->text, err));
	TRY(want_name(object, "author", 0, arena, &row->author, err));
	TRY(want_name(object, "key", 0, arena, &row->key, err));
	TRY(want_i64(object, "created_ms", 0, INT64_MAX, &row->created_ms, err));
	return want_i64(object, "modified_ms", 0, INT64_MAX, &row->modified_ms, err);
}
