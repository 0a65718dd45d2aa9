#include "model/incident.h"
#include "model/query.h"
#include "store/alerts.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/jobs.h"
#include "store/search.h"

#include <stdio.h>

enum { CURSOR_BYTES = 80, MATCHED_AT_ONCE = 500 };

/* By that index, as SQLite takes the job's key for as good, and reads all that it ever had for each row. */
#define HAS_OPEN_FOLD                                                                                                                                  \
	"EXISTS (SELECT 1 FROM incidents AS f INDEXED BY incidents_by_fold WHERE f.job_id = i.job_id AND f.fold_id = i.incident_id AND f.fold_id <> 0" \
	" AND f.state = 0)"

/* Of the open ones that a list shows in one row: the row itself, or else the first that is folded into it. */
#define IS_FIRST_SHOWN                                                                                                                        \
	" AND (i.fold_id = 0 OR NOT EXISTS (SELECT 1 FROM incidents AS o INDEXED BY incidents_open WHERE o.job_id = i.job_id AND o.state = 0" \
	" AND (o.incident_id = i.fold_id OR (o.fold_id = i.fold_id AND o.incident_id < i.incident_id))))"

#define INCIDENT_COLUMNS                                                                                                                                \
	"SELECT i.job_id, i.incident_id, i.series_id, i.stream_id, j.name, i.metric, coalesce(r.name, ''), i.kind,"                                     \
	" i.severity, i.state, i.opened_ordinal, i.first_step, i.last_step, i.opened_step, i.opened_ms, i.closed_ms, i.closed_why,"                     \
	" i.line, i.is_historic, i.value, i.value_kind, i.expected, i.expected_kind, i.spread, i.spread_kind,"                                          \
	" i.score, i.score_kind, i.worst, i.worst_kind, i.worst_step, i.acknowledged_ms, i.facts,"                                                      \
	" i.muted_until_ms, i.cause_id, i.fold_id, i.rule_id, i.attempt, i.life, i.known_ms,"                                                           \
	" (SELECT count(*) FROM incidents AS f INDEXED BY incidents_by_fold WHERE f.job_id = i.job_id AND f.fold_id = i.incident_id AND f.fold_id <> 0" \
	" AND f.metric = i.metric AND f.kind = i.kind),"                                                                                                \
	" " SQL_TRUTH(HAS_OPEN_FOLD) " FROM "
#define AND_THEIR                                                                                                      \
	" JOIN jobs AS j ON j.job_id = i.job_id"                                                                       \
	" LEFT JOIN streams AS r ON r.job_id = i.job_id AND r.stream_id = i.stream_id"
#define INCIDENTS INCIDENT_COLUMNS "incidents AS i" AND_THEIR

/* Of a job those that are open, and those that others are shown in which are: of all that it ever had these are few. */
#define OPEN_OF_JOB                                                                                                    \
	INCIDENT_COLUMNS                                                                                               \
	"(SELECT o.incident_id FROM incidents AS o INDEXED BY incidents_open WHERE o.job_id = ?7 AND o.state = 0"      \
	" UNION SELECT o.fold_id FROM incidents AS o INDEXED BY incidents_open WHERE o.job_id = ?7 AND o.state = 0"    \
	" AND o.fold_id <> 0) AS k CROSS JOIN incidents AS i" AND_THEIR                                                \
	" WHERE i.job_id = ?7 AND i.incident_id = k.incident_id AND "

/* time: the column by which they are chosen and ordered. */
#define MATCHES(time)                                                                                                  \
	" AND (?4 < 0 OR ?4 = " SQL_TRUTH(                                                                             \
		"i.state = 1 AND NOT " HAS_OPEN_FOLD) ") AND (?5 < 0 OR i.kind = ?5)"                                  \
						      " AND (?8 <> 0 OR i.fold_id = 0)"                                \
						      " AND i.severity >= ?9 AND i." time                              \
						      " >= ?10 AND (?11 = 0 OR i." time " <= ?11)"                     \
						      " ORDER BY i." time                                              \
						      " DESC, i.job_id DESC, i.incident_id DESC LIMIT ?6"

/* The place behind the last row of a page. */
struct place {
	int64_t time_ms;
	int64_t job_id;
	int64_t incident_id;
};

static const struct row_field fields[] = {FIELD(struct incident_row, job_id), FIELD(struct incident_row, incident_id),
	FIELD(struct incident_row, series_id), FIELD(struct incident_row, stream_id), FIELD(struct incident_row, job),
	FIELD(struct incident_row, metric), FIELD(struct incident_row, stream),
	FIELD(struct incident_row, incident.kind), FIELD(struct incident_row, incident.severity),
	FIELD(struct incident_row, incident.state), FIELD(struct incident_row, incident.opened_ordinal),
	FIELD(struct incident_row, incident.first_step), FIELD(struct incident_row, incident.last_step),
	FIELD(struct incident_row, incident.opened_step), FIELD(struct incident_row, incident.opened_ms),
	FIELD(struct incident_row, incident.closed_ms), FIELD(struct incident_row, incident.closed_why),
	FIELD(struct incident_row, incident.line), FIELD(struct incident_row, incident.is_historic),
	FIELD(struct incident_row, incident.value), FIELD(struct incident_row, incident.expected),
	FIELD(struct incident_row, incident.spread), FIELD(struct incident_row, incident.score),
	FIELD(struct incident_row, incident.worst), FIELD(struct incident_row, incident.worst_step),
	FIELD(struct incident_row, acknowledged_ms), FIELD(struct incident_row, facts),
	FIELD(struct incident_row, muted_until_ms), FIELD(struct incident_row, cause_id),
	FIELD(struct incident_row, fold_id), FIELD(struct incident_row, incident.rule_id),
	FIELD(struct incident_row, attempt), FIELD(struct incident_row, life), FIELD(struct incident_row, known_ms),
	FIELD(struct incident_row, folded), FIELD(struct incident_row, has_open_fold)};
static const struct incident_row like = {.detail = SPAN("")};

static enum status parse_cursor(struct span cursor, struct place *out, struct error *err)
{
	struct span rest = cursor, parts[3] = {{0}};
	struct place place = {INT64_MAX, INT64_MAX, INT64_MAX};

	if (cursor.len) {
		bool is_whole = true;
		for (size_t i = 0; i < 3; i++)
			is_whole = is_whole && span_next(&rest, '.', &parts[i]);
		if (!is_whole || rest.len || !span_parse_i64(parts[0], &place.time_ms) ||
			!span_parse_i64(parts[1], &place.job_id) || !span_parse_i64(parts[2], &place.incident_id))
			return error_set_field(
				err, ERR_SEMANTIC, "cursor", "'%.*s' is not a cursor of this list", SPAN_ARGS(cursor));
	}
	*out = place;
	return OK;
}

static enum status print_cursor(const struct incident_filter *filter, const struct incident_row *last,
	struct arena *arena, struct span *out, struct error *err)
{
	char text[CURSOR_BYTES];
	int64_t time_ms = filter->is_by_known ? last->known_ms : last->incident.opened_ms;
	int len = snprintf(text, sizeof text, "%lld.%lld.%u", (long long)time_ms, (long long)last->job_id,
		(unsigned)last->incident_id);
	struct span copy = arena_copy(arena, span_of(text, (size_t)len));

	if (!copy.ptr)
		return error_no_memory(err);
	*out = copy;
	return OK;
}

#define BEHIND(time) "(i." time ", i.job_id, i.incident_id) < (?1, ?2, ?3)" MATCHES(time)

static const char *list_of(const struct incident_filter *filter)
{
	if (filter->is_by_known)
		return INCIDENTS " WHERE ?7 = 0 AND " BEHIND("known_ms");
	if (!filter->job_id)
		return INCIDENTS " WHERE ?7 = 0 AND " BEHIND("opened_ms");
	return filter->state == INCIDENT_OPEN ? OPEN_OF_JOB BEHIND("opened_ms")
					      : INCIDENTS " WHERE i.job_id = ?7 AND " BEHIND("opened_ms");
}

static enum status open_list(
	struct statement *s, struct store_reader *reader, const struct incident_filter *filter, struct error *err)
{
	struct place place = {0};

	TRY(parse_cursor(filter->cursor, &place, err));
	TRY(statement_open(s, reader, list_of(filter), err));
	uint64_t limit =
		filter->limit < INT64_MAX ? filter->limit + 1 : INT64_MAX; /* one more tells whether a page follows */
	/* the job is ?7 of the one alone, has_all ?8 behind it in both */
	bind_numbers(s, place.time_ms, place.job_id, place.incident_id, filter->state, filter->kind, limit,
		filter->job_id, filter->has_all, filter->minimum, filter->from_ms, filter->to_ms);
	return OK;
}

static enum status read_page(struct store_reader *reader, struct arena *arena, const struct incident_filter *filter,
	struct incident_row **out, size_t *count, struct span *next_cursor, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct incident_row *rows;
	struct span next = SPAN("");
	size_t used;

	TRY(open_list(&s, reader, filter, err));
	TRY(rows_read(&s, arena, ROWS_LIKE(fields, like), &rows, &used, err));
	if (used > filter->limit) {
		used = filter->limit;
		if (used)
			TRY(print_cursor(filter, &rows[used - 1], arena, &next, err));
	}
	*out = rows;
	*count = used;
	*next_cursor = next;
	return OK;
}

/* Each job of these rows, once; *job_of says which is whose. */
static size_t list_jobs(const struct incident_row *rows, size_t count, struct job_row *jobs, size_t *job_of)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < used && jobs[at].job_id != rows[i].job_id)
			at++;
		if (at == used)
			jobs[used++] = (struct job_row){.job_id = rows[i].job_id};
		job_of[i] = at;
	}
	return used;
}

/* Leaves those whose jobs satisfy the query. */
static enum status keep_matching(struct store_reader *reader, struct arena *arena, const struct query_node *query,
	struct incident_row *rows, size_t *count, struct error *err)
{
	struct job_row *jobs = arena_alloc(arena, *count * sizeof *jobs);
	size_t *job_of = arena_alloc(arena, *count * sizeof *job_of);
	bool *matches = arena_alloc(arena, *count * sizeof *matches);
	size_t kept = 0;

	if (!jobs || !job_of || !matches)
		return error_no_memory(err);
	size_t job_count = list_jobs(rows, *count, jobs, job_of);
	TRY(store_match_jobs(reader, arena, query, NULL, jobs, job_count, matches, err));
	for (size_t i = 0; i < *count; i++)
		if (matches[job_of[i]])
			rows[kept++] = rows[i];
	*count = kept;
	return OK;
}

/* Page by page until enough are left of them: what does not match is not in memory for long. */
static enum status read_matching(struct store_reader *reader, struct arena *arena, const struct incident_filter *filter,
	struct incident_row **out, size_t *count, struct span *next_cursor, struct error *err)
{
	struct incident_filter part = *filter;
	struct incident_row *all = arena_alloc(arena, filter->limit * sizeof *all), *rows;
	size_t used = 0, got;

	if (!all)
		return error_no_memory(err);
	part.limit = MATCHED_AT_ONCE;
	do {
		TRY(read_page(reader, arena, &part, &rows, &got, &part.cursor, err));
		if (got)
			TRY(keep_matching(reader, arena, filter->query, rows, &got, err));
		size_t taken = got < filter->limit - used ? got : filter->limit - used;
		if (taken)
			memcpy(all + used, rows, taken * sizeof *all);
		used += taken;
		if (taken < got)
			TRY(print_cursor(filter, &all[used - 1], arena, &part.cursor, err));
	} while (used < filter->limit && part.cursor.len);
	*out = all;
	*count = used;
	*next_cursor = part.cursor;
	return OK;
}

enum status store_read_incidents(struct store_reader *reader, struct arena *arena, const struct incident_filter *filter,
	struct incident_row **out, size_t *count, struct span *next_cursor, struct error *err)
{
	return (filter->query ? read_matching : read_page)(reader, arena, filter, out, count, next_cursor, err);
}

enum status store_read_incident(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	struct incident_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = like;
	TRY(statement_open(&s, reader, INCIDENTS " WHERE i.job_id = ? AND i.incident_id = ?", err));
	bind_numbers(&s, job_id, incident_id);
	TRY(row_read(&s, arena, ROWS(fields, struct incident_row), out, &is_there, err));
	return is_there ? OK : error_set(err, ERR_NOT_FOUND, "the job has no incident %u", (unsigned)incident_id);
}

enum status store_read_rule_incidents(struct store_reader *reader, struct arena *arena, int64_t rule_id,
	struct incident_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, INCIDENTS " WHERE i.state = 0 AND i.rule_id = ?", err));
	bind_i64(&s, rule_id);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

enum status store_count_open_incidents(struct store_reader *reader, int64_t job_id, uint64_t *count, struct error *err)
{
	return read_number(reader,
		job_id ? "SELECT count(*) FROM incidents AS i INDEXED BY incidents_open WHERE i.state = 0 AND i.job_id = ?" IS_FIRST_SHOWN
		       : "SELECT count(*) FROM incidents AS i WHERE i.state = 0" IS_FIRST_SHOWN,
		job_id ? NUMBERS(job_id) : NUMBERS(), count, err);
}

enum status store_read_left_open(struct store_reader *reader, struct arena *arena, size_t limit, struct left_open **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field pair[] = {FIELD(struct left_open, job_id), FIELD(struct left_open, incident_id)};

	TRY(statement_open(&s, reader,
		"SELECT i.job_id, i.incident_id FROM incidents AS i JOIN jobs AS j ON j.job_id = i.job_id"
		" WHERE i.state = 0 AND j.ended_ms > 0 AND i.kind NOT IN (?, ?) LIMIT ?",
		err));
	bind_numbers(&s, INCIDENT_JOB_FAILED, INCIDENT_RETENTION_DUE, limit);
	return rows_read(&s, arena, ROWS(pair, struct left_open), out, count, err);
}
