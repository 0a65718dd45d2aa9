/* Incidents of one cause, and those that somebody muted. */
#include "model/incident.h"
#include "store/alerts.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

/* The incident ?2 of the job ?1, and those of its cause: by two keys, as an OR of the two reads all incidents that the job ever had. */
#define MEMBERS                                                                                                        \
	"(SELECT CAST(?2 AS BIGINT) UNION ALL SELECT c.incident_id FROM incidents AS c"                                \
	" WHERE c.job_id = ?1 AND c.cause_id = ?2 AND c.cause_id <> 0)"

enum status store_read_first_incidents(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct incident_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct incident_row, incident_id),
		FIELD(struct incident_row, series_id), FIELD(struct incident_row, metric),
		FIELD(struct incident_row, incident.kind), FIELD(struct incident_row, incident.state),
		FIELD(struct incident_row, incident.first_step), FIELD(struct incident_row, incident.last_step),
		FIELD(struct incident_row, incident.opened_step), FIELD(struct incident_row, incident.opened_ms),
		FIELD(struct incident_row, incident.is_historic), FIELD(struct incident_row, incident.rule_id),
		FIELD(struct incident_row, attempt), FIELD(struct incident_row, life)};
	const struct incident_row like = {.job_id = job_id};

	TRY(statement_open(&s, reader,
		"SELECT incident_id, series_id, metric, kind, state, first_step, last_step, opened_step, opened_ms, is_historic,"
		" rule_id, attempt, life FROM incidents WHERE job_id = ? AND cause_id = 0 ORDER BY opened_ms DESC LIMIT ?",
		err));
	bind_numbers(&s, job_id, limit);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

static void bind_member(struct statement *s, uint32_t group_id, const struct incident_row *row)
{
	bind_numbers(s, row->job_id, group_id, row->incident_id);
}

/* Of all metrics and kinds; the group has one at least. */
static enum status read_extent(struct store_reader *reader, uint32_t group_id, const struct incident_row *row,
	struct incident_group *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct incident_group, is_open),
		FIELD(struct incident_group, first_step), FIELD(struct incident_group, last_step),
		FIELD(struct incident_group, first_opened_ms), FIELD(struct incident_group, last_opened_ms)};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT max(" SQL_TRUTH(
			"state = 0") "), min(first_step), max(last_step), min(opened_ms), max(opened_ms) FROM incidents"
				     " WHERE job_id = ?1 AND incident_id IN " MEMBERS " AND incident_id <> ?3",
		err));
	bind_member(&s, group_id, row);
	return row_read(&s, NULL, ROWS(fields, struct incident_group), out, &has_row, err);
}

/* Until when the group had the metric and kind. */
static enum status read_same(struct store_reader *reader, uint32_t group_id, const struct incident_row *row,
	struct incident_group *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct incident_group, has_same),
		FIELD(struct incident_group, same.state), FIELD(struct incident_group, same.last_step),
		FIELD(struct incident_group, same.opened_ms), FIELD(struct incident_group, same.closed_ms)};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT count(*), min(i.state), max(i.last_step), max(i.opened_ms), max(i.closed_ms) FROM incidents AS i"
		" WHERE i.job_id = ?1 AND i.incident_id IN " MEMBERS " AND i.incident_id <> ?3 AND i.kind = ?4"
		" AND i.rule_id = ?5 AND i.metric = ?6",
		err));
	bind_member(&s, group_id, row);
	bind_numbers(&s, row->incident.kind, row->incident.rule_id);
	bind_text(&s, row->metric);
	return row_read(&s, NULL, ROWS(fields, struct incident_group), out, &has_row, err);
}

/* Of slow streams those of one machine: another machine that is slow now is news, though the first one has caught up. */
static enum status find_fold(struct store_reader *reader, uint32_t group_id, const struct incident_row *row,
	struct incident_group *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT i.incident_id FROM incidents AS i"
		" WHERE i.job_id = ?1 AND i.incident_id IN " MEMBERS " AND i.fold_id = 0 AND i.incident_id <> ?3"
		" AND i.kind = ?4 AND i.rule_id = ?5 AND i.metric = ?6 AND i.stream_id <> ?7"
		" AND (i.kind <> ?8 OR EXISTS (SELECT 1 FROM streams AS a, streams AS b WHERE a.job_id = ?1 AND b.job_id = ?1"
		" AND a.stream_id = i.stream_id AND b.stream_id = ?7 AND a.host = b.host AND a.host <> ''))"
		" AND NOT EXISTS (SELECT 1 FROM incidents AS f INDEXED BY incidents_by_fold WHERE f.job_id = ?1 AND f.stream_id = ?7 AND f.metric = ?6"
		" AND f.kind = ?4 AND f.rule_id = ?5 AND f.fold_id = i.incident_id AND f.fold_id <> 0 AND f.incident_id <> ?3)"
		" ORDER BY i.incident_id DESC LIMIT 1",
		err));
	bind_member(&s, group_id, row);
	bind_numbers(&s, row->incident.kind, row->incident.rule_id);
	bind_text(&s, row->metric);
	bind_numbers(&s, row->stream_id, INCIDENT_STRAGGLER);
	TRY(statement_step(&s, &has_row, err));
	out->fold_id = has_row ? column_u32(&s) : 0;
	return OK;
}

static enum status has_same_series(struct store_reader *reader, uint32_t group_id, const struct incident_row *row,
	struct incident_group *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT 1 FROM incidents WHERE job_id = ?1 AND incident_id IN " MEMBERS " AND incident_id <> ?3"
		" AND stream_id = ?4 AND metric = ?5 AND kind = ?6 AND rule_id = ?7 LIMIT 1",
		err));
	bind_member(&s, group_id, row);
	bind_i64(&s, row->stream_id);
	bind_text(&s, row->metric);
	bind_numbers(&s, row->incident.kind, row->incident.rule_id);
	return statement_step(&s, &out->has_same_series, err);
}

enum status store_look_in_group(struct store_reader *reader, uint32_t group_id, const struct incident_row *row,
	struct incident_group *out, struct error *err)
{
	*out = (struct incident_group){0};
	TRY(read_extent(reader, group_id, row, out, err));
	TRY(read_same(reader, group_id, row, out, err));
	TRY(has_same_series(reader, group_id, row, out, err));
	return find_fold(reader, group_id, row, out, err);
}

enum { CALLED_WITHIN_MS = 10 * 1000 }; /* of its print the tracker, or the other way round */

/* When the same NaN may be: what was printed is behind the number that was told last, and not long behind the NaN that was told. */
struct twin_times {
	int64_t after_ms, until_ms; /* 0: never */
};

static struct twin_times twin_times(const struct incident *incident)
{
	int64_t number_ms = incident->number_ms, earliest_ms = incident->opened_ms - CALLED_WITHIN_MS - 1;

	if (incident->line == NO_LINE)
		return (struct twin_times){number_ms, incident->opened_ms + CALLED_WITHIN_MS};
	if (number_ms >= incident->opened_ms)
		return (struct twin_times){0};
	return (struct twin_times){number_ms && earliest_ms > number_ms ? earliest_ms : number_ms, INT64_MAX};
}

enum status store_read_twins(struct store_reader *reader, struct arena *arena, uint32_t group_id,
	const struct incident_row *row, struct incident_twin **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct incident_twin, incident_id),
		FIELD(struct incident_twin, metric), FIELD(struct incident_twin, role),
		FIELD(struct incident_twin, row_role)};

	struct twin_times times = twin_times(&row->incident);
	TRY(statement_open(&s, reader,
		"SELECT i.incident_id, i.metric, coalesce(s.role, 0), coalesce((SELECT role FROM series WHERE job_id = ?1"
		" AND series_id = ?10), 0) FROM incidents AS i"
		" LEFT JOIN series AS s ON s.job_id = i.job_id AND s.series_id = i.series_id"
		" WHERE i.job_id = ?1 AND i.incident_id IN " MEMBERS " AND i.fold_id = 0 AND i.incident_id <> ?3"
		" AND i.kind = ?4 AND i.rule_id = ?5 AND i.metric <> ?6 AND i.series_id <> 0"
		" AND " SQL_TRUTH(
			"i.line = -1") " <> ?7 AND (i.opened_step = ?8 OR i.first_step = ?13 OR i.opened_ordinal = ?9"
				       " OR (?11 > 0 AND i.opened_ms > ?11 AND i.opened_ms <= ?12))"
				       " ORDER BY i.incident_id DESC LIMIT 16",
		err));
	bind_member(&s, group_id, row);
	bind_numbers(&s, row->incident.kind, row->incident.rule_id);
	bind_text(&s, row->metric);
	bind_numbers(&s, row->incident.line == NO_LINE, row->incident.opened_step, row->incident.opened_ordinal,
		row->series_id, times.after_ms, times.until_ms, row->incident.first_step);
	return rows_read(&s, arena, ROWS(fields, struct incident_twin), out, count, err);
}

enum status store_set_cause(struct store_tx *tx, const struct incident_row *row, struct error *err)
{
	return run_with(tx, "UPDATE incidents SET cause_id = ?, fold_id = ? WHERE job_id = ? AND incident_id = ?",
		NUMBERS(row->cause_id, row->fold_id, row->job_id, row->incident_id), err);
}

enum status store_is_group_open(struct store_reader *reader, int64_t job_id, uint32_t group_id, uint64_t kinds,
	bool *is_open, struct error *err)
{
	*is_open = false;
	return read_number(reader,
		"SELECT 1 FROM incidents WHERE job_id = ?1 AND incident_id IN " MEMBERS " AND state = 0"
		" AND (?3 = 0 OR ((?3 >> CAST(kind AS INTEGER)) & 1) <> 0) LIMIT 1",
		NUMBERS(job_id, group_id, kinds), is_open, err);
}

enum status store_mute_incident(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, int64_t until_ms, struct error *err)
{
	size_t changed;

	TRY(run_with(tx, "UPDATE incidents SET muted_until_ms = ? WHERE job_id = ? AND incident_id = ?",
		NUMBERS(until_ms, job_id, incident_id), err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return error_set(err, ERR_NOT_FOUND, "the job has no incident %u", (unsigned)incident_id);
	return run_with(tx, "UPDATE notices SET due_ms = 0 WHERE job_id = ? AND state = 0 AND is_standing = 2",
		NUMBERS(job_id), err);
}

enum status store_read_muted_until(struct store_reader *reader, const struct incident_row *row, int64_t now_ms,
	int64_t *until_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT coalesce(max(i.muted_until_ms), 0) FROM incidents AS i INDEXED BY incidents_muted"
		" WHERE i.job_id = ?1 AND i.muted_until_ms <> 0 AND i.muted_until_ms > ?2 AND (i.incident_id = ?3"
		" OR i.cause_id = ?3 OR (i.kind = ?4 AND i.rule_id = ?5 AND i.metric = ?6"
		" AND (i.opened_ordinal >> CAST(?7 AS INTEGER)) = ?8))",
		err));
	bind_numbers(&s, row->job_id, now_ms, incident_group(row), row->incident.kind, row->incident.rule_id);
	bind_text(&s, row->metric);
	bind_numbers(&s, INCIDENT_TIME_BITS, row->incident.opened_ordinal >> INCIDENT_TIME_BITS);
	TRY(statement_step(&s, &has_row, err));
	*until_ms = has_row ? column_i64(&s) : 0;
	return OK;
}

enum status store_read_fold_streams(struct store_reader *reader, struct arena *arena, const struct incident_row *row,
	size_t limit, struct span **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD_ALONE(struct span)};

	TRY(statement_open(&s, reader,
		"SELECT r.name FROM incidents AS i JOIN streams AS r ON r.job_id = i.job_id AND r.stream_id = i.stream_id"
		" WHERE i.job_id = ?1 AND i.incident_id IN (SELECT CAST(?2 AS BIGINT) UNION ALL SELECT f.incident_id"
		" FROM incidents AS f WHERE f.job_id = ?1 AND f.fold_id = ?2 AND f.fold_id <> 0) AND i.metric = ?4 AND i.kind = ?5"
		" ORDER BY i.incident_id LIMIT ?3",
		err));
	bind_numbers(&s, row->job_id, row->incident_id, limit);
	bind_text(&s, row->metric);
	bind_i64(&s, row->incident.kind);
	return rows_read(&s, arena, ROWS(fields, struct span), out, count, err);
}
