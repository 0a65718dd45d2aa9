/*
 * The store's verbs on a database, without a server: what a commit, a block put and a block read take.
 *
 *   bench_store --db PATH|postgresql://… [--schema bench] [--bare CONNINFO] [--seconds 3]
 *
 * A commit holds one journal record of 12.6 KB, as 32 posts of 20 lines make it; --bare measures an INSERT of the same bytes by libpq
 * alone beside it, by turns, and the SELECT of a block by libpq alone. Blocks have 110 KB that do not compress. One object of JSON; times
 * are medians.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "store/blocks.h"
#include "store/journal.h"

#include <getopt.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RECORD_BYTES = 12600, BLOCK_BYTES = 110 << 10, BLOCKS = 500, LINES = 1000, TIMES_MAX = 100000, TURN = 50 };

struct times {
	double us[TIMES_MAX];
	size_t count;
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void die(const char *what, const struct error *err)
{
	fprintf(stderr, "%s: %s\n", what, err->text);
	exit(1);
}

static void add(struct times *times, double start_us)
{
	if (times->count < TIMES_MAX)
		times->us[times->count++] = now_us() - start_us;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct times *times)
{
	qsort(times->us, times->count, sizeof *times->us, compare);
	return times->count ? times->us[times->count / 2] : 0;
}

static struct span noise(size_t len)
{
	char *bytes = mem_zeroed(len);
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; bytes && i < len; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes[i] = (char)state;
	}
	return span_of(bytes, len);
}

/* ---- a commit, and a bare INSERT ---- */

static void commit_one(struct store *store, uint64_t seq, struct span record)
{
	struct store_tx *tx;
	struct error err;

	if (store_tx_begin(&tx, store, &err) || store_append_journal(tx, seq, record, &err) ||
		store_tx_commit(tx, &err))
		die("commit", &err);
}

static PGconn *bare_open(const char *conninfo)
{
	PGconn *conn = PQconnectdb(conninfo);
	PGresult *made =
		PQexec(conn, "CREATE TABLE IF NOT EXISTS bench_bare (seq BIGINT PRIMARY KEY, record BYTEA NOT NULL);"
			     "ALTER TABLE bench_bare ALTER COLUMN record SET STORAGE EXTERNAL; TRUNCATE bench_bare");

	if (PQresultStatus(made) != PGRES_COMMAND_OK) {
		fprintf(stderr, "bare: %s\n", PQerrorMessage(conn));
		exit(1);
	}
	PQclear(made);
	PQclear(PQprepare(conn, "put", "INSERT INTO bench_bare VALUES ($1, $2)", 2, (const Oid[]){20, 17}));
	return conn;
}

static void bare_insert(PGconn *conn, uint64_t seq, struct span record)
{
	uint64_t number = __builtin_bswap64(seq);
	const char *const values[] = {(const char *)&number, record.ptr};
	const int lengths[] = {sizeof number, (int)record.len}, formats[] = {1, 1};
	PGresult *result = PQexecPrepared(conn, "put", 2, values, lengths, formats, 1);

	if (PQresultStatus(result) != PGRES_COMMAND_OK) {
		fprintf(stderr, "bare: %s\n", PQerrorMessage(conn));
		exit(1);
	}
	PQclear(result);
}

static void measure_commits(
	struct store *store, PGconn *bare, double seconds, struct times *commits, struct times *bares)
{
	struct span record = noise(RECORD_BYTES);
	double until_us = now_us() + seconds * 1e6;
	uint64_t seq = 1;

	while (now_us() < until_us) {
		for (int i = 0; i < TURN; i++, seq++) {
			double start_us = now_us();
			commit_one(store, seq, record);
			add(commits, start_us);
		}
		for (int i = 0; bare && i < TURN; i++) {
			double start_us = now_us();
			bare_insert(bare, seq + (uint64_t)i, record);
			add(bares, start_us);
		}
	}
}

/* ---- blocks ---- */

static double put_blocks(struct store *store)
{
	struct span text = noise(BLOCK_BYTES), filter = noise(1024);
	struct store_tx *tx;
	struct error err;
	double start_us = now_us();

	if (store_tx_begin(&tx, store, &err))
		die("begin", &err);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		struct block_row row = {.job_id = 1,
			.stream_id = 1,
			.first_line = i * LINES,
			.line_count = LINES,
			.first_ms = 1,
			.last_ms = 2,
			.raw_bytes = 10 * BLOCK_BYTES,
			.data = text,
			.filter = filter};
		if (store_put_block(tx, &row, &err))
			die("block", &err);
	}
	if (store_tx_commit(tx, &err))
		die("commit", &err);
	return now_us() - start_us;
}

static void read_blocks(struct store *store, double seconds, struct times *reads)
{
	struct store_reader *reader;
	struct block_row row;
	struct error err;
	double until_us = now_us() + seconds * 1e6;

	if (store_reader_new(&reader, store, &err))
		die("reader", &err);
	for (uint64_t at = 1; now_us() < until_us; at = at * 7919 % (BLOCKS * LINES - 1) + 1) {
		struct arena *arena = arena_new();
		double start_us = now_us();
		if (!arena || store_read_block(reader, arena, 1, 1, at, &row, &err))
			die("read", &err);
		add(reads, start_us);
		if (row.data.len != BLOCK_BYTES)
			abort();
		arena_free(arena);
	}
	store_reader_free(reader);
}

/* As few calls of libpq as can read one. */
static void read_bare(PGconn *conn, const char *schema, double seconds, struct times *reads)
{
	char sql[400], number[24];
	const char *values[] = {number};
	double until_us = now_us() + seconds * 1e6;

	snprintf(sql, sizeof sql,
		"SELECT first_line, line_count, first_ms, last_ms, raw_bytes, data FROM %s.blocks"
		" WHERE job_id = 1 AND stream_id = 1 AND first_line <= $1 ORDER BY first_line DESC LIMIT 1",
		schema);
	PQclear(PQprepare(conn, "get", sql, 1, (const Oid[]){20}));
	for (uint64_t at = 1; now_us() < until_us; at = at * 7919 % (BLOCKS * LINES - 1) + 1) {
		double start_us = now_us();
		snprintf(number, sizeof number, "%" PRIu64, at);
		PGresult *result = PQexecPrepared(conn, "get", 1, values, NULL, NULL, 1);
		if (PQntuples(result) != 1 || PQgetlength(result, 0, 5) != BLOCK_BYTES) {
			fprintf(stderr, "bare: %s\n", PQerrorMessage(conn));
			exit(1);
		}
		add(reads, start_us);
		PQclear(result);
	}
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"db", required_argument, NULL, 'd'},
		{"schema", required_argument, NULL, 's'}, {"bare", required_argument, NULL, 'b'},
		{"seconds", required_argument, NULL, 't'}, {0}};
	static struct times commits, bares, reads, bare_reads;
	struct store_options options = {.schema = "bench"};
	const char *bare = NULL;
	double seconds = 3;
	struct store *store;
	struct error err;
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (option == 'd')
			options.path = optarg;
		else if (option == 's')
			options.schema = optarg;
		else if (option == 'b')
			bare = optarg;
		else if (option == 't')
			seconds = strtod(optarg, NULL);
		else
			return 2;
	}
	if (!options.path)
		return 2;
	if (store_open(&store, &options, &err))
		die(options.path, &err);
	PGconn *conn = bare ? bare_open(bare) : NULL;
	measure_commits(store, conn, seconds, &commits, &bares);
	double put_us = put_blocks(store);
	read_blocks(store, seconds / 2, &reads);
	if (conn)
		read_bare(conn, options.schema, seconds / 2, &bare_reads);
	printf("{\"commit_us\":%.1f,\"bare_us\":%.1f,\"put_ms\":%.1f,\"read_us\":%.1f,\"bare_read_us\":%.1f}\n",
		median(&commits), median(&bares), put_us / 1000, median(&reads), median(&bare_reads));
	if (conn)
		PQfinish(conn);
	store_free(store);
	return 0;
}
