#include "limit_work.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void limit_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

int64_t limit_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void open_patterns(struct limit_work *work)
{
	for (size_t i = 0; i < CORPUS_PATTERNS; i++) {
		int code;
		PCRE2_SIZE offset;
		work->patterns[i] = pcre2_compile(
			(PCRE2_SPTR)corpus_patterns[i].regex, PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
		if (!work->patterns[i] || pcre2_jit_compile(work->patterns[i], PCRE2_JIT_COMPLETE))
			limit_fail("cannot compile", corpus_patterns[i].regex);
	}
	work->match = pcre2_match_data_create(8, NULL);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		limit_fail(sql, sqlite3_errmsg(db));
	return statement;
}

static void remove_database(const struct limit_work *work)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char name[4096];

	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
		snprintf(name, sizeof name, "%s%s", work->path, tails[i]);
		unlink(name);
	}
}

static void open_database(struct limit_work *work)
{
	remove_database(work);
	if (sqlite3_open(work->path, &work->db) != SQLITE_OK ||
		sqlite3_exec(work->db,
			"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			"CREATE TABLE journal(seq INTEGER PRIMARY KEY, record BLOB)",
			NULL, NULL, NULL) != SQLITE_OK)
		limit_fail(work->path, sqlite3_errmsg(work->db));
	work->begin = prepare(work->db, "BEGIN IMMEDIATE");
	work->insert = prepare(work->db, "INSERT INTO journal(record) VALUES(?1)");
	work->commit = prepare(work->db, "COMMIT");
}

static void match_line(struct limit_work *work, const char *line, size_t len)
{
	bool has_match = false;

	for (size_t i = 0; i < CORPUS_PATTERNS; i++)
		if (pcre2_jit_match(work->patterns[i], (PCRE2_SPTR)line, len, 0, 0, work->match, NULL) > 0) {
			work->matches++;
			has_match = true;
		}
	work->matched_lines += has_match;
	work->lines++;
}

void limit_match(struct limit_work *work, const char *at, const char *end)
{
	const char *newline;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		match_line(work, at, (size_t)(newline - at));
}

static void step(sqlite3 *db, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		limit_fail("cannot write", sqlite3_errmsg(db));
	sqlite3_reset(statement);
}

void limit_store(struct limit_work *work, const char *group, size_t bytes)
{
	int64_t start = limit_now_ns(CLOCK_MONOTONIC);
	size_t packed = ZSTD_compressCCtx(work->zstd, work->packed, work->packed_cap, group, bytes, 1);

	if (ZSTD_isError(packed))
		limit_fail("cannot compress", ZSTD_getErrorName(packed));
	int64_t middle = limit_now_ns(CLOCK_MONOTONIC);
	step(work->db, work->begin);
	sqlite3_bind_blob64(work->insert, 1, work->packed, packed, SQLITE_STATIC);
	step(work->db, work->insert);
	step(work->db, work->commit);
	work->sqlite_ns += limit_now_ns(CLOCK_MONOTONIC) - middle;
	work->zstd_ns += middle - start;
	work->packed_bytes += packed;
}

void limit_open(struct limit_work *work, const char *path, size_t group_bytes)
{
	*work = (struct limit_work){
		.path = path, .zstd = ZSTD_createCCtx(), .packed_cap = ZSTD_compressBound(group_bytes)};
	work->packed = malloc(work->packed_cap);
	if (!work->zstd || !work->packed)
		limit_fail("memory", path);
	open_patterns(work);
	open_database(work);
}

void limit_close(struct limit_work *work)
{
	for (size_t i = 0; i < CORPUS_PATTERNS; i++)
		pcre2_code_free(work->patterns[i]);
	pcre2_match_data_free(work->match);
	ZSTD_freeCCtx(work->zstd);
	free(work->packed);
	sqlite3_finalize(work->begin);
	sqlite3_finalize(work->insert);
	sqlite3_finalize(work->commit);
	sqlite3_close(work->db);
	remove_database(work);
}
