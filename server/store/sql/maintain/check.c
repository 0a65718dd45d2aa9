/*
 * The check of a database: every row that holds something packed is read, unpacked and compared with what its row, its
 * neighbours and its owner say. Reads are short, so that a server may work beside it.
 */
#include "base/crypto.h"
#include "store/admin.h"
#include "store/attachments.h"
#include "store/blocks.h"
#include "store/driver/connection.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/pack/block.h"
#include "store/pack/chunk.h"
#include "store/pack/journal_record.h"
#include "store/pack/log_filter.h"
#include "store/pack/pyramid.h"
#include "store/points.h"
#include "store/postgres/postgres.h"
#include "store/retention.h"
#include "store/sql/maintain/check_leaving.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { BATCH_ROWS = 16, CACHE_BYTES = 2 << 20, NO_OWNER = 0 };

struct checking {
	struct store_reader *reader;
	struct store_reader *names; /* reads those of jobs, maybe while the reader has rows to come */
	const struct store_check *check;
	const char *what; /* the step's name */
	struct zstd *zstd;
	struct buf plain;
	struct point *points;
	struct pyramid_bucket *buckets;
	uint64_t problems;
	uint64_t rows;
	bool is_stopped;
};

/* Where a row stands: its owner, and its place there. */
struct place {
	int64_t job_id;
	uint64_t part_id;
	uint64_t at;
};

/* ---- telling ---- */

static struct span job_name(struct checking *c, struct arena *arena, int64_t job_id)
{
	struct job_row row;

	if (!job_id || !c->names || store_read_job_by_id(c->names, arena, job_id, &row, NULL) != OK)
		return SPAN("");
	return row.name;
}

static void tell(struct checking *c, const char *part, struct place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void tell(struct checking *c, const char *part, struct place place, const char *format, ...)
{
	AUTO(arena) arena = arena_new();
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	c->problems++;
	struct store_finding finding = {.what = c->what,
		.job = arena ? job_name(c, arena, place.job_id) : SPAN(""),
		.part = part,
		.part_id = place.part_id,
		.at = place.at,
		.text = span_from(text)};
	c->check->found(c->check->context, &finding);
}

static void count_row(struct checking *c)
{
	c->rows++;
	if (c->check->progress && !c->check->progress(c->check->context, c->what, c->rows))
		c->is_stopped = true;
}

/* ---- blocks ---- */

static void check_lines(struct checking *c, const struct block_row *row, const struct line *lines, size_t count)
{
	struct place place = {row->job_id, row->stream_id, row->first_line};
	uint64_t bytes = 0;
	int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		bytes += lines[i].text.len + 1;
		first_ms = lines[i].ts_ms < first_ms ? lines[i].ts_ms : first_ms;
		last_ms = lines[i].ts_ms > last_ms ? lines[i].ts_ms : last_ms;
	}
	if (count != row->line_count)
		tell(c, "stream", place, "holds %zu lines, its row says %" PRIu64, count, row->line_count);
	else if (bytes != row->raw_bytes)
		tell(c, "stream", place, "holds %" PRIu64 " bytes, its row says %" PRIu64, bytes, row->raw_bytes);
	else if (first_ms != row->first_ms || last_ms != row->last_ms)
		tell(c, "stream", place, "holds times %" PRId64 " to %" PRId64 ", its row says %" PRId64 " to %" PRId64,
			first_ms, last_ms, row->first_ms, row->last_ms);
}

/* It may not deny what is there. One of an unknown format denies nothing. */
static enum status check_filter(struct checking *c, const struct block_row *row, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);

	if (!row->filter.len)
		return OK;
	TRY(log_filter_pack(block_text(buf_span(&c->plain)), &packed, err));
	if (*row->filter.ptr == *packed.ptr && !span_equal(row->filter, buf_span(&packed)))
		tell(c, "stream", (struct place){row->job_id, row->stream_id, row->first_line},
			"has a search filter that is not of its text: searches may miss these lines");
	return OK;
}

static enum status check_block(struct checking *c, const struct block_row *row, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct error problem = {0};
	struct line *lines;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	enum status status = block_unpack(row->data, c->zstd, &c->plain, arena, &lines, &count, &problem);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		tell(c, "stream", (struct place){row->job_id, row->stream_id, row->first_line}, "%s", problem.text);
	else
		check_lines(c, row, lines, count);
	return status == OK ? check_filter(c, row, err) : OK;
}

/* What stands where the stream begins: line 0, or the first one that a limit left. */
static enum status first_line_of(
	struct checking *c, int64_t job_id, uint32_t stream_id, uint64_t *first, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct expired_text *notes;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_expired(c->reader, arena, job_id, stream_id, &notes, &count, err));
	*first = count ? notes[0].first_kept_line : 0;
	return OK;
}

/* Not of what is being taken away: by a sweep, or by a limit on log text that has moved since the check read it. */
static enum status tell_gap(struct checking *c, const char *part, const char *unit, struct place place,
	uint64_t expected, struct error *err)
{
	bool is_leaving;
	uint64_t first = 0;

	TRY(check_is_leaving(c->reader, part, place.job_id, (int64_t)place.part_id, &is_leaving, err));
	if (!is_leaving && strcmp(part, "stream") == 0)
		TRY(first_line_of(c, place.job_id, (uint32_t)place.part_id, &first, err));
	if (!is_leaving && (first == 0 || first != place.at))
		tell(c, part, place, "begins at %s %" PRIu64 ", the %ss before it end at %" PRIu64, unit, place.at,
			unit, expected);
	return OK;
}

static enum status follow_lines(
	struct checking *c, const struct block_row *row, struct place *expected, struct error *err)
{
	if (row->job_id != expected->job_id || row->stream_id != expected->part_id) {
		*expected = (struct place){row->job_id, row->stream_id, 0};
		TRY(first_line_of(c, row->job_id, row->stream_id, &expected->at, err));
	}
	if (row->first_line != expected->at)
		TRY(tell_gap(c, "stream", "line", (struct place){row->job_id, row->stream_id, row->first_line},
			expected->at, err));
	expected->at = row->first_line + row->line_count;
	return OK;
}

static enum status read_blocks(struct checking *c, struct arena *arena, const struct place *after,
	struct block_row *rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader,
		"SELECT job_id, stream_id, first_line, line_count, first_ms, last_ms, raw_bytes, data, coalesce((SELECT filter"
		" FROM log_filters AS f WHERE f.job_id = b.job_id AND f.stream_id = b.stream_id AND f.first_line = b.first_line),"
		" ?) FROM blocks AS b WHERE (job_id, stream_id, first_line) > (?,?,?)"
		" ORDER BY job_id, stream_id, first_line LIMIT 16",
		err));
	bind_blob(&s, SPAN(""));
	bind_i64(&s, after->job_id);
	bind_i64(&s, (int64_t)after->part_id);
	bind_i64(&s, (int64_t)after->at);
	*count = 0;
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; (*count)++) {
		struct block_row *row = &rows[*count];
		*row = (struct block_row){.job_id = column_i64(&s), .stream_id = column_u32(&s)};
		row->first_line = column_u64(&s);
		row->line_count = column_u64(&s);
		row->first_ms = column_i64(&s);
		row->last_ms = column_i64(&s);
		row->raw_bytes = column_u64(&s);
		row->data = row->filter = SPAN("");
		if (!c->check->is_quick) {
			row->data = column_span(&s, arena);
			row->filter = column_span(&s, arena);
		}
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

static enum status check_blocks(struct checking *c, struct error *err)
{
	struct place after = {-1, 0, 0}, expected = {-1, 0, 0};
	struct block_row rows[BATCH_ROWS];
	size_t count = BATCH_ROWS;

	while (count == BATCH_ROWS && !c->is_stopped) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(read_blocks(c, arena, &after, rows, &count, err));
		for (size_t i = 0; i < count; i++) {
			TRY(follow_lines(c, &rows[i], &expected, err));
			if (!c->check->is_quick)
				TRY(check_block(c, &rows[i], err));
			after = (struct place){rows[i].job_id, rows[i].stream_id, rows[i].first_line};
			count_row(c);
		}
	}
	return OK;
}

/* ---- chunks ---- */

static void check_points(struct checking *c, const struct chunk_row *row, size_t count)
{
	struct place place = {row->job_id, row->series_id, row->first_ordinal};
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		first = c->points[i].step < first ? c->points[i].step : first;
		last = c->points[i].step > last ? c->points[i].step : last;
	}
	if (count != row->point_count)
		tell(c, "series", place, "holds %zu points, its row says %" PRIu64, count, row->point_count);
	else if (first != row->first_step || last != row->last_step)
		tell(c, "series", place, "holds steps %" PRId64 " to %" PRId64 ", its row says %" PRId64 " to %" PRId64,
			first, last, row->first_step, row->last_step);
}

static enum status check_chunk(struct checking *c, const struct chunk_row *row, struct error *err)
{
	struct error problem = {0};
	size_t count;

	enum status status = chunk_unpack(row->data, c->zstd, c->points, &count, &problem);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		tell(c, "series", (struct place){row->job_id, row->series_id, row->first_ordinal}, "%s", problem.text);
	else
		check_points(c, row, count);
	return OK;
}

static enum status read_chunks(struct checking *c, struct arena *arena, const struct place *after,
	struct chunk_row *rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader,
		"SELECT job_id, series_id, first_ordinal, point_count, first_step, last_step, data FROM chunks"
		" WHERE (job_id, series_id, first_ordinal) > (?,?,?) ORDER BY job_id, series_id, first_ordinal LIMIT 16",
		err));
	bind_i64(&s, after->job_id);
	bind_i64(&s, (int64_t)after->part_id);
	bind_i64(&s, (int64_t)after->at);
	*count = 0;
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; (*count)++) {
		struct chunk_row *row = &rows[*count];
		*row = (struct chunk_row){.job_id = column_i64(&s), .series_id = column_u32(&s)};
		row->first_ordinal = column_u64(&s);
		row->point_count = column_u64(&s);
		row->first_step = column_i64(&s);
		row->last_step = column_i64(&s);
		row->data = c->check->is_quick ? SPAN("") : column_span(&s, arena);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

static enum status check_chunks(struct checking *c, struct error *err)
{
	struct place after = {-1, 0, 0}, expected = {-1, 0, 0};
	struct chunk_row rows[BATCH_ROWS];
	size_t count = BATCH_ROWS;

	while (count == BATCH_ROWS && !c->is_stopped) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(read_chunks(c, arena, &after, rows, &count, err));
		for (size_t i = 0; i < count; i++) {
			struct place here = {rows[i].job_id, rows[i].series_id, rows[i].first_ordinal};
			if (here.job_id != expected.job_id || here.part_id != expected.part_id)
				expected = (struct place){here.job_id, here.part_id, 0};
			if (here.at != expected.at)
				TRY(tell_gap(c, "series", "point", here, expected.at, err));
			expected.at = here.at + rows[i].point_count;
			if (!c->check->is_quick)
				TRY(check_chunk(c, &rows[i], err));
			after = here;
			count_row(c);
		}
	}
	return OK;
}

/* ---- owners: what they say they hold is there ---- */

/* Rows of (job_id, part, said, found): told where they differ. */
static enum status compare(struct checking *c, const char *sql, const char *part, const char *unit, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader, sql, err));
	TRY(statement_step(&s, &has_row, err));
	for (; has_row && !c->is_stopped; count_row(c)) {
		struct place place = {.job_id = column_i64(&s), .part_id = column_u64(&s)};
		uint64_t said = column_u64(&s), found = column_u64(&s);
		place.at = found;
		if (found < said)
			tell(c, part, place, "says that %" PRIu64 " %s are sealed; they end at %" PRIu64, said, unit,
				found);
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

static enum status check_streams(struct checking *c, struct error *err)
{
	return compare(c,
		"SELECT s.job_id, s.stream_id, s.sealed_lines, (SELECT max(v.line) FROM ("
		"SELECT coalesce((SELECT first_line + line_count FROM blocks AS b WHERE b.job_id = s.job_id"
		" AND b.stream_id = s.stream_id ORDER BY first_line DESC LIMIT 1), 0) AS line UNION ALL"
		" SELECT coalesce((SELECT first_kept_line FROM expired_text AS e WHERE e.job_id = s.job_id"
		" AND e.stream_id = s.stream_id), 0)) AS v) FROM streams AS s JOIN jobs AS j ON j.job_id = s.job_id",
		"stream", "lines", err);
}

static enum status check_series(struct checking *c, struct error *err)
{
	return compare(c,
		"SELECT s.job_id, s.series_id, s.sealed_points, coalesce((SELECT first_ordinal + point_count FROM chunks AS k"
		" WHERE k.job_id = s.job_id AND k.series_id = s.series_id ORDER BY first_ordinal DESC LIMIT 1), 0)"
		" FROM series AS s JOIN jobs AS j ON j.job_id = s.job_id",
		"series", "points", err);
}

static enum status check_filters(struct checking *c, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader,
		"SELECT f.job_id, f.stream_id, f.first_line FROM log_filters AS f JOIN jobs AS j ON j.job_id = f.job_id"
		" WHERE NOT EXISTS (SELECT 1 FROM blocks AS b WHERE b.job_id = f.job_id AND b.stream_id = f.stream_id"
		" AND b.first_line = f.first_line)",
		err));
	TRY(statement_step(&s, &has_row, err));
	for (; has_row && !c->is_stopped; count_row(c)) {
		struct place place = {.job_id = column_i64(&s), .part_id = column_u64(&s)};
		place.at = column_u64(&s);
		tell(c, "stream", place, "belongs to no block");
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

/* ---- pyramids ---- */

static const struct row_field level_fields[] = {FIELD(struct pyramid_level, job_id),
	FIELD(struct pyramid_level, series_id), FIELD(struct pyramid_level, axis), FIELD(struct pyramid_level, attempt),
	FIELD(struct pyramid_level, level)};

/* The next row behind a place; data: what it holds, in the arena. */
static enum status next_pyramid_row(struct checking *c, struct arena *arena, struct pyramid_level *level,
	int64_t *position, struct span *data, bool *has_row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, c->reader,
		"SELECT position, data, job_id, series_id, axis, attempt, level FROM pyramid_rows"
		" WHERE (job_id, series_id, axis, attempt, level, position) > (?,?,?,?,?,?)"
		" ORDER BY job_id, series_id, axis, attempt, level, position LIMIT 1",
		err));
	row_bind(&s, ROWS(level_fields, struct pyramid_level), level);
	bind_i64(&s, *position);
	TRY(statement_step(&s, has_row, err));
	if (!*has_row)
		return OK;
	*position = column_i64(&s);
	*data = column_span(&s, arena);
	level->job_id = column_i64(&s);
	level->series_id = column_u32(&s);
	level->axis = column_u32(&s);
	level->attempt = column_u32(&s);
	level->level = column_u32(&s);
	return statement_check(&s, err);
}

static enum status check_pyramid_rows(struct checking *c, struct error *err)
{
	struct pyramid_level level = {.job_id = -1};
	int64_t position = 0;

	for (; !c->is_stopped; count_row(c)) {
		AUTO(arena) arena = arena_new();
		struct error problem = {0};
		struct span data;
		bool has_row;
		size_t count;
		if (!arena)
			return error_no_memory(err);
		TRY(next_pyramid_row(c, arena, &level, &position, &data, &has_row, err));
		if (!has_row)
			break;
		struct place place = {level.job_id, level.series_id, (uint64_t)position};
		if (!c->check->is_quick && pyramid_row_unpack(data, level.level, c->buckets, &count, &problem) != OK)
			tell(c, "series", place, "level %u: %s", (unsigned)level.level, problem.text);
	}
	return OK;
}

/* ---- the journal ---- */

/* Of a database from before 0049: a record is one row. */
static enum status next_whole_record(
	struct checking *c, struct arena *arena, uint64_t *seq, struct span *record, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*record = (struct span){0};
	TRY(statement_open(&s, c->reader, "SELECT record, seq FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1", err));
	bind_u64(&s, *seq);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK;
	*record = column_span(&s, arena);
	*seq = column_u64(&s);
	return statement_check(&s, err);
}

static enum status check_journal(struct checking *c, struct error *err)
{
	uint64_t seq = 1;
	bool has_parts = false; /* they came with the tables of the same release */

	TRY(check_has_table(c->reader, "tracked_files", &has_parts, err));
	for (; !c->is_stopped; seq++) {
		AUTO(arena) arena = arena_new();
		struct journal_slice *slices;
		struct error problem = {0};
		struct span record;
		size_t count;
		if (!arena)
			return error_no_memory(err);
		TRY((has_parts ? store_next_journal(c->reader, arena, &seq, &record, err)
			       : next_whole_record(c, arena, &seq, &record, err)));
		if (!record.ptr)
			break;
		if (journal_unpack(record, c->zstd, &c->plain, &slices, &count, arena, &problem) != OK)
			tell(c, "", (struct place){NO_OWNER, 0, seq}, "%s", problem.text);
		count_row(c);
	}
	return OK;
}

/* ---- attachments ---- */

static enum status read_whole(
	struct checking *c, const struct attachment_row *row, struct buf *whole, struct error *err)
{
	for (uint64_t part = 0; whole->len < row->bytes; part++) {
		AUTO(arena) arena = arena_new();
		struct span packed;
		if (!arena)
			return error_no_memory(err);
		TRY(store_read_attachment_part(c->reader, arena, row, part, &packed, err));
		TRY(zstd_unpack(c->zstd, packed, ATTACHMENT_PART_BYTES, whole, err));
	}
	return OK;
}

static enum status check_attachment(struct checking *c, const struct attachment_row *row, struct error *err)
{
	AUTO_DONE(buf) whole = BUF_INIT(row->bytes + ATTACHMENT_PART_BYTES);
	struct place place = {row->job_id, (uint64_t)row->attachment_id, 0};
	unsigned char hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];

	enum status status = read_whole(c, row, &whole, err);
	if (status == ERR_GONE || status == ERR_INVALID || status == ERR_TOO_LARGE) {
		bool is_leaving;
		struct error why = err ? *err : (struct error){.text = "cannot be unpacked"};
		TRY(check_is_leaving(c->reader, "attachment", row->job_id, row->attachment_id, &is_leaving, err));
		if (!is_leaving)
			tell(c, "attachment", place, "%s", why.text);
		return OK;
	}
	TRY(status);
	crypto_sha256(buf_span(&whole), hash);
	crypto_hex(hash, sizeof hash, hex);
	if (!span_equal(span_from(hex), row->sha256))
		tell(c, "attachment", place, "is not what its checksum says");
	return OK;
}

static enum status check_attachments(struct checking *c, struct error *err)
{
	struct attachment_row *rows, after = {0};
	size_t count = BATCH_ROWS;

	while (count == BATCH_ROWS && !c->is_stopped) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(store_next_attachments(
			c->reader, arena, after.job_id, after.attachment_id, BATCH_ROWS, &rows, &count, err));
		for (size_t i = 0; i < count && !c->is_stopped; i++) {
			if (!c->check->is_quick)
				TRY(check_attachment(c, &rows[i], err));
			after.job_id = rows[i].job_id;
			after.attachment_id = rows[i].attachment_id;
			count_row(c);
		}
	}
	return OK;
}

/* ---- the file itself ---- */

static bool tell_pages(void *context, struct span text)
{
	struct checking *c = context;

	if (text.len)
		tell(c, "", (struct place){0}, "%.*s", SPAN_ARGS(text));
	count_row(c);
	return !c->is_stopped;
}

static enum status check_structure(struct checking *c, struct error *err)
{
	return check_pages(c->reader, c->check->is_quick, c->check->is_online, tell_pages, c, err);
}

static enum status check_version(struct checking *c, struct error *err)
{
	AUTO_DONE(buf) problem = BUF_INIT(512);

	TRY(check_schema(c->reader, &problem, err));
	if (problem.len)
		tell(c, "", (struct place){0}, "%.*s", SPAN_ARGS(buf_span(&problem)));
	return OK;
}

static enum status run_steps(struct checking *c, struct error *err)
{
	/* A table that an older database does not have yet is no problem. */
	static const struct {
		const char *what, *table; /* "": it asks for none */
		enum status (*run)(struct checking *c, struct error *err);
	} steps[] = {
		{"database", "", check_version},
		{"database", "", check_structure},
		{"block", "expired_text", check_blocks},
		{"filter", "log_filters", check_filters},
		{"stream", "expired_text", check_streams},
		{"chunk", "chunks", check_chunks},
		{"series", "series", check_series},
		{"pyramid", "pyramid_rows", check_pyramid_rows},
		{"journal", "journal", check_journal},
		{"attachment", "attachment_parts", check_attachments},
	};
	bool has = false;

	for (size_t i = 0; i < sizeof steps / sizeof *steps && !c->is_stopped; i++) {
		c->what = steps[i].what;
		c->rows = 0;
		TRY(check_has_table(c->reader, steps[i].table, &has, err));
		enum status status = has ? steps[i].run(c, err) : OK;
		if (status == ERR_IO) { /* a damaged page: the other tables may still be looked at */
			tell(c, "", (struct place){0}, "%s", err ? err->text : "cannot be read");
			status = OK;
		}
		TRY(status);
	}
	return c->is_stopped ? error_set(err, ERR_UNAVAILABLE, "the check was ended before it was through") : OK;
}

/* Of a file that is empty nothing else can be said; SQLite would take it for a new database. */
static enum status look_at_header(struct checking *c, const char *path, struct error *err)
{
	AUTO_DONE(buf) problem = BUF_INIT(512);
	struct stat info;

	c->what = "database";
	if (stat(path, &info) == 0 && info.st_size == 0) {
		tell(c, "", (struct place){0},
			"the file is empty (0 bytes): it was cut, or never was a database; restore a backup");
		c->is_stopped = true;
		return OK;
	}
	TRY(check_header(path, c->check->is_online, &problem, err));
	if (problem.len)
		tell(c, "", (struct place){0}, "%.*s", SPAN_ARGS(buf_span(&problem)));
	return OK;
}

static enum status check_all(struct checking *c, struct store_reader *reader, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_MEM struct point *points = mem_alloc(CHUNK_MAX_POINTS * sizeof *points);
	AUTO_MEM struct pyramid_bucket *buckets = mem_alloc(PYRAMID_ROW_BUCKETS * sizeof *buckets);

	if (!zstd || !points || !buckets)
		return error_no_memory(err);
	c->reader = reader;
	c->names = c->names ? c->names : reader;
	c->zstd = zstd;
	c->points = points;
	c->buckets = buckets;
	enum status status = run_steps(c, err);
	buf_done(&c->plain);
	return status;
}

static enum status check_file(struct checking *c, const char *path, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	TRY(look_at_header(c, path, err));
	if (c->is_stopped)
		return OK;
	TRY(connection_open_reader(&reader, path, CACHE_BYTES, err));
	return check_all(c, reader, err);
}

/* Its statements may take as long as they take. What a connection interrupts is kept in memory: a second one reads the names. */
static enum status check_in_store(struct checking *c, struct store *store, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO(store_reader) names = NULL;

	TRY(store_reader_new(&reader, store, err));
	TRY(store_reader_new(&names, store, err));
	store_reader_deadline(reader, INT64_MAX);
	c->names = names;
	return check_all(c, reader, err);
}

/* Whoever has it: nothing is written. */
static enum status check_postgres(struct checking *c, const struct store_options *options, struct error *err)
{
	const struct postgres_options postgres = {.conninfo = options->path, .schema = options->schema};
	struct store *store = NULL;

	TRY(postgres_open(&store, &postgres, NULL, NULL, err));
	enum status status = check_in_store(c, store, err);
	database_close(store);
	return status;
}

enum status store_check(
	const struct store_options *options, const struct store_check *check, uint64_t *problems, struct error *err)
{
	struct checking c = {.check = check, .plain = BUF_INIT(SIZE_MAX / 2)};
	enum status status = store_is_postgres(options->path) ? check_postgres(&c, options, err)
							      : check_file(&c, options->path, err);

	*problems = c.problems;
	return status;
}
