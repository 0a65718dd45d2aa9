/* The leaves of a job's document, and the settings out of its log, as rows, so that search needs no JSON in SQL. */
#include "store/sql/jobs/attributes.h"

#include "base/json/json_read.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/failure.h"
#include "store/columns/case_fold.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/job_facts.h"

#define FAILURE_KEY "FailureClass"

enum { KEY_MAX_BYTES = 512, TEXT_MAX_BYTES = 2560, DEPTH_MAX = 32, ATTRIBUTES_MAX = 8192 };

struct flattening {
	struct store_tx *tx;
	int64_t job_id;
	int64_t position;
	struct buf text;
	struct buf folded;
};

static struct span cut(struct span text)
{
	if (text.len <= TEXT_MAX_BYTES)
		return text;
	text.len = TEXT_MAX_BYTES;
	while (text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
		text.len--;
	return text;
}

static enum status put(struct flattening *f, struct span key, struct span text, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	double number;

	buf_reset(&f->folded);
	text = cut(text);
	fold_append(&f->folded, text);
	TRY(buf_status(&f->folded, err));
	TRY(statement_open(&s, store_tx_reader(f->tx),
		"INSERT INTO attributes (job_id, key, position, text, folded, number) VALUES (?,?,?,?,?,?)", err));
	bind_i64(&s, f->job_id);
	bind_text(&s, key);
	bind_i64(&s, f->position++);
	bind_text(&s, text);
	bind_text(&s, buf_span(&f->folded));
	if (span_parse_double(text, &number) && isfinite(number))
		bind_finite(&s, number);
	else
		bind_null(&s);
	return statement_run(&s, err);
}

/* SageMaker's SDK encodes each hyperparameter as JSON: "\"adamw\"" is searched for as adamw. */
static enum status put_string(struct flattening *f, struct span key, struct span text, struct error *err)
{
	AUTO(json) inner = NULL;
	struct error ignored = {0};
	bool is_quoted = text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';

	if (is_quoted && span_starts_with(key, SPAN("hp.")) && json_parse(&inner, text, &ignored) == OK &&
		json_kind(inner) == JSON_STRING)
		text = json_string_of(inner);
	return put(f, key, text, err);
}

static enum status put_leaf(struct flattening *f, struct span key, const struct json *node, struct error *err)
{
	if (json_kind(node) == JSON_NULL || f->position >= ATTRIBUTES_MAX)
		return OK;
	if (json_kind(node) == JSON_STRING)
		return put_string(f, key, json_string_of(node), err);
	buf_reset(&f->text);
	json_print(node, &f->text);
	TRY(buf_status(&f->text, err));
	return put(f, key, buf_span(&f->text), err);
}

/* Tags are [{"Key": k, "Value": v}]. */
static enum status put_tags(struct flattening *f, const struct json *tags, struct error *err)
{
	for (const struct json *tag = json_first(tags); tag; tag = json_next(tag)) {
		const struct json *name = json_get(tag, "Key"), *value = json_get(tag, "Value");
		AUTO_DONE(buf) key = BUF_INIT(KEY_MAX_BYTES);
		if (!name || !value || json_kind(name) != JSON_STRING)
			continue;
		buf_append_text(&key, "tag.");
		buf_append_span(&key, json_string_of(name));
		if (key.failure == OK)
			TRY(put_leaf(f, buf_span(&key), value, err));
	}
	return OK;
}

/* A label that is KEY=VALUE is also found as label.KEY. */
static enum status put_label(struct flattening *f, const struct json *label, struct error *err)
{
	struct span text = json_string_of(label);
	ptrdiff_t equals = span_find_char(text, '=');
	AUTO_DONE(buf) key = BUF_INIT(KEY_MAX_BYTES);

	if (equals <= 0 || f->position >= ATTRIBUTES_MAX)
		return OK;
	buf_append_text(&key, "label.");
	buf_append(&key, text.ptr, (size_t)equals);
	return key.failure == OK ? put(f, buf_span(&key), span_skip(text, (size_t)equals + 1), err) : OK;
}

/* HyperParameters (and those that sm-ship found beyond SageMaker's hundred) and Environment of the document itself are the families hp. and env. */
static void append_part(struct buf *key, struct span part, bool is_top)
{
	if (key->len)
		buf_append_char(key, '.');
	if (is_top && (span_equal(part, SPAN("HyperParameters")) || span_equal(part, SPAN("OtherHyperParameters"))))
		part = SPAN("hp");
	else if (is_top && span_equal(part, SPAN("Environment")))
		part = SPAN("env");
	buf_append_span(key, part);
}

static enum status flatten(struct flattening *f, struct buf *key, const struct json *node, int depth, struct error *err)
{
	enum json_kind kind = json_kind(node);

	if (kind != JSON_OBJECT && kind != JSON_ARRAY) {
		if (depth == 2 && span_equal(buf_span(key), SPAN("Labels")))
			TRY(put_label(f, node, err));
		return put_leaf(f, buf_span(key), node, err);
	}
	for (const struct json *at = depth < DEPTH_MAX ? json_first(node) : NULL; at; at = json_next(at)) {
		size_t len = key->len;
		if (kind == JSON_OBJECT)
			append_part(key, json_key_of(at), depth == 0);
		enum status status = OK;
		if (depth == 0 && span_equal(json_key_of(at), SPAN(FAILURE_KEY))) /* not the document's to say */
			status = OK;
		else if (depth == 0 &&
			 (span_equal(json_key_of(at), SPAN("Tags")) || span_equal(json_key_of(at), SPAN("OtherTags"))))
			status = put_tags(f, at, err);
		else if (key->failure == OK)
			status = flatten(f, key, at, depth + 1, err);
		if (status != OK)
			return status;
		if (key->failure == ERR_TOO_LARGE) /* no query names such a key */
			key->failure = OK;
		TRY(buf_status(key, err));
		key->len = len;
	}
	return OK;
}

/* ---- settings out of the log ---- */

static enum status is_stated(struct store_tx *tx, int64_t job_id, struct span key, bool *is, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "SELECT 1 FROM attributes WHERE job_id = ? AND key = ?", err));
	bind_i64(&s, job_id);
	bind_text(&s, key);
	return statement_step(&s, is, err);
}

enum status attributes_put_found(struct store_tx *tx, int64_t job_id, const struct setting_row *row, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(KEY_MAX_BYTES);
	struct flattening f = {
		.tx = tx, .job_id = job_id, .position = ATTRIBUTES_MAX, .folded = BUF_INIT(2 * TEXT_MAX_BYTES)};
	bool is_there;

	buf_append_text(&key, "hp.");
	buf_append_span(&key, row->key);
	if (key.failure == ERR_TOO_LARGE) /* no query names such a key */
		return OK;
	TRY(buf_status(&key, err));
	TRY(is_stated(tx, job_id, buf_span(&key), &is_there, err));
	if (is_there)
		return OK;
	enum status status = put_string(&f, buf_span(&key), row->value, err);
	buf_done(&f.folded);
	return status;
}

static enum status put_all_found(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct setting_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_settings(store_tx_reader(tx), arena, job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		TRY(attributes_put_found(tx, job_id, &rows[i], err));
	return OK;
}

enum status attributes_put(struct store_tx *tx, int64_t job_id, struct span document, struct error *err)
{
	AUTO(json) root = NULL;

	TRY(run_for_job(tx, "DELETE FROM attributes WHERE job_id = ?", job_id, err));
	if (!document.len)
		return OK;
	TRY(json_parse(&root, document, err));
	TRY(by_hand_settle_settings(root, err));
	struct flattening f = {.tx = tx,
		.job_id = job_id,
		.text = BUF_INIT(document.len * 2 + TEXT_MAX_BYTES),
		.folded = BUF_INIT(2 * TEXT_MAX_BYTES)};
	AUTO_DONE(buf) key = BUF_INIT(KEY_MAX_BYTES);
	enum status status = flatten(&f, &key, root, 0, err);
	buf_done(&f.text);
	buf_done(&f.folded);
	return status == OK ? put_all_found(tx, job_id, err) : status;
}

enum status attributes_put_failure(struct store_tx *tx, int64_t job_id, struct span reason, struct error *err)
{
	const char *class = failure_class(reason);
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM attributes WHERE job_id = ? AND key = ?", err));
	bind_i64(&s, job_id);
	bind_text(&s, SPAN(FAILURE_KEY));
	TRY(statement_run(&s, err));
	if (!class)
		return OK;
	struct flattening f = {
		.tx = tx, .job_id = job_id, .position = ATTRIBUTES_MAX, .folded = BUF_INIT(2 * TEXT_MAX_BYTES)};
	enum status status = put(&f, SPAN(FAILURE_KEY), span_from(class), err);
	buf_done(&f.folded);
	return status;
}

enum status store_read_attributes(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct attribute_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct attribute_row, key), FIELD(struct attribute_row, text),
		FIELD(struct attribute_row, is_number), FIELD_FINITE(struct attribute_row, number)};

	TRY(statement_open(&s, reader,
		"SELECT key, text, " SQL_TRUTH(
			"number IS NOT NULL") ", number FROM attributes WHERE job_id = ? ORDER BY key, position",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct attribute_row), out, count, err);
}
