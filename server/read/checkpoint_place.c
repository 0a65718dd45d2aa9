#include "read/checkpoint_place.h"

#include "read/logs/lines.h"
#include "store/faults.h"

#include <string.h>

enum { LINE_MAX_BYTES = 64 * 1024 };

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

/* ---- the line, and the path in it ---- */

enum status checkpoint_read_text(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct checkpoint_row *row, struct span *out, struct error *err)
{
	struct line_view *lines;
	size_t count = 0;
	uint64_t total;

	*out = SPAN("");
	if (row->is_added)
		return OK;
	enum status status = lines_read(
		pipeline, reader, arena, job, row->stream, row->line, 1, LINE_MAX_BYTES, &lines, &count, &total, err);
	if (status == ERR_MEMORY || status == ERR_UNAVAILABLE)
		return status;
	if (status == OK && count)
		*out = lines[0].text;
	return OK;
}

static bool is_path(struct span word)
{
	static const char *const starts[] = {"/", "./", "../", "~/"};

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (word.len > 1 && span_starts_with(word, span_from(starts[i])))
			return true;
	return span_find(word, SPAN("://")) > 0;
}

/* "Saving model checkpoint to out/checkpoint-5": what is relative is one behind such a word alone. */
static bool is_relative_path(struct span before, struct span word)
{
	static const char *const words[] = {"to", "checkpoint", "in", "at"};

	if (span_find_char(word, '/') <= 0 || word.ptr[word.len - 1] == '/')
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal(before, span_from(words[i])))
			return (word.ptr[0] < '0' || word.ptr[0] > '9'); /* "at 10/100" */
	return false;
}

/* "saved checkpoint to /ckpt/step-80 at step 80": the first word that is one of a file system or a store. */
static struct span path_in(struct span text)
{
	static const char between[] = " \t'\"()[]<>,;=";
	struct span before = SPAN("");

	while (text.len) {
		size_t len = 0;
		while (len < text.len && !memchr(between, text.ptr[len], sizeof between - 1))
			len++;
		struct span word = {text.ptr, len};
		while (word.len && (word.ptr[word.len - 1] == '.' || word.ptr[word.len - 1] == ':'))
			word.len--;
		if (is_path(word) || is_relative_path(before, word))
			return word;
		if (word.len)
			before = word;
		len += len < text.len;
		text = (struct span){text.ptr + len, text.len - len};
	}
	return SPAN("");
}

struct span checkpoint_path(const struct checkpoint_row *row, struct span text)
{
	return row->path.len ? row->path : path_in(text);
}
