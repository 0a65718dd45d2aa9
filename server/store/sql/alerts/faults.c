#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"

#include <stdlib.h>

/* ---- faults of machines ---- */

static const struct row_field fault_fields[] = {FIELD(struct node_fault_row, host), FIELD(struct node_fault_row, ts_ms),
	FIELD(struct node_fault_row, job_id), FIELD(struct node_fault_row, stream_id),
	FIELD(struct node_fault_row, line), FIELD(struct node_fault_row, signature),
	FIELD(struct node_fault_row, is_drain), FIELD(struct node_fault_row, count),
	FIELD(struct node_fault_row, last_ms), FIELD(struct node_fault_row, text),
	FIELD(struct node_fault_row, cleared)};

enum status store_put_node_fault(struct store_tx *tx, const struct node_fault_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO node_faults (host, ts_ms, job_id, stream_id, line, signature, is_drain, count, last_ms, text, cleared)"
		" VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (host, ts_ms, job_id, stream_id, line) DO UPDATE SET"
		" count = " SQL_GREATER("node_faults.count",
			"excluded.count") ","
					  " last_ms = " SQL_GREATER("node_faults.last_ms", "excluded.last_ms"),
		ROWS(fault_fields, struct node_fault_row), row, err);
}

enum status store_read_fault_parts(
	struct store_reader *reader, const struct node_fault_row *row, struct fault_parts *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = (struct fault_parts){0};
	TRY(statement_open(&s, reader,
		"SELECT ts_ms, last_ms, count FROM node_faults WHERE job_id = ?1 AND stream_id = ?2 AND line = ?3 AND host = ?4"
		" ORDER BY ts_ms",
		err));
	bind_numbers(&s, row->job_id, row->stream_id, row->line);
	bind_text(&s, row->host);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		out->ts_ms = column_i64(&s);
		out->last_ms = column_i64(&s);
		out->last_count = column_u64(&s);
		out->count += out->last_count;
		TRY(statement_step(&s, &has_row, err));
	}
	return statement_check(&s, err);
}

/* ---- a stretch of several parts ---- */

static int by_stretch(const void *a, const void *b)
{
	const struct node_fault_row *x = *(const struct node_fault_row *const *)a,
				    *y = *(const struct node_fault_row *const *)b;

	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	if (x->stream_id != y->stream_id)
		return x->stream_id < y->stream_id ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	int order = span_compare(x->host, y->host);
	return order ? order : (x->ts_ms > y->ts_ms) - (x->ts_ms < y->ts_ms);
}

static bool is_one_stretch(const struct node_fault_row *a, const struct node_fault_row *b)
{
	return a->job_id == b->job_id && a->stream_id == b->stream_id && a->line == b->line &&
	       span_equal(a->host, b->host);
}

/* Its first part stands for all, in its place. */
static enum status join_parts(struct arena *arena, struct node_fault_row *rows, size_t *count, struct error *err)
{
	struct node_fault_row **order = arena_alloc(arena, (*count + 1) * sizeof *order), *first = NULL;
	size_t kept = 0;

	if (!order)
		return error_no_memory(err);
	for (size_t i = 0; i < *count; i++)
		order[i] = &rows[i];
	if (*count)
		qsort(order, *count, sizeof *order, by_stretch);
	for (size_t i = 0; i < *count; i++) {
		if (!first || !is_one_stretch(first, order[i])) {
			first = order[i];
			continue;
		}
		first->count += order[i]->count;
		first->last_ms = order[i]->last_ms > first->last_ms ? order[i]->last_ms : first->last_ms;
		order[i]->count = 0;
	}
	for (size_t i = 0; i < *count; i++)
		if (rows[i].count)
			rows[kept++] = rows[i];
	*count = kept;
	return OK;
}

#define NODE_FAULTS                                                                                                    \
	"SELECT host, ts_ms, job_id, stream_id, line, signature, is_drain, count, last_ms, text, cleared FROM node_faults"

enum status store_read_node_faults(struct store_reader *reader, struct arena *arena, struct span host, int64_t from_ms,
	size_t limit, struct node_fault_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		host.len ? NODE_FAULTS
			" WHERE ts_ms >= ?1 AND host = ?3 AND cleared = '' ORDER BY ts_ms DESC, job_id DESC, stream_id DESC, line DESC LIMIT ?2"
			 : NODE_FAULTS
			" WHERE ts_ms >= ?1 AND cleared = '' ORDER BY ts_ms DESC, host DESC, job_id DESC, stream_id DESC, line DESC LIMIT ?2",
		err));
	bind_numbers(&s, from_ms, limit);
	if (host.len)
		bind_text(&s, host);
	TRY(rows_read(&s, arena, ROWS(fault_fields, struct node_fault_row), out, count, err));
	return join_parts(arena, *out, count, err);
}

enum status store_read_cleared_faults(struct store_reader *reader, struct arena *arena, struct span host,
	int64_t from_ms, size_t limit, struct node_fault_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		NODE_FAULTS
		" WHERE ts_ms >= ?1 AND host = ?3 AND cleared <> '' ORDER BY ts_ms DESC, job_id DESC, stream_id DESC, line DESC LIMIT ?2",
		err));
	bind_numbers(&s, from_ms, limit);
	bind_text(&s, host);
	TRY(rows_read(&s, arena, ROWS(fault_fields, struct node_fault_row), out, count, err));
	return join_parts(arena, *out, count, err);
}

enum status store_clear_node_fault(struct store_tx *tx, int64_t job_id, uint32_t stream_id, uint64_t line,
	struct span why, bool *was_there, struct error *err)
{
	AUTO_DONE(statement) find = {0};
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&find, store_tx_reader(tx),
		"SELECT 1 FROM node_faults WHERE job_id = ? AND stream_id = ? AND line = ? LIMIT 1", err));
	bind_numbers(&find, job_id, stream_id, line);
	TRY(statement_step(&find, was_there, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE node_faults SET cleared = ?1 WHERE job_id = ?2 AND stream_id = ?3 AND line = ?4", err));
	bind_text(&s, why);
	bind_numbers(&s, job_id, stream_id, line);
	return statement_run(&s, err);
}

enum status store_read_cleared_lines(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct fault_line **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct fault_line, stream_id), FIELD(struct fault_line, line)};

	TRY(statement_open(&s, reader,
		"SELECT DISTINCT stream_id, line FROM node_faults WHERE job_id = ? AND cleared <> '' ORDER BY stream_id, line",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct fault_line), out, count, err);
}

enum status store_count_node_faults(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE node_faults SET cleared = '' WHERE job_id = ? AND cleared <> ''", err));
	bind_i64(&s, job_id);
	return statement_run(&s, err);
}

enum status store_rename_charged(struct store_tx *tx, struct span from, struct span to, struct error *err)
{
	static const char *const statements[] = {
		"DELETE FROM node_faults WHERE host = ?1 AND EXISTS (SELECT 1 FROM node_faults AS o WHERE o.host = ?2 AND o.ts_ms"
		" = node_faults.ts_ms AND o.job_id = node_faults.job_id AND o.stream_id = node_faults.stream_id AND o.line ="
		" node_faults.line)",
		"UPDATE node_faults SET host = ?2 WHERE host = ?1"};

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		AUTO_DONE(statement) s = {0};
		TRY(statement_open(&s, store_tx_reader(tx), statements[i], err));
		bind_text(&s, from);
		bind_text(&s, to);
		TRY(statement_run(&s, err));
	}
	return OK;
}

/* ---- stretches ---- */

static void bind_hit_key(struct statement *s, const struct signature_hit_row *row)
{
	bind_numbers(s, row->job_id, row->stream_id);
	bind_text(s, row->signature);
	bind_u64(s, row->first_line);
}

enum status store_put_signature_hit(struct store_tx *tx, const struct signature_hit_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO signature_hits (job_id, stream_id, signature, first_line, incident_id, count, last_line, first_ms,"
		" last_ms, text, host, is_of_nobody) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, stream_id, signature, first_line)"
		" DO UPDATE SET count = excluded.count, last_line = excluded.last_line, last_ms = excluded.last_ms, text = excluded.text"
		" WHERE excluded.last_line > signature_hits.last_line",
		err));
	bind_hit_key(&s, row);
	bind_numbers(&s, row->incident_id, row->count, row->last_line, row->first_ms, row->last_ms);
	bind_text(&s, row->text);
	bind_text(&s, row->host);
	bind_i64(&s, row->is_of_nobody);
	return statement_run(&s, err);
}

enum status store_find_signature_hit(
	struct store_reader *reader, struct arena *arena, struct signature_hit_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT incident_id, host, is_of_nobody FROM signature_hits WHERE job_id = ? AND stream_id = ? AND"
		" signature = ? AND first_line = ?",
		err));
	bind_hit_key(&s, row);
	TRY(statement_step(&s, &has_row, err));
	row->incident_id = has_row ? column_u32(&s) : 0;
	row->host = has_row ? column_span(&s, arena) : SPAN("");
	row->is_of_nobody = has_row && column_bool(&s);
	return statement_check(&s, err);
}

enum status store_read_naming_hits(struct store_reader *reader, struct arena *arena, struct span machine,
	struct signature_hit_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct signature_hit_row, job_id),
		FIELD(struct signature_hit_row, stream_id), FIELD(struct signature_hit_row, signature),
		FIELD(struct signature_hit_row, first_line), FIELD(struct signature_hit_row, host)};

	TRY(statement_open(&s, reader,
		"SELECT g.job_id, g.stream_id, g.signature, g.first_line, g.host FROM node_faults AS f JOIN signature_hits AS g"
		" ON g.job_id = f.job_id AND g.stream_id = f.stream_id AND g.signature = f.signature AND g.first_line = f.line"
		" WHERE f.host = ? AND g.host <> '' ORDER BY g.job_id",
		err));
	bind_text(&s, machine);
	return rows_read(&s, arena, ROWS(fields, struct signature_hit_row), out, count, err);
}

enum status store_set_hit_host(struct store_tx *tx, const struct signature_hit_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE signature_hits SET host = ? WHERE job_id = ? AND stream_id = ? AND signature = ? AND first_line = ?",
		err));
	bind_text(&s, row->host);
	bind_hit_key(&s, row);
	return statement_run(&s, err);
}

enum status store_find_signature_incident(struct store_reader *reader, int64_t job_id, struct span signature,
	int64_t from_ms, int64_t to_ms, uint32_t *incident_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT incident_id FROM signature_hits WHERE job_id = ? AND signature = ? AND last_ms >= ? AND"
		" first_ms <= ? ORDER BY last_ms LIMIT 1",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, signature);
	bind_numbers(&s, from_ms, to_ms);
	TRY(statement_step(&s, &has_row, err));
	*incident_id = has_row ? column_u32(&s) : 0;
	return OK;
}

#define HIT_FIELDS                                                                                                     \
	FIELD(struct said_hit, row.first_ms), FIELD(struct said_hit, row.stream_id), FIELD(struct said_hit, stream),   \
		FIELD(struct said_hit, row.signature), FIELD(struct said_hit, row.first_line),                         \
		FIELD(struct said_hit, row.last_line), FIELD(struct said_hit, row.last_ms),                            \
		FIELD(struct said_hit, row.incident_id), FIELD(struct said_hit, row.count),                            \
		FIELD(struct said_hit, row.text), FIELD(struct said_hit, row.host),                                    \
		FIELD(struct said_hit, row.is_of_nobody)
#define HITS                                                                                                                 \
	"SELECT h.first_ms, h.stream_id, r.name, h.signature, h.first_line, h.last_line, h.last_ms, h.incident_id, h.count," \
	" h.text, h.host, h.is_of_nobody FROM "

enum status store_read_hits_between(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, struct said_hit **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {HIT_FIELDS};
	const struct said_hit like = {.row = {.job_id = job_id}};

	TRY(statement_open(&s, reader,
		HITS
		"(SELECT first_ms, stream_id, signature, first_line, last_line, last_ms, incident_id, count, text, host,"
		" is_of_nobody, row_number() OVER (PARTITION BY signature ORDER BY first_ms, stream_id, first_line) AS place"
		" FROM signature_hits WHERE job_id = ?1 AND last_ms >= ?2 AND first_ms <= ?3) AS h"
		" JOIN streams AS r ON r.job_id = ?1 AND r.stream_id = h.stream_id WHERE h.place = 1"
		" ORDER BY h.first_ms, h.stream_id, h.first_line",
		err));
	bind_numbers(&s, job_id, from_ms, to_ms);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

enum status store_read_every_hit(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, size_t limit, struct said_hit **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {HIT_FIELDS};
	const struct said_hit like = {.row = {.job_id = job_id}};

	TRY(statement_open(&s, reader,
		HITS "signature_hits AS h JOIN streams AS r ON r.job_id = h.job_id AND r.stream_id = h.stream_id"
		     " WHERE h.job_id = ?1 AND h.last_ms >= ?2 AND h.first_ms <= ?3"
		     " ORDER BY h.first_ms, h.stream_id, h.first_line LIMIT ?4",
		err));
	bind_numbers(&s, job_id, from_ms, to_ms, (int64_t)limit);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

enum status store_has_hit_until(
	struct store_reader *reader, int64_t job_id, int64_t to_ms, bool *has, struct error *err)
{
	*has = false;
	return read_number(reader, "SELECT 1 FROM signature_hits WHERE job_id = ? AND first_ms <= ? LIMIT 1",
		NUMBERS(job_id, to_ms), has, err);
}

enum status store_read_hits_of(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct span signatures[2], int64_t from_ms, int64_t to_ms, size_t limit, struct said_hit **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {HIT_FIELDS};
	const struct said_hit like = {.row = {.job_id = job_id}};

	TRY(statement_open(&s, reader,
		HITS
		"signature_hits AS h INDEXED BY signature_hits_by_time JOIN streams AS r ON r.job_id = h.job_id AND r.stream_id = h.stream_id"
		" WHERE h.job_id = ?1 AND h.last_ms >= ?2 AND h.first_ms <= ?3 AND h.signature IN (?5, ?6)"
		" ORDER BY h.first_ms, h.stream_id, h.first_line LIMIT ?4",
		err));
	bind_numbers(&s, job_id, from_ms, to_ms, limit);
	bind_text(&s, signatures[0]);
	bind_text(&s, signatures[1]);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

enum status store_fold_incident(
	struct store_tx *tx, int64_t job_id, uint32_t from_id, uint32_t to_id, struct error *err)
{
	TRY(run_with(tx, "UPDATE signature_hits SET incident_id = ?1 WHERE job_id = ?2 AND incident_id = ?3",
		NUMBERS(to_id, job_id, from_id), err));
	return run_with(tx,
		"UPDATE incidents SET fold_id = ?4, facts = facts || ',\"part_of\":\"' || CAST(?2 AS TEXT) || '-' || CAST(?1 AS TEXT) || '\"' WHERE job_id = ?2 AND"
		" incident_id = ?3",
		NUMBERS(to_id, job_id, from_id, to_id), err);
}

enum status store_read_near(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t kinds,
	int64_t from_ms, int64_t to_ms, struct near_incident **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct near_incident, incident_id),
		FIELD(struct near_incident, kind), FIELD(struct near_incident, opened_ordinal)};

	TRY(statement_open(&s, reader,
		"SELECT incident_id, kind, opened_ordinal FROM incidents WHERE job_id = ? AND opened_ms BETWEEN ? AND ?"
		" AND ((CAST(? AS BIGINT) >> CAST(kind AS INTEGER)) & 1) <> 0 ORDER BY opened_ms",
		err));
	bind_numbers(&s, job_id, from_ms, to_ms, kinds);
	return rows_read(&s, arena, ROWS(fields, struct near_incident), out, count, err);
}

static void add_signature(struct incident_said *said, struct span signature)
{
	for (size_t i = 0; i < said->signature_count; i++)
		if (span_equal(said->signatures[i], signature))
			return;
	if (said->signature_count < SAID_SIGNATURES_MAX)
		said->signatures[said->signature_count++] = signature;
}

/* Rows come by stream. */
static void add_stretch(struct incident_said *said, uint32_t *stream_before, const struct said_hit *hit)
{
	const struct signature_hit_row *row = &hit->row;

	if (row->stream_id != *stream_before) {
		said->stream_count++;
		if (said->named < SAID_STREAMS_MAX)
			said->streams[said->named++] = hit->stream;
	}
	*stream_before = row->stream_id;
	said->count += row->count;
	add_signature(said, row->signature);
	if (said->last_stream.len && row->last_ms <= said->last_ms)
		return;
	said->last_ms = row->last_ms;
	said->last_stream = hit->stream;
	said->last_line = row->last_line;
	said->last_text = row->text;
}

enum status store_read_said(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	struct incident_said *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct said_hit, row.stream_id), FIELD(struct said_hit, stream),
		FIELD(struct said_hit, row.signature), FIELD(struct said_hit, row.count),
		FIELD(struct said_hit, row.last_line), FIELD(struct said_hit, row.last_ms),
		FIELD(struct said_hit, row.text)};
	uint32_t stream_before = 0;
	struct said_hit hit = {0};
	bool has_row;

	*out = (struct incident_said){.last_stream = SPAN(""), .last_text = SPAN("")};
	TRY(statement_open(&s, reader,
		"SELECT h.stream_id, r.name, h.signature, h.count, h.last_line, h.last_ms, h.text FROM signature_hits AS h INDEXED BY signature_hits_by_incident"
		" JOIN streams AS r ON r.job_id = h.job_id AND r.stream_id = h.stream_id WHERE h.job_id = ? AND"
		" h.incident_id = ? ORDER BY h.stream_id",
		err));
	bind_numbers(&s, job_id, incident_id);
	for (;;) {
		TRY(row_read(&s, arena, ROWS(fields, struct said_hit), &hit, &has_row, err));
		if (!has_row)
			return OK;
		add_stretch(out, &stream_before, &hit);
	}
}

enum status store_read_quiet(struct store_reader *reader, struct arena *arena, enum incident_kind kind,
	struct quiet_before before, size_t limit, struct quiet_incident **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct quiet_incident, job_id),
		FIELD(struct quiet_incident, incident_id), FIELD(struct quiet_incident, last_ms)};

	TRY(statement_open(&s, reader,
		"SELECT job_id, incident_id, last_ms FROM (SELECT i.job_id, i.incident_id, j.ended_ms, coalesce((SELECT max(h.last_ms)"
		" FROM signature_hits AS h INDEXED BY signature_hits_by_incident WHERE h.job_id = i.job_id AND h.incident_id = i.incident_id),"
		" i.opened_ms) AS last_ms"
		" FROM incidents AS i JOIN jobs AS j ON j.job_id = i.job_id WHERE i.state = 0 AND i.kind = ?1) AS q"
		" WHERE last_ms < ?2 OR (ended_ms <> 0 AND last_ms < ?3) LIMIT ?4",
		err));
	bind_numbers(&s, kind, before.any_ms, before.ended_ms, limit);
	return rows_read(&s, arena, ROWS(fields, struct quiet_incident), out, count, err);
}

enum status store_read_cleared_incidents(struct store_reader *reader, struct arena *arena, size_t limit,
	struct cleared_incident **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct cleared_incident, job_id),
		FIELD(struct cleared_incident, incident_id), FIELD(struct cleared_incident, host)};

	TRY(statement_open(&s, reader,
		"SELECT i.job_id, i.incident_id, f.host FROM incidents AS i JOIN node_faults AS f ON f.ts_ms = i.opened_ms"
		" WHERE i.state = 0 AND i.kind = ? AND f.cleared <> ''"
		" AND NOT EXISTS (SELECT 1 FROM node_faults AS o WHERE o.host = f.host AND o.ts_ms = f.ts_ms AND o.cleared = '')"
		" AND NOT EXISTS (SELECT 1 FROM signature_hits AS h INDEXED BY signature_hits_by_incident JOIN node_faults AS g ON g.job_id = h.job_id AND g.stream_id ="
		" h.stream_id AND g.line = h.first_line AND g.signature = h.signature WHERE h.job_id = i.job_id AND h.incident_id ="
		" i.incident_id AND g.host = f.host AND g.cleared = '') LIMIT ?",
		err));
	bind_numbers(&s, INCIDENT_NODE_SUSPECT, limit);
	return rows_read(&s, arena, ROWS(fields, struct cleared_incident), out, count, err);
}
