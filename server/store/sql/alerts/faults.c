#include "store/driver/statement.h"
#include "store/faults.h"

/* ---- faults of machines ---- */

enum status store_put_node_fault(struct store_tx *tx, const struct node_fault_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO node_faults (host, ts_ms, job_id, stream_id, line, signature, is_drain, count, last_ms, text)"
		" VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET count = max(count, excluded.count),"
		" last_ms = max(last_ms, excluded.last_ms)",
		err));
	bind_text(&s, row->host);
	bind_i64(&s, row->ts_ms);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->line);
	bind_text(&s, row->signature);
	bind_i64(&s, row->is_drain);
	bind_u64(&s, row->count);
	bind_i64(&s, row->last_ms);
	bind_text(&s, row->text);
	return statement_run(&s, err);
}

static enum status read_node_fault(
	struct statement *s, struct arena *arena, struct node_fault_row *row, struct error *err)
{
	row->host = column_span(s, arena);
	row->ts_ms = column_i64(s);
	row->job_id = column_i64(s);
	row->stream_id = column_u32(s);
	row->line = column_u64(s);
	row->signature = column_span(s, arena);
	row->is_drain = column_bool(s);
	row->count = column_u64(s);
	row->last_ms = column_i64(s);
	row->text = column_span(s, arena);
	return statement_check(s, err);
}

#define NODE_FAULTS                                                                                                    \
	"SELECT host, ts_ms, job_id, stream_id, line, signature, is_drain, count, last_ms, text FROM node_faults"

enum status store_read_node_faults(struct store_reader *reader, struct arena *arena, struct span host, int64_t from_ms,
	size_t limit, struct node_fault_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct node_fault_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		host.len ? NODE_FAULTS " WHERE ts_ms >= ?1 AND host = ?3 ORDER BY ts_ms DESC, job_id DESC LIMIT ?2"
			 : NODE_FAULTS " WHERE ts_ms >= ?1 ORDER BY ts_ms DESC LIMIT ?2",
		err));
	bind_i64(&s, from_ms);
	bind_u64(&s, limit);
	if (host.len)
		bind_text(&s, host);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		TRY(read_node_fault(&s, arena, &rows[used], err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

/* ---- stretches ---- */

static void bind_hit_key(struct statement *s, const struct signature_hit_row *row)
{
	bind_i64(s, row->job_id);
	bind_i64(s, row->stream_id);
	bind_text(s, row->signature);
	bind_u64(s, row->first_line);
}

enum status store_put_signature_hit(struct store_tx *tx, const struct signature_hit_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO signature_hits (job_id, stream_id, signature, first_line, incident_id, count, last_line, first_ms,"
		" last_ms, text) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET count = excluded.count,"
		" last_line = excluded.last_line, last_ms = excluded.last_ms, text = excluded.text"
		" WHERE excluded.last_line > last_line",
		err));
	bind_hit_key(&s, row);
	bind_i64(&s, row->incident_id);
	bind_u64(&s, row->count);
	bind_u64(&s, row->last_line);
	bind_i64(&s, row->first_ms);
	bind_i64(&s, row->last_ms);
	bind_text(&s, row->text);
	return statement_run(&s, err);
}

enum status store_find_signature_hit(
	struct store_reader *reader, const struct signature_hit_row *row, uint32_t *incident_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT incident_id FROM signature_hits WHERE job_id = ? AND stream_id = ? AND signature = ? AND"
		" first_line = ?",
		err));
	bind_hit_key(&s, row);
	TRY(statement_step(&s, &has_row, err));
	*incident_id = has_row ? column_u32(&s) : 0;
	return OK;
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
	bind_i64(&s, from_ms);
	bind_i64(&s, to_ms);
	TRY(statement_step(&s, &has_row, err));
	*incident_id = has_row ? column_u32(&s) : 0;
	return OK;
}

enum status store_read_hits_between(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, struct said_hit **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct said_hit *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	/* with min() the other columns are of the row that has it */
	TRY(statement_open(&s, reader,
		"SELECT min(h.first_ms) AS began_ms, h.stream_id, r.name, h.signature, h.first_line, h.last_line, h.last_ms,"
		" h.incident_id, h.count, h.text FROM signature_hits AS h JOIN streams AS r ON r.job_id = h.job_id"
		" AND r.stream_id = h.stream_id WHERE h.job_id = ?1 AND h.last_ms >= ?2 AND h.first_ms <= ?3"
		" GROUP BY h.signature ORDER BY began_ms, h.stream_id",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, from_ms);
	bind_i64(&s, to_ms);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		struct signature_hit_row *row = &rows[used].row;
		row->job_id = job_id;
		row->first_ms = column_i64(&s);
		row->stream_id = column_u32(&s);
		rows[used].stream = column_span(&s, arena);
		row->signature = column_span(&s, arena);
		row->first_line = column_u64(&s);
		row->last_line = column_u64(&s);
		row->last_ms = column_i64(&s);
		row->incident_id = column_u32(&s);
		row->count = column_u64(&s);
		row->text = column_span(&s, arena);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

static enum status move_hits(struct store_tx *tx, int64_t job_id, uint32_t from_id, uint32_t to_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE signature_hits SET incident_id = ?1 WHERE job_id = ?2 AND incident_id = ?3", err));
	bind_i64(&s, to_id);
	bind_i64(&s, job_id);
	bind_i64(&s, from_id);
	return statement_run(&s, err);
}

enum status store_fold_incident(
	struct store_tx *tx, int64_t job_id, uint32_t from_id, uint32_t to_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(move_hits(tx, job_id, from_id, to_id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE incidents SET facts = facts || ',\"part_of\":\"' || ?2 || '-' || ?1 || '\"' WHERE job_id = ?2 AND"
		" incident_id = ?3",
		err));
	bind_i64(&s, to_id);
	bind_i64(&s, job_id);
	bind_i64(&s, from_id);
	return statement_run(&s, err);
}

enum status store_read_near(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t kinds,
	int64_t from_ms, int64_t to_ms, struct near_incident **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct near_incident *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT incident_id, kind, opened_ordinal FROM incidents WHERE job_id = ? AND opened_ms BETWEEN ? AND ?"
		" AND (? >> kind) & 1 ORDER BY opened_ms",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, from_ms);
	bind_i64(&s, to_ms);
	bind_i64(&s, kinds);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		rows[used].incident_id = column_u32(&s);
		rows[used].kind = (enum incident_kind)column_i64(&s);
		rows[used].opened_ordinal = column_u64(&s);
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

static bool is_in(const int64_t *jobs, size_t count, int64_t job_id)
{
	for (size_t i = 0; i < count; i++)
		if (jobs[i] == job_id)
			return true;
	return false;
}

/* A job's streams may be thousands, those of one host of it are few. */
enum status store_read_jobs_on_host(struct store_reader *reader, struct arena *arena, struct span host, int64_t at_ms,
	size_t limit, int64_t **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t *jobs = arena_alloc(arena, limit * sizeof *jobs);
	size_t used = 0;
	bool has_row;

	if (!jobs)
		return error_no_memory(err);
	TRY(statement_open(&s, reader,
		"SELECT h.job_id FROM stream_hosts AS h JOIN jobs AS j ON j.job_id = h.job_id WHERE h.host = ?1 AND NOT h.is_shared"
		" AND (h.until_ms = 0 OR h.until_ms >= ?2) AND j.created_ms <= ?2 AND (j.ended_ms = 0 OR j.ended_ms >= ?2)"
		" ORDER BY h.since_ms DESC",
		err));
	bind_text(&s, host);
	bind_i64(&s, at_ms);
	TRY(statement_step(&s, &has_row, err));
	while (has_row && used < limit) {
		int64_t job_id = column_i64(&s);
		if (!is_in(jobs, used, job_id))
			jobs[used++] = job_id;
		TRY(statement_step(&s, &has_row, err));
	}
	*out = jobs;
	*count = used;
	return OK;
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
static void add_stretch(struct incident_said *said, uint32_t stream_id, uint32_t *stream_before, struct span stream,
	const struct signature_hit_row *row)
{
	if (stream_id != *stream_before) {
		said->stream_count++;
		if (said->named < SAID_STREAMS_MAX)
			said->streams[said->named++] = stream;
	}
	*stream_before = stream_id;
	said->count += row->count;
	add_signature(said, row->signature);
	if (said->last_stream.len && row->last_ms <= said->last_ms)
		return;
	said->last_ms = row->last_ms;
	said->last_stream = stream;
	said->last_line = row->last_line;
	said->last_text = row->text;
}

enum status store_read_said(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	struct incident_said *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	uint32_t stream_before = 0;
	bool has_row;

	*out = (struct incident_said){.last_stream = SPAN(""), .last_text = SPAN("")};
	TRY(statement_open(&s, reader,
		"SELECT h.stream_id, r.name, h.signature, h.count, h.last_line, h.last_ms, h.text FROM signature_hits AS h"
		" JOIN streams AS r ON r.job_id = h.job_id AND r.stream_id = h.stream_id WHERE h.job_id = ? AND"
		" h.incident_id = ? ORDER BY h.stream_id",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, incident_id);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		uint32_t stream_id = column_u32(&s);
		struct span stream = column_span(&s, arena);
		struct signature_hit_row row = {.signature = column_span(&s, arena)};
		row.count = column_u64(&s);
		row.last_line = column_u64(&s);
		row.last_ms = column_i64(&s);
		row.text = column_span(&s, arena);
		TRY(statement_check(&s, err));
		add_stretch(out, stream_id, &stream_before, stream, &row);
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

#define LAST_SAID                                                                                                      \
	"SELECT max(h.last_ms) FROM signature_hits AS h WHERE h.job_id = incidents.job_id AND h.incident_id ="         \
	" incidents.incident_id"

enum status store_read_quiet(struct store_reader *reader, struct arena *arena, enum incident_kind kind,
	int64_t before_ms, size_t limit, struct quiet_incident **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct quiet_incident *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT job_id, incident_id, coalesce((" LAST_SAID
		"), opened_ms) FROM incidents WHERE state = 0 AND kind = ?"
		" AND coalesce((" LAST_SAID "), opened_ms) < ? LIMIT ?",
		err));
	bind_i64(&s, kind);
	bind_i64(&s, before_ms);
	bind_u64(&s, limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		rows[used].job_id = column_i64(&s);
		rows[used].incident_id = column_u32(&s);
		rows[used].last_ms = column_i64(&s);
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}
