/*
 * Job: what the parts of a database's check share: where they are, what they found, and how it is told.
 * Ownership: the one who checks owns all of it. Threads: one.
 */
#pragma once

#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/pack/chunk.h"
#include "store/pack/pyramid.h"

#include <stdint.h>

enum { CHECK_BATCH_ROWS = 16 };

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

/* A problem of a part: "stream", "series", "attachment" or what the row is of. */
void check_tell(struct checking *c, const char *part, struct place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A part that does not begin where the one before it ends. Not of what is being taken away: by a sweep, or by a limit on log
 * text that has moved since the check read it. */
enum status check_tell_gap(struct checking *c, const char *part, const char *unit, struct place place,
	uint64_t expected, struct error *err) MUST_CHECK;
void check_count_row(struct checking *c);
/* What stands where the stream begins: line 0, or the first one that a limit left. */
enum status check_first_line_of(
	struct checking *c, int64_t job_id, uint32_t stream_id, uint64_t *first, struct error *err) MUST_CHECK;

/* The steps over what is packed: blocks of text with their search filters, chunks of points, rows of pyramids. */
enum status check_blocks(struct checking *c, struct error *err) MUST_CHECK;
enum status check_chunks(struct checking *c, struct error *err) MUST_CHECK;
enum status check_pyramid_rows(struct checking *c, struct error *err) MUST_CHECK;
