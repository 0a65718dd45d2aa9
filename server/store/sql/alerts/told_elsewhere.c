/* Faults that another job's log tells of, of machines while they send streams of this one. */
#include "store/driver/driver.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"

enum { TURNS_READ = 1000 }; /* of a machine, since it was silent */

/* ---- who sends what, and when ---- */

/* A machine, and a stream that it began to send. */
struct turn {
	int64_t job_id;
	uint32_t stream_id;
	int64_t from_ms, since_ms; /* as stream_hosts has them */
	int64_t first_ms, last_ms; /* of the stream's sealed lines; 0: none are */
	struct span host;
};
#define TURN "h.job_id, h.stream_id, h.from_ms, h.since_ms, s.first_ms, s.last_ms, h.host"

static struct turn read_turn(struct statement *s, struct arena *arena)
{
	struct turn turn = {.job_id = column_i64(s)};

	turn.stream_id = column_u32(s);
	turn.from_ms = column_i64(s);
	turn.since_ms = column_i64(s);
	turn.first_ms = column_i64(s);
	turn.last_ms = column_i64(s);
	turn.host = column_span(s, arena);
	return turn;
}

/* With what memory has: what is sealed alone is stored. */
static void ask_memory(const struct stream_ends *ends, struct turn *turn)
{
	int64_t first_ms, last_ms;

	ends->read(ends->context, turn->job_id, turn->stream_id, &first_ms, &last_ms);
	turn->first_ms = turn->first_ms ? turn->first_ms : first_ms;
	turn->last_ms = last_ms > turn->last_ms ? last_ms : turn->last_ms;
}

/* With its first line; who opened a session is there before that. */
static int64_t begin_ms(const struct turn *turn)
{
	if (turn->from_ms)
		return turn->from_ms;
	return turn->first_ms && turn->first_ms < turn->since_ms ? turn->first_ms : turn->since_ms;
}

/* Behind its last line it began to send to another job. */
static enum status has_left(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	const struct turn *turn, int64_t at_ms, bool *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = false;
	TRY(statement_open(&s, reader,
		"SELECT " TURN
		" FROM stream_hosts AS h JOIN streams AS s ON s.job_id = h.job_id AND s.stream_id = h.stream_id"
		" WHERE h.host = ?1 AND h.since_ms > ?2 AND h.job_id <> ?3 ORDER BY h.since_ms LIMIT ?4",
		err));
	bind_text(&s, turn->host);
	bind_numbers(&s, turn->last_ms, turn->job_id, TURNS_READ);
	TRY(statement_step(&s, &has_row, err));
	while (has_row && !*out) {
		struct turn other = read_turn(&s, arena);
		ask_memory(ends, &other);
		*out = begin_ms(&other) > turn->last_ms && begin_ms(&other) <= at_ms;
		TRY(statement_step(&s, &has_row, err));
	}
	return statement_check(&s, err);
}

/* Did it send the stream at some time of a fault? Who opened a session and printed nothing yet is there, too. */
static enum status is_sent(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	struct turn *turn, int64_t first_ms, int64_t last_ms, bool *out, struct error *err)
{
	bool is_gone;

	if (!turn->first_ms || first_ms > turn->last_ms)
		ask_memory(ends, turn);
	*out = last_ms >= begin_ms(turn) && (!turn->last_ms || first_ms <= turn->last_ms + ends->silent_ms);
	if (!*out || !turn->last_ms || first_ms <= turn->last_ms)
		return OK;
	TRY(has_left(reader, arena, ends, turn, first_ms, &is_gone, err));
	*out = !is_gone;
	return OK;
}

#define IS_TAKEN_OVER_BY(at)                                                                                           \
	"EXISTS (SELECT 1 FROM stream_hosts AS n WHERE n.job_id = h.job_id AND n.stream_id = h.stream_id"              \
	" AND n.number = h.number + 1 AND n.from_ms > 0 AND n.from_ms <= " at ")"

/* ---- faults ---- */

/* Whose words count for job j: its team's, and the fleet's own, of no team; not a deleted job's. A narrow reader sees no others. */
#define COUNTS "EXISTS (SELECT 1 FROM jobs AS t WHERE t.job_id = f.job_id AND t.team IN ('', j.team))"
#define COUNTS_NARROW "NOT EXISTS (SELECT 1 FROM trashed_jobs AS t WHERE t.job_id = f.job_id)"

/* f tells of h's machine, before another one sent its stream, and is of another job. ?1: how long it may be silent. */
#define IS_ELSEWHERE                                                                                                   \
	" AND f.host = h.host AND f.job_id <> h.job_id AND f.cleared = '' AND f.last_ms >= h.from_ms"                  \
	" AND (h.until_ms = 0 OR f.ts_ms <= h.until_ms + ?1) AND NOT " IS_TAKEN_OVER_BY(                               \
		"f.ts_ms") " AND s.job_id = h.job_id AND s.stream_id = h.stream_id AND j.job_id = h.job_id AND "

#define BREAK_FAULTS(counts, of_host)                                                                                  \
	"SELECT " TURN ", f.ts_ms, f.last_ms, f.signature FROM node_faults AS f"                                       \
	" CROSS JOIN stream_hosts AS h CROSS JOIN streams AS s CROSS JOIN jobs AS j"                                   \
	" WHERE f.ts_ms >= ?2" IS_ELSEWHERE counts " AND EXISTS (SELECT 1 FROM goodput_breaks AS b WHERE b.job_id ="   \
	" h.job_id AND f.last_ms >= b.from_ms - ?3 AND (b.to_ms = 0 OR f.ts_ms <= b.to_ms))" of_host                   \
	" ORDER BY f.ts_ms DESC"
#define OF_HOST " AND f.host = ?4"

static const char *break_faults_sql(const struct store_reader *reader, bool is_of_host)
{
	if (reader->is_narrow)
		return is_of_host ? BREAK_FAULTS(COUNTS_NARROW, OF_HOST) : BREAK_FAULTS(COUNTS_NARROW, "");
	return is_of_host ? BREAK_FAULTS(COUNTS, OF_HOST) : BREAK_FAULTS(COUNTS, "");
}

enum status store_read_break_faults(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	struct span host, int64_t from_ms, int64_t near_ms, size_t limit, struct break_fault **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row, is_there;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader, break_faults_sql(reader, host.len), err));
	bind_numbers(&s, ends->silent_ms, from_ms, near_ms);
	if (host.len)
		bind_text(&s, host);
	while (*count < limit) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		struct turn turn = read_turn(&s, arena);
		struct break_fault fault = {.host = turn.host, .job_id = turn.job_id, .ts_ms = column_i64(&s)};
		fault.last_ms = column_i64(&s);
		TRY(is_sent(reader, arena, ends, &turn, fault.ts_ms, fault.last_ms, &is_there, err));
		if (!is_there)
			continue;
		fault.signature = column_span(&s, arena);
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		(*out)[(*count)++] = fault;
	}
	return statement_check(&s, err);
}

/* Several streams may say that the machine was there. */
static bool is_same_fault(const struct signature_hit_row *a, const struct signature_hit_row *b)
{
	return a->first_ms == b->first_ms && a->stream_id == b->stream_id && a->first_line == b->first_line &&
	       span_equal(a->host, b->host);
}

#define TELLER(column) "coalesce((SELECT t." column " FROM jobs AS t WHERE t.job_id = f.job_id), '')"
#define TOLD_ELSEWHERE(counts)                                                                                             \
	"SELECT " TURN ", f.ts_ms, f.last_ms, f.job_id, f.stream_id, f.line, f.count,"                                     \
	" CASE WHEN " TELLER("team") " = j.team THEN 0 ELSE 1 END, f.signature, f.text, " TELLER(                          \
		"name") " FROM stream_hosts AS h CROSS JOIN streams AS s CROSS JOIN jobs AS j CROSS JOIN node_faults AS f" \
			" WHERE h.job_id = ?2 AND h.host <> '' AND f.ts_ms <= ?4 AND f.last_ms >= ?3" IS_ELSEWHERE         \
				counts " ORDER BY f.ts_ms, f.job_id, f.stream_id, f.line, f.host"

static void read_told(struct statement *s, struct arena *arena, struct said_hit *out)
{
	out->row.count = column_u64(s);
	out->is_of_no_team = column_bool(s);
	out->row.signature = column_span(s, arena);
	out->row.text = column_span(s, arena);
	out->told_by = column_span(s, arena);
	out->row.last_line = out->row.first_line;
}

enum status store_read_told_elsewhere(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	int64_t job_id, int64_t from_ms, int64_t to_ms, size_t limit, struct said_hit **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t told_by = 0, before = 0;
	size_t cap = 0;
	bool has_row, is_there;

	*out = NULL;
	*count = 0;
	TRY(statement_open(
		&s, reader, reader->is_narrow ? TOLD_ELSEWHERE(COUNTS_NARROW) : TOLD_ELSEWHERE(COUNTS), err));
	bind_numbers(&s, ends->silent_ms, job_id, from_ms, to_ms);
	while (*count < limit) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		struct turn turn = read_turn(&s, arena);
		struct said_hit hit = {.row = {.job_id = job_id, .host = turn.host}, .stream = SPAN("")};
		hit.row.first_ms = column_i64(&s);
		hit.row.last_ms = column_i64(&s);
		told_by = column_i64(&s);
		hit.row.stream_id = column_u32(&s);
		hit.row.first_line = column_u64(&s);
		const struct said_hit *last = *count ? &(*out)[*count - 1] : NULL;
		if (last && told_by == before && is_same_fault(&last->row, &hit.row))
			continue;
		TRY(is_sent(reader, arena, ends, &turn, hit.row.first_ms, hit.row.last_ms, &is_there, err));
		if (!is_there)
			continue;
		before = told_by;
		read_told(&s, arena, &hit);
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		(*out)[(*count)++] = hit;
	}
	return statement_check(&s, err);
}

enum status store_read_failed_by(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t stream,
	uint64_t line, int64_t after_ms, size_t limit, int64_t **job_ids, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field ids[] = {FIELD_ALONE(int64_t)};

	TRY(statement_open(&s, reader,
		"SELECT j.job_id FROM jobs AS j WHERE j.status = 'Failed' AND j.job_id IN (SELECT h.job_id FROM node_faults AS f"
		" JOIN jobs AS t ON t.job_id = f.job_id JOIN stream_hosts AS h ON h.host = f.host AND h.job_id <> f.job_id"
		" AND h.from_ms <= f.last_ms JOIN jobs AS o ON o.job_id = h.job_id AND t.team IN ('', o.team)"
		" AND o.ended_ms >= f.ts_ms - ?4"
		" WHERE f.job_id = ?1 AND (?2 < 0 OR (f.stream_id = ?2 AND f.line = ?3)))"
		" ORDER BY j.ended_ms DESC, j.job_id LIMIT ?5",
		err));
	bind_numbers(&s, job_id, stream, (int64_t)line, after_ms, (int64_t)limit);
	return rows_read(&s, arena, ROWS(ids, int64_t), job_ids, count, err);
}

/* ---- jobs ---- */

static bool is_in(const int64_t *jobs, size_t count, int64_t job_id)
{
	for (size_t i = 0; i < count; i++)
		if (jobs[i] == job_id)
			return true;
	return false;
}

/* A job's streams may be thousands, those of one host of it are few. */
#define JOBS_ON_HOST                                                                                                   \
	"SELECT " TURN " FROM stream_hosts AS h JOIN jobs AS j ON j.job_id = h.job_id"                                 \
	" JOIN streams AS s ON s.job_id = h.job_id AND s.stream_id = h.stream_id"                                      \
	" WHERE h.host = ?1 AND h.is_shared = 0 AND ?2 IN ('', j.team)"                                                \
	" AND (h.until_ms = 0 OR h.until_ms >= ?3) AND NOT " IS_TAKEN_OVER_BY(                                         \
		"?3") " AND j.created_ms <= ?3 AND (j.ended_ms = 0 OR j.ended_ms >= ?3)"                               \
		      " AND NOT EXISTS (SELECT 1 FROM job_counts AS c WHERE c.job_id = h.job_id AND c.work_to_ms > 0"  \
		      " AND c.work_to_ms < ?4) ORDER BY h.since_ms DESC"

enum status store_read_jobs_on_host(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	struct span host, struct span team, int64_t at_ms, size_t limit, int64_t **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t *jobs = arena_alloc(arena, limit * sizeof *jobs);
	bool has_row, is_there;
	size_t used = 0;

	if (!jobs)
		return error_no_memory(err);
	TRY(statement_open(&s, reader, JOBS_ON_HOST, err));
	bind_text(&s, host);
	bind_text(&s, team);
	bind_numbers(&s, at_ms, at_ms - ends->silent_ms);
	TRY(statement_step(&s, &has_row, err));
	while (has_row && used < limit) {
		struct turn turn = read_turn(&s, arena);
		if (!is_in(jobs, used, turn.job_id)) {
			TRY(is_sent(reader, arena, ends, &turn, at_ms, at_ms, &is_there, err));
			if (is_there)
				jobs[used++] = turn.job_id;
		}
		TRY(statement_step(&s, &has_row, err));
	}
	*out = jobs;
	*count = used;
	return OK;
}
