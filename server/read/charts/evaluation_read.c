#include "read/charts/evaluation_read.h"

#include "base/alloc.h"
#include "model/jobs/evaluation_judge.h"
#include "model/metrics/metric_words.h"
#include "model/metrics/stream_name.h"
#include "read/charts/points_read.h"
#include "read/charts/rank_0.h"
#include "read/view.h"

#include <math.h>
#include <stdlib.h>

enum {
	SERIES_MAX = 500, /* of one job */
	PRINTS_MAX = 10000 /* of one series, the newest */
};

struct print {
	int64_t step, ts_ms;
	double value;
};

/* A series, and where most is printed of it. */
struct followed {
	const struct stream_view *stream;
	const struct series_view *series;
	struct print *prints; /* in order of steps */
	size_t count, cap;
};

struct following {
	struct followed items[SERIES_MAX];
	size_t count;
};

/* ---- which series ---- */

/* How long it took, and how much it was about, says nothing of the model. */
static bool is_about_work(struct span metric)
{
	char text[METRIC_WORDS_MAX_BYTES];

	return metric_words_have(metric_words(metric, text),
		"_runtime_ _time_ _timing_ _seconds_ _sec_ _ms_ _per_second_ _samples_ _tokens_ _steps_ _step_ _epoch_ _epochs_ "
		"_iter_ _iters_ _iteration_ _batches_ _memory_ _mem_ _mb_ _gb_ _count_ _bucket_ _sum_ _size_ _lr_ duration");
}

static bool is_score(const struct series_view *series)
{
	if (!summary_has_finite(&series->summary) || span_find_char(series->metric, '{') >= 0)
		return false;
	if (series->role == ROLE_EVAL_LOSS)
		return true;
	return series->role == ROLE_OTHER && metric_is_evaluation(series->metric) && !is_about_work(series->metric);
}

/* Every rank may print it: rank 0's, else that of most points. */
static bool is_better(const struct followed *one, const struct followed *than, struct span rank_0)
{
	bool is_first = span_equal(one->stream->name, rank_0), was_first = span_equal(than->stream->name, rank_0);

	return is_first != was_first ? is_first : one->series->summary.count > than->series->summary.count;
}

static void follow(struct following *following, const struct followed *one, struct span rank_0)
{
	for (size_t i = 0; i < following->count; i++) {
		struct followed *known = &following->items[i];
		if (!span_equal(known->series->metric, one->series->metric))
			continue;
		if (is_better(one, known, rank_0))
			*known = *one;
		return;
	}
	if (following->count < SERIES_MAX)
		following->items[following->count++] = *one;
}

static void find_series(struct following *following, const struct job_view *view, struct span rank_0)
{
	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		for (size_t j = 0; j < stream->series_count && !stream_is_system(stream->name); j++)
			if (is_score(&stream->series[j]))
				follow(following, &(struct followed){.stream = stream, .series = &stream->series[j]},
					rank_0);
	}
}

/* ---- points ---- */

static int by_step(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

struct taking {
	struct followed *one;
	struct arena *arena;
};

/* Said again of a step, the last one counts. */
static enum status take(void *context, const struct point *point, struct error *err)
{
	const struct taking *taking = context;
	struct followed *one = taking->one;

	if (!isfinite(point->value))
		return OK;
	if (one->count && one->prints[one->count - 1].step == point->step)
		one->count--;
	if (one->count == one->cap) {
		size_t cap = one->cap ? 2 * one->cap : 64;
		struct print *prints = arena_alloc(taking->arena, cap * sizeof *prints);
		if (!prints)
			return error_no_memory(err);
		if (one->count)
			memcpy(prints, one->prints, one->count * sizeof *prints);
		one->prints = prints;
		one->cap = cap;
	}
	one->prints[one->count++] = (struct print){point->step, point->ts_ms, point->value};
	return OK;
}

/* From which step on about so many points lie. */
static int64_t newest_from(const struct series_view *series)
{
	const struct summary *summary = &series->summary;

	if (summary->count <= PRINTS_MAX)
		return INT64_MIN;
	double share = (double)PRINTS_MAX / (double)summary->count;
	return summary->last_step - (int64_t)(share * (double)(summary->last_step - summary->first_step));
}

static enum status read_prints(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct followed *one, struct error *err)
{
	struct chart_query query = {.metric = one->series->metric,
		.stream = one->stream->name,
		.axis = AXIS_STEP,
		.from = newest_from(one->series),
		.to = INT64_MAX,
		.attempts = ATTEMPTS_LIVE};
	struct taking taking = {one, arena};

	return points_read_all(pipeline, reader, job, query.stream, &query, take, &taking, err);
}

/* ---- scores ---- */

static bool is_of(const int64_t *steps, size_t count, int64_t step)
{
	return count && bsearch(&step, steps, count, sizeof *steps, by_step);
}

static bool are_any_of(const struct following *following, const int64_t *steps, size_t count)
{
	for (size_t i = 0; i < following->count; i++)
		for (size_t j = 0; j < following->items[i].count; j++)
			if (is_of(steps, count, following->items[i].prints[j].step))
				return true;
	return false;
}

static struct evaluation_score score_of(const struct followed *one, const struct print *print)
{
	const struct series_view *series = one->series;
	int higher = series->higher ? series->higher : role_higher(series->role);
	struct evaluation_score score = {.has_step = true,
		.step = print->step,
		.path = SPAN(""),
		.step_from = EVALUATION_STEP_LOG,
		.value = print->value,
		.error = -1,
		.samples = -1,
		.shots = -1,
		.is_lower = higher ? higher < 0 : evaluation_is_lower(series->metric),
		.suite = SPAN(EVALUATION_SUITE_LOG),
		.evaluated_ms = print->ts_ms,
		.received_ms = print->ts_ms,
		.author = SPAN(""),
		.series = series->metric,
		.stream = one->stream->name};

	score.lower_from = higher || score.is_lower ? EVALUATION_LOWER_NAME : EVALUATION_LOWER_ASSUMED;
	evaluation_split_metric(series->metric, &score.task, &score.metric);
	return score;
}

static enum status write_scores(const struct following *following, struct arena *arena, const int64_t *steps,
	size_t step_count, struct evaluation_score **out, size_t *count, struct error *err)
{
	bool is_all = !are_any_of(following, steps, step_count);
	size_t most = 0;

	for (size_t i = 0; i < following->count; i++)
		most += following->items[i].count;
	*out = arena_alloc(arena, (most + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	*count = 0;
	for (size_t i = 0; i < following->count; i++)
		for (size_t j = 0; j < following->items[i].count; j++) {
			const struct print *print = &following->items[i].prints[j];
			if (is_all || is_of(steps, step_count, print->step))
				(*out)[(*count)++] = score_of(&following->items[i], print);
		}
	evaluation_sort(*out, *count);
	return OK;
}

enum status evaluation_read_printed(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const int64_t *steps, size_t step_count, struct evaluation_score **out, size_t *count,
	struct error *err)
{
	struct following *following = arena_alloc(arena, sizeof *following);
	struct job_view view;
	struct rank_0 rank_0;

	if (!following)
		return error_no_memory(err);
	following->count = 0;
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(rank_0_find(reader, arena, &view, &rank_0, err));
	find_series(following, &view, rank_0.stream);
	for (size_t i = 0; i < following->count; i++)
		TRY(read_prints(pipeline, reader, arena, job, &following->items[i], err));
	return write_scores(following, arena, steps, step_count, out, count, err);
}
