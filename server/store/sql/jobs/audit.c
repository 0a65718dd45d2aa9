#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/audit.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the log ---- */

static enum status last_end(struct store_tx *tx, uint64_t *end_bytes, struct error *err)
{
	*end_bytes = 0;
	return read_number(store_tx_reader(tx), "SELECT end_bytes FROM audit ORDER BY entry_id DESC LIMIT 1", NUMBERS(),
		end_bytes, err);
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
	uint64_t end_bytes;

	TRY(last_end(tx, &end_bytes, err));
	end_bytes += weight(row);
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO audit (end_bytes, time_ms, token, team, address, verb, object, before, after)"
		" VALUES (?,?,?,?,?,?,?,?,?)",
		err));
	bind_numbers(&s, end_bytes, row->time_ms);
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

/* A row's columns are its fields; of a list each row is one: its name and its value. */
static const struct audited {
	const char *kind, *sql;
	bool is_list;
} kinds[] = {
	{"jobs",
		"SELECT j.name, j.team, j.status, j.secondary, j.failure_reason, j.started_ms, j.ended_ms, r.is_pinned,"
		" r.max_age_ms, r.max_bytes, j.document FROM jobs AS j LEFT JOIN job_retention AS r ON r.job_id = j.job_id"
		" WHERE j.name = ?1",
		false},
	{"webhooks",
		"SELECT * FROM webhooks WHERE webhook_id = CASE ?1 WHEN '' THEN (SELECT max(webhook_id) FROM webhooks)"
		" ELSE CAST(?1 AS INTEGER) END",
		false},
	{"rules",
		"SELECT * FROM rules WHERE rule_id = CASE ?1 WHEN '' THEN (SELECT max(rule_id) FROM rules)"
		" ELSE CAST(?1 AS INTEGER) END",
		false},
	{"tokens", "SELECT * FROM tokens WHERE name = ?1", false},
	{"incidents", /* JOB-NUMBER */
		"SELECT * FROM incidents WHERE job_id = CAST(?1 AS INTEGER)"
		" AND incident_id = CAST(substr(?1, instr(?1, '-') + 1) AS INTEGER)",
		false},
	{"views", /* other teams have views of that name, too; the caller's own comes before the team's */
		"SELECT * FROM views WHERE name = ?1 AND team = ?2 AND owner IN ('', ?3) ORDER BY owner DESC LIMIT 1",
		false},
	{"quotas", "SELECT trim(name || ' ' || instance_type), configured FROM quotas ORDER BY 1", true},
	{"prices", "SELECT 'prices', CAST(value AS TEXT) FROM settings WHERE key = 'prices'", true},
	{"definitions", "SELECT 'definitions', CAST(value AS TEXT) FROM settings WHERE key = 'definitions'", true},
	{"retention",
		"SELECT 'log_bytes', CAST(value AS TEXT) FROM settings WHERE key = 'log_bytes' UNION ALL"
		" SELECT trim('max_age_ms ' || team), max_age_ms FROM team_retention UNION ALL"
		" SELECT trim('max_bytes ' || team), max_bytes FROM team_retention",
		true},
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
		put_value(w, key, row);
		return;
	}
	for (int left = statement_columns(row); left; left--)
		put_value(w, span_from(column_name(row)), row);
}

static enum status read_thing(struct store_reader *reader, const struct audited *what,
	const struct audited_thing *thing, struct buf *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct json_writer w = json_writer_on(out);
	bool has_row;

	TRY(statement_open(&s, reader, what->sql, err));
	int parameters = statement_parameters(&s);
	if (parameters)
		bind_text(&s, thing->id);
	if (parameters > 1) {
		bind_text(&s, thing->team);
		bind_text(&s, thing->token);
	}
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK;
	json_object(&w);
	do {
		put_row(&w, &s, what->is_list);
		TRY(statement_step(&s, &has_row, err));
	} while (has_row && what->is_list);
	json_object_end(&w);
	return buf_status(out, err);
}

enum status store_read_audited(
	struct store_reader *reader, const struct audited_thing *thing, struct buf *out, struct error *err)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (span_equal(thing->kind, span_from(kinds[i].kind)))
			return read_thing(reader, &kinds[i], thing, out, err);
	return OK;
}
