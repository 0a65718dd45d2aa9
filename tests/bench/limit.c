/*
 * The limit program: what the server does to a line that it takes, in one thread, without HTTP and without safety: lines
 * by memchr, six PCRE2 JIT patterns on each, zstd level 1 of a group, one SQLite row and one durable transaction a group.
 *
 *   bench_limit [--mib N] [--group-kib N] [--file DATABASE]     one line of JSON
 *   bench_limit --definitions                                   the patterns as MetricDefinitions
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "corpus.h"

#include <getopt.h>
#include <pcre2.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { STREAMS = 4 };

struct limit {
	size_t total_bytes, group_bytes;
	const char *path;
	struct corpus streams[STREAMS];
	pcre2_code *patterns[CORPUS_PATTERNS];
	pcre2_match_data *match;
	ZSTD_CCtx *zstd;
	char *packed;
	size_t packed_cap;
	sqlite3 *db;
	sqlite3_stmt *begin, *insert, *commit;
	uint64_t bytes, lines, matches, matched_lines, packed_bytes;
	int64_t match_ns, zstd_ns, sqlite_ns;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "bench_limit: %s: %s\n", what, why);
	exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void open_patterns(struct limit *limit)
{
	for (size_t i = 0; i < CORPUS_PATTERNS; i++) {
		int code;
		PCRE2_SIZE offset;
		limit->patterns[i] = pcre2_compile(
			(PCRE2_SPTR)corpus_patterns[i].regex, PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
		if (!limit->patterns[i] || pcre2_jit_compile(limit->patterns[i], PCRE2_JIT_COMPLETE))
			fail("cannot compile", corpus_patterns[i].regex);
	}
	limit->match = pcre2_match_data_create(8, NULL);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail(sql, sqlite3_errmsg(db));
	return statement;
}

static void remove_database(const struct limit *limit)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char name[4096];

	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
		snprintf(name, sizeof name, "%s%s", limit->path, tails[i]);
		unlink(name);
	}
}

static void open_database(struct limit *limit)
{
	remove_database(limit);
	if (sqlite3_open(limit->path, &limit->db) != SQLITE_OK ||
		sqlite3_exec(limit->db,
			"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			"CREATE TABLE journal(seq INTEGER PRIMARY KEY, record BLOB)",
			NULL, NULL, NULL) != SQLITE_OK)
		fail(limit->path, sqlite3_errmsg(limit->db));
	limit->begin = prepare(limit->db, "BEGIN IMMEDIATE");
	limit->insert = prepare(limit->db, "INSERT INTO journal(record) VALUES(?1)");
	limit->commit = prepare(limit->db, "COMMIT");
}

static void match_line(struct limit *limit, const char *line, size_t len)
{
	bool has_match = false;

	for (size_t i = 0; i < CORPUS_PATTERNS; i++)
		if (pcre2_jit_match(limit->patterns[i], (PCRE2_SPTR)line, len, 0, 0, limit->match, NULL) > 0) {
			limit->matches++;
			has_match = true;
		}
	limit->matched_lines += has_match;
	limit->lines++;
}

static void match_lines(struct limit *limit, const char *at, const char *end)
{
	const char *newline;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		match_line(limit, at, (size_t)(newline - at));
}

static void step(sqlite3 *db, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		fail("cannot write", sqlite3_errmsg(db));
	sqlite3_reset(statement);
}

static void store_group(struct limit *limit, const char *group, size_t bytes)
{
	int64_t start = now_ns(CLOCK_MONOTONIC);
	size_t packed = ZSTD_compressCCtx(limit->zstd, limit->packed, limit->packed_cap, group, bytes, 1);

	if (ZSTD_isError(packed))
		fail("cannot compress", ZSTD_getErrorName(packed));
	int64_t middle = now_ns(CLOCK_MONOTONIC);
	step(limit->db, limit->begin);
	sqlite3_bind_blob64(limit->insert, 1, limit->packed, packed, SQLITE_STATIC);
	step(limit->db, limit->insert);
	step(limit->db, limit->commit);
	limit->sqlite_ns += now_ns(CLOCK_MONOTONIC) - middle;
	limit->zstd_ns += middle - start;
	limit->packed_bytes += packed;
}

/* Groups end where a line ends. */
static void take_stream(struct limit *limit, const struct corpus *corpus)
{
	const char *at = corpus->text, *end = at + corpus->bytes;

	while (at < end) {
		const char *stop = (size_t)(end - at) > limit->group_bytes ? at + limit->group_bytes : end;
		int64_t start = now_ns(CLOCK_MONOTONIC);
		while (stop[-1] != '\n')
			stop--;
		match_lines(limit, at, stop);
		limit->match_ns += now_ns(CLOCK_MONOTONIC) - start;
		store_group(limit, at, (size_t)(stop - at));
		limit->bytes += (size_t)(stop - at);
		at = stop;
	}
}

static void print(const struct limit *limit, int64_t wall_ns, int64_t cpu_ns)
{
	double seconds = (double)wall_ns / 1e9;

	printf("{\"bytes\":%llu,\"lines\":%llu,\"matched_lines\":%llu,\"matches\":%llu,\"packed_bytes\":%llu,"
	       "\"seconds\":%.4f,\"cpu_seconds\":%.4f,\"match_seconds\":%.4f,\"zstd_seconds\":%.4f,\"sqlite_seconds\":%.4f,"
	       "\"bytes_per_s\":%.0f,\"lines_per_s\":%.0f}\n",
		(unsigned long long)limit->bytes, (unsigned long long)limit->lines,
		(unsigned long long)limit->matched_lines, (unsigned long long)limit->matches,
		(unsigned long long)limit->packed_bytes, seconds, (double)cpu_ns / 1e9, (double)limit->match_ns / 1e9,
		(double)limit->zstd_ns / 1e9, (double)limit->sqlite_ns / 1e9, (double)limit->bytes / seconds,
		(double)limit->lines / seconds);
}

static void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_definitions(void)
{
	for (size_t i = 0; i < CORPUS_PATTERNS; i++) {
		printf("%s{\"Name\":", i ? "," : "[");
		print_json_text(corpus_patterns[i].name);
		printf(",\"Regex\":");
		print_json_text(corpus_patterns[i].regex);
		putchar('}');
	}
	printf("]\n");
}

static bool read_options(struct limit *limit, int argc, char **argv)
{
	static const struct option options[] = {{"mib", required_argument, NULL, 'm'},
		{"group-kib", required_argument, NULL, 'g'}, {"file", required_argument, NULL, 'f'},
		{"definitions", no_argument, NULL, 'd'}, {0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
		switch (option) {
		case 'm':
			limit->total_bytes = (size_t)strtoull(optarg, NULL, 10) << 20;
			break;
		case 'g':
			limit->group_bytes = (size_t)strtoull(optarg, NULL, 10) << 10;
			break;
		case 'f':
			limit->path = optarg;
			break;
		case 'd':
			print_definitions();
			return false;
		default:
			exit(2);
		}
	return true;
}

static void close_all(struct limit *limit)
{
	for (size_t i = 0; i < STREAMS; i++)
		corpus_done(&limit->streams[i]);
	for (size_t i = 0; i < CORPUS_PATTERNS; i++)
		pcre2_code_free(limit->patterns[i]);
	pcre2_match_data_free(limit->match);
	ZSTD_freeCCtx(limit->zstd);
	free(limit->packed);
	sqlite3_finalize(limit->begin);
	sqlite3_finalize(limit->insert);
	sqlite3_finalize(limit->commit);
	sqlite3_close(limit->db);
	remove_database(limit);
}

int main(int argc, char **argv)
{
	struct limit limit = {.total_bytes = 256 << 20, .group_bytes = 4 << 20, .path = "bench-limit.db"};

	if (!read_options(&limit, argc, argv))
		return 0;
	open_patterns(&limit);
	limit.zstd = ZSTD_createCCtx();
	limit.packed_cap = ZSTD_compressBound(limit.group_bytes);
	limit.packed = malloc(limit.packed_cap);
	for (size_t i = 0; i < STREAMS; i++)
		corpus_init(&limit.streams[i], limit.total_bytes / STREAMS, i);
	open_database(&limit);
	int64_t wall_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < STREAMS; i++)
		take_stream(&limit, &limit.streams[i]);
	print(&limit, now_ns(CLOCK_MONOTONIC) - wall_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
	close_all(&limit);
	return 0;
}
