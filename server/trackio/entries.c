#include "trackio/entries.h"

#include "base/text/iso8601.h"
#include "ingest/ingest.h"
#include "model/jobs/job_time.h"
#include "model/metrics/batch_series.h"

enum { ESCAPE_BYTES = 6 }; /* that stand for one byte at most */
static const int64_t STEP_LIMIT = (int64_t)1 << 53; /* as of all points: their differences are whole numbers, too */

/* ---- members ---- */

static enum status refuse(const struct trackio_entry *entry, const char *member, const char *what, struct error *err)
{
	return error_set_field(err, ERR_SEMANTIC, member, "%s[%zu].%s: %s", entry->list, entry->at, member, what);
}

static enum status read_text(struct json_scan *s, struct arena *arena, size_t max_bytes, const char *name,
	struct span *out, struct error *err)
{
	AUTO_DONE(buf) scratch = BUF_INIT(ESCAPE_BYTES * max_bytes + 1);
	struct ndjson_value raw;
	struct span text;

	if (json_scan_null(s))
		return OK;
	TRY(json_scan_text(s, &raw, err));
	if (raw.raw.len > ESCAPE_BYTES * max_bytes)
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' has more than %zu bytes", name, max_bytes);
	TRY(json_scan_decode(s, &raw, &scratch, &text, err));
	if (text.len > max_bytes)
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' has %zu bytes; it can have at most %zu", name,
			text.len, max_bytes);
	if (!span_is_utf8(text) || (text.len && memchr(text.ptr, 0, text.len)))
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' is no text in UTF-8 without NUL", name);
	*out = arena_copy(arena, text);
	return out->ptr ? OK : error_no_memory(err);
}

static enum status read_object(
	struct json_scan *s, const struct trackio_entry *entry, const char *name, struct span *out, struct error *err)
{
	if (json_scan_null(s))
		return OK;
	if (json_scan_peek(s) != '{')
		return refuse(entry, name, "no object", err);
	const char *start = s->at;
	TRY(json_scan_skip(s, err));
	*out = span_of(start, (size_t)(s->at - start));
	return OK;
}

static enum status read_step(struct json_scan *s, struct trackio_entry *entry, struct error *err)
{
	struct span number;
	double value;

	if (json_scan_null(s))
		return OK;
	TRY(json_scan_number(s, &number, err));
	if (!span_parse_double(number, &value) || !(value >= -(double)STEP_LIMIT && value <= (double)STEP_LIMIT) ||
		value != (double)(int64_t)value)
		return refuse(entry, "step", "no whole number between -2^53 and 2^53", err);
	entry->step = (int64_t)value;
	return OK;
}

static enum status read_time(struct json_scan *s, struct arena *arena, struct trackio_entry *entry, struct error *err)
{
	struct span text = SPAN("");

	TRY(read_text(s, arena, TRACKIO_ID_MAX_BYTES, "timestamp", &text, err));
	if (!text.len)
		return OK;
	if (!iso8601_parse(text, &entry->ts_ms) || entry->ts_ms < JOB_EARLIEST_MS || entry->ts_ms >= JOB_LATEST_MS)
		return refuse(entry, "timestamp", "no ISO 8601 time from 1990 on", err);
	return OK;
}

static enum status read_member(struct json_scan *s, struct arena *arena, const struct ndjson_value *key,
	struct trackio_entry *entry, size_t text_max_bytes, struct error *err)
{
	const struct {
		const char *name;
		size_t max_bytes;
		struct span *out;
	} texts[] = {{"project", TRACKIO_NAME_MAX_BYTES, &entry->project}, {"run", TRACKIO_NAME_MAX_BYTES, &entry->run},
		{"run_id", TRACKIO_ID_MAX_BYTES, &entry->run_id}, {"log_id", TRACKIO_ID_MAX_BYTES, &entry->log_id},
		{"alert_id", TRACKIO_ID_MAX_BYTES, &entry->log_id}, {"title", text_max_bytes, &entry->title},
		{"text", text_max_bytes, &entry->text}, {"level", TRACKIO_ID_MAX_BYTES, &entry->level}};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (json_scan_is(key, texts[i].name))
			return read_text(s, arena, texts[i].max_bytes, texts[i].name, texts[i].out, err);
	if (json_scan_is(key, "metrics"))
		return read_object(s, entry, "metrics", &entry->metrics, err);
	if (json_scan_is(key, "config"))
		return read_object(s, entry, "config", &entry->config, err);
	if (json_scan_is(key, "step"))
		return read_step(s, entry, err);
	if (json_scan_is(key, "timestamp"))
		return read_time(s, arena, entry, err);
	return json_scan_skip(s, err);
}

/* ---- an entry ---- */

static enum status check(const struct trackio_entry *entry, struct error *err)
{
	struct error cause;

	if (ingest_check_name("project", entry->project, TRACKIO_NAME_MAX_BYTES, &cause) != OK)
		return refuse(entry, "project", cause.text, err);
	if (span_find_char(entry->project, '/') >= 0)
		return refuse(entry, "project", "a project's name has no slash", err);
	if (ingest_check_name("run", entry->run, TRACKIO_NAME_MAX_BYTES, &cause) != OK)
		return refuse(entry, "run", cause.text, err);
	if (entry->run_id.len && (ingest_check_name("run_id", entry->run_id, TRACKIO_ID_MAX_BYTES, &cause) != OK ||
					 span_find_char(entry->run_id, '/') >= 0))
		return refuse(entry, "run_id", "no name without a slash or control characters", err);
	return OK;
}

enum status trackio_entry_read(struct json_scan *s, struct arena *arena, struct trackio_entry *out, struct error *err)
{
	const size_t room = (size_t)(s->end - s->start);
	struct ndjson_value key;
	bool is_end;

	out->project = out->run = out->run_id = out->log_id = SPAN("");
	out->metrics = out->config = out->title = out->text = out->level = SPAN("");
	out->step = NO_STEP;
	out->ts_ms = NO_TIME;
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return check(out, err);
		TRY(read_member(s, arena, &key, out, room, err));
	}
}

/* ---- a body ---- */

/* Stands before the value of kwargs.NAME. */
static enum status find_argument(struct json_scan *s, const char *name, bool *is_there, struct error *err)
{
	const char *const path[] = {"kwargs", name};
	struct ndjson_value key;
	bool is_end;

	*is_there = false;
	for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
		TRY(json_scan_open(s, '{', err));
		for (;;) {
			TRY(json_scan_key(s, &key, &is_end, err));
			if (is_end)
				return OK;
			if (json_scan_is(&key, path[i]))
				break;
			TRY(json_scan_skip(s, err));
		}
	}
	*is_there = true;
	return OK;
}

enum status trackio_each_entry(
	struct span body, const char *name, json_scan_take *take, void *context, struct error *err)
{
	struct json_scan s = json_scan_on(body), whole = s;
	bool is_there;

	TRY(json_scan_skip(&whole, err));
	TRY(json_scan_end(&whole, err));
	TRY(find_argument(&s, name, &is_there, err));
	if (!is_there || json_scan_peek(&s) != '[')
		return error_set_field(err, ERR_SEMANTIC, name, "'kwargs.%s' must be a list", name);
	return json_scan_each(&s, take, context, err);
}

enum status trackio_text(
	struct span body, const char *name, struct arena *arena, size_t max_bytes, struct span *out, struct error *err)
{
	struct json_scan s = json_scan_on(body), whole = s;
	bool is_there;

	*out = SPAN("");
	TRY(json_scan_skip(&whole, err));
	TRY(json_scan_end(&whole, err));
	TRY(find_argument(&s, name, &is_there, err));
	return is_there ? read_text(&s, arena, max_bytes, name, out, err) : OK;
}
