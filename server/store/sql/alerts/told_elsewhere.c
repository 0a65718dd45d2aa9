/* Faults that another job's log tells of, of machines while they send streams of this one. */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"
#include "store/sql/alerts/stays.h"

#include <stdlib.h>

/* A log's words count for its team's jobs, and the fleet's own, of no team, for all; not a deleted job's. */
#define COUNTS " AND t.job_id = f.job_id AND t.team IN ('', j.team)"

/* ---- of machines of one job ---- */

/* By host. */
static enum status read_stays(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span host,
	struct stay **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader,
		host.len
			? "SELECT " STAY_COLUMNS
			  " FROM stream_hosts AS h CROSS JOIN streams AS s WHERE h.job_id = ?1 AND h.host = ?2" STAY_STREAM
			: "SELECT " STAY_COLUMNS
			  " FROM stream_hosts AS h CROSS JOIN streams AS s WHERE h.job_id = ?1 AND h.host <> ''" STAY_STREAM
			  " ORDER BY h.host",
		err));
	bind_i64(&s, job_id);
	if (host.len)
		bind_text(&s, host);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		(*out)[(*count)++] = stay_read(&s, arena);
		TRY(statement_step(&s, &has_row, err));
	}
	return statement_check(&s, err);
}

static int by_time(const void *a, const void *b)
{
	const struct said_hit *x = a, *y = b;

	if (x->row.first_ms != y->row.first_ms)
		return x->row.first_ms < y->row.first_ms ? -1 : 1;
	if (x->told_by_job != y->told_by_job)
		return x->told_by_job < y->told_by_job ? -1 : 1;
	if (x->row.stream_id != y->row.stream_id)
		return x->row.stream_id < y->row.stream_id ? -1 : 1;
	if (x->row.first_line != y->row.first_line)
		return x->row.first_line < y->row.first_line ? -1 : 1;
	return span_compare(x->row.host, y->row.host);
}

struct telling {
	struct presence presence;
	int64_t job_id, from_ms, to_ms;
	size_t limit;
	struct said_hit *hits;
	size_t count, cap;
};

/* The first ones alone: what comes behind them is looked at no more. */
static void keep_first(struct telling *t)
{
	if (!t->count)
		return;
	qsort(t->hits, t->count, sizeof *t->hits, by_time);
	if (t->count < t->limit)
		return;
	t->count = t->limit;
	t->to_ms = t->hits[t->count - 1].row.first_ms;
}

#define FAULTS_OF_HOST                                                                                                            \
	"SELECT f.ts_ms, f.last_ms, f.job_id, f.stream_id, f.line, f.count, CASE WHEN t.team = j.team THEN 0 ELSE 1 END,"         \
	" f.signature, f.text, t.name FROM node_faults AS f CROSS JOIN jobs AS j CROSS JOIN jobs AS t"                            \
	" WHERE f.host = ?4 AND f.ts_ms <= ?3 AND f.last_ms >= ?2 AND f.job_id <> ?1 AND f.cleared = '' AND j.job_id = ?1" COUNTS \
	" ORDER BY f.ts_ms, f.job_id, f.stream_id, f.line"

static enum status add_told(
	struct telling *t, struct statement *s, struct said_hit hit, bool has_text, struct error *err)
{
	struct arena *arena = t->presence.arena;

	hit.told_by_job = column_i64(s);
	hit.row.stream_id = column_u32(s);
	hit.row.first_line = hit.row.last_line = column_u64(s);
	hit.row.count = column_u64(s);
	hit.is_of_no_team = column_bool(s);
	hit.row.signature = column_span(s, arena);
	hit.row.text = column_span(s, arena);
	hit.row.text = has_text ? hit.row.text : SPAN("");
	hit.told_by = column_span(s, arena);
	TRY(statement_check(s, err));
	t->hits = rows_grow(arena, t->hits, t->count, &t->cap, sizeof *t->hits);
	if (!t->hits)
		return error_no_memory(err);
	t->hits[t->count++] = hit;
	if (t->count == 2 * t->limit)
		keep_first(t);
	return OK;
}

static enum status add_host(struct telling *t, struct stay *stays, size_t count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row, has_ends = false;

	TRY(statement_open(&s, t->presence.reader, FAULTS_OF_HOST, err));
	bind_numbers(&s, t->job_id, t->from_ms, t->to_ms);
	bind_text(&s, stays->host);
	for (size_t taken = 0; taken < t->limit;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		if (!has_ends) {
			stays_end_by_silence(&t->presence, stays, count);
			TRY(stays_end_by_leaving(&t->presence, stays, count, err));
		}
		has_ends = true;
		struct said_hit hit = {.row = {.job_id = t->job_id, .host = stays->host}, .stream = SPAN("")};
		int64_t said_ms = hit.row.first_ms = column_i64(&s);
		hit.row.last_ms = column_i64(&s);
		if (!stays_were_there(stays, count, &hit.row.first_ms, &hit.row.last_ms) ||
			hit.row.first_ms > t->to_ms || hit.row.last_ms < t->from_ms)
			continue;
		taken++;
		TRY(add_told(t, &s, hit, hit.row.first_ms == said_ms, err));
	}
	return OK;
}

/* Each fault of each host is looked at once, by the times at which that sent any of the job's streams, however many these are. */
enum status store_read_told_elsewhere(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	int64_t job_id, struct span host, int64_t from_ms, int64_t to_ms, size_t limit, struct said_hit **out,
	size_t *count, struct error *err)
{
	struct telling t = {.presence = {.reader = reader, .arena = arena, .ends = ends},
		.job_id = job_id,
		.from_ms = from_ms,
		.to_ms = to_ms,
		.limit = limit};
	struct stay *stays;
	size_t stay_count, of_host;

	TRY(read_stays(reader, arena, job_id, host, &stays, &stay_count, err));
	for (size_t i = 0; i < stay_count; i += of_host) {
		for (of_host = 1; i + of_host < stay_count && span_equal(stays[i + of_host].host, stays[i].host);)
			of_host++;
		TRY(add_host(&t, &stays[i], of_host, err));
	}
	keep_first(&t);
	*out = t.hits;
	*count = t.count;
	return OK;
}

/* ---- jobs ---- */

struct failure {
	int64_t job_id, ended_ms;
};

static int by_end(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->ended_ms != y->ended_ms)
		return x->ended_ms < y->ended_ms ? -1 : 1;
	return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* From the fault to its machine's streams to their jobs: of all jobs that have failed there are more. Several streams may be of one job. */
enum status store_read_failed_by(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, int64_t after_ms, size_t limit, int64_t **job_ids, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct failure, job_id), FIELD(struct failure, ended_ms)};
	struct failure *rows;
	size_t row_count;

	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT o.job_id, o.ended_ms FROM node_faults AS f CROSS JOIN jobs AS t CROSS JOIN stream_hosts AS h CROSS JOIN jobs AS o"
		" WHERE f.job_id = ?1 AND f.stream_id = ?2 AND f.line = ?3 AND t.job_id = f.job_id"
		" AND h.host = f.host AND h.job_id <> f.job_id AND h.from_ms <= f.last_ms"
		" AND o.job_id = h.job_id AND o.status = 'Failed' AND t.team IN ('', o.team)"
		" AND o.created_ms <= f.last_ms AND o.ended_ms >= f.ts_ms - ?4",
		err));
	bind_numbers(&s, job_id, stream_id, line, after_ms);
	TRY(rows_read(&s, arena, ROWS(fields, struct failure), &rows, &row_count, err));
	*job_ids = arena_alloc(arena, (limit + 1) * sizeof **job_ids);
	if (!*job_ids)
		return error_no_memory(err);
	if (row_count)
		qsort(rows, row_count, sizeof *rows, by_end);
	for (size_t i = 0; i < row_count && *count < limit; i++)
		if (!i || rows[i].job_id != rows[i - 1].job_id)
			(*job_ids)[(*count)++] = rows[i].job_id;
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
enum status store_read_jobs_on_host(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	struct span host, struct span team, int64_t at_ms, size_t limit, int64_t **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct presence presence = {.reader = reader, .arena = arena, .ends = ends};
	int64_t *jobs = arena_alloc(arena, limit * sizeof *jobs);
	bool has_row, is_there;
	size_t used = 0;

	if (!jobs)
		return error_no_memory(err);
	TRY(statement_open(&s, reader,
		"SELECT " STAY_COLUMNS " FROM stream_hosts AS h JOIN jobs AS j ON j.job_id = h.job_id"
		" JOIN streams AS s ON s.job_id = h.job_id AND s.stream_id = h.stream_id"
		" WHERE h.host = ?1 AND h.is_shared = 0 AND ?2 IN ('', j.team)"
		" AND (h.until_ms = 0 OR h.until_ms >= ?3) AND j.created_ms <= ?3 AND (j.ended_ms = 0 OR j.ended_ms >= ?3)"
		" AND NOT EXISTS (SELECT 1 FROM job_counts AS c WHERE c.job_id = h.job_id AND c.work_to_ms > 0 AND c.work_to_ms < ?4)"
		" ORDER BY h.since_ms DESC",
		err));
	bind_text(&s, host);
	bind_text(&s, team);
	bind_numbers(&s, at_ms, at_ms - ends->silent_ms);
	TRY(statement_step(&s, &has_row, err));
	while (has_row && used < limit) {
		struct stay stay = stay_read(&s, arena);
		if (!is_in(jobs, used, stay.job_id)) {
			TRY(stay_is_sent(&presence, &stay, at_ms, at_ms, &is_there, err));
			if (is_there)
				jobs[used++] = stay.job_id;
		}
		TRY(statement_step(&s, &has_row, err));
	}
	*out = jobs;
	*count = used;
	return OK;
}

enum status store_count_told(struct store_reader *reader, struct arena *arena, const struct told_on_host *told,
	size_t limit, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t *jobs = arena_alloc(arena, limit * sizeof *jobs);
	bool has_row;

	*count = 0;
	if (!jobs)
		return error_no_memory(err);
	TRY(statement_open(&s, reader,
		"SELECT i.job_id FROM stream_hosts AS h CROSS JOIN incidents AS i"
		" WHERE h.host = ?1 AND i.job_id = h.job_id AND i.kind = ?2 AND i.opened_ms BETWEEN ?3 AND ?4"
		" AND (i.opened_ordinal >> CAST(?5 AS INTEGER)) = ?6 AND i.job_id <> ?7",
		err));
	bind_text(&s, told->host);
	bind_numbers(&s, INCIDENT_NODE_SUSPECT, told->from_ms, told->to_ms, INCIDENT_TIME_BITS,
		incident_ordinal_of(told->host, 0) >> INCIDENT_TIME_BITS, told->teller_id);
	TRY(statement_step(&s, &has_row, err));
	while (has_row && *count < limit) {
		int64_t job_id = column_i64(&s);
		if (!is_in(jobs, *count, job_id))
			jobs[(*count)++] = job_id;
		TRY(statement_step(&s, &has_row, err));
	}
	return statement_check(&s, err);
}
