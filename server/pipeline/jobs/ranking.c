#include "pipeline/jobs/ranking.h"

#include <stdlib.h>
#include <string.h>

static bool has_word(struct span metric, const char *words)
{
	struct span rest = span_from(words), word;

	while (span_next(&rest, ' ', &word))
		for (size_t i = 0; i + word.len <= metric.len; i++)
			if (span_equal_fold(span_of(metric.ptr + i, word.len), word))
				return true;
	return false;
}

bool ranking_is_higher_better(int higher, enum role role, struct span metric)
{
	if (higher)
		return higher > 0;
	if (role != ROLE_OTHER)
		return role_higher(role) > 0;
	return has_word(metric, "acc reward score auc bleu rouge recall precision iou f1 win_rate goodput");
}

struct ranking ranking_begin(bool is_higher_better, int64_t first_step, int64_t last_step)
{
	uint64_t width = last_step > first_step ? (uint64_t)last_step - (uint64_t)first_step : 0;

	return (struct ranking){.is_higher_better = is_higher_better,
		.window_step = (int64_t)((uint64_t)last_step - width / 100),
		.best = {0, NAN},
		.stride = 1};
}

void ranking_done(struct ranking *ranking)
{
	mem_free(ranking->window);
	ranking->window = NULL;
}

static void add_last(struct ranking *ranking, struct ranked_point point)
{
	struct ranked_point *last = ranking->last + ranking->last_first;

	if (ranking->last_count == RANKING_LAST) {
		if (point.step < last->step)
			return;
		ranking->last_first++;
		ranking->last_count--;
	}
	if (ranking->last_first + ranking->last_count == RANKING_ROOM) { /* once for many points */
		memcpy(ranking->last, ranking->last + ranking->last_first, ranking->last_count * sizeof *last);
		ranking->last_first = 0;
	}
	last = ranking->last + ranking->last_first;
	size_t at = ranking->last_count++;
	for (; at && last[at - 1].step > point.step; at--)
		last[at] = last[at - 1];
	last[at] = point;
}

static enum status add_to_window(struct ranking *ranking, struct ranked_point point, struct error *err)
{
	if (ranking->skipped++ % ranking->stride)
		return OK;
	if (ranking->window_count == RANKING_KEPT) { /* every other one goes */
		for (size_t i = 0; i < RANKING_KEPT / 2; i++)
			ranking->window[i] = ranking->window[2 * i];
		ranking->window_count = RANKING_KEPT / 2;
		ranking->stride *= 2;
	}
	if (!mem_grow((void **)&ranking->window, ranking->window_count, &ranking->window_cap, sizeof *ranking->window))
		return error_no_memory(err);
	ranking->window[ranking->window_count++] = point;
	return OK;
}

bool ranking_is_better(bool is_higher_better, double value, double than)
{
	return isfinite(value) && (isnan(than) || (is_higher_better ? value > than : value < than));
}

void ranking_add_best(struct ranking *ranking, int64_t step, double value)
{
	if (ranking_is_better(ranking->is_higher_better, value, ranking->best.value))
		ranking->best = (struct ranked_point){step, value};
}

enum status ranking_add_end(struct ranking *ranking, int64_t step, double value, struct error *err)
{
	struct ranked_point point = {step, value};

	add_last(ranking, point);
	return step >= ranking->window_step ? add_to_window(ranking, point, err) : OK;
}

bool ranking_has_end(const struct ranking *ranking)
{
	return ranking->window_count >= RANKING_LAST;
}

void ranking_forget_end(struct ranking *ranking)
{
	ranking->last_first = ranking->last_count = ranking->window_count = 0;
	ranking->skipped = 0;
	ranking->stride = 1;
}

static int by_value(const void *a, const void *b)
{
	double x = ((const struct ranked_point *)a)->value, y = ((const struct ranked_point *)b)->value;

	return (x > y) - (x < y);
}

double ranking_final(struct ranking *ranking)
{
	bool is_wide = ranking_has_end(ranking);
	struct ranked_point *points = is_wide ? ranking->window : ranking->last + ranking->last_first;
	size_t count = is_wide ? ranking->window_count : ranking->last_count, finite = 0;

	for (size_t i = 0; i < count; i++)
		if (isfinite(points[i].value))
			points[finite++] = points[i];
	if (finite == 0 || finite * 2 < count)
		return NAN;
	qsort(points, finite, sizeof *points, by_value);
	double upper = points[finite / 2].value, lower = points[(finite - 1) / 2].value;
	return lower + (upper - lower) / 2;
}
