/*
 * Job: what jobs are sorted by, and a job's place in that order: (rank, value, job_id). rank puts numbers before NaN before what
 *      is missing, whichever way the values go. The places of a page, out of columns in memory.
 * Ownership: texts are the arena's. Threads: one at a time.
 */
#pragma once

#include "store/sql/search/search_memory.h"

enum search_sort_kind {
	SEARCH_SORT_TEXT,
	SEARCH_SORT_I64,
	SEARCH_SORT_MISSING_I64,
	SEARCH_SORT_MISSING_TEXT,
	SEARCH_SORT_FIGURE,
	SEARCH_SORT_NUMBER, /* NULL: it is missing */
	SEARCH_SORT_ATTRIBUTE,
};

/* SEARCH_RANK_OTHER: a metric's NaN, an attribute that is a text; missing comes last, in either direction. */
enum { SEARCH_RANK_VALUE, SEARCH_RANK_OTHER, SEARCH_RANK_MISSING };

struct search_sort {
	enum search_sort_kind kind;
	bool is_descending;
	const char *column; /* SQL of `jobs AS j` */
	struct search_source
		sources[2]; /* the value; of a duration the start and the end; or what counts before the other */
	size_t source_count; /* 0: it is in no column */
};

struct search_place {
	int64_t rank;
	int64_t job_id;
	int64_t number;
	double real;
	struct span text;
};

struct search_page {
	struct search_place *places;
	size_t count;
	bool has_more;
};

/* Are places of the rank ordered by what they have? */
static inline bool search_has_value(const struct search_sort *sort, int64_t rank)
{
	return rank == SEARCH_RANK_VALUE || (rank == SEARCH_RANK_OTHER && sort->kind == SEARCH_SORT_ATTRIBUTE);
}

/* ERR_SEMANTIC with field "sort". */
enum status search_sort_parse(struct search_sort *out, struct span text, struct error *err) MUST_CHECK;
/* A cursor belongs to its order: ERR_INVALID with field "cursor" else. */
enum status search_cursor_print(struct span sort, const struct search_place *place, struct arena *arena,
	struct span *out, struct error *err) MUST_CHECK;
enum status search_cursor_parse(struct span cursor, struct span sort, struct arena *arena, struct search_place *out,
	struct error *err) MUST_CHECK;

/* The place of the job that `position` others come before; *is_there: false when there are not so many. */
enum status search_place_at(struct search_memory *memory, const struct search_sort *sort, const struct bits *among,
	size_t position, struct search_place *out, bool *is_there, struct error *err) MUST_CHECK;
/* The first `limit` places behind `from` (NULL: the beginning) of the jobs that are `among`. */
enum status search_pick(struct search_memory *memory, const struct search_sort *sort, const struct bits *among,
	const struct search_place *from, size_t limit, struct search_page *out, struct error *err) MUST_CHECK;
