#include "model/incident.h"
#include "store/columns/case_fold.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/nodes.h"

enum { PART_BYTES_MAX = 1 << 16 };

/* Hosts in the order of their names, one at a time. */
struct host_source {
	const char *
		sql; /* by ?1: the host before, ?2: the part that is wanted, ?3: of faults; NULL: the names, in any order */
	bool has_time;
	const struct span *names;
	size_t name_count;
	struct span next;
	bool is_wanted; /* next */
	bool is_over;
};

#define HOLDS SQL_TRUTH("replace(lower(host), ?2, '') <> lower(host)")
#define NEXT_SENDER "SELECT host, " HOLDS " FROM stream_hosts WHERE host > ?1" NOT_IN_TRASH " ORDER BY host LIMIT 1"
/* From host to host by the index: of the faults of one, however many, those from ?3 on are looked at alone. */
#define IS_CHARGED                                                                                                     \
	"(SELECT f.line FROM node_faults AS f WHERE f.host = h.host AND f.ts_ms >= ?3 AND f.cleared = '' LIMIT 1)"
#define NEXT_CHARGED                                                                                                   \
	"WITH RECURSIVE h (host) AS (SELECT min(host) FROM node_faults WHERE host > ?1 UNION ALL SELECT (SELECT"       \
	" min(o.host) FROM node_faults AS o WHERE o.host > h.host) FROM h WHERE h.host IS NOT NULL AND " IS_CHARGED    \
	" IS NULL) SELECT host, " HOLDS " FROM h WHERE host IS NOT NULL AND " IS_CHARGED " IS NOT NULL LIMIT 1"

static enum status is_called_so(struct span host, struct span part, bool *out, struct error *err)
{
	AUTO_DONE(buf) folded = BUF_INIT(PART_BYTES_MAX);

	fold_append_ascii(&folded, host);
	*out = span_find(buf_span(&folded), part) >= 0;
	return buf_status(&folded, err);
}

static enum status find_next(struct host_source *source, struct span at, struct span part, struct error *err)
{
	const struct span *first = NULL;

	for (size_t i = 0; i < source->name_count; i++) {
		const struct span *name = &source->names[i];
		if (span_compare(*name, at) > 0 && (!first || span_compare(*name, *first) < 0))
			first = name;
	}
	source->is_over = !first;
	if (!first)
		return OK;
	source->next = *first;
	return is_called_so(*first, part, &source->is_wanted, err);
}

static enum status read_next(struct host_source *source, struct store_reader *reader, struct arena *arena,
	struct span at, struct span part, int64_t faults_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	if (!source->sql)
		return find_next(source, at, part, err);
	TRY(statement_open(&s, reader, source->sql, err));
	bind_text(&s, at);
	bind_text(&s, part);
	if (source->has_time)
		bind_i64(&s, faults_ms);
	TRY(statement_step(&s, &has_row, err));
	source->is_over = !has_row;
	if (!has_row)
		return OK;
	source->next = column_span(&s, arena);
	source->is_wanted = column_bool(&s) || !part.len;
	return statement_check(&s, err);
}

/* Each host is found by a step of its own in the index, however many streams it sent; none is asked for again before it was used up. */
static enum status merge(struct host_source sources[2], struct store_reader *reader, struct arena *arena,
	struct span part, struct span after, int64_t faults_ms, size_t limit, struct span **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(buf) folded = BUF_INIT(PART_BYTES_MAX);
	struct span at = after;
	size_t cap = 0;

	fold_append_ascii(&folded, part);
	TRY(buf_status(&folded, err));
	*out = NULL;
	*count = 0;
	while (*count < limit) {
		const struct host_source *first = NULL;
		for (struct host_source *source = sources; source < sources + 2; source++) {
			if (!source->is_over && span_compare(source->next, at) <= 0)
				TRY(read_next(source, reader, arena, at, buf_span(&folded), faults_ms, err));
			if (!source->is_over && (!first || span_compare(source->next, first->next) < 0))
				first = source;
		}
		if (!first)
			return OK;
		at = first->next;
		if (!first->is_wanted)
			continue;
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		(*out)[(*count)++] = at;
	}
	return OK;
}

enum status store_read_hosts(struct store_reader *reader, struct arena *arena, struct span part, struct span after,
	int64_t faults_ms, size_t limit, struct span **out, size_t *count, struct error *err)
{
	struct host_source sources[2] = {{.sql = NEXT_SENDER}, {.sql = NEXT_CHARGED, .has_time = true}};

	return merge(sources, reader, arena, part, after, faults_ms, limit, out, count, err);
}

enum status store_read_troubled_hosts(struct store_reader *reader, struct arena *arena, struct span part,
	struct span after, int64_t faults_ms, const struct span *slow, size_t slow_count, size_t limit,
	struct span **out, size_t *count, struct error *err)
{
	struct host_source sources[2] = {
		{.names = slow, .name_count = slow_count}, {.sql = NEXT_CHARGED, .has_time = true}};

	return merge(sources, reader, arena, part, after, faults_ms, limit, out, count, err);
}

/* A stream that went away and came back is one: rows come newest first. */
static bool is_known_stream(struct node_stream *rows, size_t count, const struct node_stream *row)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].job_id != row->job_id || !span_equal(rows[i].stream, row->stream))
			continue;
		rows[i].begun_ms = row->begun_ms;
		rows[i].is_shared |= row->is_shared;
		return true;
	}
	return false;
}

enum status store_read_node_streams(struct store_reader *reader, struct arena *arena, struct span host, size_t limit,
	struct node_stream **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT j.name, s.name, j.status, j.job_id, h.since_ms, s.last_ms, j.ended_ms, coalesce(c.last_heard_ms, 0),"
		" h.until_ms, h.is_shared FROM stream_hosts AS h CROSS JOIN streams AS s"
		" CROSS JOIN jobs AS j LEFT JOIN job_counts AS c ON c.job_id = h.job_id WHERE s.job_id = h.job_id"
		" AND s.stream_id = h.stream_id AND j.job_id = h.job_id AND h.host = ?"
		" ORDER BY h.since_ms DESC LIMIT ?",
		err));
	bind_text(&s, host);
	bind_i64(&s, (int64_t)limit);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		struct node_stream *row = &(*out)[*count];
		row->job = column_span(&s, arena);
		row->stream = column_span(&s, arena);
		row->status = column_span(&s, arena);
		row->job_id = column_i64(&s);
		row->begun_ms = column_i64(&s);
		row->last_ms = column_i64(&s);
		row->job_ended_ms = column_i64(&s);
		row->job_heard_ms = column_i64(&s);
		row->until_ms = column_i64(&s);
		row->is_shared = column_bool(&s);
		TRY(statement_check(&s, err));
		*count += !is_known_stream(*out, *count, row);
	}
}

enum status store_read_node_turns(struct store_reader *reader, struct arena *arena, struct span host, size_t limit,
	struct node_turn **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct node_turn, job), FIELD(struct node_turn, stream),
		FIELD(struct node_turn, from_ms), FIELD(struct node_turn, to_ms), FIELD(struct node_turn, first_ms),
		FIELD(struct node_turn, last_ms), FIELD(struct node_turn, until_ms),
		FIELD(struct node_turn, next_line)};

	TRY(statement_open(&s, reader,
		"SELECT j.name, s.name, h.from_ms, coalesce(n.from_ms, 0), s.first_ms, s.last_ms, h.until_ms,"
		" coalesce(n.from_line, 0) FROM stream_hosts AS h CROSS JOIN streams AS s CROSS JOIN jobs AS j"
		" LEFT JOIN stream_hosts AS n ON n.job_id = h.job_id AND n.stream_id = h.stream_id AND h.is_shared = 0"
		" AND n.number = (SELECT min(b.number) FROM stream_hosts AS b WHERE b.job_id = h.job_id"
		" AND b.stream_id = h.stream_id AND b.number > h.number)"
		" WHERE s.job_id = h.job_id AND s.stream_id = h.stream_id AND j.job_id = h.job_id AND h.host = ?"
		" ORDER BY h.since_ms DESC LIMIT ?",
		err));
	bind_text(&s, host);
	bind_i64(&s, (int64_t)limit);
	return rows_read(&s, arena, ROWS(fields, struct node_turn), out, count, err);
}

static enum status add_figure(struct arena *arena, struct node_figure **rows, size_t *count, size_t *cap,
	struct span metric, double sum, uint64_t points, struct error *err)
{
	for (size_t i = 0; i < *count; i++) {
		struct node_figure *row = &(*rows)[i];
		if (!span_equal(row->metric, metric))
			continue;
		row->mean = (row->mean * (double)row->points + sum) / (double)(row->points + points);
		row->points += points;
		return OK;
	}
	*rows = rows_grow(arena, *rows, *count, cap, sizeof **rows);
	if (!*rows)
		return error_no_memory(err);
	(*rows)[(*count)++] = (struct node_figure){metric, sum / (double)points, points};
	return OK;
}

enum status store_read_node_figures(struct store_reader *reader, struct arena *arena, struct span host, size_t limit,
	struct node_figure **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT e.metric, e.sum, e.count FROM (SELECT job_id, stream_id FROM streams WHERE host = ?1 AND host <> ''"
		" AND lower(name) = 'system/' || lower(?1)" NOT_IN_TRASH
		" ORDER BY created_ms DESC LIMIT ?2) AS s CROSS JOIN series AS e INDEXED BY series_by_name"
		" WHERE e.job_id = s.job_id AND e.stream_id = s.stream_id AND e.count > 0 AND e.sum_kind = 0",
		err));
	bind_text(&s, host);
	bind_i64(&s, (int64_t)limit);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		struct span metric = column_span(&s, arena);
		double sum = column_finite(&s);
		uint64_t points = column_u64(&s);
		TRY(statement_check(&s, err));
		TRY(add_figure(arena, out, count, &cap, metric, sum, points, err));
	}
}

/* 11: INCIDENT_STRAGGLER, as in the index */
#define STRAGGLER                                                                                                      \
	"SELECT h.host, i.job_id, i.opened_ms, i.closed_ms, i.first_step,"                                             \
	" CASE WHEN i.state = ?1 AND s.last_step > i.last_step THEN s.last_step ELSE i.last_step END FROM "
#define STRAGGLER_ROWS                                                                                                 \
	" LEFT JOIN summaries AS s ON s.job_id = i.job_id AND s.metric = i.metric JOIN jobs AS j ON j.job_id = i.job_id"
#define IS_STRAGGLER                                                                                                       \
	" h.number = (SELECT max(b.number) FROM stream_hosts AS b WHERE b.job_id = i.job_id AND b.stream_id = i.stream_id" \
	" AND b.from_ms <= i.opened_ms) AND i.kind = 11 AND i.opened_ms >= ?2 AND h.is_shared = 0"

enum status store_read_node_stragglers(struct store_reader *reader, struct arena *arena, struct span host,
	int64_t from_ms, size_t limit, struct node_straggler **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct node_straggler, host),
		FIELD(struct node_straggler, job_id), FIELD(struct node_straggler, opened_ms),
		FIELD(struct node_straggler, closed_ms), FIELD(struct node_straggler, first_step),
		FIELD(struct node_straggler, last_step)};

	TRY(statement_open(&s, reader,
		host.len ? STRAGGLER
			"stream_hosts AS h CROSS JOIN incidents AS i INDEXED BY incidents_stragglers" STRAGGLER_ROWS
			" WHERE h.host = ?4 AND i.job_id = h.job_id AND i.stream_id = h.stream_id AND" IS_STRAGGLER
			" LIMIT ?3"
			 : STRAGGLER
			"incidents AS i INDEXED BY incidents_stragglers" STRAGGLER_ROWS
			" JOIN stream_hosts AS h ON h.job_id = i.job_id AND h.stream_id = i.stream_id AND" IS_STRAGGLER
			" LIMIT ?3",
		err));
	bind_numbers(&s, INCIDENT_OPEN, from_ms, (int64_t)limit);
	if (host.len)
		bind_text(&s, host);
	return rows_read(&s, arena, ROWS(fields, struct node_straggler), out, count, err);
}

enum status store_read_breaks(struct store_reader *reader, struct arena *arena, int64_t job_id, struct node_break **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT b.from_ms, b.to_ms, j.ended_ms, b.lost_steps, (b.redone_ms + b.restart_ms) * b.nodes"
		" FROM goodput_breaks AS b JOIN jobs AS j ON j.job_id = b.job_id WHERE b.job_id = ? ORDER BY b.position",
		err));
	bind_i64(&s, job_id);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		struct node_break *row = &(*out)[(*count)++];
		row->from_ms = column_i64(&s);
		row->to_ms = column_i64(&s);
		row->ended_ms = column_i64(&s);
		row->lost_steps = column_i64(&s);
		row->lost_node_ms = column_i64(&s);
	}
}

enum status store_count_breaks(
	struct store_reader *reader, int64_t job_id, uint64_t *count, uint64_t *unknown, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT count(*), count(CASE WHEN lost_steps < 0 THEN 1 END) FROM goodput_breaks WHERE job_id = ?",
		err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*count = column_u64(&s);
	*unknown = column_u64(&s);
	return statement_check(&s, err);
}
