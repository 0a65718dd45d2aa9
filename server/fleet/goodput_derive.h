/*
 * Job: the passes of goodput_derive(), for its files alone: which points made a step and how long one takes (goodput_pace.c),
 *      where work was broken off and taken up again (goodput_breaks.c), and the wall clock cut by both (goodput_derive.c).
 * Ownership: all is the arena's. Errors: no memory alone. Threads: values.
 */
#pragma once

#include "fleet/goodput.h"

/* A run of points between two restarts. */
struct goodput_start {
	size_t first; /* its first point */
	int64_t from_step; /* it goes on from */
	size_t own_break; /* that it begins behind */
};

/* What the attempt at work made beyond this step is made again; and behind which break first. */
struct goodput_cut {
	int64_t step;
	size_t owner;
};

struct goodput_piece {
	int64_t from_ms, to_ms;
	enum goodput_bucket bucket;
	size_t owner; /* REDONE: by which break */
};

/* A job that had nothing left to do, and went on later. */
struct goodput_done {
	bool is_told; /* it was Completed; else it had made all steps that it was to make, and nobody said that it ended */
	int64_t at_ms, until_ms; /* the last time, if that was more than once */
	bool is_broken_since; /* before its next step */
};

/* How long it took from such a line to the steps behind it, without their own time; sorted. */
struct goodput_waits {
	int64_t *ms;
	size_t count;
};

#define NO_BREAK SIZE_MAX

struct goodput_deriving {
	const struct goodput_facts *facts; /* those given, with the points that made a step */
	struct goodput_facts made;
	struct arena *arena;
	struct goodput *out;
	struct goodput_start *starts;
	size_t start_count;
	struct goodput_cut *cuts; /* each below the one before */
	size_t cut_count;
	size_t last_break; /* behind which another job goes on */
	struct goodput_piece *pieces;
	size_t piece_count, piece_cap;
	size_t segment_cap, break_cap;
	size_t mark; /* the first that is not used yet */
	struct goodput_waits waits[GOODPUT_BUCKETS]; /* behind the last line of evaluations and of checkpoints */
	int64_t stride;
	int64_t begin_ms, end_ms;
};

static inline int64_t goodput_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t goodput_most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ITEMS with room for one more than COUNT; NULL: no memory. */
void *goodput_grow(struct arena *arena, void *items, size_t count, size_t *cap, size_t bytes);

/* ---- goodput_pace.c ---- */

/* From here on the facts have the points that made a step alone. */
enum status goodput_find_made(struct goodput_deriving *d, struct error *err);
enum status goodput_find_pace(struct goodput_deriving *d, struct error *err);
enum status goodput_take_stride(struct goodput_deriving *d, struct error *err);

/* How long so many steps take undisturbed. */
int64_t goodput_time_of(const struct goodput_deriving *d, int64_t steps);

/* Did they take longer than steps do, by more than jitter? */
bool goodput_is_late(double step_ms, int64_t taken_ms, int64_t steps);

/* Is a status so little behind the first step of a restart that it may be that one's? */
bool goodput_may_lag(const struct goodput_point *first, int64_t status_ms);

/* Does a phase that is no training reach into it? Asked in the order of time; *PHASE goes along. */
bool goodput_is_crossed(const struct goodput_facts *facts, size_t *phase, int64_t from_ms, int64_t to_ms);

/* Was an evaluation or a checkpoint printed in (from_ms, to_ms]? Asked in the order of time; *MARK goes along. */
bool goodput_has_mark(const struct goodput_facts *facts, size_t *mark, int64_t from_ms, int64_t to_ms);

/* How much of it counts as wall clock; what is shorter than any pause is not asked. */
int64_t goodput_time_at_it(const struct goodput_facts *facts, int64_t from_ms, int64_t to_ms);

/* The last evaluation or checkpoint that was printed in (a, b], two points of one attempt, and what lies behind it. No line: false. */
bool goodput_find_wait(const struct goodput_deriving *d, size_t *mark, const struct goodput_point *a,
	const struct goodput_point *b, enum goodput_bucket *bucket, int64_t *wait_ms);
enum status goodput_find_waits(struct goodput_deriving *d, struct error *err);

/* Longer than the rest of such work may be behind its line? is_own: the wait is one of d's, and is laid beside the others. */
bool goodput_is_hang(const struct goodput_deriving *d, enum goodput_bucket bucket, int64_t wait_ms, bool is_own);

/* ---- goodput_breaks.c ---- */

enum status goodput_find_starts(struct goodput_deriving *d, struct error *err);

/* What the work behind START is made again from. */
void goodput_find_cuts(struct goodput_deriving *d, const struct goodput_start *start);
enum status goodput_add_silent_breaks(
	struct goodput_deriving *d, int64_t from_ms, int64_t to_ms, int64_t step, struct error *err);

/* Was it done behind LAST, before to_ms and the step that it made then, if it made one, with nothing that broke it off before? */
bool goodput_find_done(
	const struct goodput_deriving *d, const struct goodput_point *last, int64_t to_ms, struct goodput_done *out);
enum status goodput_find_breaks(struct goodput_deriving *d, int64_t *last_step, struct error *err);

/* Is what lies between these two one of them? Asked in the order of time; *AT goes along. */
bool goodput_is_broken_off(
	const struct goodput *out, size_t *at, const struct goodput_point *a, const struct goodput_point *b);
enum status goodput_find_last_break(struct goodput_deriving *d, int64_t last_ms, int64_t last_step, struct error *err);

/* The break behind which another job goes on lasts until that one's first step, but for what other breaks count of this time. */
void goodput_count_next(struct goodput_deriving *d);
