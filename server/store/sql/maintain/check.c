/*
 * The check of a database: every row that holds something packed is read, unpacked and compared with what its row, its
 * neighbours and its owner say. Reads are short, so that a server may work beside it.
 */
#include "base/crypto.h"
#include "store/admin.h"
#include "store/attachments.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/journal.h"
#include "store/pack/chunk.h"
#include "store/pack/journal_record.h"
#include "store/pack/pyramid.h"
#include "store/points.h"
#include "store/postgres/postgres.h"
#include "store/sql/maintain/check_leaving.h"
#include "store/sql/maintain/check_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { CACHE_BYTES = 2 << 20, NO_OWNER = 0 };

/* ---- owners: what they say they hold is there ---- */

/* Rows of (job_id, part, said, found): told where they differ. */
static enum status compare(struct checking *c, const char *sql, const char *part, const char *unit, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader, sql, err));
	TRY(statement_step(&s, &has_row, err));
	for (; has_row && !c->is_stopped; check_count_row(c)) {
		struct place place = {.job_id = column_i64(&s), .part_id = column_u64(&s)};
		uint64_t said = column_u64(&s), found = column_u64(&s);
		place.at = found;
		if (found < said)
			check_tell(c, part, place, "says that %" PRIu64 " %s are sealed; they end at %" PRIu64, said,
				unit, found);
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
	for (; has_row && !c->is_stopped; check_count_row(c)) {
		struct place place = {.job_id = column_i64(&s), .part_id = column_u64(&s)};
		place.at = column_u64(&s);
		check_tell(c, "stream", place, "belongs to no block");
		TRY(statement_step(&s, &has_row, err));
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
			check_tell(c, "", (struct place){NO_OWNER, 0, seq}, "%s", problem.text);
		check_count_row(c);
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
			check_tell(c, "attachment", place, "%s", why.text);
		return OK;
	}
	TRY(status);
	crypto_sha256(buf_span(&whole), hash);
	crypto_hex(hash, sizeof hash, hex);
	if (!span_equal(span_from(hex), row->sha256))
		check_tell(c, "attachment", place, "is not what its checksum says");
	return OK;
}

static enum status check_attachments(struct checking *c, struct error *err)
{
	struct attachment_row *rows, after = {0};
	size_t count = CHECK_BATCH_ROWS;

	while (count == CHECK_BATCH_ROWS && !c->is_stopped) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(store_next_attachments(
			c->reader, arena, after.job_id, after.attachment_id, CHECK_BATCH_ROWS, &rows, &count, err));
		for (size_t i = 0; i < count && !c->is_stopped; i++) {
			if (!c->check->is_quick)
				TRY(check_attachment(c, &rows[i], err));
			after.job_id = rows[i].job_id;
			after.attachment_id = rows[i].attachment_id;
			check_count_row(c);
		}
	}
	return OK;
}

/* ---- what is counted with each change ---- */

/* In one statement, as a server may work beside it. An older database has no such sum. */
static enum status check_totals(struct checking *c, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader,
		"SELECT t.value, (SELECT count(*) FROM goodput WHERE unpriced <> ''" NOT_IN_TRASH
		") FROM fleet_totals AS t WHERE t.name = 'unpriced_jobs' AND t.instance_type = ''",
		err));
	TRY(statement_step(&s, &has_row, err));
	int64_t kept = has_row ? column_i64(&s) : 0, there = has_row ? column_i64(&s) : 0;
	if (kept != there)
		check_tell(c, "", (struct place){0}, "%" PRId64 " jobs without a price are counted; there are %" PRId64,
			kept, there);
	check_count_row(c);
	return OK;
}

/* ---- the file itself ---- */

static bool tell_pages(void *context, struct span text)
{
	struct checking *c = context;

	if (text.len)
		check_tell(c, "", (struct place){0}, "%.*s", SPAN_ARGS(text));
	check_count_row(c);
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
		check_tell(c, "", (struct place){0}, "%.*s", SPAN_ARGS(buf_span(&problem)));
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
		{"total", "goodput_deleted", check_totals},
	};
	bool has = false;

	for (size_t i = 0; i < sizeof steps / sizeof *steps && !c->is_stopped; i++) {
		c->what = steps[i].what;
		c->rows = 0;
		TRY(check_has_table(c->reader, steps[i].table, &has, err));
		enum status status = has ? steps[i].run(c, err) : OK;
		if (status == ERR_IO) { /* a damaged page: the other tables may still be looked at */
			check_tell(c, "", (struct place){0}, "%s", err ? err->text : "cannot be read");
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
		check_tell(c, "", (struct place){0},
			"the file is empty (0 bytes): it was cut, or never was a database; restore a backup");
		c->is_stopped = true;
		return OK;
	}
	TRY(check_header(path, c->check->is_online, &problem, err));
	if (problem.len)
		check_tell(c, "", (struct place){0}, "%.*s", SPAN_ARGS(buf_span(&problem)));
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
