#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/audit.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the log ---- */

struct last_entry {
	int64_t entry_id;
	uint64_t end_bytes;
};

static enum status read_last(struct store_tx *tx, struct last_entry *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {
		FIELD(struct last_entry, entry_id), FIELD(struct last_entry, end_bytes)};
	bool is_there;

	*out = (struct last_entry){0};
	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT entry_id, end_bytes FROM audit ORDER BY entry_id DESC LIMIT 1", err));
	return row_read(&s, NULL, ROWS(fields, struct last_entry), out, &is_there, err);
}

/* The newest always stays: it has the sum. */
static enum status drop_oldest(struct store_tx *tx, uint64_t end_bytes, uint64_t limit_bytes, struct error *err)
{
	if (end_bytes <= limit_bytes)
		return OK;
	return run_with(tx, "DELETE FROM audit WHERE end_bytes <= ?1 AND end_bytes < ?2",
		NUMBERS(end_bytes - limit_bytes, end_bytes), err);
}

static uint64_t weight(const struct audit_row *row)
{
	enum { ROW_BYTES = 64 };

	return ROW_BYTES + row->token.len + row->team.len + row->address.len + row->verb.len + row->object.len +
	       row->before.len + row->after.len;
}

enum status store_put_audit(struct store_tx *tx, const struct audit_row *row, uint64_t limit_bytes, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct last_entry last;

	TRY(read_last(tx, &last, err));
	uint64_t end_bytes = last.end_bytes + weight(row);
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO audit (entry_id, end_bytes, time_ms, token, team, address, verb, object, before, after)"
		" VALUES (?,?,?,?,?,?,?,?,?,?)",
		err));
	bind_numbers(&s, last.entry_id + 1, end_bytes, row->time_ms);
	bind_text(&s, row->token);
	bind_text(&s, row->team);
	bind_text(&s, row->address);
	bind_text(&s, row->verb);
	bind_text(&s, row->object);
	bind_text(&s, row->before);
	bind_text(&s, row->after);
	TRY(statement_run(&s, err));
	statement_done(&s);
	return drop_oldest(tx, end_bytes, limit_bytes, err);
}

enum status store_read_audit(struct store_reader *reader, struct arena *arena, struct span team, int64_t after,
	size_t limit, struct audit_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct audit_row, entry_id), FIELD(struct audit_row, time_ms),
		FIELD(struct audit_row, token), FIELD(struct audit_row, team), FIELD(struct audit_row, address),
		FIELD(struct audit_row, verb), FIELD(struct audit_row, object), FIELD(struct audit_row, before),
		FIELD(struct audit_row, after)};

	TRY(statement_open(&s, reader,
		"SELECT entry_id, time_ms, token, team, address, verb, object, before, after FROM audit"
		" WHERE entry_id < ?1 AND (?2 = '' OR team = ?2) ORDER BY entry_id DESC LIMIT ?3",
		err));
	bind_i64(&s, after ? after : INT64_MAX);
	bind_text(&s, team);
	bind_i64(&s, (int64_t)limit);
	return rows_read(&s, arena, ROWS(fields, struct audit_row), out, count, err);
}

/* ---- what is told of a thing ---- */

enum { NUMBERS_MAX = 2 }; /* of an id */

/* A row's columns are its fields; of a list each row is one: its name and its value, of which bytes are a text. */
static const struct audited {
	const char *kind, *sql;
	bool is_list, has_numbers; /* its id is numbers, and not its name, its team and whose it is */
} kinds[] = {
	{"jobs",
		"SELECT j.name, j.team, j.status, j.secondary, j.failure_reason, j.started_ms, j.ended_ms, r.is_pinned,"
		" r.max_age_ms, r.max_bytes, j.document FROM jobs AS j LEFT JOIN job_retention AS r ON r.job_id = j.job_id"
		" WHERE j.name = ?1",
		false, false},
	{"webhooks", /* as the request that makes one says it */
		"SELECT webhook_id, url, format, CASE minimum_severity WHEN 0 THEN 'info' WHEN 1 THEN 'warning' ELSE 'critical' END AS"
		" minimum_severity, is_enabled AS enabled, team, created_ms, CASE events WHEN '' THEN '[]' ELSE '[\"' || replace(events, ' ',"
		" '\",\"') || '\"]' END AS events, heartbeat_ms / 1000 AS heartbeat_s, per_minute, report_at, report_tz"
		" FROM webhooks WHERE webhook_id = CASE WHEN ?1 = 0 THEN (SELECT max(webhook_id) FROM webhooks) ELSE ?1 END",
		false, true},
	{"rules",
		"SELECT * FROM rules WHERE rule_id = CASE WHEN ?1 = 0 THEN (SELECT max(rule_id) FROM rules) ELSE ?1 END",
		false, true},
	{"tokens", "SELECT * FROM tokens WHERE name = ?1", false, false},
	{"incidents", /* JOB-NUMBER */
		"SELECT * FROM incidents WHERE job_id = ?1 AND incident_id = ?2", false, true},
	{"views", /* other teams have views of that name, too; the caller's own comes before the team's */
		"SELECT team, owner, name, query, sort, columns, CASE owner WHEN '' THEN 'team' ELSE 'user' END AS scope, modified_ms"
		" FROM views WHERE name = ?1 AND team = ?2 AND owner IN ('', ?3) ORDER BY owner DESC LIMIT 1",
		false, false},
	{"workspaces", /* without the document, which may be long: its revision says that it is another */
		"SELECT name, team, title, panels, revision, author, modified_ms FROM workspaces WHERE name = ?1 AND team = ?2",
		false, false},
	{"sign-ins", "SELECT count(*) AS sessions FROM people_sessions WHERE 'oidc/' || provider || '/' || person = ?1",
		false, false},
	{"quotas", "SELECT trim(name || ' ' || instance_type), configured FROM quotas ORDER BY 1", true, false},
	{"prices", "SELECT key, value FROM settings WHERE key = 'prices'", true, false},
	{"definitions", "SELECT key, value FROM settings WHERE key = 'definitions'", true, false},
	{"retention", "SELECT key, value FROM settings WHERE key = 'log_bytes'", true, false},
	{"retention",
		"SELECT trim('max_age_ms ' || team), max_age_ms FROM team_retention UNION ALL"
		" SELECT trim('max_bytes ' || team), max_bytes FROM team_retention",
		true, false},
};

/* "https://user:password@host/path?token=…": neither what stands before the host nor behind it, which is the secret of many. */
static void put_address(struct json_writer *w, struct span key, struct span url)
{
	AUTO_DONE(buf) masked = BUF_INIT(1 << 16);
	size_t scheme = 0, end = 0, at = 0;

	for (size_t i = 0; i + 2 < url.len && !scheme; i++)
		if (memcmp(url.ptr + i, "://", 3) == 0)
			scheme = i + 3;
	for (end = scheme; end < url.len && url.ptr[end] != '/' && url.ptr[end] != '?'; end++)
		if (url.ptr[end] == '@')
			at = end;
	buf_append_span(&masked, span_of(url.ptr, scheme));
	if (at)
		buf_append_text(&masked, "***");
	buf_append_span(&masked, span_of(url.ptr + (at ? at : scheme), end - (at ? at : scheme)));
	if (end < url.len)
		buf_append_text(&masked, "/***");
	json_key_span(w, key);
	json_span(w, buf_span(&masked));
}

/* A document's members are the thing's own. */
static void put_members(struct json_writer *w, const struct json *document)
{
	for (const struct json *member = json_first(document); member; member = json_next(member)) {
		AUTO_DONE(buf) text = BUF_INIT(8 << 20);
		json_print(member, &text);
		if (text.failure)
			continue;
		json_key_span(w, json_key_of(member));
		json_raw(w, buf_span(&text));
	}
}

static void put_text(struct json_writer *w, struct span key, struct span text)
{
	AUTO(json) tree = NULL;
	bool is_tree = text.len && (text.ptr[0] == '{' || text.ptr[0] == '[') && json_parse(&tree, text, NULL) == OK;

	if (span_equal(key, SPAN("url"))) {
		put_address(w, key, text);
	} else if (is_tree && span_equal(key, SPAN("document"))) {
		put_members(w, tree);
	} else if (is_tree) {
		json_key_span(w, key);
		json_raw(w, text);
	} else {
		json_key_span(w, key);
		json_span(w, text);
	}
}

static void put_value(struct json_writer *w, struct span key, struct statement *row)
{
	switch (column_kind(row)) {
	case COLUMN_INTEGER:
		json_key_span(w, key);
		if (span_equal(key, SPAN("enabled"))) /* as the request says it */
			json_bool(w, column_i64(row) != 0);
		else
			json_i64(w, column_i64(row));
		return;
	case COLUMN_REAL:
		json_key_span(w, key);
		json_double(w, column_finite(row));
		return;
	case COLUMN_TEXT:
		put_text(w, key, column_borrow(row));
		return;
	case COLUMN_NULL:
	case COLUMN_BLOB: /* hashes and sealed secrets */
		(void)column_borrow(row);
		return;
	}
}

/* A list's rows are a key and its value. */
static void put_row(struct json_writer *w, struct statement *row, bool is_list)
{
	if (is_list) {
		struct span key = column_borrow(row);
		if (column_kind(row) == COLUMN_BLOB)
			put_text(w, key, column_borrow(row));
		else
			put_value(w, key, row);
		return;
	}
	for (int left = statement_columns(row); left; left--)
		put_value(w, span_from(column_name(row)), row);
}

/* "12", "12-3"; what is missing is 0, what is no id is nobody's. */
static void bind_id(struct statement *s, struct span id)
{
	struct span rest = id, part;
	int64_t numbers[NUMBERS_MAX] = {0};
	int parameters = statement_parameters(s);

	for (int i = 0; i < NUMBERS_MAX && span_next(&rest, '-', &part); i++)
		if (part.len && (!span_parse_i64(part, &numbers[i]) || numbers[i] <= 0))
			numbers[i] = -1;
	for (int i = 0; i < parameters && i < NUMBERS_MAX; i++)
		bind_i64(s, numbers[i]);
}

static void bind_thing(struct statement *s, const struct audited *what, const struct audited_thing *thing)
{
	int parameters = statement_parameters(s);

	if (what->has_numbers) {
		bind_id(s, thing->id);
		return;
	}
	if (parameters)
		bind_text(s, thing->id);
	if (parameters > 1)
		bind_text(s, thing->team);
	if (parameters > 2)
		bind_text(s, thing->token);
}

static enum status put_rows(struct store_reader *reader, const struct audited *what, const struct audited_thing *thing,
	struct json_writer *w, bool *is_open, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, what->sql, err));
	bind_thing(&s, what, thing);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; has_row = has_row && what->is_list) {
		if (!*is_open)
			json_object(w);
		*is_open = true;
		put_row(w, &s, what->is_list);
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status store_read_audited(
	struct store_reader *reader, const struct audited_thing *thing, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	bool is_open = false;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (span_equal(thing->kind, span_from(kinds[i].kind)))
			TRY(put_rows(reader, &kinds[i], thing, &w, &is_open, err));
	if (is_open)
		json_object_end(&w);
	return buf_status(out, err);
}
