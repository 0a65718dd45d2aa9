/*
 * Job: the points of one stream in one commit, as bytes: by series its names, steps and times as columns, values as they
 *      are. The body of a JOURNAL_POINTS slice. Pure encoding.
 * Ownership: what is read points into the body and the caller's arena. Threads: values.
 */
#pragma once

#include "base/arena.h"
#include "base/codec/pack.h"
#include "model/metrics/batch_points.h"

void journal_points_pack(const struct batch_part *part, struct buf *out);

struct journal_points {
	struct unpacker at;
	size_t series_left;
};
struct journal_points journal_points_open(struct span body);
/* ERR_INVALID: damaged; *has_one false: that was the last. The columns are in the arena. */
enum status journal_points_next(struct journal_points *cursor, struct arena *arena, struct batch_series *series,
	bool *has_one, struct error *err) MUST_CHECK;
/* Walks it all: ERR_INVALID unless it holds exactly count points. */
enum status journal_points_check(struct span body, size_t count, struct error *err) MUST_CHECK;
