/*
 * Job: what both limit programs do to lines: six PCRE2 JIT patterns on each, zstd level 1 of a group, one SQLite row and one
 *      durable transaction a group.
 * Ownership: open/close; the database is removed at the end. Threads: one at a time.
 */
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8

#include "corpus.h"

#include <pcre2.h>
#include <sqlite3.h>
#include <time.h>
#include <zstd.h>

struct limit_work {
	const char *path;
	pcre2_code *patterns[CORPUS_PATTERNS];
	pcre2_match_data *match;
	ZSTD_CCtx *zstd;
	char *packed;
	size_t packed_cap;
	sqlite3 *db;
	sqlite3_stmt *begin, *insert, *commit;
	uint64_t lines, matches, matched_lines, packed_bytes;
	int64_t zstd_ns, sqlite_ns;
};

/* Each ends the process where something fails. */
void limit_open(struct limit_work *work, const char *path, size_t group_bytes);
void limit_close(struct limit_work *work);
void limit_match(struct limit_work *work, const char *at, const char *end);
void limit_store(struct limit_work *work, const char *group, size_t bytes); /* at most group_bytes */
void limit_fail(const char *what, const char *why);
int64_t limit_now_ns(clockid_t clock);
