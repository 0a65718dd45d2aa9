/* A job's hyperparameters: what its document states, and what its log says of the rest, with the line that said it. */
#include "pipeline/jobs/job_record.h"
#include "store/job_facts.h"

static bool is_stated(const struct json *stated, struct span key)
{
	AUTO_DONE(buf) path = BUF_INIT(4096); /* a key of a log is short */

	if (!stated)
		return false;
	for (const struct json *at = json_first(stated); at; at = json_next(at))
		if (span_equal(json_key_of(at), key))
			return true;
	buf_append_span(&path, key);
	buf_append_char(&path, '\0');
	return path.failure == OK && json_get_path(stated, path.ptr);
}

static enum status write_raw(const struct json *node, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	json_raw(w, buf_span(&text));
	return OK;
}

static enum status write_merged(const struct json *stated, const struct setting_row *rows, size_t count,
	struct json_writer *w, struct error *err)
{
	json_key(w, "HyperParameters");
	json_object(w);
	for (const struct json *at = stated ? json_first(stated) : NULL; at; at = json_next(at)) {
		json_key_span(w, json_key_of(at));
		TRY(write_raw(at, w, err));
	}
	for (size_t i = 0; i < count; i++) {
		if (is_stated(stated, rows[i].key))
			continue;
		json_key_span(w, rows[i].key);
		json_span(w, rows[i].value);
	}
	json_object_end(w);
	return OK;
}

static void write_found(const struct setting_row *rows, size_t count, struct json_writer *w)
{
	json_key(w, "HyperParametersFromLog");
	json_object(w);
	for (size_t i = 0; i < count; i++) {
		json_key_span(w, rows[i].key);
		json_object(w);
		json_put_span(w, "Value", rows[i].value);
		json_put_span(w, "Stream", rows[i].stream);
		json_put_i64(w, "Line", (int64_t)rows[i].line);
		json_object_end(w);
	}
	json_object_end(w);
}

enum status job_record_write_settings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct json *document, struct json_writer *w, struct error *err)
{
	const struct json *stated = json_get(document, "HyperParameters");
	struct setting_row *rows;
	size_t count;

	bool has_keys = stated && json_kind(stated) == JSON_OBJECT;
	TRY(store_read_settings(reader, arena, job_id, &rows, &count, err));
	if (stated && !has_keys && (!count || json_kind(stated) != JSON_NULL)) {
		json_key(w, "HyperParameters"); /* nothing that can be filled: as it came */
		TRY(write_raw(stated, w, err));
	} else if (has_keys || count) {
		TRY(write_merged(has_keys ? stated : NULL, rows, count, w, err));
	}
	if (count)
		write_found(rows, count, w);
	return OK;
}
