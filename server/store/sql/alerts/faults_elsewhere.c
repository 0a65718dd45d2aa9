/* Faults that the log of another job told of: of machines while they sent a job's streams. */
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"

#include <stdlib.h>

/* f tells of h's machine, while that sent its stream, and is of another job, whose words count for this one. ?1: how long it may be silent. */
#define IS_ELSEWHERE                                                                                                   \
	" AND f.host = h.host AND f.job_id <> h.job_id AND f.cleared = '' AND f.last_ms >= h.from_ms"                  \
	" AND (h.until_ms = 0 OR f.ts_ms <= h.until_ms + ?1)"                                                          \
	" AND NOT EXISTS (SELECT 1 FROM stream_hosts AS n WHERE n.job_id = h.job_id AND n.stream_id = h.stream_id"     \
	" AND n.number = h.number + 1 AND n.from_ms > 0 AND n.from_ms <= f.ts_ms)"                                     \
	" AND s.job_id = h.job_id AND s.stream_id = h.stream_id AND j.job_id = h.job_id AND t.job_id = f.job_id"       \
	" AND t.team IN ('', j.team)"

/* Who opened a session and printed nothing yet is there, too. */
static int64_t sent_until_ms(const struct stream_ends *ends, int64_t job_id, uint32_t stream_id, int64_t last_ms)
{
	int64_t newer_ms = ends->last_ms(ends->context, job_id, stream_id);

	if (!newer_ms && !last_ms)
		return INT64_MAX;
	return (newer_ms > last_ms ? newer_ms : last_ms) + ends->silent_ms;
}

static bool is_sent_then(
	const struct stream_ends *ends, int64_t job_id, uint32_t stream_id, int64_t last_ms, int64_t at_ms)
{
	return at_ms <= last_ms + ends->silent_ms || at_ms <= sent_until_ms(ends, job_id, stream_id, last_ms);
}

#define BREAK_FAULTS                                                                                                   \
	"SELECT h.stream_id, s.last_ms, h.job_id, f.ts_ms, f.last_ms, f.host, f.signature FROM node_faults AS f"       \
	" CROSS JOIN stream_hosts AS h CROSS JOIN streams AS s CROSS JOIN jobs AS j CROSS JOIN jobs AS t"              \
	" WHERE f.ts_ms >= ?2" IS_ELSEWHERE " AND EXISTS (SELECT 1 FROM goodput_breaks AS b WHERE b.job_id = h.job_id" \
	" AND f.last_ms >= b.from_ms - ?3 AND (b.to_ms = 0 OR f.ts_ms <= b.to_ms))"

enum status store_read_break_faults(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	struct span host, int64_t from_ms, int64_t near_ms, size_t limit, struct break_fault **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader,
		host.len ? BREAK_FAULTS " AND f.host = ?4 ORDER BY f.ts_ms DESC"
			 : BREAK_FAULTS " ORDER BY f.ts_ms DESC",
		err));
	bind_numbers(&s, ends->silent_ms, from_ms, near_ms);
	if (host.len)
		bind_text(&s, host);
	while (*count < limit) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		uint32_t stream_id = column_u32(&s);
		int64_t sent_ms = column_i64(&s), job_id = column_i64(&s), ts_ms = column_i64(&s);
		if (!is_sent_then(ends, job_id, stream_id, sent_ms, ts_ms))
			continue;
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		struct break_fault *row = &(*out)[(*count)++];
		*row = (struct break_fault){.job_id = job_id, .ts_ms = ts_ms, .last_ms = column_i64(&s)};
		row->host = column_span(&s, arena);
		row->signature = column_span(&s, arena);
	}
	return statement_check(&s, err);
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
	int64_t *jobs = arena_alloc(arena, limit * sizeof *jobs);
	size_t used = 0;
	bool has_row;

	if (!jobs)
		return error_no_memory(err);
	TRY(statement_open(&s, reader,
		"SELECT h.job_id, h.stream_id, s.last_ms FROM stream_hosts AS h JOIN jobs AS j ON j.job_id = h.job_id"
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
		int64_t job_id = column_i64(&s);
		uint32_t stream_id = column_u32(&s);
		if (!is_in(jobs, used, job_id) && is_sent_then(ends, job_id, stream_id, column_i64(&s), at_ms))
			jobs[used++] = job_id;
		TRY(statement_step(&s, &has_row, err));
	}
	*out = jobs;
	*count = used;
	return OK;
}

/* ---- of the machines of one job ---- */

/* A time at which a host sent one of the job's streams. */
struct stay {
	struct span host;
	int64_t from_ms, until_ms; /* until_ms: without what is in memory; 0: it sends still */
	int64_t last_ms; /* of the stream */
	int64_t next_ms; /* from when on another host sends it; 0: none does */
	uint32_t stream_id;
	int64_t end_ms; /* the last time of this host's stays that begin no later */
};

static int by_host_and_time(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	int order = span_compare(x->host, y->host);

	return order ? order : (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

static enum status read_stays(struct store_reader *reader, struct arena *arena, int64_t job_id, struct stay **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct stay, host), FIELD(struct stay, from_ms),
		FIELD(struct stay, until_ms), FIELD(struct stay, stream_id), FIELD(struct stay, last_ms),
		FIELD(struct stay, next_ms)};

	TRY(statement_open(&s, reader,
		"SELECT h.host, h.from_ms, h.until_ms, h.stream_id, s.last_ms, coalesce((SELECT n.from_ms FROM stream_hosts AS n"
		" WHERE n.job_id = h.job_id AND n.stream_id = h.stream_id AND n.number = h.number + 1), 0)"
		" FROM stream_hosts AS h CROSS JOIN streams AS s WHERE h.job_id = ? AND h.host <> ''"
		" AND s.job_id = h.job_id AND s.stream_id = h.stream_id",
		err));
	bind_i64(&s, job_id);
	TRY(rows_read(&s, arena, ROWS(fields, struct stay), out, count, err));
	if (*count)
		qsort(*out, *count, sizeof **out, by_host_and_time);
	return OK;
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* stays: of one host, by time */
static void end_stays(struct stay *stays, size_t count, const struct stream_ends *ends, int64_t job_id)
{
	int64_t last_ms = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		struct stay *stay = &stays[i];
		int64_t end_ms = sent_until_ms(ends, job_id, stay->stream_id, stay->last_ms);
		if (stay->until_ms)
			end_ms = lesser(end_ms, stay->until_ms + ends->silent_ms);
		if (stay->next_ms > 0)
			end_ms = lesser(end_ms, stay->next_ms - 1);
		last_ms = end_ms > last_ms ? end_ms : last_ms;
		stay->end_ms = last_ms;
	}
}

/* Whether the host sent any stream at some time of the two. */
static bool was_there(const struct stay *stays, size_t count, int64_t from_ms, int64_t to_ms)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (stays[middle].from_ms <= to_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low && from_ms <= stays[low - 1].end_ms;
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
	struct store_reader *reader;
	struct arena *arena;
	const struct stream_ends *ends;
	int64_t job_id, from_ms, to_ms;
	size_t limit;
	struct said_hit *hits;
	size_t count, cap;
};

/* The first ones alone: what comes behind them is looked at no more. */
static void keep_first(struct telling *t)
{
	if (t->count)
		qsort(t->hits, t->count, sizeof *t->hits, by_time);
	if (t->count < t->limit)
		return;
	t->count = t->limit;
	t->to_ms = t->hits[t->count - 1].row.first_ms;
}

#define FAULTS_OF_HOST                                                                                                    \
	"SELECT f.ts_ms, f.last_ms, f.job_id, f.stream_id, f.line, f.count, CASE WHEN t.team = j.team THEN 0 ELSE 1 END," \
	" f.signature, f.text, t.name FROM node_faults AS f CROSS JOIN jobs AS j CROSS JOIN jobs AS t"                    \
	" WHERE f.host = ?4 AND f.ts_ms <= ?3 AND f.last_ms >= ?2 AND f.job_id <> ?1 AND f.cleared = ''"                  \
	" AND j.job_id = ?1 AND t.job_id = f.job_id AND t.team IN ('', j.team)"                                           \
	" ORDER BY f.ts_ms, f.job_id, f.stream_id, f.line"

static enum status add_told(struct telling *t, struct statement *s, struct said_hit hit, struct error *err)
{
	hit.told_by_job = column_i64(s);
	hit.row.stream_id = column_u32(s);
	hit.row.first_line = hit.row.last_line = column_u64(s);
	hit.row.count = column_u64(s);
	hit.is_of_no_team = column_bool(s);
	hit.row.signature = column_span(s, t->arena);
	hit.row.text = column_span(s, t->arena);
	hit.told_by = column_span(s, t->arena);
	TRY(statement_check(s, err));
	t->hits = rows_grow(t->arena, t->hits, t->count, &t->cap, sizeof *t->hits);
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

	TRY(statement_open(&s, t->reader, FAULTS_OF_HOST, err));
	bind_numbers(&s, t->job_id, t->from_ms, t->to_ms);
	bind_text(&s, stays->host);
	for (size_t taken = 0; taken < t->limit;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		if (!has_ends)
			end_stays(stays, count, t->ends, t->job_id);
		has_ends = true;
		struct said_hit hit = {.row = {.job_id = t->job_id, .host = stays->host}, .stream = SPAN("")};
		hit.row.first_ms = column_i64(&s);
		hit.row.last_ms = column_i64(&s);
		if (!was_there(stays, count, hit.row.first_ms, hit.row.last_ms))
			continue;
		taken++;
		TRY(add_told(t, &s, hit, err));
	}
	return OK;
}

/* Each fault of each host is looked at once, by the times at which that sent any of the job's streams, however many these are. */
enum status store_read_told_elsewhere(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	int64_t job_id, int64_t from_ms, int64_t to_ms, size_t limit, struct said_hit **out, size_t *count,
	struct error *err)
{
	struct telling t = {reader, arena, ends, job_id, from_ms, to_ms, limit, NULL, 0, 0};
	struct stay *stays;
	size_t stay_count, of_host;

	TRY(read_stays(reader, arena, job_id, &stays, &stay_count, err));
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
