/*
 * Job: what a metric of a job comes to when jobs are ranked by it: best, its step, and the median of the end.
 * Ownership: values; an AUTO_DONE frees what it collects. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "model/metrics/metric.h"
#include "model/metrics/point.h"

enum { RANKING_LAST = 20, RANKING_ROOM = 16 * RANKING_LAST, RANKING_KEPT = 65536 };

struct ranked_point {
	int64_t step;
	double value;
};

struct ranking {
	bool is_higher_better;
	int64_t window_step; /* the last 1 % begins here */
	struct ranked_point best; /* NaN: there is none yet */
	struct ranked_point last[RANKING_ROOM]; /* from last_first on, those of the largest steps, in their order */
	size_t last_first, last_count;
	struct ranked_point *window; /* of the last 1 %; every stride-th when there are very many */
	size_t window_count, window_cap;
	uint64_t stride, skipped;
};

/* higher: as metric_definition's; 0: by role, else by words of the name as "accuracy". */
bool ranking_is_higher_better(int higher, enum role role, struct span metric);
/* first and last: of all points to come. */
struct ranking ranking_begin(bool is_higher_better, int64_t first_step, int64_t last_step);
void ranking_done(struct ranking *ranking);
AUTO_DONE_TYPE(ranking)
bool ranking_is_better(bool is_higher_better, double value, double than); /* than NaN: than nothing */
/* Of each point; one that was there before changes nothing. */
void ranking_add_best(struct ranking *ranking, int64_t step, double value);
/* Of each point from window_step on; where these are too few (ranking_has_end), of each. */
enum status ranking_add_end(struct ranking *ranking, int64_t step, double value, struct error *err) MUST_CHECK;
bool ranking_has_end(const struct ranking *ranking);
void ranking_forget_end(struct ranking *ranking); /* to begin anew with it */
/* NaN when most of those at the end are not finite, or there is no point. Once, at the end. */
double ranking_final(struct ranking *ranking);
